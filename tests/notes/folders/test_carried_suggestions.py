"""What an export says of suggestions: written, read with suspicion, and found again in the text."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from flashgrep.notes.access.roles import Author
from flashgrep.notes.document.note import NoteRecords
from flashgrep.notes.folders import carried_suggestions
from flashgrep.notes.folders.carried_suggestions import (
    CARRIED_AUTHOR_CHARS,
    SEARCHED_TEXTS,
    ExportedSuggestion,
    described,
    fitted,
    parsed,
)

ID = "s_0123456789abcdef"
TEXT = "see {--old--}{++new++} and `{++code++}` end\n"


def beside(text: str, *marks: str, author: str = "robot", **more: Any) -> NoteRecords:
    spans = tuple((text.index(mark), text.index(mark) + len(mark)) for mark in marks)
    return NoteRecords({"kind": "suggestion", "author": author, "time": 5, **more}, spans)


def written_by(*authors: str | None) -> carried_suggestions.Authors:
    """Every character was written by these."""
    found = {Author(name) if name else None for name in authors}
    return lambda spans: [found] * len(spans)


def carried(text: str = TEXT) -> list[ExportedSuggestion]:
    besides = {
        ID: beside(text, "{--old--}", "{++new++}"),
        "s_1111111111111111": beside(text, "{++code++}", author="bob", changed=9),
    }
    said = described(text, besides, written_by("robot"))
    found, strange = parsed(json.loads(json.dumps(said)))
    assert strange == 0
    return found


def places(text: str, known: list[ExportedSuggestion]) -> dict[str, list[str]]:
    found = fitted(text, known)
    assert len(found.found) + len(found.lost) == len(known)
    return {one.author: [text[slice(*span)] for span in spans] for one, spans in found.found}


def test_what_is_written_is_read() -> None:
    one, two = carried()
    assert (one.id, one.author, one.time, one.changed) == (ID, "robot", 5, None)
    assert [(mark.at, mark.size) for mark in one.marks] == [(4, 9), (13, 9)]
    assert (two.author, two.changed) == ("bob", 9)
    assert (one.is_own, two.is_own) == (True, False)
    assert places(TEXT, [one, two]) == {"robot": ["{--old--}", "{++new++}"], "bob": ["{++code++}"]}


def test_suggestions_whose_marks_are_gone_are_not_written() -> None:
    nobody = written_by(None)
    gone = {ID: NoteRecords({"kind": "suggestion", "author": "x"})}
    assert described("plain", gone, nobody) == []
    assert described(TEXT, {"w": beside(TEXT, "{++new++}", kind="withdrawn")}, nobody) == []


@pytest.mark.parametrize(
    ("authors", "is_own"),
    [
        (["robot"], True),
        (["bob"], False),
        (["robot", "bob"], False),
        (["robot", None], False),
        ([None], False),
    ],
)
def test_a_suggestion_is_own_where_each_character_is_known_to_be_its_authors(
    authors: list[str | None], is_own: bool
) -> None:
    besides = {ID: beside(TEXT, "{--old--}", "{++new++}")}
    (one,) = described(TEXT, besides, written_by(*authors))
    assert one.get("own", False) is is_own


BOTH = {"robot", "bob"}


@pytest.mark.parametrize(
    ("changed", "left"),
    [
        ("😀 before\n" + TEXT, BOTH),
        (TEXT.replace("see ", ""), BOTH),
        (TEXT.replace(" and ", " " + "x" * 5_000 + "{++other++}" + "{++i;\n" * 200), BOTH),
        ("{++new++}\n{++code++}\n" + TEXT, BOTH),
        (TEXT.replace("new", "newer"), {"bob"}),  # of two marks one is another
        (TEXT.replace("{--old--}", ""), {"bob"}),
        (TEXT.replace("code", "kode"), {"robot"}),
        (TEXT.replace("{++code", "{++code "), {"robot"}),
        ("all new\n", set()),
        ("", set()),
    ],
)
def test_in_a_changed_text_what_still_fits_is_found(changed: str, left: set[str]) -> None:
    assert places(changed, carried()).keys() == left


def test_marks_that_records_hold_are_nobody_elses() -> None:
    held = (TEXT.index("{++new"), TEXT.index("{++new") + 9)
    assert [one.author for one, _ in fitted(TEXT, carried(), [held]).found] == ["bob"]


def test_of_several_places_each_is_taken_once_and_the_nearest_first() -> None:
    text = "{++a++} " * 5
    marks = [(at, at + 7) for at in range(0, 40, 8)]
    besides = {
        f"s_{at:016x}": NoteRecords({"kind": "suggestion", "author": str(at), "time": 0}, (span,))
        for at, span in enumerate(marks)
    }
    known, _ = parsed(described(text, besides, written_by(None)))
    assert [spans for _, spans in fitted(text, known).found] == [(span,) for span in marks]
    moved = fitted("xx" + text, known).found
    assert [spans for _, spans in moved] == [((start + 2, end + 2),) for start, end in marks]
    fewer = fitted(text[8:], known)
    assert len({spans for _, spans in fewer.found}) == len(fewer.found) == 4
    assert len(fewer.lost) == 1


def test_of_marks_that_read_alike_the_first_stays_the_first_however_far_they_moved() -> None:
    """Where the second one is now, the first one was."""
    text = "x" * 20 + "{++a++}" + "y" * 13 + "{++a++}"
    besides = {
        f"s_{at:016x}": NoteRecords(
            {"kind": "suggestion", "author": str(at), "time": 0}, ((at, at + 7),)
        )
        for at in (20, 40)
    }
    known, _ = parsed(described(text, besides, written_by(None)))
    found = fitted(text[20:], known).found
    assert [(one.author, spans) for one, spans in found] == [
        ("20", ((0, 7),)),
        ("40", ((20, 27),)),
    ]


GOOD: dict[str, Any] = {"id": ID, "author": "x", "time": 1, "marks": [[0, 9, "0" * 16]]}


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        [],
        "x",
        {},
        {"id": "s_1"},
        {"id": 1},
        {"id": "s_" + "0" * 16 + "\n"},
        {"author": ""},
        {"author": 1},
        {"author": "a\nb"},
        {"author": "a\u202eb"},
        {"author": "x" * (CARRIED_AUTHOR_CHARS + 1)},
        {"time": -1},
        {"time": 1.5},
        {"time": True},
        {"time": 2**53},
        {"time": "1"},
        {"time": None},
        {"changed": "x"},
        {"changed": -1},
        {"marks": []},
        {"marks": {}},
        {"marks": [[0, 9, "0" * 16]] * 17},
        {"marks": [[0, 9]]},
        {"marks": [[-1, 9, "0" * 16]]},
        {"marks": [[0, 5, "0" * 16]]},
        {"marks": [[0, 2**60, "0" * 16]]},
        {"marks": [[True, 9, "0" * 16]]},
        {"marks": [[0, 9, "0" * 15]]},
        {"marks": [[0, 9, "G" * 16]]},
        {"marks": [[0, 9, 7]]},
        {"marks": ["x"]},
    ],
)
def test_an_entry_of_another_shape_is_counted_and_skipped(wrong: Any) -> None:
    one = {**GOOD, **wrong} if isinstance(wrong, dict) and wrong else wrong
    assert parsed([one, GOOD]) == (parsed([GOOD])[0], 1)
    assert len(parsed([GOOD])[0]) == 1


@pytest.mark.parametrize("told", [None, 1, "x", {}, {"a": 1}])
def test_a_list_of_another_shape_is_none(told: Any) -> None:
    assert parsed(told) == ([], 0)


def hashed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many characters are looked at to tell marks apart."""
    sizes: list[int] = []
    real = carried_suggestions._digest

    def counted(text: str) -> str:
        sizes.append(len(text))
        return real(text)

    monkeypatch.setattr(carried_suggestions, "_digest", counted)
    return sizes


@pytest.mark.parametrize(
    "text",
    [
        "{++" * 9_000 + "++}" * 9_000,
        "{++x++}" * 9_000,
        "{~~" * 9_000 + "~~}" * 9_000,
        "{++" + "x" * 30_000 + "++}" * 9_000,
    ],
)
def test_a_hostile_list_costs_no_more_than_some_readings(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    (one,), _ = parsed([GOOD])
    many = []
    for number in range(500):
        size = 6 + number * 11 % len(text)
        mark = one.marks[0]._replace(at=number * 7 % len(text), size=size)
        many.append(replace(one, marks=(mark,)))
    sizes = hashed(monkeypatch)
    fitted(text, many)
    assert sum(sizes) <= (SEARCHED_TEXTS + 3) * len(text)
