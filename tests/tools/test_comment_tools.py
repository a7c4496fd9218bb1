"""reply_comment, and the comments that read and list_suggestions show."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from flashgrep import limits
from flashgrep.notes.access.roles import Author, AuthorKind, Role, everywhere
from flashgrep.notes.review.commenting import CommentedPassage
from flashgrep.notes.review.verdict import Action
from tests.tools.notes_desk import NotesDesk, notes_desk

WRITER = everywhere("Eva", Role.WRITE)
EVA = Author("Eva", AuthorKind.PERSON)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[NotesDesk]:
    with notes_desk(tmp_path) as made:
        made.note("A.md", "one\ntwo three\n")
        yield made


def comment(desk: NotesDesk, path: str, quote: str, text: str) -> str:
    """A person's comment on the first occurrence of a quote."""
    start = desk.raw(path).index(quote)
    passage = CommentedPassage(start, start + len(quote), quote)
    return desk.notes.commenting.on_passage(path, passage, text, WRITER, EVA).id


def block(desk: NotesDesk, path: str = "kb://A.md", **more: object) -> list[str]:
    """The lines after [Comments] in a reading."""
    _, found, rest = desk.text("read", path=path, **more).partition("[Comments]\n")
    return rest.split("\n") if found else []


# ── read ────────────────────────────────────────────────────────────────────────────────────────


def test_read_ends_with_the_open_comments_after_the_suggestions(desk: NotesDesk) -> None:
    name = comment(desk, "A.md", "three", "Is it?\nReally?")
    desk.edit("kb://A.md", "one", "1")
    (suggestion,) = desk.notes.ask(
        lambda library: [one for one in library.records(library.find("A.md").id) if one[0] == "s"]
    )
    on = desk.notes.commenting.on_suggestion("A.md", suggestion, "Why?", WRITER, EVA).id
    reply = desk.json("reply_comment", id=on, text="Shorter.")["id"]
    text = desk.text("read", path="kb://A.md")
    assert text.startswith("     1\t1\n     2\ttwo three\n\n[Pending suggestions]\n")
    assert block(desk) == [
        f'- {on} by Eva, just now, line 1, on {suggestion}: "Why?"',
        f'  - {reply} by ann, just now: "Shorter."',
        f'- {name} by Eva, just now, line 2, on "three": "Is it?\\nReally?"',
    ]


def test_a_note_without_comments_has_no_such_block(desk: NotesDesk) -> None:
    assert block(desk) == []


def test_comments_are_in_no_view_but_the_raw_one(desk: NotesDesk) -> None:
    comment(desk, "A.md", "three", "secret words")
    assert desk.text("grep", pattern="secret|==", path="kb://") == "No matches found"
    assert desk.text("grep", pattern="secret", path="kb://", view="base") == "No matches found"
    assert desk.text("grep", pattern="secret", path="kb://", view="raw") == "kb://A.md"
    assert "two three" in desk.text("read", path="kb://A.md", view="base")


def test_a_reading_from_a_line_on_counts_the_comments_before(desk: NotesDesk) -> None:
    first, second = comment(desk, "A.md", "one", "1?"), comment(desk, "A.md", "three", "3?")
    (shown, left_out) = block(desk, offset=2)
    assert shown.startswith(f"- {second} ")
    assert left_out == "(not shown: 1 before these lines)"
    assert first not in shown


def test_very_many_comments_are_cut_and_that_is_told(desk: NotesDesk) -> None:
    many = limits.SHOWN_COMMENTS + 3
    desk.note("Many.md", "".join(f"line {{>>say {n}<<}}\n" for n in range(many)))
    shown = block(desk, "kb://Many.md")
    assert len(shown) == limits.SHOWN_COMMENTS + 1
    line = limits.SHOWN_COMMENTS + 1
    assert shown[-1] == f"(not shown: 3 from line {line} on, shown with offset={line})"
    (name, *_) = shown[0].removeprefix("- ").split()
    for number in range(limits.SHOWN_REPLIES + 2):
        desk.json("reply_comment", id=name, text=f"answer {number}")
    desk.json("reply_comment", id=name, text="x" * (limits.SHOWN_COMMENT_CHARS + 1))
    lines = block(desk, "kb://Many.md")
    assert lines[1] == "  (3 earlier replies are not shown)"
    assert lines[2].endswith('"answer 3"')
    assert lines[limits.SHOWN_REPLIES + 1].endswith('x"...')


def test_a_small_budget_holds_with_comments(tmp_path: Path) -> None:
    with notes_desk(tmp_path, max_output_chars=4_000) as desk:
        desk.note("Many.md", "".join(f"line {{>>say {'x' * 200} {n}<<}}\n" for n in range(100)))
        text = desk.text("read", path="kb://Many.md")
        assert len(text) <= 4_000
        assert "shown with offset=" in text


# ── reply_comment ───────────────────────────────────────────────────────────────────────────────


def test_a_reply_is_the_callers_and_is_not_said_twice(desk: NotesDesk) -> None:
    name = comment(desk, "A.md", "three", "Is it?")
    told = desk.json("reply_comment", id=name, text="Yes, it is.")
    assert told | {"id": ""} == {
        "id": "",
        "comment": name,
        "note": "kb://A.md",
        "line": 2,
        "status": "added",
    }
    again = desk.json("reply_comment", id=told["id"], text="Yes, it is.")
    assert again == {**told, "status": "already_there"}
    assert desk.raw("A.md") == "one\ntwo {==three==}{>>Is it?<<}{>>Yes, it is.<<}\n"


@pytest.mark.parametrize("role", list(Role))
def test_it_is_listed_and_callable_from_the_role_suggest_on(desk: NotesDesk, role: Role) -> None:
    name = comment(desk, "A.md", "three", "Is it?")
    desk.caller = desk.someone("somebody", role)
    may = role >= Role.SUGGEST
    assert ("reply_comment" in desk.tool_names()) is may
    answer = desk.call("reply_comment", id=name, text="Yes.")
    assert answer.code == (None if may else "access_denied")


def test_it_is_refused_on_folders_without_the_role(desk: NotesDesk) -> None:
    name = comment(desk, "A.md", "three", "Is it?")
    desk.caller = desk.someone("somebody", Role.SUGGEST, "Elsewhere")
    answer = desk.call("reply_comment", id=name, text="Yes.")
    assert answer.code == "not_found"
    assert json.loads(answer.text)["error"]["message"].startswith("there is no open comment c_")


@pytest.mark.parametrize(
    ("text", "code"),
    [("a <<} b", "invalid_params"), (" ", "invalid_params"), ("x" * 10_001, "too_large")],
)
def test_what_no_comment_can_hold_is_refused(desk: NotesDesk, text: str, code: str) -> None:
    name = comment(desk, "A.md", "three", "Is it?")
    before = desk.raw("A.md")
    assert desk.call("reply_comment", id=name, text=text).code == code
    assert desk.raw("A.md") == before


def test_where_there_are_only_notes_it_is_callable_and_not_listed(tmp_path: Path) -> None:
    with notes_desk(tmp_path, no_workspace=True) as desk:
        desk.note("A.md", "one two\n")
        assert desk.tool_names() == ["grep", "glob", "read", "edit", "get_links"]
        name = comment(desk, "A.md", "two", "Why?")
        assert desk.json("reply_comment", id=name, text="So.")["note"] == "A.md"


def test_a_read_only_server_does_not_have_it(tmp_path: Path) -> None:
    with notes_desk(tmp_path, read_only=True) as desk:
        assert "reply_comment" not in desk.tool_names()
        assert desk.call("reply_comment", id="c_x", text="So.").code == "invalid_params"


# ── list_suggestions ────────────────────────────────────────────────────────────────────────────


def test_suggestions_are_listed_with_the_comments_on_them(desk: NotesDesk) -> None:
    desk.edit("kb://A.md", "one", "1")
    desk.caller = desk.someone("reviewer", Role.WRITE)
    (row,) = desk.json("list_suggestions")["suggestions"]
    assert row["comments"] == []
    made = desk.notes.commenting.on_suggestion("A.md", row["id"], "Why?", WRITER, EVA)
    desk.json("reply_comment", id=made.id, text="So.")
    (row,) = desk.json("list_suggestions")["suggestions"]
    (found,) = row["comments"]
    assert (found["id"], found["author"], found["text"]) == (made.id, "Eva", "Why?")
    assert found["time"].startswith("20")
    assert [one["text"] for one in found["replies"]] == ["So."]


def test_an_agent_hears_what_was_said_about_its_decided_suggestion(desk: NotesDesk) -> None:
    desk.edit("kb://A.md", "one", "1")
    (row,) = desk.json("list_my_suggestions")["suggestions"]
    made = desk.notes.commenting.on_suggestion("A.md", row["id"], "Why?", WRITER, EVA)
    desk.json("reply_comment", id=made.id, text="So.")
    (row,) = desk.json("list_my_suggestions")["suggestions"]
    assert row["state"] == "pending"
    before = row["comments"]
    desk.notes.review.decide([row["id"]], Action.REJECT, WRITER)
    assert desk.raw("A.md") == "one\ntwo three\n"
    (row,) = desk.json("list_my_suggestions")["suggestions"]
    assert (row["state"], row["comments"]) == ("rejected", before)
    (found,) = before
    assert found["time"].startswith("20")
    assert [one["text"] for one in (found, *found["replies"])] == ["Why?", "So."]
