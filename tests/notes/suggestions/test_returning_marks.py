"""A suggestion that is deleted and comes back is the one it was."""

from __future__ import annotations

import pytest

from flashgrep.notes.suggestions import pending as pending_suggestions
from flashgrep.notes.suggestions.plan import Edit
from flashgrep.notes.suggestions.propose import propose_in
from tests.notes.desk import Desk
from tests.notes.suggestions.test_typed_marks import PATH, Typist

TEXT = "a fox and a dog\n"


def suggested(desk: Desk, *edits: tuple[str, str]) -> tuple[Typist, list[str]]:
    """Ann at a note in which robot has made suggestions, and the ids of these."""
    ann = Typist(desk, TEXT)
    for old, new in edits:
        propose_in(desk.library, PATH, Edit(old, new), "robot")
    ann.send()
    return ann, ids(ann)


def ids(ann: Typist) -> list[str]:
    """Those that are pending, from top to bottom."""
    library = ann.desk.library
    text, besides = library.read(ann.note).text, library.records(ann.note)
    return [one.id for one in pending_suggestions.suggestions_in(text, besides)]


def test_what_is_deleted_and_taken_back_has_its_author_and_id(desk: Desk) -> None:
    ann, before = suggested(desk, ("fox", "cat"), ("dog", "cow"))
    text = ann.peer.text.read()
    ann.key(0, "", len(text))
    assert ids(ann) == []
    ann.key(0, text)
    assert ids(ann) == before
    assert ann.suggestions() == [("robot", "fox", "cat"), ("robot", "dog", "cow")]


def test_what_is_cut_and_pasted_twice_is_there_once_as_it_was(desk: Desk) -> None:
    ann, before = suggested(desk, ("fox", "cat"))
    mark = "{--fox--}{++cat++}"
    ann.key(2, "", len(mark))
    ann.key(0, mark)
    assert ids(ann) == before
    ann.key(0, mark)
    assert sorted(ann.suggestions()) == [("ann", "fox", "cat"), ("robot", "fox", "cat")]


@pytest.mark.parametrize("typed", ["{--fox--}{++cow++}", "{--fox--}"])
def test_what_is_not_the_same_is_ones_own(desk: Desk, typed: str) -> None:
    ann, _ = suggested(desk, ("fox", "cat"))
    ann.key(2, "", len("{--fox--}{++cat++}"))
    ann.key(2, typed)
    assert [author for author, _, _ in ann.suggestions()] == ["ann"]


def test_what_is_typed_letter_by_letter_is_ones_own(desk: Desk) -> None:
    ann, _ = suggested(desk, ("fox", "cat"))
    ann.key(2, "", len("{--fox--}{++cat++}"))
    ann.type("{--fox--}{++cat++}", 2)
    assert [author for author, _, _ in ann.suggestions()] == ["ann"]
