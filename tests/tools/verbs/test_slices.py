"""get_slice and read_code: exact lines, what ends them early, and what counts as a read."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flashgrep.errors import FlashgrepError
from flashgrep.tools.dispatch.caller import content_hash
from tests.tools.workshop import Workshop, workshop

CASES = 2_000 if os.environ.get("FLASHGREP_HEAVY") == "1" else 80
BOTH = pytest.mark.parametrize("tool", ["get_slice", "read_code"])


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Workshop]:
    with workshop(tmp_path, max_output_chars=2_000) as made:
        yield made


def numbered(count: int) -> str:
    return "".join(f"line {number}\n" for number in range(1, count + 1))


def test_a_slice_is_the_exact_lines(shop: Workshop) -> None:
    shop.file("a.py", numbered(120))
    assert shop.json("get_slice", file_path="a.py", start_line=5, end_line=7) == {
        "file_path": "a.py",
        "start_line": 5,
        "end_line": 7,
        "content": "line 5\nline 6\nline 7",
        "total_lines": 120,
        "truncated": False,
    }


def test_code_is_read_with_the_hash_of_the_bytes(shop: Workshop) -> None:
    shop.file("a.py", b"\xef\xbb\xbfone\r\ntwo\r\n")
    assert shop.json("read_code", file_path="a.py") == {
        "file_path": "a.py",
        "start_line": 1,
        "end_line": 2,
        "content": "one\ntwo",
        "truncated": False,
        "continuation_start_line": None,
        "file_hash": content_hash(b"\xef\xbb\xbfone\r\ntwo\r\n"),
        "total_lines": 2,
    }


CONTENT: list[tuple[bytes, int, int, str, int]] = [
    # data, start, end, content, total lines
    (b"a\nb\nc", 2, 3, "b\nc", 3),  # no newline at the end
    (b"a\nb\nc\n", 3, 99, "c", 3),  # an end past the file is the file's end
    (b"a\n\nb\n", 1, 2, "a\n", 3),  # the second line is empty
    (b"a\r\nb\r\n", 1, 2, "a\nb", 2),
    (b"a\rb\n", 1, 1, "a\rb", 1),  # a lone CR ends no line
    (b"\xff ok\n", 1, 1, "\ufffd ok", 1),
    ("\ufeffgrün\nrot\n".encode("utf-16-le"), 1, 2, "grün\nrot", 2),
    ("a\u2028b\x0cc\n".encode(), 1, 1, "a\u2028b\x0cc", 1),
    (b"\n", 1, 1, "", 1),
]


@BOTH
@pytest.mark.parametrize(("data", "start", "end", "content", "total"), CONTENT)
def test_lines_are_those_of_every_other_tool(
    shop: Workshop, tool: str, data: bytes, start: int, end: int, content: str, total: int
) -> None:
    shop.file("f", data)
    part = shop.json(tool, path="f", start_line=start, end_line=end)
    assert (part["content"], part["total_lines"], part["truncated"]) == (content, total, False)
    assert part["end_line"] == min(end, total)


@settings(
    max_examples=CASES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.text("ab\n\r", max_size=30), st.integers(1, 12), st.integers(1, 12), st.integers(1, 12))
def test_a_slice_equals_its_definition(
    shop: Workshop, text: str, first: int, second: int, most: int
) -> None:
    """The definition: split at newlines, drop one CR before each, number from 1."""
    shop.file("f", text)
    rows = text.split("\n")
    lines = [row.removesuffix("\r") for row in rows[:-1]] + ([rows[-1]] if rows[-1] else [])
    start, end = sorted((first, second))
    if start > len(lines):
        assert (
            "past the end"
            in shop.error("read_code", "invalid_params", path="f", start_line=start, end_line=end)[
                "message"
            ]
        )
        return
    part = shop.json("read_code", path="f", start_line=start, end_line=end, max_lines=most)
    wanted = lines[start - 1 : end]
    assert part["content"] == "\n".join(wanted[:most])
    assert part["truncated"] is (len(wanted) > most)
    assert part["continuation_start_line"] == (start + most if len(wanted) > most else None)


REFUSED: list[tuple[str, dict[str, Any], str, str]] = [
    ("get_slice", {"start_line": 4, "end_line": 9}, "invalid_params", "past the end of f"),
    ("get_slice", {"start_line": 3, "end_line": 2}, "invalid_params", "is after end_line 2"),
    ("read_code", {"start_line": 4}, "invalid_params", "past the end of f"),
    ("read_code", {"start_line": 3, "end_line": 2}, "invalid_params", "is after end_line 2"),
    ("read_code", {"context_lines": 2}, "invalid_params", "context_lines needs symbol_name"),
    ("read_code", {"symbol_name": ""}, "invalid_params", "symbol_name must not be empty"),
    ("read_code", {"symbol_name": "f", "start_line": 1}, "invalid_params", "exclude each other"),
]


@pytest.mark.parametrize(("tool", "given", "code", "told"), REFUSED)
def test_a_range_that_cannot_be_is_refused(
    shop: Workshop, tool: str, given: dict[str, Any], code: str, told: str
) -> None:
    shop.file("f", numbered(3))
    assert told in shop.error(tool, code, file_path="f", **given)["message"]


@BOTH
def test_what_has_no_lines_is_refused(shop: Workshop, tool: str, tmp_path: Path) -> None:
    shop.file("data.bin", b"\0\1\2")
    shop.file("empty", b"")
    shop.file("real.py", b"x\n")
    shop.link("out", tmp_path)
    where = {"start_line": 1, "end_line": 2}
    assert "binary" in shop.error(tool, "invalid_params", path="data.bin", **where)["message"]
    assert "0 lines" in shop.error(tool, "invalid_params", path="empty", **where)["message"]
    assert "directory" in shop.error(tool, "invalid_params", path=".", **where)["message"]
    told = shop.error(tool, "not_found", path="reall.py", **where)["message"]
    assert "Did you mean real.py?" in told
    os.mkfifo(shop.root / "pipe")
    shop.error(tool, "invalid_params", path="pipe", **where)


def test_an_empty_file_is_read_as_nothing(shop: Workshop) -> None:
    shop.file("empty", b"")
    part = shop.json("read_code", path="empty")
    assert (part["content"], part["end_line"], part["total_lines"]) == ("", 0, 0)


def test_read_code_needs_a_file_or_a_symbol(shop: Workshop) -> None:
    message = "read_code needs the parameter file_path or path, or symbol_name"
    assert shop.error("read_code", "invalid_params")["message"] == message


@BOTH
def test_a_file_that_cannot_be_read_is_refused(shop: Workshop, tool: str) -> None:
    """Reading /proc/self/mem from its beginning fails for everyone, root included."""
    error = shop.error(tool, "io_error", path="/proc/self/mem", start_line=1, end_line=1)
    assert error["message"] == "Input/output error: /proc/self/mem"


@BOTH
def test_a_file_over_the_limit_is_refused(tmp_path: Path, tool: str) -> None:
    with workshop(tmp_path, max_file_size=1_000) as shop:
        shop.file("large", "x\n" * 600)
        shop.error(tool, "too_large", path="large", start_line=1, end_line=1)


@BOTH
def test_a_denied_file_is_refused(tmp_path: Path, tool: str) -> None:
    with workshop(tmp_path, deny_dir=("**/.env",)) as shop:
        shop.file(".env", "x\n")
        shop.error(tool, "access_denied", path=".env", start_line=1, end_line=1)


# ── ends ────────────────────────────────────────────────────────────────────────────────────────

BOUNDS: list[tuple[dict[str, int], int]] = [
    # bounds, lines given of "line 1" … "line 20"
    ({"max_lines": 1}, 1),
    ({"max_lines": 7}, 7),
    ({"max_lines": 99}, 20),
    ({"max_bytes": 1}, 1),  # at least one line, always
    ({"max_bytes": 6}, 1),
    ({"max_bytes": 12}, 1),
    ({"max_bytes": 13}, 2),  # 6 + newline + 6
    ({"max_tokens": 3}, 1),  # 12 characters
    ({"max_tokens": 4}, 2),  # 16 characters
    ({"max_tokens": 5, "max_lines": 1}, 1),
    ({"max_bytes": 10_000, "max_tokens": 10_000}, 20),
]


@pytest.mark.parametrize(("bounds", "lines"), BOUNDS)
def test_bounds_end_a_read_at_a_line(shop: Workshop, bounds: dict[str, int], lines: int) -> None:
    shop.file("f", numbered(20))
    part = shop.json("read_code", path="f", **bounds)
    assert part["end_line"] == lines
    assert part["truncated"] is (lines < 20)
    assert part["continuation_start_line"] == (lines + 1 if lines < 20 else None)


def test_bytes_are_counted_as_utf8_and_tokens_by_character(shop: Workshop) -> None:
    shop.file("f", "ü" * 8 + "\n" + "ü" * 7 + "\n")
    assert shop.json("read_code", path="f", max_bytes=30)["end_line"] == 1
    assert shop.json("read_code", path="f", max_bytes=31)["end_line"] == 2
    assert shop.json("read_code", path="f", max_tokens=4)["end_line"] == 2


@BOTH
def test_the_budget_of_an_answer_is_kept_and_can_be_continued(shop: Workshop, tool: str) -> None:
    shop.file("f", '"quoted"\t\\\n' * 500)  # JSON spells these out
    lines: list[str] = []
    while len(lines) < 500:
        answer = shop.call(tool, path="f", start_line=len(lines) + 1, end_line=500)
        assert len(answer.text) <= 2_000
        part = json.loads(answer.text)
        lines += part["content"].split("\n")
        if part["truncated"]:
            assert part["continuation_start_line"] == len(lines) + 1 == part["end_line"] + 1
    assert lines == ['"quoted"\t\\'] * 500


@BOTH
def test_a_direct_call_has_no_budget(shop: Workshop, tool: str) -> None:
    shop.file("f", numbered(5_000))
    part = shop.direct(tool, path="f", start_line=1, end_line=5_000)
    assert (part["end_line"], part["truncated"]) == (5_000, False)


@BOTH
def test_a_line_larger_than_an_answer_is_refused_with_the_remedy(shop: Workshop, tool: str) -> None:
    shop.file("f", "short\n" + "x" * 3_000 + "\n")
    assert shop.json(tool, path="f", start_line=1, end_line=2)["end_line"] == 1
    told = shop.error(tool, "too_large", path="f", start_line=2, end_line=2)["message"]
    assert "offset 2 and column" in told
    assert len(shop.direct(tool, path="f", start_line=2, end_line=2)["content"]) == 3_000


# ── reads are remembered ────────────────────────────────────────────────────────────────────────


@BOTH
def test_a_slice_counts_as_a_read(shop: Workshop, tool: str) -> None:
    shop.file("f", numbered(3))
    change = {"path": "f", "old_string": "line 3", "new_string": "x"}
    assert shop.call("edit", **change).code == "not_read"
    shop.json(tool, path="f", start_line=1, end_line=1)
    assert shop.call("edit", **change).code is None


def test_a_refused_slice_does_not(shop: Workshop) -> None:
    shop.file("f", numbered(3))
    shop.error("get_slice", "invalid_params", path="f", start_line=9, end_line=9)
    assert shop.call("edit", path="f", old_string="line 3", new_string="x").code == "not_read"


def test_a_direct_failure_is_raised(shop: Workshop) -> None:
    with pytest.raises(FlashgrepError, match="does not exist") as told:
        shop.direct("get_slice", path="none", start_line=1, end_line=1)
    assert told.value.code == "not_found"


# ── by symbol ───────────────────────────────────────────────────────────────────────────────────


def test_a_symbol_is_read_with_its_surroundings(shop: Workshop) -> None:
    shop.file("a.py", "x = 1\n\n\ndef wanted() -> int:\n    return x\n\n\ny = 2\n")
    shop.file("b.py", "print(wanted())\n")
    part = shop.json("read_code", symbol_name="wanted", context_lines=1)
    assert (part["file_path"], part["start_line"], part["end_line"]) == ("a.py", 3, 5)
    assert part["content"] == "\ndef wanted() -> int:\n    return x"
    assert (part["symbol_name"], part["definition_line"]) == ("wanted", 4)
    assert "other_definitions" not in part


def test_other_definitions_are_told_and_a_file_chooses(shop: Workshop) -> None:
    shop.file("a.py", "def twice():\n    pass\n")
    shop.file("sub/b.py", "\ndef twice():\n    pass\n")
    part = shop.json("read_code", symbol_name="twice", context_lines=0)
    assert len(part["other_definitions"]) == 1
    part = shop.json("read_code", symbol_name="twice", context_lines=0, file_path="sub/b.py")
    assert (part["file_path"], part["start_line"]) == ("sub/b.py", 2)
    assert "other_definitions" not in part
    shop.error("read_code", "not_found", symbol_name="twice", file_path="c.py")


def test_a_symbol_without_a_definition_is_not_found(shop: Workshop) -> None:
    shop.file("a.py", "nowhere()\n")
    assert "get_symbol" in shop.error("read_code", "not_found", symbol_name="nowhere")["message"]


# ── as structured content ───────────────────────────────────────────────────────────────────────


def test_structured_adds_the_object_itself(tmp_path: Path) -> None:
    with workshop(tmp_path, structured=True) as shop:
        shop.file("f", "a\n")
        answer = shop.call("get_slice", path="f", start_line=1, end_line=1)
        assert answer.structured == json.loads(answer.text)
        assert shop.call("get_slice", path="f").structured is None
