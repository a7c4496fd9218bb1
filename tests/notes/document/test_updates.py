"""Updates taken apart and put together: the engine, given both, must end up with the same."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pycrdt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pycrdt import Array, Doc, Map, Text, XmlElement, XmlFragment, XmlText

from flashgrep.errors import InvalidParams
from flashgrep.notes.document.updates import Name, clocks, encode, number, parse
from tests.notes.texts import texts


def document(client: int = 5) -> tuple[Doc[Text], Text]:
    doc: Doc[Text] = Doc(client_id=client)
    return doc, doc.get("contents", type=Text)


def test_the_parts_of_an_update() -> None:
    doc, text = document()
    text += "a😀é"
    text.insert(1, "日")
    del text[1:4]
    update = parse(doc.get_update())
    (row,) = update.structs.values()
    assert [(one.clock, one.length, one.halves, one.is_skip) for one in row] == [
        (0, 1, (), False),
        (1, 3, (2,), False),
        (4, 1, (), False),
    ]
    assert update.deletions == [(5, 4, 1)]


def test_what_a_struct_needs_of_others() -> None:
    doc, text = document(5)
    text += "ab"
    other, shared = document(9)
    other.apply_update(doc.get_update())
    shared.insert(1, "x")
    update = parse(other.get_update(doc.get_state()))
    (struct,) = update.structs[9]
    assert (struct.left, struct.right, struct.parent) == (Name(5, 0), Name(5, 1), None)


def fill_map(doc: Doc[Map[object]]) -> None:
    values: list[object] = [
        None,
        True,
        False,
        1,
        -1,
        2**40,
        -(2**40),
        1.5,
        1e300,
        "é😀",
        b"\0\xff",
        [1, [2, {"a": []}]],
        {"k": {"l": None}},
    ]
    shared = doc.get("records", type=Map)
    for at, value in enumerate(values):
        shared[str(at)] = value
    shared["1"] = "again"
    del shared["2"]


def fill_array(doc: Doc[Array[object]]) -> None:
    shared = doc.get("list", type=Array)
    shared.extend([1, "two", None, {"x": 1}])
    shared.append(Map({"deep": Text("er 😀")}))
    del shared[1]


def fill_xml(doc: Doc[XmlFragment]) -> None:
    shared = doc.get("page", type=XmlFragment)
    shared.children.append(XmlElement("p", {"class": "x"}, contents=[XmlText("hé")]))


def fill_text(doc: Doc[Text]) -> None:
    text = doc.get("contents", type=Text)
    text += "hello 日本"
    text.format(0, 5, {"bold": True})
    text.insert_embed(2, {"image": "x.png", "n": 3})
    text.insert_embed(0, Map({"a": 1}))
    del text[4:7]


def fill_documents(doc: Doc[Map[object]]) -> None:
    doc.get("docs", type=Map)["sub"] = Doc({"t": Text("inner")})


@pytest.mark.parametrize("fill", [fill_map, fill_array, fill_xml, fill_text, fill_documents])
def test_every_content_is_read_and_written_back(fill: Callable[[Doc[Any]], None]) -> None:
    doc: Doc[Any] = Doc()
    parts: list[bytes] = []
    watch = doc.observe(lambda event: parts.append(event.update))
    fill(doc)
    doc.unobserve(watch)
    whole = doc.get_update()
    for update in (*parts, whole, pycrdt.merge_updates(*parts)):
        parsed = parse(update)
        assert parse(encode(parsed)) == parsed
    (row,) = parse(whole).structs.values()
    assert {doc.client_id: row[-1].end} == clocks(doc.get_state())
    again: Doc[Any] = Doc()
    again.apply_update(encode(parse(whole)))
    assert clocks(again.get_state()) == clocks(doc.get_state())


@given(st.lists(texts, max_size=6), st.randoms(use_true_random=False))
def test_lengths_are_those_of_the_engine(words: list[str], chance: random.Random) -> None:
    doc, text = document()
    for word in words:
        boundary = len(str(text)[: chance.randint(0, len(str(text)))].encode())
        text.insert(boundary, word)
    rows = parse(doc.get_update()).structs
    assert {client: row[-1].end for client, row in rows.items()} == clocks(doc.get_state())


def test_a_gap_is_a_struct_of_its_own() -> None:
    doc, text = document()
    parts: list[bytes] = []
    watch = doc.observe(lambda event: parts.append(event.update))
    for word in ("one ", "two ", "three"):
        text += word
    doc.unobserve(watch)
    update = parse(pycrdt.merge_updates(parts[0], parts[2]))
    assert [(one.clock, one.length, one.is_skip) for one in update.structs[5]] == [
        (0, 4, False),
        (4, 4, True),
        (8, 5, False),
    ]


@pytest.mark.parametrize(
    ("update", "told"),
    [
        (b"", "ends too early"),
        (b"\x01", "ends too early"),
        (b"\x01\x01\x05\x00\x04\x01\x08contents\x09one", "ends too early"),
        (b"\x01\x01\x05\x00\x04\x01\x08contents\x02\xff\xff\x00", "not UTF-8"),
        (b"\x01\x01\x05\x00\x0b\x01\x01a\x00", "content 11 is unknown"),
        (b"\x01\x01\x05\x00\x07\x01\x01a\x0f\x00", "type 15 is unknown"),
        (b"\x01\x01\x05\x00\x08\x01\x01a\x01\x05\x00", "value 5 is unknown"),
        (b"\x01\x01\x05\x00\x08\x01\x01a\x01" + b"\x75\x01" * 99 + b"\x7e\x00", "too deeply"),
        (b"\xff" * 12, "number is too large"),
        (b"\x02\x01\x05\x00\x00\x01\x01\x05\x01\x00\x01\x00", "client 5 comes twice"),
    ],
)
def test_a_malformed_update_is_refused_with_the_place(update: bytes, told: str) -> None:
    with pytest.raises(InvalidParams, match=f"the update is malformed: .*{told} at byte"):
        parse(update)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for read in (parse, clocks):
        try:
            read(data)
        except InvalidParams:
            continue


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (b"\0", {}),
        (b"\x01\x05\x04", {5: 4}),
        (b"\x02\x05\x04\xff\xff\x03\x80\x01", {5: 4, 65535: 128}),
        # the engine names clients it has nothing of
        (b"\x02\x05\x04\x07\x00", {5: 4}),
    ],
)
def test_a_state_vector_is_read(state: bytes, expected: dict[int, int]) -> None:
    assert clocks(state) == expected


@pytest.mark.parametrize("state", [b"", b"\x01", b"\x01\x05", b"\x01\x85", b"\xff"])
def test_a_state_vector_that_ends_early_is_refused(state: bytes) -> None:
    with pytest.raises(InvalidParams, match="state vector is malformed"):
        clocks(state)


@pytest.mark.parametrize("value", [0, 1, 127, 128, 300, 2**31, 2**53 - 1])
def test_numbers_are_written_as_they_are_read(value: int) -> None:
    assert clocks(b"\x01" + number(value) + number(7)) == {value: 7}
