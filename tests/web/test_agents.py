"""The line to paste into an agent: its token suggests, and opens the files; it decides nothing."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import anyio
import pytest
from mcp import ClientSession

from flashgrep.notes.access.roles import Role
from tests.terminal.console import flashgrep
from tests.transports.clients import join
from tests.web.served import TOKEN, Served, served

Value = TypeVar("Value")
LINE = re.compile(r"  claude mcp add --transport http flashgrep (\S+) --header (.+)")


def pasted(server: Served) -> str:
    """The token in the line, as a shell understands it."""
    found = [match for line in server.server.told if (match := LINE.fullmatch(line))]
    assert len(found) == 1, server.server.told
    assert found[0][1] == server.server.url
    said = subprocess.run(["sh", "-c", f"echo {found[0][2]}"], capture_output=True, check=True)
    return said.stdout.decode().strip().removeprefix("Authorization: Bearer ")


def as_agent(server: Served, work: Callable[[ClientSession], Awaitable[Value]]) -> Value:
    """Do something in an MCP session with the pasted token."""
    server.server.token = pasted(server)

    async def run() -> Value:
        async with join(server.server, "http", name="claude-code") as session:
            return await work(session)

    return anyio.run(run)


@pytest.mark.parametrize("flags", [("--token", TOKEN), ()])
def test_an_agent_has_its_tools_and_cannot_decide_by_any_way(
    tmp_path: Path, flags: tuple[str, ...]
) -> None:
    with served(tmp_path, {"N.md": "alpha beta\n"}, flags=flags) as server:
        owner, agent = server.server.token or TOKEN, pasted(server)
        assert owner not in "\n".join(line for line in server.server.told if "claude" in line)

        async def work(session: ClientSession) -> set[str]:
            made = {"path": "made.txt", "content": "by the agent\n"}
            assert not (await session.call_tool("create_file", made)).is_error
            shown = await session.call_tool("view", {"path": "made.txt"})
            assert "by the agent" in shown.content[0].text  # type: ignore[union-attr]
            await session.call_tool("read", {"file_path": "kb://N.md"})
            edit = {"file_path": "kb://N.md", "old_string": "beta", "new_string": "gamma"}
            assert not (await session.call_tool("edit", edit)).is_error
            decide = await session.call_tool("decide_suggestions", {"ids": [], "action": "accept"})
            assert decide.is_error
            return {tool.name for tool in (await session.list_tools()).tools}

        tools = as_agent(server, work)
        assert {"grep", "view", "create_file", "str_replace", "query", "edit", "read"} <= tools
        assert not tools & {"list_suggestions", "decide_suggestions"}
        assert (tmp_path / "workspace" / "made.txt").read_text() == "by the agent\n"

        found = server.get("/kb/suggestions", agent).json()["suggestions"]
        assert [one["author"] for one in found] == ["agent/claude-code"]
        decision = {"ids": [found[0]["id"]], "action": "accept"}
        assert server.post("/kb/suggestions/decide", decision, agent).status_code == 403
        note = {"path": "Other.md", "text": ""}
        assert server.post("/kb/notes", note, agent).status_code == 403
        with server.live("N.md", agent) as peer:
            peer.sync().type("written by the agent")
            assert peer.closed() == 4403
        assert server.post("/kb/suggestions/decide", decision, owner).status_code == 200
        undo = {"decision": server.get("/kb/decisions", agent).json()["decisions"][0]["decision"]}
        assert server.post("/kb/suggestions/undo", undo, agent).status_code == 403


def test_who_comes_without_a_token_is_told_where_the_agents_one_is(tmp_path: Path) -> None:
    with served(tmp_path, {"N.md": "text"}) as server:
        told = server.post("/mcp", {}, "wrong").json()["error"]["message"]
        path = Path(told.rpartition("it is kept in ")[2].partition(" (where")[0])
        assert path.read_text(encoding="ascii").strip() == pasted(server)


def test_other_machines_are_told_no_path_of_a_token(tmp_path: Path) -> None:
    flags = ("--token", TOKEN, "--host", "0.0.0.0", "--allow-dir", str(tmp_path))  # noqa: S104
    with served(tmp_path, {"N.md": "text"}, flags=flags) as server:
        told = server.post("/mcp", {}, "wrong").json()["error"]["message"]
        assert "Send the agent's token" in told
        assert "/" not in told


def test_a_request_to_decide_without_a_token_is_told_of_the_persons_one(tmp_path: Path) -> None:
    with served(tmp_path, {"N.md": "text"}) as server:
        decision = {"ids": ["s"], "action": "accept"}
        told = server.post("/kb/suggestions/decide", decision, "wrong").json()["error"]["message"]
        assert "Send the server's token" in told
        assert "agent" not in told


@pytest.mark.thorough
def test_the_token_outlives_restarts_and_a_revoked_one_is_dead_for_good(tmp_path: Path) -> None:
    def listed() -> list[str]:
        return flashgrep("kb", "token", "list", "--kb", str(tmp_path / "kb")).lines

    with served(tmp_path, {"N.md": "text"}) as server:
        first = pasted(server)
        assert server.get("/kb/notes/N.md", first).status_code == 200
    with served(tmp_path) as server:
        assert pasted(server) == first
        (row,) = listed()
        assert row.startswith("agent\tsuggest\teverything\tnever expires\t")
        assert "\tprinted by serve for" in row
        server.tokens.revoke("agent")
        assert server.get("/kb/notes/N.md", first).status_code == 401
        assert server.post("/mcp", {}, first).status_code == 401
        assert not listed()
    with served(tmp_path) as server:
        again = pasted(server)
        assert server.get("/kb/notes/N.md", again).status_code == 200
        assert server.get("/kb/notes/N.md", first).status_code == 401
        assert len(listed()) == 1


def test_the_token_of_another_workspace_opens_no_files_here(tmp_path: Path) -> None:
    with served(tmp_path, {"N.md": "text"}) as server:
        elsewhere = pasted(server)
    (tmp_path / "workspace").rename(tmp_path / "elsewhere")
    other = tmp_path / "other"
    other.mkdir()
    (other / "workspace").mkdir()
    (other / "kb").symlink_to(tmp_path / "kb")
    with served(other) as server:
        assert pasted(server) != elsewhere
        server.server.token = elsewhere

        async def work() -> tuple[bool, bool]:
            async with join(server.server, "http") as session:
                files = await session.call_tool("glob", {"pattern": "*"})
                notes = await session.call_tool("read", {"file_path": "kb://N.md"})
                return files.is_error, notes.is_error

        assert anyio.run(work) == (True, False)


def test_the_banner_says_what_is_mounted_and_whose_each_token_is(tmp_path: Path) -> None:
    with served(tmp_path, {"N.md": "", "Folder/M.md": ""}) as server:
        told = server.server.told
        assert f"  files  {tmp_path / 'workspace'}" in told
        assert f"  notes  {tmp_path / 'kb'}, 2 notes" in told
        token = "  token  the one given with --token: yours; admin on the notes, decides"
        assert any(line.startswith(token) for line in told)
        agent = re.compile(
            r"  agent  agent \(kept in .+/agents/.+\): suggest on the notes, decides nothing; .+"
        )
        assert any(map(agent.fullmatch, told))
    with served(tmp_path, flags=("--no-auth",)) as server:
        told = server.server.told
        assert not any(line.startswith("  agent") for line in told)
        assert f"  claude mcp add --transport http flashgrep {server.server.url}" in told
        assert any("every client decides" in line for line in told)
    with served(tmp_path, flags=("--token", TOKEN, "--no-workspace")) as server:
        told = server.server.told
        assert not any(line.startswith("  files") for line in told)
        assert pasted(server).startswith("fgkb_")


def test_without_a_token_for_agents_none_that_decides_is_printed(tmp_path: Path) -> None:
    with served(tmp_path, {"N.md": ""}) as server:
        kept = next((tmp_path / "kb" / "agents").iterdir())
        server.token("writer", Role.WRITE)
    kept.chmod(0o644)
    with served(tmp_path) as server:
        told = "\n".join(server.server.told)
        assert "claude mcp add" not in told
        assert re.search(r"  agent  none; make one with: .*flashgrep kb token make", told)
        assert "not for its owner alone" in server.server.log.read_text(encoding="utf-8")
