"""str_replace on notes: what `edit` does, in its own words and by its own setting."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from flashgrep.notes.access.roles import Role
from tests.tools.notes_desk import NotesDesk, notes_desk

A = "kb://Folder/A.md"
TEXT = "hello world\nand again\nand again\nsee {>>a remark<<}, {==this==} and {++that++}\n"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[NotesDesk]:
    with notes_desk(tmp_path) as made:
        made.note("Folder/A.md", TEXT)
        yield made


def test_it_leaves_a_suggestion_of_a_note_that_need_not_be_read(desk: NotesDesk) -> None:
    """Own promise: `auto` asks for a read before `edit` and `write`, not before this."""
    told = desk.text("str_replace", path=A, old_str="world", new_str="earth")
    assert told == (
        "Edited kb://Folder/A.md: replaced 5 characters. "
        "The change is wrapped in CriticMarkup for human review. Line 1."
    )
    assert desk.raw("Folder/A.md").startswith("hello {--world--}{++earth++}\nand again\n")


def test_without_a_new_string_the_old_one_is_to_go(desk: NotesDesk) -> None:
    desk.text("str_replace", path=A, old_str=" world")
    assert desk.raw("Folder/A.md").startswith("hello{-- world--}\n")


def test_every_occurrence_is_replaced_where_all_are_asked_for(desk: NotesDesk) -> None:
    desk.text("str_replace", path=A, old_str="again", new_str="anew", replace_all=True)
    assert desk.raw("Folder/A.md").count("{--again--}{++anew++}") == 2


def test_the_two_verbs_take_each_others_suggestions_up(desk: NotesDesk) -> None:
    desk.text("str_replace", path=A, old_str="world", new_str="earth")
    assert "not made twice" in desk.edit(A, "world", "earth").text
    desk.edit(A, "earth", "mars")
    desk.text("str_replace", path=A, old_str="mars", new_str="it's")
    assert desk.raw("Folder/A.md").startswith("hello {--world--}{++it's++}\n")


def test_quotes_follow_those_of_the_note_as_with_edit(desk: NotesDesk) -> None:
    desk.note("Q.md", "it\u2019s fine\n")
    desk.text("str_replace", path="kb://Q.md", old_str="it's fine", new_str="it's good")
    assert desk.raw("Q.md") == "{--it\u2019s fine--}{++it\u2019s good++}\n"


def test_the_setting_makes_a_read_necessary(tmp_path: Path) -> None:
    with notes_desk(tmp_path, require_view_before_edit="true") as desk:
        desk.note("A.md", "hello world\n")
        asked = {"path": "kb://A.md", "old_str": "world", "new_str": "x"}
        assert "has not been read yet" in desk.refused("str_replace", "not_read", **asked)
        desk.text("view", path="kb://A.md")
        desk.text("str_replace", **asked)


REFUSED: list[tuple[str, str, str, str]] = [
    ("", "x", "invalid_params", "old_str must not be empty"),
    ("world", "world", "invalid_params", "No changes to make: old_str and new_str are exactly"),
    ("mars", "x", "string_not_found", "old_str not found in kb://Folder/A.md. Make sure it"),
    ("and again", "x", "not_unique", "old_str is not unique in kb://Folder/A.md (2 occurrences"),
    ("world", "a\0", "invalid_params", "new_str: a note cannot hold U+0000"),
    ("world", "x++}", "invalid_params", "new_str contains ++}"),
    ("a remark", "x", "invalid_params", "old_str occurs only inside a comment"),
    ("see ,", "x", "invalid_params", "a comment is inside old_str"),
    ("this and", "x", "invalid_params", "old_str overlaps a highlighted text"),
    ("and that", "x", "conflict", "old_str overlaps a pending suggestion by somebody"),
]


@pytest.mark.parametrize(("old", "new", "code", "told"), REFUSED)
def test_refusals_are_those_of_edit_in_its_own_words(
    desk: NotesDesk, old: str, new: str, code: str, told: str
) -> None:
    answer = desk.call("str_replace", path=A, old_str=old, new_str=new)
    assert (answer.code, told in answer.text) == (code, True), answer.text
    assert "_string" not in answer.text
    edited = desk.edit(A, old, new)
    in_its_words = edited.text.replace("old_string", "old_str").replace("new_string", "new_str")
    assert (edited.code, in_its_words) == (answer.code, answer.text)
    assert desk.raw("Folder/A.md") == TEXT


def test_a_role_below_suggest_is_refused(desk: NotesDesk) -> None:
    desk.caller = desk.someone("reader", Role.READ)
    told = desk.refused("str_replace", "access_denied", path=A, old_str="world", new_str="x")
    assert "not suggest changes to it" in told
    assert desk.raw("Folder/A.md") == TEXT


def test_on_a_server_of_notes_alone_it_is_callable_and_not_listed(tmp_path: Path) -> None:
    with notes_desk(tmp_path, no_workspace=True) as desk:
        desk.note("A.md", "hello world\n")
        assert "str_replace" not in desk.tool_names()
        desk.text("str_replace", path="A.md", old_str="world", new_str="earth")
        assert desk.raw("A.md") == "hello {--world--}{++earth++}\n"
