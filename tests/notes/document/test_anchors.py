"""Anchors stay with their character; a list of the characters themselves is the oracle."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pycrdt import Doc, Text

from flashgrep.errors import InvalidParams
from flashgrep.notes.document.anchors import Anchor, Anchors
from flashgrep.notes.document.text import Offsets, SharedText, ordered
from flashgrep.notes.document.updates import clocks
from tests.notes import slow_anchors
from tests.notes.texts import splices_of, texts

CASES = 5_000 if os.environ.get("FLASHGREP_HEAVY") == "1" else 40


def anchors_of(text: Text) -> Anchors:
    return Anchors(text, clocks(text.doc.get_state()))


def typed(content: str, client: int = 7) -> Text:
    doc: Doc[Text] = Doc(client_id=client)
    text = doc.get("contents", type=Text)
    text += content
    return text


def exchange(one: Text, other: Text) -> None:
    one.doc.apply_update(other.doc.get_update(one.doc.get_state()))
    other.doc.apply_update(one.doc.get_update(other.doc.get_state()))


class Character:
    """A character with an identity of its own."""

    def __init__(self, value: str) -> None:
        self.value = value


@settings(max_examples=CASES)
@given(texts.filter(bool), st.data())
def test_an_anchor_is_found_after_the_edits_of_two_clients(
    content: str, data: st.DataObject
) -> None:
    ours, theirs = typed(content, 7), typed("", 9)
    row = [Character(value) for value in content]
    held: list[tuple[Anchor, Character]] = []
    for _ in range(data.draw(st.integers(1, 6))):
        exchange(ours, theirs)
        writer = data.draw(st.sampled_from([ours, theirs]))
        before = str(writer)
        changes = ordered(before, data.draw(splices_of(before)))
        SharedText(writer).splice(changes)
        for change in reversed(changes):
            row[change.start : change.end] = [Character(value) for value in change.text]
        if row:
            index = data.draw(st.integers(0, len(row) - 1))
            held.append((anchors_of(writer).at(index), row[index]))
    exchange(ours, theirs)
    assert str(theirs) == "".join(character.value for character in row)
    for text in (ours, theirs):
        for anchor, character in held:
            expected = row.index(character) if character in row else None
            assert anchors_of(text).find(anchor) == expected
    check_all(ours)


def check_all(text: Text) -> None:
    """Every name that there is or was, and every place, as the slow definition has them."""
    known = clocks(text.doc.get_state())
    quick, slow = Anchors(text, known), slow_anchors.Anchors(text, known)
    for client, end in known.items():
        for clock in range(end + 1):
            anchor = Anchor(client, clock)
            assert quick.find(anchor) == slow.find(anchor)
    with text.doc.transaction():
        assert [quick.at(index) for index in range(len(str(text)))] == [
            slow.at(index) for index in range(len(str(text)))
        ]


def test_every_character_has_an_anchor_of_its_own() -> None:
    text = typed("aé😀x日本e\u0301")
    anchors = anchors_of(text)
    names = [anchors.at(index) for index in range(len(str(text)))]
    assert [name.clock for name in names] == [0, 1, 2, 4, 5, 6, 7, 8]
    assert [anchors.find(name) for name in names] == list(range(len(names)))


def test_offsets_of_long_texts_are_counted_right() -> None:
    text = "".join(f"line {n} {'é' * (n % 3)}{'😀' * (n % 2)}.\n" for n in range(800)) + "x" * 4_000
    data = text.encode()
    offsets = Offsets(data)
    for index in range(0, len(text), 29):
        place = len(text[:index].encode())
        assert offsets.byte(index) == place
        assert offsets.character(place) == index
        units = len(text[:index].encode("utf-16-le")) // 2
        assert offsets.units(place) == units
        assert offsets.byte_of_unit(units) == place
        if text[index] == "😀":
            assert offsets.byte_of_unit(units + 1) is None
        other = max((at for at in range(place) if data[at] >= 0x80), default=-1)
        assert offsets.other_before(place) == other
    assert offsets.byte(len(text)) == len(data)


def test_neighbours_with_one_drift_by_chance_are_told_apart() -> None:
    """`é` and `xyz` stand side by side, and the clock went on by as much as bytes did."""
    text = typed("é")
    text.insert(0, "-")
    del text[0:1]
    text.insert(2, "xyz")
    anchors = anchors_of(text)
    assert [anchors.at(index).clock for index in range(4)] == [0, 2, 3, 4]
    assert [anchors.find(Anchor(7, clock)) for clock in range(5)] == [0, None, 1, 2, 3]


@pytest.mark.parametrize(
    "anchor", [Anchor(7, 3), Anchor(8, 0), Anchor(7, -1), Anchor(2**53 - 1, 2**40)]
)
def test_an_anchor_of_nothing_is_not_found(anchor: Anchor) -> None:
    assert anchors_of(typed("abc")).find(anchor) is None


def test_nothing_is_found_in_an_empty_text() -> None:
    text = typed("abc")
    anchor = anchors_of(text).at(1)
    del text[0:3]
    assert anchors_of(text).find(anchor) is None


@pytest.mark.parametrize("index", [-1, 3, 99])
def test_there_is_no_anchor_outside_the_text(index: int) -> None:
    with pytest.raises(InvalidParams, match=f"character {index}"):
        anchors_of(typed("abc")).at(index)


@settings(max_examples=CASES)
@given(texts.filter(bool), st.data())
def test_what_is_left_of_a_stretch_is_found_as_its_characters_are(
    content: str, data: st.DataObject
) -> None:
    ours, theirs = typed(content, 7), typed("", 9)
    for _ in range(data.draw(st.integers(0, 4))):
        exchange(ours, theirs)
        writer = data.draw(st.sampled_from([ours, theirs]))
        SharedText(writer).splice(ordered(str(writer), data.draw(splices_of(str(writer)))))
    exchange(ours, theirs)
    units = len(content.encode("utf-16-le")) // 2
    anchors = anchors_of(ours)
    one_by_one = (anchors.find(Anchor(7, clock)) for clock in range(units))
    expected = sorted(place for place in one_by_one if place is not None)
    found = anchors.left_of(Anchor(7, 0), units)
    assert [place for start, end in found for place in range(start, end)] == expected
    place = data.draw(st.integers(0, max(len(str(ours)) - 1, 0)))
    names = [anchors.at(index) for index in range(place, len(str(ours)))]
    widths = [len(value.encode("utf-16-le")) // 2 for value in str(ours)[place:]]
    runs = anchors.runs(place, len(str(ours))) if names else []
    assert [
        (run.client, clock) for run in runs for clock in range(run.clock, run.clock + run.units)
    ] == [
        (name.client, name.clock + unit)
        for name, width in zip(names, widths, strict=True)
        for unit in range(width)
    ]


def test_characters_of_others_in_place_of_deleted_ones_are_runs_of_their_own() -> None:
    ours, theirs = typed("abcdef", 7), typed("", 9)
    exchange(ours, theirs)
    del theirs[2:3]
    theirs.insert(2, "X")
    exchange(ours, theirs)
    assert str(ours) == "abXdef"
    runs = anchors_of(ours).runs(0, 6)
    units = [(run.client, run.clock + unit) for run in runs for unit in range(run.units)]
    assert units == [(7, 0), (7, 1), (9, 0), (7, 3), (7, 4), (7, 5)]
