"""Tokens of the knowledge base on the TCP port: `auth` takes them, with the rights of HTTP."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from flashgrep.errors import AccessDenied
from flashgrep.notes.access.roles import Role
from flashgrep.notes.access.tokens import Tokens
from flashgrep.tools.dispatch.caller import Caller
from flashgrep.transports.access import Authorisation, Entrance, TokenRefused
from tests.transports.clients import RawLines, tool_call
from tests.web.served import TOKEN, Served, served

EDIT = {"file_path": "kb://N.md", "old_string": "beta", "new_string": "gamma"}
TCP = ("--tcp-port", "auto")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "a.txt").write_text("a file\n")
    notes = {"N.md": "alpha beta\n", "Other/M.md": "more\n"}
    with served(tmp_path, notes, flags=("--token", TOKEN, *TCP)) as running:
        yield running


@contextmanager
def shown(server: Served, token: str) -> Iterator[RawLines]:
    """A connection that has shown a token and shaken hands."""
    with RawLines(server.server.open_tcp()) as client:
        assert client.ask("auth", 0, token=token)["result"] == {"ok": True}
        client.start()
        yield client


def call(client: RawLines, tool: str, **arguments: Any) -> str:
    """A tool's text, or the code of its refusal."""
    client.send(tool_call(tool, 1, **arguments))
    result = client.receive()["result"]
    return str(result.get("_meta", {}).get("flashgrep/error", result["content"][0]["text"]))


def agents(server: Served) -> str:
    """The token that is kept for the agents of this workspace."""
    (line,) = [line for line in server.server.told if line.startswith("  agent")]
    found = re.search(r"\(kept in (.+)\):", line)
    assert found, line
    return Path(found[1]).read_text(encoding="ascii").strip()


def tools(client: RawLines) -> set[str]:
    return {tool["name"] for tool in client.ask("tools/list", 2)["result"]["tools"]}


def test_the_agents_token_opens_the_files_and_suggests_on_notes(server: Served) -> None:
    with shown(server, agents(server)) as client:
        assert "a file" in call(client, "view", path="a.txt")
        assert "made" in call(client, "create_file", path="made.txt", content="x\n")
        assert client.ask("get_slice", 3, file_path="a.txt", start_line=1, end_line=1)["result"]
        assert "alpha" in call(client, "read", file_path="kb://N.md")
        assert "Edited" in call(client, "edit", **EDIT)
        assert call(client, "decide_suggestions", ids=[], action="accept") == "access_denied"
        assert not tools(client) & {"list_suggestions", "decide_suggestions"}
    (made,) = server.get("/kb/suggestions").json()["suggestions"]
    assert made["author"] == "agent/tests"


def test_a_token_of_the_notes_opens_its_folder_in_its_role_and_no_files(server: Served) -> None:
    with shown(server, server.token("reader", Role.READ, "Other")) as client:
        assert call(client, "view", path="a.txt") == "access_denied"
        direct = client.ask("get_slice", 3, file_path="a.txt", start_line=1, end_line=1)
        assert direct["error"]["data"]["code"] == "access_denied"
        assert "more" in call(client, "read", file_path="kb://Other/M.md")
        assert call(client, "read", file_path="kb://N.md") == "not_found"
        edit = {**EDIT, "file_path": "kb://Other/M.md", "old_string": "more"}
        assert call(client, "edit", **edit) == "access_denied"
    with shown(server, server.token("writer", Role.WRITE)) as client:
        assert {"list_suggestions", "decide_suggestions"} <= tools(client)


def test_the_last_token_that_was_shown_counts(server: Served) -> None:
    with shown(server, server.token("reader", Role.READ)) as client:
        assert call(client, "view", path="a.txt") == "access_denied"
        assert client.ask("auth", 2, token=TOKEN)["result"] == {"ok": True}
        assert "a file" in call(client, "view", path="a.txt")
        server.tokens.revoke("reader")
        assert "a file" in call(client, "view", path="a.txt")


@pytest.mark.thorough
def test_a_connection_closes_when_its_token_is_revoked(server: Served) -> None:
    token = server.token("reader", Role.READ)
    with shown(server, token) as idle, shown(server, TOKEN) as other:
        server.tokens.revoke("reader")
        assert idle.receive() is None  # though it asks for nothing
        assert "a file" in call(other, "view", path="a.txt")
    with RawLines(server.server.open_tcp()) as client:
        answer = client.ask("auth", 1, token=token)
        assert (answer["error"]["code"], answer["error"]["data"]["code"]) == (
            -32001,
            "access_denied",
        )
        assert client.receive() is None


def test_what_is_asked_with_a_revoked_token_is_refused_at_once(server: Served) -> None:
    with shown(server, server.token("reader", Role.READ)) as client:
        server.tokens.revoke("reader")
        client.send(tool_call("read", 7, file_path="kb://N.md"))
        answer = client.receive()  # or it is closed already, if somebody looked just then
        if answer is not None:
            assert (answer["id"], answer["error"]["data"]["code"]) == (7, "access_denied")
            assert client.receive() is None


def test_on_a_server_without_http_agents_have_a_token_too(tmp_path: Path) -> None:
    flags = ("--token", TOKEN, *TCP, "--http-port", "none")
    with served(tmp_path, {"N.md": "alpha beta\n"}, flags=flags) as server:
        with shown(server, agents(server)) as client:
            assert "alpha" in call(client, "read", file_path="kb://N.md")
        assert not any("claude mcp add" in line for line in server.server.told)


# ── without a server ────────────────────────────────────────────────────────────────────────────


def test_a_token_that_expires_ends_its_connection(tmp_path: Path) -> None:
    now = 1_000
    tokens = Tokens(tmp_path, lambda: now)
    secret = tokens.make("brief", Role.READ, expires=2_000)
    caller = Caller("me", may_write=False, token="server")
    gate = Authorisation(caller, Entrance("T", tokens), locked=True)
    with pytest.raises(AccessDenied):
        gate.check("tools/list")
    gate.present({"token": secret})
    gate.check("tools/list")
    assert (caller.author, caller.principal.name, caller.notes_only) == (
        "brief/unknown",
        "brief/unknown",
        True,
    )
    now = 3_000
    with pytest.raises(TokenRefused):
        gate.check("tools/list")
    with pytest.raises(AccessDenied):
        gate.present({"token": secret})
    gate.present({"token": "T"})
    gate.check("tools/list")
    assert (caller.author, caller.notes_only) == ("server/unknown", False)
