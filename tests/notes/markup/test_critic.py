"""What a text with marks says: vectors shared with the page, and what holds for any text.

`critic_vectors.json` is read by the page's own reader too. Offsets count code points; each row is

    name      what it shows
    text      the raw text
    recorded  spans [start, end] that records hold as marks; none if absent
    marks     all marks from the left: [kind, start, the mark as it stands in the text]
    base      the text with every suggestion rejected, without comments
    accepted  the text with every suggestion accepted, without comments
    offsets   by view, for each offset 0…length: [start_of, end_of, point] in the text (`critic.py`)
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashgrep import limits
from flashgrep.notes.markup import critic, literal
from flashgrep.notes.markup.critic import MarkKind, MarkupView
from tests.notes.marked import Note, anything, notes, texts

CASES = 100_000 if os.environ.get("FLASHGREP_HEAVY") == "1" else 100
VECTORS: list[dict[str, Any]] = json.loads(
    Path(__file__).with_name("critic_vectors.json").read_text(encoding="utf-8")
)
LONG = 100_000


@pytest.mark.parametrize("row", VECTORS, ids=[row["name"] for row in VECTORS])
def test_the_shared_vectors_read_as_they_say(row: dict[str, Any]) -> None:
    text = row["text"]
    reading = critic.read(text, [tuple(span) for span in row.get("recorded", [])])
    marks = [[mark.kind, mark.start, text[mark.start : mark.end]] for mark in reading.marks]
    assert marks == row["marks"]
    assert (reading.base.text, reading.accepted.text) == (row["base"], row["accepted"])
    for name, expected in row.get("offsets", {}).items():
        view: MarkupView = getattr(reading, name)
        offsets = range(len(view.text) + 1)
        assert [[view.start_of(o), view.end_of(o), view.point(o)] for o in offsets] == expected


def test_the_vectors_have_names_of_their_own() -> None:
    assert len({row["name"] for row in VECTORS}) == len(VECTORS) >= 80


# ── any text ────────────────────────────────────────────────────────────────────────────────────


def check_reading(text: str, spans: list[tuple[int, int]]) -> None:
    """Marks are apart and in order, views are made of the text, and offsets go there and back."""
    reading = critic.read(text, spans)
    at = 0
    for mark in reading.marks:
        assert at <= mark.start <= mark.body <= mark.end - 3 < mark.end <= len(text)
        at = mark.end
        opener, closer = critic.DELIMITERS[mark.kind]
        assert text[mark.start : mark.start + 3] == opener
        assert text[mark.end - 3 : mark.end] == closer
        assert mark.is_recorded == (mark.span in spans)
    for view in (reading.base, reading.accepted, reading.raw):
        check_offsets(text, view, reading.marks)
    assert reading.raw.text == text


def check_offsets(text: str, view: MarkupView, marks: tuple[critic.Mark, ...]) -> None:
    places = [view.start_of(offset) for offset in range(len(view.text))]
    assert [text[place] for place in places] == list(view.text)
    assert places == sorted(set(places))
    for offset in range(len(view.text) + 1):
        start, end, point = view.start_of(offset), view.end_of(offset), view.point(offset)
        assert end <= point <= start
        assert {view.to_view(place) for place in (start, end, point)} == {offset}
        inside = [mark for mark in marks if mark.start < point < mark.end]
        if view.text != text and inside:
            assert start == end, "only in the middle of a mark's text is a point inside it"
    closed = [view.to_view(place) for place in range(len(text) + 1)]
    assert closed == sorted(closed)


@settings(max_examples=CASES, deadline=None)
@given(
    text=anything, spans=st.lists(st.tuples(st.integers(-2, 60), st.integers(-2, 60)), max_size=3)
)
def test_any_text_can_be_read(text: str, spans: list[tuple[int, int]]) -> None:
    check_reading(text, spans)


@settings(max_examples=CASES, deadline=None)
@given(note=notes(between=anything))
def test_recorded_marks_are_marks_whatever_stands_around_them(note: Note) -> None:
    spans = [span for record in note.records for span in record.spans]
    check_reading(note.text, spans)
    marks = critic.read(note.text, spans).marks
    assert sorted(spans) == [mark.span for mark in marks if mark.is_recorded]


@settings(max_examples=CASES, deadline=None)
@given(text=anything)
def test_literal_zones_are_apart_and_in_order(text: str) -> None:
    at = 0
    for zone in literal.zones(text):
        assert at <= zone.start < zone.end <= len(text)
        at = zone.end


class _LineByLine(literal._LiteralScan):
    """The scan without its shortcut over plain lines."""

    def _plain_end(self, at: int) -> int:
        return 0


@settings(max_examples=CASES, deadline=None)
@given(text=st.one_of(anything, texts(["a", "- ", "\n", "    ", "\t", "`", "\n\n"], most=40)))
def test_the_shortcut_over_plain_lines_finds_the_same_zones(text: str) -> None:
    assert literal.zones(text) == _LineByLine(text).zones()


def test_views_without_marks_are_the_text() -> None:
    reading = critic.read("nothing marked\n")
    assert reading.base.text == reading.accepted.text == reading.raw.text == "nothing marked\n"


# ── hostile texts ───────────────────────────────────────────────────────────────────────────────

HOSTILE = {
    "openers": "{++",
    "all openers": "{++{--{~~{>>{==",
    "substitutions without arrow": "{~~",
    "closers": "++}",
    "empty marks": "{++++}",
    "metadata": '{++{"author":"',
    "braces": "{",
    "backticks": "`",
    "backticks apart": "` ``",
    "escaped backticks": "\\``",
    "fences": "```\n",
    "fences with a language": "```x\n",
    "quotes": "> ",
    "quotes close together": ">",
    "list items": "- ",
    "numbers": "1. ",
    "blanks": " ",
    "tabs": "\t",
    "blank lines": "\n",
    "rules": "---\n",
    "comments": "<!--",
    "comment ends": "-->",
    "dollars": "$$ ",
    "backslashes": "\\",
}


@pytest.mark.parametrize("tail", ["", "++}", "~~}", "`"])
@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_text_takes_no_longer_than_another(piece: str, tail: str) -> None:
    """Linear: the square of this length would run into the time limit of a test."""
    text = piece * (LONG // len(piece)) + tail
    reading = critic.read(text)
    assert len(reading.accepted.text) <= len(text)


def test_a_stray_opener_swallows_no_more_than_the_limit() -> None:
    filling = "x" * limits.MARK_CHARS
    assert critic.read("{++" + filling + "++}").accepted.text == filling
    beyond = "{++" + filling + "x++} {--a--}"
    assert critic.read(beyond).accepted.text == "{++" + filling + "x++} "


# ── small parts ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("plain", None),
        ("a {+ + } b", None),
        ("a {++ b", "{++"),
        ("a --} b", "--}"),
        ("{>>", "{>>"),
        ("<<}", "<<}"),
        ("{<<", None),
        (">>}", None),
        ("a ~> b", None),
        ("~~} {==", "~~}"),
    ],
)
def test_a_delimiter_is_found_in_a_string(text: str, found: str | None) -> None:
    assert critic.token(text) == found


def test_metadata_is_read() -> None:
    text = '{++{"author":"Ann","time":17}@@a++} {++b++}'
    first, second = critic.read(text).marks
    assert critic.metadata(text, first) == {"author": "Ann", "time": 17}
    assert critic.metadata(text, second) == {}


def test_a_deletion_and_the_insertion_that_touches_it_are_one_suggestion() -> None:
    text = "{--a--}{++b++} {--c--} {++d++}{--e--}{==f==}{++g++}{~~h~>i~~}{--j--}{++k++}{++l++}"
    grouped = critic.suggestions(critic.read(text).marks)
    shown = ["".join(text[mark.body : mark.end - 3] for mark in group) for group in grouped]
    assert shown == ["ab", "c", "d", "e", "g", "h~>i", "jk", "l"]
    assert MarkKind.HIGHLIGHT not in {mark.kind for group in grouped for mark in group}
