"""The README's sessions, run: what it shows is what a reader gets."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.transports.clients import FLASHGREP, RawLines, environment, serving

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def block(first: str) -> str:
    """The code block that begins with a line."""
    found = re.search(rf"^```\n({re.escape(first)}.*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert found is not None, f"no block begins with {first}"
    return found[1]


@pytest.mark.parametrize("flags", [[], ["--anthropic-compat"]], ids=["normal", "compat"])
def test_a_session_of_the_example_is_what_the_readme_shows(flags: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "session.py"), *flags],
        capture_output=True,
        check=True,
        text=True,
        timeout=60,
    )
    assert f"```\n{done.stdout}```" in README


EXAMPLES: list[tuple[list[str], str]] = [
    (["session.py", "--anthropic-comp"], "usage: python examples/session.py"),
    (["http_session.py", "http://127.0.0.1:9/mcp"], "http://127.0.0.1:9/mcp: "),
]


@pytest.mark.parametrize(("words", "told"), EXAMPLES, ids=["flag", "port"])
def test_what_goes_wrong_with_an_example_is_one_line(words: list[str], told: str) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / words[0]), *words[1:]],
        capture_output=True,
        check=False,
        text=True,
        timeout=60,
        env={**os.environ, "FLASHGREP_TOKEN": "x"},
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(told)


@pytest.mark.thorough
def test_the_example_over_http_talks_to_a_server_that_runs(tmp_path: Path) -> None:
    assert "examples/http_session.py" in README
    work = tmp_path / "work"
    work.mkdir()
    (work / "LICENSE").write_text("OF MERCHANTABILITY\n")
    with serving(work, ("--no-index", "--socket", "none", "--tcp-port", "none")) as server:
        done = subprocess.run(
            [sys.executable, str(ROOT / "examples" / "http_session.py"), server.url],
            capture_output=True,
            check=True,
            text=True,
            timeout=120,
            env={**environment(tmp_path), "FLASHGREP_TOKEN": server.token or ""},
        )
    tools, found = done.stdout.splitlines()
    assert tools.startswith("tools: grep glob view str_replace create_file ")
    assert found == "LICENSE:1:OF MERCHANTABILITY"


def commands() -> Iterator[tuple[str, str]]:
    for piece in block("$ flashgrep grep").split("$ ")[1:]:
        command, _, output = piece.partition("\n")
        yield command, output


@pytest.mark.parametrize(("command", "output"), list(commands()))
def test_a_command_prints_what_the_readme_shows(tmp_path: Path, command: str, output: str) -> None:
    program, *words = shlex.split(command)
    assert program == "flashgrep"
    done = subprocess.run(
        [*FLASHGREP, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env=environment(tmp_path),
        timeout=120,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, output, "")


def test_the_nc_session_is_real(tmp_path: Path) -> None:
    """Figures of the index change with every commit; their names do not."""
    lines = [json.loads(line) for line in block("$ nc -N 127.0.0.1 7777").splitlines()[1:]]
    asked, answers = lines[0::2], lines[1::2]
    flags = ("--no-index", "--socket", "none", "--http-port", "none")
    with serving(ROOT, flags, home=tmp_path) as server, RawLines(server.open_tcp()) as client:
        for question, expected in zip(asked, answers, strict=True):
            client.send(question)
            assert _named(client.receive()) == _named(expected)


def _named(answer: dict[str, Any]) -> dict[str, Any]:
    result = answer.get("result", {})
    if "settings_hash" not in result:
        return answer
    return {**answer, "result": sorted(set(result) - {"reason"})}
