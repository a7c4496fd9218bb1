"""`--read-only`: no tool that writes exists, by whatever name, on whatever way it is called."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal
from tests.e2e.agent import Agent, agent, text_of
from tests.e2e.everywhere import DIRECT, TOOLS, Everywhere, everywhere
from tests.e2e.notes import filled
from tests.transports.clients import join

from flashgrep.notes.access.roles import Role
from flashgrep.notes.access.tokens import Tokens
from flashgrep.tools.catalog import all_tools

WRITING = {name for spec in all_tools() if not spec.read_only for name in spec.names}
READING = {name for spec in all_tools() if spec.read_only for name in spec.names}
LINE = {"file_path": "a.txt", "start_line": 1, "end_line": 1, "replacement": "two"}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "str_replace": {"path": "a.txt", "old_str": "one", "new_str": "two"},
    "create_file": {"path": "new.txt", "content": "two\n"},
    "edit": {"file_path": "a.txt", "old_string": "one", "new_string": "two"},
    "write": {"file_path": "new.txt", "content": "two\n"},
    "write_code": LINE,
    "batch_write_code": {"operations": [LINE]},
}
NOTE_EDIT = {"file_path": "kb://Note.md", "old_string": "alpha", "new_string": "beta"}


@pytest.fixture(scope="module", params=["normal", "compat"])
def ways(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Everywhere]:
    """A read-only server on every way, in each naming mode, with a file and a note."""
    place = tmp_path_factory.mktemp("read-only")
    kb = filled(place / "kb", {"Note.md": "alpha\n"})
    work = place / "work"
    work.mkdir()
    (work / "a.txt").write_text("one\n", encoding="ascii")
    compat = ["--anthropic-compat"] if request.param == "compat" else []
    flags = ["--read-only", "--no-index", "--kb", str(kb), *compat]
    with everywhere(work, flags) as opened:
        yield opened


def test_no_tool_alias_or_method_writes_on_any_transport(ways: Everywhere) -> None:
    assert {*ARGUMENTS, "decide_suggestions"} <= WRITING
    for way, agent_there in ways.agents.items():
        listed = agent_there.listed()
        assert listed.keys() <= READING, way
        assert all(tool.annotations.read_only_hint for tool in listed.values() if tool.annotations)
        assert "This server is read-only" in (agent_there.session.instructions or ""), way
    for name in sorted(WRITING):
        for arguments in (ARGUMENTS.get(name, {}), NOTE_EDIT if name == "edit" else {}):
            for way in TOOLS:
                result = ways.agents[way].call(name, **arguments)
                assert (result.meta or {})["flashgrep/error"] == "invalid_params", way
                told = text_of(result)
                assert told.startswith(f"Unknown tool: '{name}'."), way
                assert "This server is read-only" in told, way
            for way in DIRECT:
                answer = ways.lines[way].ask(name, 1, **arguments)
                assert answer["error"]["code"] == -32601, (way, answer)
    with start_blocking_portal() as portal:
        # A token that may write notes opens no tool that writes either.
        token = Tokens(ways.workdir.parent / "kb").make("decider", Role.WRITE)
        joined = join(replace(ways.server, token=token), "http")
        with portal.wrap_async_context_manager(joined) as session:
            decider = Agent(portal, session)
            assert "list_suggestions" in decider.listed()
            for name in ("decide_suggestions", "edit"):
                decider.refused(name, "invalid_params", **NOTE_EDIT)
            assert "alpha" in decider.text("read", file_path="kb://Note.md")
            assert "{++" not in decider.text("read", file_path="kb://Note.md", view="raw")
    assert {path.name for path in ways.workdir.iterdir()} == {"a.txt", ".flashgrep"}
    assert (ways.workdir / "a.txt").read_text(encoding="ascii") == "one\n"


def test_every_tool_that_reads_is_there(ways: Everywhere) -> None:
    roles = {spec.name for spec in all_tools() if spec.role is not None}
    for name in sorted(READING - roles):
        for way in TOOLS:
            result = ways.agents[way].call(name)
            assert not text_of(result).startswith("Unknown tool"), (way, name)
    assert ways.ask("list_files")["files"] == ["a.txt"]


def test_over_notes_alone_too(tmp_path: Path) -> None:
    kb = filled(tmp_path / "kb", {"Note.md": "alpha\n"})
    with agent(tmp_path, ["--no-workspace", "--kb", str(kb), "--read-only"]) as running:
        assert list(running.listed()) == ["grep", "glob", "read", "get_links"]
        for name in sorted(WRITING):
            running.refused(name, "invalid_params")
        assert "This server is read-only" in (running.session.instructions or "")
