"""Lines under a ceiling, and the strict decoder."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashgrep import limits
from flashgrep.transports.lines.messages import BadMessage, LineSplitter, decode, request_id_of


def lines_of(data: bytes, ceiling: int) -> list[bytes | None]:
    """The obvious definition: all lines at once, the last one too if it is not empty."""
    *ended, rest = data.split(b"\n")
    whole = [*ended, rest] if rest else ended
    return [line if len(line) <= ceiling else None for line in whole]


@given(st.lists(st.binary(max_size=12)), st.integers(0, 8))
def test_any_chunking_gives_the_lines_of_the_whole(chunks: list[bytes], ceiling: int) -> None:
    chunks = [chunk.replace(b"\x07", b"\n") for chunk in chunks]
    splitter = LineSplitter(ceiling)
    found = [line for chunk in chunks for line in splitter.feed(chunk)]
    assert found + splitter.finish() == lines_of(b"".join(chunks), ceiling)


def test_an_endless_line_is_not_kept() -> None:
    splitter = LineSplitter(1000)
    chunk = b"x" * 65536
    tracemalloc.start()
    for _ in range(1000):
        assert splitter.feed(chunk) == []
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200_000
    assert splitter.begun
    assert splitter.feed(b"\nok\n") == [None, b"ok"]
    assert not splitter.begun


NESTED_64 = b"[" * 64 + b"]" * 64
DECODED: list[tuple[bytes, Any]] = [
    (b'{"a":1}', {"a": 1}),
    (b' {"a":1}\r', {"a": 1}),
    ('"é😀"'.encode(), "é😀"),
    (b'"\\ud83d\\ude00"', "😀"),
    (NESTED_64, json.loads(NESTED_64)),
    # brackets in strings are text, however many
    (b'["' + b"[{" * 500 + b'"]', ["[{" * 500]),
    (b'["\\"' + b"[" * 200 + b'"]', ['"' + "[" * 200]),
    (b'{"a":1,"a":2}', {"a": 2}),
]


@pytest.mark.parametrize(("line", "value"), DECODED, ids=range(len(DECODED)))
def test_decodes(line: bytes, value: Any) -> None:
    assert decode(line) == value


REFUSED: list[tuple[bytes, int, str]] = [
    # not JSON
    (b"", -32700, "Parse error"),
    (b"hello", -32700, "Parse error"),
    (b'{"a":', -32700, "Parse error"),
    (b'{"a":1}x', -32700, "Parse error"),
    (b"NaN", -32700, "NaN is not JSON$"),
    (b"[Infinity]", -32700, "Infinity"),
    (b"\xef\xbb\xbf{}", -32700, "Parse error"),
    (b"[" + b"9" * 5000 + b"]", -32700, "Parse error"),
    # not UTF-8
    (b'{"a":"\xff"}', -32700, "byte 6"),
    (b'{"a":"\xc3"}', -32700, "UTF-8"),
    (b'{"a":"\xed\xa0\x80"}', -32700, "UTF-8"),
    (b'"\xc0\xaf"', -32700, "UTF-8"),
    # too much
    (b"[" * 65 + b"]" * 65, -32600, "deeper than 64"),
    (b"[" * 1_000_000, -32600, "values"),
    (b'{"a":' * 1000 + b"1" + b"}" * 1000, -32600, "deeper than 64"),
    (b"[" + b"[]," * 200_000 + b"1]", -32600, "values"),
    (b"[" + b"1," * 200_000 + b"1]", -32600, "values"),
]


@pytest.mark.parametrize(("line", "code", "text"), REFUSED, ids=range(len(REFUSED)))
def test_refuses(line: bytes, code: int, text: str) -> None:
    with pytest.raises(BadMessage, match=text) as caught:
        decode(line)
    assert caught.value.code == code


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=4)
)


@given(json_values)
def test_whatever_json_writes_is_read_back(value: Any) -> None:
    assert decode(json.dumps(value).encode()) == value
    assert decode(json.dumps(value, ensure_ascii=False).encode("utf-8")) == value


@given(st.binary(max_size=200))
def test_any_bytes_are_decoded_or_refused(line: bytes) -> None:
    try:
        value = decode(line)
    except BadMessage:
        return
    assert json.loads(line) == value


def test_the_ceiling_is_the_one_of_all_transports() -> None:
    splitter = LineSplitter()
    assert splitter.feed(b"x" * limits.MESSAGE_BYTES + b"\n")[0] is not None
    assert splitter.feed(b"x" * (limits.MESSAGE_BYTES + 1) + b"\n") == [None]


@pytest.mark.parametrize(
    ("head", "tail", "expected"),
    [
        (b'{"jsonrpc":"2.0","id":7,"method":"x",', b"}}", 7),
        (b'{"method":"tools/call", "jsonrpc": "2.0", "id" : "a-1", "params":{', b"}}", "a-1"),
        (b'{"id":"","method":"x",', b"}}", ""),
        (b'{"jsonrpc":"2.0","method":"x","params":{', b'"},"id":12}', 12),
        (b'{"params":{"id":5', b'"},"id": "z" }  ', "z"),
        # an id that may be somebody else's
        (b'{"params":{"id":5,', b'"id":5}}', None),
        (b'{"jsonrpc":"2.0","params":{"id":5,', b'"id":5}]', None),
        (b'[{"id":5,"method":"x"', b'"id":5}]', None),
        (b'{"jsonrpc":"2.0","id":1.5,', b"}}", None),
        (b"xxxx", b"xxxx", None),
    ],
)
def test_the_id_of_a_message_too_large_is_told_only_where_it_is_certain(
    head: bytes, tail: bytes, expected: str | int | None
) -> None:
    assert request_id_of(head, tail) == expected


def test_a_dropped_line_leaves_its_id() -> None:
    splitter = LineSplitter(ceiling=64)
    line = b'{"jsonrpc":"2.0","id":3,"method":"' + b"x" * 5000 + b'"}\n'
    pieces = [line[at : at + 50] for at in range(0, len(line), 50)]
    assert [ended for piece in pieces for ended in splitter.feed(piece)] == [None]
    assert splitter.dropped_id == 3
