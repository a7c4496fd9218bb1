"""Suggestions among a note's records: there and back, and nonsense passed over."""

from __future__ import annotations

from typing import Any

import pytest

from flashgrep.notes.document.note import NoteRecords
from flashgrep.notes.suggestions import pending
from flashgrep.notes.suggestions.pending import Recorded

ANN = Recorded("s_1", "ann", ((0, 7), (7, 14)), "asked")


def test_a_suggestion_comes_back_as_it_went() -> None:
    kept = {"s_1": pending.beside(ANN, 1_000)}
    assert pending.recorded(kept) == [ANN]
    assert pending.made_at(kept["s_1"].value) == 1_000


def test_one_that_was_changed_keeps_its_time_and_what_else_is_known_of_it() -> None:
    before = {**pending.beside(ANN, 1_000).value, "group": "g"}
    changed = pending.beside(ANN, 2_000, before)
    assert pending.made_at(changed.value) == 1_000
    assert changed.value["changed"] == 2_000
    assert changed.value["group"] == "g"


def test_the_order_is_that_of_the_records() -> None:
    kept = {name: pending.beside(Recorded(name, "a", ()), 1) for name in ("s_2", "s_1", "s_3")}
    assert [one.id for one in pending.recorded(kept)] == ["s_2", "s_1", "s_3"]


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"kind": "other", "author": "ann"},
        {"kind": "suggestion"},
        {"kind": "suggestion", "author": 5},
        {"kind": ["suggestion"], "author": "ann"},
        {"kind": "withdrawn", "author": "ann", "asked": "x"},
    ],
)
def test_what_is_no_suggestion_is_skipped(value: dict[str, Any]) -> None:
    assert pending.recorded({"x": NoteRecords(value, ((0, 3),))}) == []


@pytest.mark.parametrize("asked", [None, 5, ["x"]])
def test_a_suggestion_with_nonsense_in_it_is_one_nobody_asked_for(asked: Any) -> None:
    value = {"kind": "suggestion", "author": "ann", "asked": asked, "time": "soon"}
    (one,) = pending.recorded({"x": NoteRecords(value)})
    assert one == Recorded("x", "ann", ())
    assert pending.made_at(value) == 0


@pytest.mark.parametrize("made", [None, -1, 1.5, True, "1"])
def test_a_time_that_is_none_is_not_known(made: Any) -> None:
    assert pending.made_at({"time": made}) == 0


def test_a_withdrawn_edit_is_known_again_by_edit_and_text() -> None:
    value = pending.withdrawn("ann", "asked", "text", 1).value
    assert pending.is_withdrawn(value, "asked")
    assert pending.is_withdrawn(value, "asked", "text")
    assert not pending.is_withdrawn(value, "asked", "another")
    assert not pending.is_withdrawn(value, "another")
    assert not pending.is_withdrawn(pending.beside(ANN, 1).value, "asked")


def test_each_author_has_one_place_for_withdrawn_edits() -> None:
    assert pending.withdrawn_id("ann") == pending.withdrawn_id("ann")
    assert pending.withdrawn_id("ann") != pending.withdrawn_id("bob")
    assert pending.new_id() != pending.new_id()
