"""People who type over the real y-websocket, agents who suggest over MCP, and what each may do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import anyio
import pytest

from flashgrep.notes.access.roles import Role
from flashgrep.notes.document.note import RECORDS
from tests.notes.yjs import Node, running_node
from tests.transports.clients import join
from tests.web.served import TOKEN, Served
from tests.web.test_providers import Provider

Note = Callable[..., str]


@pytest.fixture(scope="module")
def node() -> Iterator[Node]:
    with running_node("provider.js") as running:
        yield running


@pytest.fixture(scope="module")
def ann(server: Served) -> str:
    return server.token("ann-types", Role.WRITE)


@pytest.fixture(scope="module")
def robot(server: Served) -> str:
    return server.token("robot-suggests", Role.SUGGEST)


def opened(node: Node, server: Served, path: str, token: str = TOKEN) -> Provider:
    provider = Provider(node, server, path, token=token)
    provider.wait(synced=True)
    return provider


def put(provider: Provider, at: int, text: str, remove: int = 0) -> None:
    provider.ask("splice", at=at, remove=remove, text=text)


def pending(server: Served, path: str) -> list[dict[str, Any]]:
    """What is listed, but for the text around it."""
    listed = server.get(f"/kb/suggestions?note={quote(path)}").json()["suggestions"]
    return [{key: one[key] for key in one if key != "context"} for one in listed]


def edit(server: Served, token: str, path: str, old: str, new: str) -> tuple[bool, str]:
    """What an agent is told; whether it is an error."""

    async def ask() -> tuple[bool, str]:
        async with join(server.server, "http", name="agent") as session:
            where = f"kb://{path}"
            await session.call_tool("read", {"file_path": where})
            wanted = {"file_path": where, "old_string": old, "new_string": new}
            answer = await session.call_tool("edit", wanted)
            return bool(answer.is_error), str(answer.content)

    server.server.token = token
    return anyio.run(ask)


def settled(server: Served, path: str, *providers: Provider) -> str:
    """The text that the server and all clients agree on."""
    text = server.text(path)
    for provider in providers:
        provider.wait(text=text)
    return text


# ── words of people in suggestions of agents ────────────────────────────────────────────────────


def test_an_agent_does_not_delete_what_a_person_typed_into_its_suggestion(
    node: Node, server: Served, note: Note, ann: str, robot: str
) -> None:
    """Issue 12, N1."""
    path = note("a brown fox\n")
    assert not edit(server, robot, path, "brown fox", "red fox")[0]
    person = opened(node, server, path, ann)
    text = person.ask("look")["text"]
    put(person, text.index("red") + 3, " and clever")
    watching = opened(node, server, path)
    watching.wait(holds="clever")
    is_error, told = edit(server, robot, path, "red and clever fox", "brown fox")
    assert is_error
    assert "ann-types typed into your pending suggestion" in told
    expected = "a {--brown fox--}{++red and clever fox++}\n"
    assert settled(server, path, person, watching) == expected
    (one,) = pending(server, path)
    assert (one["author"], one["new"]) == ("robot-suggests/agent", "red and clever fox")
    for provider in (person, watching):
        provider.ask("close")


# ── marks that people type ──────────────────────────────────────────────────────────────────────


def test_a_mark_typed_letter_by_letter_is_listed_decided_and_undone(
    node: Node, server: Served, note: Note, ann: str
) -> None:
    """Issue 12, N6: as Obsidian's Commentator writes them."""
    path = note("😀 start\n")
    person, watching = opened(node, server, path, ann), opened(node, server, path)
    for letter in "say {~~old~>new~~} {>>why<<} {==look==} `{++code++}`":
        person.type(letter)
    person.type("\n{++end++}")
    watching.wait(holds="end++}")
    listed = pending(server, path)
    assert sorted((one["author"], one["old"], one["new"]) for one in listed) == [
        ("ann-types", "", "end"),
        ("ann-types", "old", "new"),
    ]
    asked = {"ids": [one["id"] for one in listed], "action": "accept"}
    decided = server.post("/kb/suggestions/decide", asked).json()["results"]
    text = settled(server, path, person, watching)
    assert text == "😀 start\nsay new {>>why<<} {==look==} `{++code++}`\nend"
    for one in decided:
        assert server.post("/kb/suggestions/undo", {"decision": one["decision"]}).is_success
    again = pending(server, path)
    assert [(one["author"], one["old"], one["new"], one["time"]) for one in again] == [
        (one["author"], one["old"], one["new"], one["time"]) for one in listed
    ]
    assert "{~~old~>new~~}" in settled(server, path, person, watching)
    for provider in (person, watching):
        provider.ask("close")


def test_marks_in_a_note_made_by_http_are_suggestions_of_its_maker(
    server: Served, note: Note, ann: str
) -> None:
    path = note().replace("Note.md", "Other.md")
    text = "a {++new++}\n```\n{++code++}\n```\n"
    assert server.post("/kb/notes", {"path": path, "text": text}, ann).status_code == 201
    assert [(one["author"], one["new"]) for one in pending(server, path)] == [("ann-types", "new")]


# ── what peers write beside the text ────────────────────────────────────────────────────────────


def test_a_peer_cannot_suggest_in_anothers_name_or_time(
    node: Node, server: Served, note: Note, ann: str, robot: str
) -> None:
    """Issue 12, N10."""
    path = note("alpha beta\n")
    edit(server, robot, path, "beta", "gamma")
    (before,) = pending(server, path)
    person, watching = opened(node, server, path, ann), opened(node, server, path)
    person.type("{++x++}")
    value = {"kind": "suggestion", "author": "victim", "time": 1}
    for key in ("s_0123456789abcdef", before["id"]):
        forged = {"made": 1, "anchors": [], "value": value}
        client = person.ask("put", map=RECORDS, key=key, value=forged)["client"]
        forged["anchors"] = [[client, 0, client, 6]]
        person.ask("put", map=RECORDS, key=key, value=forged)
    person.type("!")
    watching.wait(holds="!")
    first, second = pending(server, path)
    assert first == before
    assert (second["author"], second["new"]) == ("ann-types", "x")
    assert second["time"] >= before["time"]
    assert second["id"] != "s_0123456789abcdef"
    person.ask("put", map=RECORDS, key=before["id"], value=None)
    person.type("?")
    watching.wait(holds="?")
    assert pending(server, path) == [first, second]
    for provider in (person, watching):
        provider.wait(map=RECORDS, keys=sorted((first["id"], second["id"])))
        provider.ask("close")


def test_a_typed_nul_is_a_replacement_character_for_everybody(
    node: Node, server: Served, note: Note, ann: str
) -> None:
    path = note("start ")
    person, watching = opened(node, server, path, ann), opened(node, server, path)
    person.type("a\0b")
    person.wait(text="start a\ufffdb")
    person.type("\0")
    person.wait(text="start a\ufffdb\ufffd")
    person.type("c")
    watching.wait(holds="c")
    assert settled(server, path, person, watching) == "start a\ufffdb\ufffdc"
    late = opened(node, server, path)
    assert late.ask("look")["text"] == "start a\ufffdb\ufffdc"
    for provider in (person, watching, late):
        provider.ask("close")


# ── names ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ["a\u202egpj.md", "a\u200b.md", ".hidden.md", ".git/x.md"])
def test_a_note_with_a_hidden_or_misleading_name_is_not_made(
    server: Served, note: Note, name: str
) -> None:
    made = note()
    path = made.replace("Note.md", name)
    refused = server.post("/kb/notes", {"path": path, "text": "x"})
    moved = server.post("/kb/notes/move", {"from": made, "to": path})
    for answer in (refused, moved):
        assert answer.status_code == 400
        assert "is not a valid path for a note" in answer.json()["error"]["message"]
    assert server.get(f"/kb/notes/{quote(path)}").status_code == 404
