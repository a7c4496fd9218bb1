"""list_suggestions and decide_suggestions: for those with the role, as a transport calls them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flashgrep import limits
from flashgrep.notes.access.roles import Role
from tests.tools.notes_desk import NotesDesk, notes_desk
from tests.tools.workshop import workshop

BOTH = {"list_suggestions", "decide_suggestions"}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[NotesDesk]:
    """Three suggestions by two agents in two notes; the caller may decide."""
    with notes_desk(tmp_path) as made:
        made.note("A.md", "one two\n")
        made.note("F/B.md", "three\n")
        made.edit("kb://A.md", "one", "1")
        made.caller = made.someone("bob")
        made.edit("kb://A.md", "two", "2")
        made.edit("kb://F/B.md", "three", "")
        made.caller = made.someone("reviewer", Role.WRITE)
        yield made


def listed(desk: NotesDesk, **arguments: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = desk.json("list_suggestions", **arguments)["suggestions"]
    return found


def ids(desk: NotesDesk) -> dict[str, str]:
    """Ids by what the suggestions take away."""
    return {row["old"]: row["id"] for row in listed(desk)}


# ── who may ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("role", list(Role))
def test_they_are_listed_and_callable_for_the_role_write_and_above(
    desk: NotesDesk, role: Role
) -> None:
    desk.caller = desk.someone("somebody", role)
    may = role >= Role.WRITE
    assert BOTH & set(desk.tool_names()) == (BOTH if may else set())
    answer = desk.call("list_suggestions")
    assert answer.code == (None if may else "access_denied")
    answer = desk.call("decide_suggestions", ids=["s_x"], action="accept")
    assert answer.code == (None if may else "access_denied")


def test_without_a_knowledge_base_there_are_none(tmp_path: Path) -> None:
    with workshop(tmp_path) as desk:
        names = {tool.name for tool in desk.application.toolbox.listed()}
        assert not (BOTH | {"get_links"}) & names


def test_the_instructions_do_not_name_what_most_cannot_call(desk: NotesDesk) -> None:
    instructions = desk.application.toolbox.instructions
    for name in ("get_links", "list_my_suggestions", "reply_comment"):
        assert name in instructions
    assert " list_suggestions" not in instructions
    assert "decide_suggestions" not in instructions


# ── listing ─────────────────────────────────────────────────────────────────────────────────────


def test_a_suggestion_is_told_with_its_place_and_context(desk: NotesDesk) -> None:
    row = listed(desk)[1]
    assert row["id"].startswith("s_")
    assert (row["note"], row["line"], row["author"]) == ("kb://A.md", 1, "bob")
    assert (row["old"], row["new"]) == ("two", "2")
    assert row["context"] == {"before": "one ", "after": "\n"}
    assert row["time"].startswith("20")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, ["one", "two", "three"]),
        ({"note": "kb://A.md"}, ["one", "two"]),
        ({"note": "F/B.md"}, ["three"]),
        ({"author": "bob"}, ["two", "three"]),
        ({"author": "nobody"}, []),
        ({"older_than": "1h"}, []),
        ({"newer_than": "1h"}, ["one", "two", "three"]),
        ({"newer_than": "2020-01-01"}, ["one", "two", "three"]),
        ({"limit": 2}, ["one", "two"]),
    ],
)
def test_a_list_is_narrowed(
    desk: NotesDesk, arguments: dict[str, Any], expected: list[str]
) -> None:
    found = [row["old"] for row in listed(desk, **arguments)]
    assert sorted(found) == sorted(expected)


def test_pages_follow_each_other(tmp_path: Path) -> None:
    with notes_desk(tmp_path, max_output_chars=1_500) as desk:
        desk.note("A.md", "".join(f"word{number:02}\n" for number in range(20)))
        for number in range(20):
            desk.edit("kb://A.md", f"word{number:02}", f"x{number}")
        desk.caller = desk.someone("reviewer", Role.WRITE)
        found: list[str] = []
        cursor: str | None = None
        while True:
            more = {} if cursor is None else {"cursor": cursor}
            answer = desk.call("list_suggestions", **more)
            assert answer.data is not None
            assert len(answer.text) <= 1_500
            found += [row["old"] for row in answer.data["suggestions"]]
            cursor = answer.data["next"]
            if cursor is None:
                break
        assert sorted(found) == [f"word{number:02}" for number in range(20)]


def test_only_ones_own_folders_are_listed_and_decided(desk: NotesDesk) -> None:
    everything = ids(desk)
    desk.caller = desk.someone("reviewer", Role.WRITE, "F")
    assert [row["note"] for row in listed(desk)] == ["kb://F/B.md"]
    told = desk.json(
        "decide_suggestions", ids=[everything["one"], everything["three"]], action="accept"
    )
    assert [row["status"] for row in told["results"]] == ["not_found", "done"]
    assert desk.raw("A.md").startswith("{--one--}{++1++}")


# ── deciding ────────────────────────────────────────────────────────────────────────────────────


def test_accepting_and_rejecting_leave_plain_text(desk: NotesDesk) -> None:
    known = ids(desk)
    told = desk.json("decide_suggestions", ids=[known["one"], known["three"]], action="accept")
    assert told["decided"] == 2
    assert [row["status"] for row in told["results"]] == ["done", "done"]
    assert [row["by"] for row in told["results"]] == ["reviewer", "reviewer"]
    assert desk.json("decide_suggestions", ids=[known["two"]], action="reject")["decided"] == 1
    assert desk.raw("A.md") == "1 two\n"
    assert desk.raw("F/B.md") == "\n"
    assert listed(desk) == []


def test_what_its_author_has_changed_since_it_was_listed_stays_pending(desk: NotesDesk) -> None:
    seen = {row["old"]: row for row in listed(desk)}
    reviewer, desk.caller = desk.caller, desk.someone("bob")
    desk.edit("kb://A.md", "2", "9999")
    desk.caller = reviewer
    expected = {row["id"]: row["digest"] for row in seen.values()}
    told = desk.json("decide_suggestions", ids=list(expected), action="accept", expected=expected)
    statuses = {row["id"]: row["status"] for row in told["results"]}
    assert [statuses[seen[old]["id"]] for old in ("one", "two", "three")] == [
        "done",
        "changed",
        "done",
    ]
    (left,) = listed(desk)
    assert (left["id"], left["new"]) == (seen["two"]["id"], "9999")
    assert desk.raw("A.md") == "1 {--two--}{++9999++}\n"
    expected = {left["id"]: left["digest"]}
    told = desk.json("decide_suggestions", ids=[left["id"]], action="accept", expected=expected)
    assert told["decided"] == 1
    name = left["id"]
    refusal = desk.error(
        "decide_suggestions",
        "invalid_params",
        ids=[name, "s_x"],
        action="accept",
        expected=expected,
    )
    assert "s_x is in only one of ids and expected" in refusal["message"]


def test_the_first_decision_counts(desk: NotesDesk) -> None:
    name = ids(desk)["one"]
    desk.json("decide_suggestions", ids=[name], action="accept")
    told = desk.json("decide_suggestions", ids=[name], action="reject")
    (row,) = told["results"]
    assert told["decided"] == 0
    assert (row["status"], row["action"], row["by"]) == ("already_decided", "accept", "reviewer")
    assert desk.raw("A.md").startswith("1 ")


@pytest.mark.parametrize(
    ("tool", "arguments", "word"),
    [
        ("decide_suggestions", {"ids": [], "action": "accept"}, "at least one"),
        ("decide_suggestions", {"ids": ["s_x"], "action": "keep"}, "action"),
        ("decide_suggestions", {"ids": ["s_x"]}, "action"),
        ("decide_suggestions", {"action": "accept"}, "ids"),
        ("decide_suggestions", {"ids": [5], "action": "accept"}, "ids"),
        ("list_suggestions", {"older_than": "soon"}, "older_than"),
        ("list_suggestions", {"note": "../x.md"}, "not a valid path of a note"),
        ("list_suggestions", {"limit": 0}, "limit"),
        ("list_suggestions", {"limit": 100_000}, "limit"),
        ("list_suggestions", {"cursor": "x"}, "cursor"),
    ],
)
def test_bad_arguments_are_refused(
    desk: NotesDesk, tool: str, arguments: dict[str, Any], word: str
) -> None:
    assert word in desk.error(tool, "invalid_params", **arguments)["message"]


def test_an_id_that_is_none_is_told_so(desk: NotesDesk) -> None:
    (row,) = desk.json("decide_suggestions", ids=["s_x"], action="accept")["results"]
    assert row["status"] == "not_found"


def test_of_very_many_ids_only_those_that_were_not_decided_are_listed(
    desk: NotesDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "DECISIONS_AT_ONCE", 2)
    names = list(ids(desk).values())
    told = desk.json("decide_suggestions", ids=[*names, "s_x"], action="accept")
    assert (told["decided"], told["failed"]) == (3, 1)
    assert [row["id"] for row in told["results"]] == ["s_x"]
    monkeypatch.setattr(limits, "DECISIONS_A_JOB", 3)
    message = desk.error(
        "decide_suggestions", "invalid_params", ids=[*names, "s_x"], action="accept"
    )
    assert "4 ids; decide at most 3 at once" in message["message"]
