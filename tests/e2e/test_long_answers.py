"""Own promise: clients load the file tools at once, and get the longest answer they show whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal
from tests.e2e.agent import Agent, agent
from tests.e2e.notes import filled
from tests.transports.clients import HANDSHAKE, RawLines, Server, join, serving, tool_call

HINT = {"anthropic/alwaysLoad": True, "anthropic/maxResultSizeChars": 150_000}
CLAUDE = {"name": "claude-code", "version": "2.1.197"}
OLD_CLAUDE = {"name": "claude-code", "version": "2.1.90"}
LINE = "x" * 90
LINES = 1_000
"""A file whose view has 98,000 characters."""
WHOLE = LINES * (len(LINE) + 8) - 1


def hinted(running: Agent) -> set[str]:
    """The tools that say they want to be loaded, and how long their answers may be."""
    found = {name: tool.meta for name, tool in running.listed().items() if tool.meta}
    assert all(meta == HINT for meta in found.values())
    return set(found)


# ── what tools say of themselves ────────────────────────────────────────────────────────────────


def test_the_five_file_tools_of_each_mode_ask_to_be_loaded(normal: Agent, compat: Agent) -> None:
    assert hinted(normal) == {"grep", "glob", "view", "str_replace", "create_file"}
    assert hinted(compat) == {"grep", "glob", "read", "edit", "write"}


def test_over_notes_alone_it_is_the_tools_of_notes(tmp_path: Path) -> None:
    kb = filled(tmp_path / "kb", {"Note.md": "text"})
    with agent(tmp_path, ["--no-workspace", "--kb", str(kb)]) as running:
        assert hinted(running) == {"read", "edit", "grep", "glob", "get_links"}


# ── how long answers are ────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def long_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("long")
    (made / "long.txt").write_text(f"{LINE}\n" * LINES, encoding="ascii")
    return made


@contextmanager
def served(workdir: Path, flags: Sequence[str] = ()) -> Iterator[Server]:
    with serving(workdir, ["--no-index", *flags]) as server:
        yield server


@pytest.fixture(scope="module")
def server(long_tree: Path) -> Iterator[Server]:
    with served(long_tree) as running:
        yield running


def answered(server: Server, client: dict[str, str], tool: str, **arguments: Any) -> str:
    """The answer on TCP, by the short way of plain calls."""
    with RawLines(server.open_tcp()) as lines:
        assert "result" in lines.ask("initialize", 0, **HANDSHAKE | {"clientInfo": client})
        lines.send(tool_call(tool, 1, **arguments))
        text: str = lines.receive()["result"]["content"][0]["text"]
        return text


def test_a_client_that_honours_the_hint_gets_a_long_answer_whole(server: Server) -> None:
    assert len(answered(server, CLAUDE, "view", path="long.txt")) == WHOLE
    assert len(answered(server, CLAUDE, "read", file_path="long.txt")) == WHOLE


@pytest.mark.parametrize("client", [{"name": "tests", "version": "9.9.9"}, OLD_CLAUDE])
def test_any_other_client_gets_what_it_shows_and_how_to_go_on(
    server: Server, client: dict[str, str]
) -> None:
    told = answered(server, client, "read", file_path="long.txt")
    assert 44_000 < len(told) <= 45_000
    assert "Continue with offset=" in told


def test_a_tool_that_carries_no_hint_stays_below_what_is_shown_without(server: Server) -> None:
    told = answered(server, CLAUDE, "read_code", file_path="long.txt")
    assert len(told) <= 46_000
    assert '"truncated":true' in told


def test_a_budget_that_is_given_holds_for_every_client(long_tree: Path) -> None:
    with served(long_tree, ["--max-output-chars", "20000"]) as server:
        for client in (CLAUDE, OLD_CLAUDE):
            assert 19_000 < len(answered(server, client, "view", path="long.txt")) <= 20_000
    with served(long_tree, ["--max-output-chars", "45000"]) as server:
        assert len(answered(server, CLAUDE, "view", path="long.txt")) <= 45_000


@pytest.mark.parametrize(
    ("kind", "era"), [("http", "legacy"), ("http", "modern"), ("tcp", "legacy"), ("unix", "modern")]
)
def test_clients_are_known_on_every_transport(server: Server, kind: str, era: str) -> None:
    with ExitStack() as opened:
        portal = opened.enter_context(start_blocking_portal())
        for name, longest in (("tests", 45_000), ("claude-code", 100_000)):
            joined = join(server, kind, era, name, version="2.1.197")
            session = opened.enter_context(portal.wrap_async_context_manager(joined))
            told = Agent(portal, session).text("view", path="long.txt")
            assert longest * 0.9 < len(told) <= longest
