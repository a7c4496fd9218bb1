"""What became of an agent's suggestions: told once by read, and listed by list_my_suggestions."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from flashgrep.notes.access.roles import Author, Role, everywhere
from flashgrep.notes.decided_block import DECIDED
from flashgrep.notes.document.note import Amendment
from flashgrep.notes.document.text import TextSplice
from flashgrep.notes.review.decision_log import Decided
from flashgrep.notes.review.review import Query
from flashgrep.notes.review.verdict import Action, Verdict
from flashgrep.notes.suggestions.outcomes import News
from flashgrep.notes.suggestions.own_suggestions import STATES
from flashgrep.tools.mounts.notes import NoteDocument
from flashgrep.tools.verbs import my_suggestions
from tests.tools.notes_desk import NotesDesk, notes_desk

PERSON = everywhere("paul", Role.ADMIN)
ACCEPT, REJECT = Action.ACCEPT, Action.REJECT
QUERY = Query(limit=1_000)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[NotesDesk]:
    with notes_desk(tmp_path) as made:
        made.note("A.md", "one two three\n")
        yield made


def desk_author(desk: NotesDesk) -> Author:
    return Author(desk.caller.author, desk.caller.source)


def erase(desk: NotesDesk, path: str, text: str) -> None:
    """Somebody deletes a text by hand."""

    def plan(now: str, _: object) -> Amendment:
        at = now.index(text)
        return Amendment([TextSplice(at, at + len(text))])

    desk.notes.ask(lambda library: library.amend(library.find(path).id, plan, "person"))


def suggest(desk: NotesDesk, old: str, new: str, path: str = "kb://A.md") -> str:
    """As the caller; gives the id."""
    desk.edit(path, old, new)
    (row,) = [
        row
        for row in desk.json("list_my_suggestions", state="pending")["suggestions"]
        if (row["old"], row["new"]) == (old, new)
    ]
    return str(row["id"])


def decide(desk: NotesDesk, verdict: Verdict | Action, name: str) -> Decided:
    (outcome,) = desk.notes.review.decide([name], verdict, PERSON)
    assert outcome.decided is not None
    return outcome.decided


def told(desk: NotesDesk, path: str = "kb://A.md", tool: str = "read", **more: Any) -> list[str]:
    """What a read says was decided, line by line."""
    text = desk.text(tool, path=path, **more)
    return text.partition(f"\n\n{DECIDED}\n")[2].splitlines()


# ── read ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("tool", ["read", "view"])
def test_a_read_ends_with_what_was_decided_and_tells_it_once(desk: NotesDesk, tool: str) -> None:
    accepted, rejected, edited = (
        suggest(desk, old, new) for old, new in (("one", "1"), ("two", "2"), ("three", "3"))
    )
    assert told(desk, tool=tool) == []
    decide(desk, ACCEPT, accepted)
    decide(desk, Verdict(REJECT, reason='no "digits"\nplease'), rejected)
    decide(desk, Verdict(ACCEPT, text="III"), edited)
    assert told(desk, tool=tool) == [
        f'- {accepted} accepted by paul: "one" -> "1"',
        f'- {rejected} rejected by paul: "two" -> "2"; reason: "no \\"digits\\"\\nplease"',
        f'- {edited} edited by paul: "three" -> "3"; taken as: "III"',
    ]
    assert told(desk, tool=tool) == []


def test_it_comes_after_the_pending_suggestions(desk: NotesDesk) -> None:
    first, _ = suggest(desk, "one", "1"), suggest(desk, "two", "2")
    decide(desk, ACCEPT, first)
    text = desk.text("read", path="kb://A.md")
    assert text.index("[Pending suggestions]") < text.index(DECIDED)


def test_each_author_is_told_of_its_own(desk: NotesDesk) -> None:
    mine = suggest(desk, "one", "1")
    decide(desk, ACCEPT, mine)
    ann, desk.caller = desk.caller, desk.someone("bob")
    assert told(desk) == []
    desk.caller = desk.someone("ann")
    desk.caller.token = "ann"  # the same name, and not the same author: it came with a token
    assert told(desk) == []
    desk.caller = ann
    assert len(told(desk)) == 1


def test_what_was_undone_before_it_was_told_is_not_told(desk: NotesDesk) -> None:
    row = decide(desk, ACCEPT, suggest(desk, "one", "1"))
    desk.notes.review.undo(row.id, PERSON)
    assert told(desk) == []


def test_what_was_undone_after_it_was_told_is_told_as_undone(desk: NotesDesk) -> None:
    name = suggest(desk, "one", "1")
    row = decide(desk, ACCEPT, name)
    assert len(told(desk)) == 1
    desk.notes.review.undo(row.id, PERSON, "una")
    assert told(desk) == [f'- {name} decision undone by una, pending again: "one" -> "1"']
    assert told(desk) == []
    again = decide(desk, REJECT, name)
    desk.notes.review.undo(again.id, PERSON)
    assert told(desk) == []
    decide(desk, REJECT, name)
    assert told(desk) == [f'- {name} rejected by paul: "one" -> "1"']


def test_the_last_word_is_told_where_several_were_spoken(desk: NotesDesk) -> None:
    name = suggest(desk, "one", "1")
    first = decide(desk, ACCEPT, name)
    assert len(told(desk)) == 1
    desk.notes.review.undo(first.id, PERSON)
    second = decide(desk, REJECT, name)
    desk.notes.review.undo(second.id, PERSON)
    assert told(desk) == [f'- {name} decision undone by paul, pending again: "one" -> "1"']


def test_a_read_that_fails_tells_nothing(desk: NotesDesk) -> None:
    decide(desk, ACCEPT, suggest(desk, "one", "1"))
    desk.refused("read", "invalid_params", path="kb://A.md", view="none")
    assert len(told(desk)) == 1


def test_a_read_that_is_cancelled_tells_nothing(
    desk: NotesDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    decide(desk, ACCEPT, suggest(desk, "one", "1"))
    begun, free, ended = threading.Event(), threading.Event(), threading.Event()
    review, was_shown = desk.notes.review, NoteDocument.was_shown
    look = review.news

    def slow(author: Author, note: str) -> tuple[list[News], int]:
        begun.set()
        assert free.wait(60)
        return look(author, note)

    def ending(document: NoteDocument) -> None:
        was_shown(document)
        ended.set()

    async def cancelled() -> None:
        toolbox, arguments = desk.application.toolbox, {"path": "kb://A.md"}
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(toolbox.call, "read", arguments, desk.caller))
            assert await anyio.to_thread.run_sync(begun.wait, 60)
            tasks.cancel_scope.cancel()

    with monkeypatch.context() as patched:
        patched.setattr(review, "news", slow)
        patched.setattr(NoteDocument, "was_shown", ending)
        anyio.run(cancelled)
        free.set()
        assert ended.wait(60)
    assert len(told(desk)) == 1


def test_what_was_not_told_yet_is_told_after_a_restart(tmp_path: Path) -> None:
    with notes_desk(tmp_path) as desk:
        desk.note("A.md", "one two\n")
        told_before, untold = suggest(desk, "one", "1"), suggest(desk, "two", "2")
        decide(desk, ACCEPT, told_before)
        assert len(told(desk)) == 1
        decide(desk, REJECT, untold)
    with notes_desk(tmp_path) as desk:
        assert told(desk) == [f'- {untold} rejected by paul: "two" -> "2"']
    with notes_desk(tmp_path) as desk:
        assert told(desk) == []


@pytest.mark.thorough
def test_many_are_told_some_at_a_time_and_none_is_lost(tmp_path: Path) -> None:
    with notes_desk(tmp_path, max_output_chars=4_000) as desk:
        count = 50
        desk.note("A.md", "".join(f"word{number:02}\n" for number in range(count)))
        for number in range(count):
            desk.edit("kb://A.md", f"word{number:02}", f"x{number}")
        rows = desk.json("list_my_suggestions", state="pending", limit=1_000)["suggestions"]
        assert rows
        ids = {one.id for one in desk.notes.review.suggestions(QUERY, PERSON).suggestions}
        desk.notes.review.decide(sorted(ids), Verdict(REJECT, reason="r" * 60), PERSON)
        seen: list[str] = []
        while True:
            text = desk.text("read", path="kb://A.md")
            assert len(text) <= 4_000
            lines = text.partition(f"{DECIDED}\n")[2].splitlines()
            seen += [line.split()[1] for line in lines if line.startswith("- ")]
            if not lines or not lines[-1].startswith("("):
                break
            left = count - len(seen)
            assert lines[-1] == (
                f"({left} more: the next read tells them; list_my_suggestions lists all)"
            )
        assert sorted(seen) == sorted(ids)
        assert told(desk) == []


def test_a_person_is_told_nothing_and_nothing_is_kept_for_them(desk: NotesDesk) -> None:
    desk.typed("A.md", "{++typed++}")
    (found,) = desk.notes.review.suggestions(QUERY, PERSON).suggestions
    assert found.author == "person"
    decide(desk, ACCEPT, found.id)
    assert not desk.notes.tables.outcomes.may_have_news("person", found.note)
    desk.caller = desk.someone("person")
    assert told(desk) == []


def test_a_note_without_news_is_read_without_a_turn_of_the_notes(desk: NotesDesk) -> None:
    desk.text("read", path="kb://A.md")
    note = desk.notes.ask(lambda library: library.find("A.md").id)
    free = threading.Event()
    held = desk.notes.submit(lambda _: free.wait(60))
    try:
        assert desk.notes.review.news(desk_author(desk), note) == ([], 0)
    finally:
        free.set()
        held.result(60)


# ── list_my_suggestions ─────────────────────────────────────────────────────────────────────────


def listed(desk: NotesDesk, **arguments: Any) -> dict[str, str]:
    """States by id."""
    rows = desk.json("list_my_suggestions", **arguments)["suggestions"]
    return {row["id"]: row["state"] for row in rows}


def test_ones_own_suggestions_are_listed_with_their_states(desk: NotesDesk) -> None:
    desk.note("F/B.md", "four five six seven\n")
    accepted, rejected = suggest(desk, "one", "1"), suggest(desk, "two", "2")
    edited, pending = suggest(desk, "three", "3"), suggest(desk, "four", "4", "kb://F/B.md")
    withdrawn, gone = (
        suggest(desk, old, new, "kb://F/B.md") for old, new in (("five", "5"), ("seven", "7"))
    )
    decide(desk, ACCEPT, accepted)
    decide(desk, Verdict(REJECT, reason="no"), rejected)
    decide(desk, Verdict(ACCEPT, text="III"), edited)
    desk.edit("kb://F/B.md", "5", "five")
    raw = desk.raw("F/B.md")
    assert "5" not in raw
    erase(desk, "F/B.md", "{--seven--}{++7++}")
    expected = {
        gone: "gone",
        withdrawn: "withdrawn",
        pending: "pending",
        edited: "edited",
        rejected: "rejected",
        accepted: "accepted",
    }
    assert list(listed(desk).items()) == list(expected.items())
    for name, state in expected.items():
        assert listed(desk, state=state) == {name: state}
    assert set(listed(desk, note="kb://A.md")) == {accepted, rejected, edited}
    assert listed(desk, note="kb://None.md") == {}
    rows = {row["id"]: row for row in desk.json("list_my_suggestions")["suggestions"]}
    assert rows[rejected] | {"time": "", "decided": ""} == {
        "id": rejected,
        "note": "kb://A.md",
        "state": "rejected",
        "time": "",
        "old": "two",
        "new": "2",
        "by": "paul",
        "decided": "",
        "reason": "no",
        "comments": [],
    }
    assert (rows[edited]["text"], rows[edited]["new"]) == ("III", "3")
    assert (rows[pending]["line"], "by" in rows[pending]) == (1, False)
    assert rows[gone]["old"] == "seven"
    desk.caller = desk.someone("bob")
    assert listed(desk) == {}


def test_an_undone_decision_is_pending_and_a_deleted_note_has_none_left(desk: NotesDesk) -> None:
    name = suggest(desk, "one", "1")
    row = decide(desk, ACCEPT, name)
    desk.notes.review.undo(row.id, PERSON)
    assert listed(desk) == {name: "pending"}
    desk.notes.ask(lambda library: library.delete(library.find("A.md").id))
    assert listed(desk) == {name: "gone"}


def test_pages_follow_each_other_within_the_budget(tmp_path: Path) -> None:
    with notes_desk(tmp_path, max_output_chars=1_500) as desk:
        desk.note("A.md", "".join(f"word{number:02}\n" for number in range(20)))
        for number in range(20):
            desk.edit("kb://A.md", f"word{number:02}", f"x{number}")
        for one in desk.notes.review.suggestions(QUERY, PERSON).suggestions[::2]:
            decide(desk, ACCEPT, one.id)
        found: list[str] = []
        cursor: str | None = None
        while True:
            answer = desk.call("list_my_suggestions", **({"cursor": cursor} if cursor else {}))
            assert answer.data is not None
            assert len(answer.text) <= 1_500
            found += [row["old"] for row in answer.data["suggestions"]]
            cursor = answer.data["next"]
            if cursor is None:
                break
        assert sorted(found) == [f"word{number:02}" for number in range(20)]
        assert found == sorted(found, reverse=True)


def test_a_comment_on_a_suggestion_is_listed_with_it(desk: NotesDesk) -> None:
    name = suggest(desk, "one", "1")
    author = desk_author(desk)
    desk.notes.commenting.on_suggestion("A.md", name, "Why?", PERSON, author)
    (row,) = desk.json("list_my_suggestions")["suggestions"]
    assert [one["text"] for one in row["comments"]] == ["Why?"]


@pytest.mark.parametrize("role", list(Role))
def test_it_is_for_those_who_may_suggest(desk: NotesDesk, role: Role) -> None:
    desk.caller = desk.someone("somebody", role)
    may = role >= Role.SUGGEST
    assert ("list_my_suggestions" in desk.tool_names()) == may
    assert desk.call("list_my_suggestions").code == (None if may else "access_denied")


def test_where_there_are_only_notes_it_is_called_and_not_listed(tmp_path: Path) -> None:
    with notes_desk(tmp_path, no_workspace=True) as desk:
        assert "list_my_suggestions" not in desk.tool_names()
        assert desk.json("list_my_suggestions") == {"suggestions": [], "next": None}


def test_what_the_caller_may_read_no_longer_is_not_named(desk: NotesDesk) -> None:
    desk.note("F/B.md", "four\n")
    name, other = suggest(desk, "one", "1"), suggest(desk, "four", "4", "kb://F/B.md")
    decide(desk, ACCEPT, name)
    desk.caller = desk.someone("ann", Role.SUGGEST, "F")
    assert listed(desk) == {other: "pending"}


def test_the_states_are_those_that_are_documented() -> None:
    assert my_suggestions._STATES == STATES
