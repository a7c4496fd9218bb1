"""Under which name a client's suggestions stand, on every transport that speaks lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import anyio
import mcp_types as types
import pytest
from mcp import ClientSession

from flashgrep.notes.access.roles import Grant, Principal, Role
from flashgrep.notes.home import Home
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.tools.dispatch.caller import UNNAMED, Caller, author_name
from tests.transports.clients import ERAS, Server, connect, join, serving

ONE = "One.md"
SOCKETS = [("unix", ""), ("tcp", "server/")]
NOTES = (ONE, *(f"{kind} {era}.md" for kind, _ in SOCKETS for era in ERAS))
"""A note for each test, which is then the first to suggest something there."""


def filled(path: Path) -> Path:
    Home.create(path)
    kb = KnowledgeBase(path)
    kb.ask(lambda library: [library.create(note, "hello world\n") for note in NOTES])
    kb.close()
    return path


async def suggests(session: ClientSession, note: str = ONE) -> str:
    """Suggest something; the author that the note tells, and the session was shown."""
    path = f"kb://{note}"
    await session.call_tool("read", {"path": path})
    edit = {"path": path, "old_string": "world", "new_string": "earth"}
    done = await session.call_tool("edit", edit)
    assert not done.is_error, done
    (block,) = (await session.call_tool("read", {"path": path})).content
    assert isinstance(block, types.TextContent)
    (author,) = re.findall(r"^- s_\w+ by (.*?), ", block.text, re.MULTILINE)
    assert isinstance(author, str)
    return author


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the workspace and the notes of the server are."""
    return tmp_path_factory.mktemp("shared")


@pytest.fixture(scope="module")
def server(place: Path) -> Iterator[Server]:
    (place / "work").mkdir()
    kb = filled(place / "kb")
    flags = ["--kb", str(kb), "--no-index", "--http-port", "none"]
    with serving(place / "work", flags) as running:
        yield running


@pytest.mark.parametrize("era", ERAS)
def test_on_stdio_it_is_the_clients_own_name(tmp_path: Path, era: str) -> None:
    (tmp_path / "work").mkdir()
    kb = filled(tmp_path / "kb")

    async def main() -> str:
        flags = ["--kb", str(kb), "--no-index"]
        async with connect("stdio", tmp_path / "work", flags, era=era) as session:
            return await suggests(session)

    assert anyio.run(main) == "tests"


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(("kind", "prefix"), SOCKETS)
def test_on_a_socket_too_behind_the_name_of_the_token_where_one_is_shown(
    server: Server, kind: str, prefix: str, era: str
) -> None:
    async def main() -> str:
        async with join(server, kind, era=era, name="my editor") as session:
            return await suggests(session, f"{kind} {era}.md")

    assert anyio.run(main) == f"{prefix}my editor"


@pytest.mark.usefixtures("server")
def test_a_client_that_joins_a_daemon_keeps_its_name(place: Path) -> None:
    """The daemon owns the notes: without joining it, this server could not have them."""

    async def main() -> str:
        flags = ["--kb", str(place / "kb"), "--no-index"]
        async with connect("stdio", place / "work", flags) as session:
            return await suggests(session)

    assert anyio.run(main) == "tests"


# ── names ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("claude-code", "claude-code"),
        ("  two\n words\t", "two words"),
        ("", UNNAMED),
        ("\0\x1b", UNNAMED),
        ("half \ud83d", "half"),
        ("日本 😀", "日本 😀"),
        ("x" * 500, "x" * 100),
    ],
)
def test_a_name_is_one_line_that_can_be_told(given: str, name: str) -> None:
    assert author_name(given) == name


def test_a_name_changes_nothing_of_what_a_caller_may_do() -> None:
    grants = (Grant(Role.READ, "F"),)
    caller = Caller("x", token="laptop", principal=Principal("laptop", grants))
    caller.call_itself("claude")
    assert caller.author == "laptop/claude"
    assert caller.principal == Principal("laptop/claude", grants)


def test_a_caller_nobody_named_may_suggest_everywhere() -> None:
    caller = Caller("x")
    assert caller.author == UNNAMED
    assert caller.principal.may(Role.SUGGEST, "Any.md")
    assert not caller.principal.is_anywhere(Role.WRITE)
