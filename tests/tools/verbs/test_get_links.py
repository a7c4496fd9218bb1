"""get_links as a transport calls it: shape, roles, pages, refusals."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from flashgrep.notes.access.roles import Role
from tests.tools.notes_desk import NotesDesk, notes_desk


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[NotesDesk]:
    with notes_desk(tmp_path) as made:
        made.note("A.md", "to [[B#Head|b]]\nand ![[pic.png]]\n[[Nowhere]] [[Secret]]\n")
        made.note("F/B.md", "back [a](../A.md)\n")
        made.note("Locked/Secret.md", "see [[A]]\n")
        yield made


def test_links_both_ways_are_told_with_their_lines(desk: NotesDesk) -> None:
    told = desk.json("get_links", file_path="kb://A.md")
    assert told["file_path"] == "kb://A.md"
    assert told["outgoing"][0] == {
        "target": "B",
        "line": 1,
        "text": "[[B#Head|b]]",
        "kind": "wiki",
        "anchor": "Head",
        "resolved": True,
        "path": "kb://F/B.md",
    }
    assert [row["resolved"] for row in told["outgoing"]] == [True, False, False, True]
    assert [row["kind"] for row in told["outgoing"]] == ["wiki", "embed", "wiki", "wiki"]
    assert told["unresolved"] == [
        {"target": "pic.png", "line": 2},
        {"target": "Nowhere", "line": 3},
    ]
    assert [(row["source"], row["line"]) for row in told["backlinks"]] == [
        ("kb://F/B.md", 1),
        ("kb://Locked/Secret.md", 1),
    ]
    assert (told["total_outgoing"], told["total_backlinks"]) == (4, 2)
    assert (told["truncated"], told["next_offset"], told["pending"]) == (False, None, [])


def test_a_pending_link_is_told_as_such(desk: NotesDesk) -> None:
    desk.edit("kb://F/B.md", "back [a](../A.md)", "back [[Nowhere]]")
    told = desk.json("get_links", file_path="kb://F/B.md")
    assert told["pending"] == [
        {"target": "../A.md", "line": 1, "pending": "remove"},
        {"target": "Nowhere", "line": 1, "pending": "add"},
    ]
    (back, _) = desk.json("get_links", file_path="kb://A.md")["backlinks"]
    assert back["pending"] == "remove"


def test_an_attachment_is_told_by_its_own_path(desk: NotesDesk) -> None:
    (desk.notes.home.attachments / "pic.png").write_bytes(b"x")
    row = desk.json("get_links", file_path="kb://A.md")["outgoing"][1]
    assert (row["resolved"], row["path"], row["attachment"]) == (True, "pic.png", True)


def test_what_a_caller_may_not_read_is_not_there(desk: NotesDesk) -> None:
    desk.note("Locked/B.md", "")
    desk.note("F/Secret.md", "")
    desk.caller = desk.someone("bob", Role.READ, "F", "A.md")
    told = desk.json("get_links", file_path="kb://A.md")
    paths = [row["path"] for row in told["outgoing"]]
    assert paths == ["kb://F/B.md", None, None, "kb://F/Secret.md"]
    assert [row["source"] for row in told["backlinks"]] == ["kb://F/B.md"]
    assert "Locked" not in str(told)
    error = desk.error("get_links", "not_found", file_path="kb://Locked/Secret.md")
    assert "Did you mean kb://F/Secret.md?" in error["message"]


def test_pages_go_through_both_ways_and_miss_nothing(desk: NotesDesk) -> None:
    desk.note("Hub.md", "".join(f"[[N{number}]]\n" for number in range(7)))
    for number in range(12):
        desk.note(f"N/N{number}.md", "[[Hub]]\n")
    out: list[str] = []
    back: list[str] = []
    offset: int | None = 0
    while offset is not None:
        told = desk.json("get_links", file_path="kb://Hub.md", limit=5, offset=offset)
        out += [row["path"] for row in told["outgoing"]]
        back += [row["source"] for row in told["backlinks"]]
        offset = told["next_offset"]
    assert out == [f"kb://N/N{number}.md" for number in range(7)]
    assert sorted(back) == sorted(f"kb://N/N{number}.md" for number in range(12))
    assert len(back) == 12


def test_an_answer_stays_in_its_budget_and_says_how_to_go_on(tmp_path: Path) -> None:
    with notes_desk(tmp_path, max_output_chars=3_000) as desk:
        desk.note("Hub.md", "")
        for number in range(60):
            desk.note(f"N{number:02}.md", "[[Hub]]\n")
        answer = desk.call("get_links", file_path="kb://Hub.md")
        assert len(answer.text) <= 3_000
        assert answer.data is not None
        assert answer.data["truncated"]
        assert answer.data["next_offset"] == len(answer.data["backlinks"]) > 0
        assert len(desk.direct("get_links", file_path="kb://Hub.md")["backlinks"]) == 60


@pytest.mark.parametrize("path", ["A.md", "kb://A.md", "KB://A.md"])
def test_the_scheme_may_be_left_out(desk: NotesDesk, path: str) -> None:
    assert desk.json("get_links", path=path)["file_path"] == "kb://A.md"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"file_path": "kb://B.md"}, "not_found"),
        ({"file_path": "kb://"}, "invalid_params"),
        ({"file_path": "kb://a/../b.md"}, "invalid_params"),
        ({}, "invalid_params"),
        ({"file_path": "A.md", "limit": 0}, "invalid_params"),
        ({"file_path": "A.md", "offset": -1}, "invalid_params"),
        ({"file_path": "A.md", "depth": 2}, "invalid_params"),
    ],
)
def test_bad_arguments_are_refused(
    desk: NotesDesk, arguments: dict[str, object], code: str
) -> None:
    desk.error("get_links", code, **arguments)
