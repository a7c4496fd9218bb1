"""The real Claude Code, asked by a scripted model: what it loads, calls and shows its model.

`make claude` fetches it and runs these; they need the program that CLAUDE_CODE names.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.scripted_model import Call, ClaudeCode, Model
from tests.transports.clients import FLASHGREP, Server, environment, serving

from flashgrep import limits

PROGRAM = os.environ.get("CLAUDE_CODE", "")

pytestmark = [
    pytest.mark.skipif(
        not PROGRAM, reason="CLAUDE_CODE names no program of npm's @anthropic-ai/claude-code"
    ),
    pytest.mark.timeout(600),
]

LINES = [f"{number:06} {'x' * 83}" for number in range(1_000)]
SHOWN = "\n".join(f"{number:6}\t{line}" for number, line in enumerate(LINES, 1))
"""A read of 97,999 characters."""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A workspace, and a home of Claude Code's own beside it."""
    for name in ("work", "claude", "work-home"):
        (tmp_path / name).mkdir()
    (tmp_path / "work" / "a.py").write_text("answer = 41\n", encoding="ascii")
    (tmp_path / "work" / "long.txt").write_text("\n".join(LINES) + "\n", encoding="ascii")
    return tmp_path


def claude(place: Path, server: dict[str, Any]) -> ClaudeCode:
    return ClaudeCode(PROGRAM, place / "claude", place / "work", {"flashgrep": server})


def stdio(place: Path, *flags: str) -> dict[str, Any]:
    """`flashgrep mcp` as `claude mcp add` would have it; what it logs is kept."""
    home = place / "work-home"
    script = 'exec "$@" 2>"$LOG"'
    command = [*FLASHGREP, "mcp", "--workdir", str(place / "work"), *flags]
    env = environment(home) | {"LOG": str(home / "mcp.log")}
    return {"command": "/bin/sh", "args": ["-c", script, "sh", *command], "env": env}


def ours(*calls: tuple[str, dict[str, Any]]) -> list[Call]:
    return [(f"mcp__flashgrep__{name}", arguments) for name, arguments in calls]


def named(model: Model) -> set[str]:
    """Our tools in the first request."""
    mark = "mcp__flashgrep__"
    return {name.removeprefix(mark) for name in model.tools if name.startswith(mark)}


def test_it_is_what_we_think_it_is() -> None:
    told = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True)
    print(told.stdout.strip())  # noqa: T201 - to be seen in the output of make claude
    assert "Claude Code" in told.stdout


def test_it_names_the_five_file_tools_at_once_and_calls_them(place: Path) -> None:
    calls = ours(
        ("grep", {"pattern": "answer", "output_mode": "content"}),
        ("glob", {"pattern": "*.py"}),
        ("read", {"file_path": "a.py"}),
        ("edit", {"file_path": "a.py", "old_string": "41", "new_string": "42"}),
        ("write", {"file_path": "b.py", "content": "new = 1\n"}),
    )
    with Model(calls) as model:
        claude(place, stdio(place, "--anthropic-compat")).run(model)
    assert named(model) == {"grep", "glob", "read", "edit", "write"}
    assert model.results[:3] == ["a.py:1:answer = 41", "a.py", "     1\tanswer = 41"]
    assert (place / "work" / "a.py").read_text(encoding="ascii") == "answer = 42\n"
    assert (place / "work" / "b.py").read_text(encoding="ascii") == "new = 1\n"


def test_a_long_read_reaches_its_model_whole(place: Path) -> None:
    with Model(ours(("read", {"file_path": "long.txt"}))) as model:
        claude(place, stdio(place, "--anthropic-compat")).run(model)
    assert model.results == [SHOWN]
    assert len(SHOWN) > 97_000


def test_the_default_budget_of_other_clients_would_be_shown_whole_too(place: Path) -> None:
    with Model(ours(("view", {"path": "long.txt"}))) as model:
        claude(place, stdio(place, "--max-output-chars", str(limits.OUTPUT_CHARS))).run(model)
    assert named(model) == {"grep", "glob", "view", "str_replace", "create_file"}
    (told,) = model.results
    assert 44_000 < len(told) <= limits.OUTPUT_CHARS
    assert "view_range" in told.splitlines()[-1], "how to go on is not lost"


@pytest.fixture
def server(place: Path) -> Iterator[Server]:
    with serving(place / "work", ["--no-index"], home=place / "work-home") as running:
        yield running


def test_beside_a_server_it_shares_that_in_its_own_mode(place: Path, server: Server) -> None:
    flags = ("--no-index", "--anthropic-compat", "--read-only")
    with Model(ours(("read", {"file_path": "long.txt"}))) as model:
        claude(place, stdio(place, *flags)).run(model)
    assert named(model) == {"grep", "glob", "read"}
    assert model.results == [SHOWN]
    log = (place / "work-home" / "mcp.log").read_text(encoding="utf-8")
    assert "not joining" not in log


def test_over_http_too(place: Path, server: Server) -> None:
    headers = {"Authorization": f"Bearer {server.token}"}
    with Model(ours(("view", {"path": "long.txt"}))) as model:
        claude(place, {"type": "http", "url": server.url, "headers": headers}).run(model)
    assert named(model) == {"grep", "glob", "view", "str_replace", "create_file"}
    assert model.results == [SHOWN]


def test_without_the_token_it_says_where_that_is(place: Path, server: Server) -> None:
    with Model([]) as model:
        told = claude(place, {"type": "http", "url": server.url}).run(model)
    assert named(model) == set()
    failure = next(line for line in told.splitlines() if "Connection failed" in line)
    assert "header Authorization, as Bearer TOKEN; it is kept in" in failure
    assert str(server.token) not in told
