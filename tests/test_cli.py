"""The command line: every setting is an option, bad ones are exit status 2 and a sentence."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from flashgrep import __version__
from flashgrep.cli import cli
from flashgrep.settings import SETTINGS

FLASHGREP = (sys.executable, "-P", "-m", "flashgrep")


def run(tmp_path: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*FLASHGREP, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=tmp_path,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), **environment},
    )


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("sreve", "serve"),
        ("greb", "grep"),
        ("quary", "query"),
        ("kb lst", "list"),
        ("kb suggestoins", "suggestions"),
        ("kb decde", "decide"),
        ("kb token mkae", "make"),
    ],
)
def test_a_mistyped_command_is_told_what_is_meant(typed: str, meant: str) -> None:
    ran = CliRunner().invoke(cli, typed.split())
    assert ran.exit_code == 2
    assert f"Did you mean {meant!r}?" in ran.stderr


def test_a_command_that_is_like_none_is_refused_without_a_hint() -> None:
    ran = CliRunner().invoke(cli, ["xyzzy"])
    assert (ran.exit_code, "No such command 'xyzzy'.\n" in ran.stderr) == (2, True)


@pytest.mark.parametrize("command", ["mcp", "serve"])
def test_every_setting_is_an_option_with_its_help(command: str) -> None:
    shown = CliRunner().invoke(cli, [command, "--help"], terminal_width=300).output
    for row in SETTINGS:
        assert (row.flag in shown) == (command == "serve" or not row.serve_only), row.name
        if row.flag in shown:
            assert row.help in " ".join(shown.split())


def test_the_version_is_told() -> None:
    assert __version__ in CliRunner().invoke(cli, ["--version"]).output


BAD: list[tuple[list[str], str]] = [
    (["mcp", "--workdir", "/no/such"], "/no/such"),
    (["mcp", "--toolsets", "x"], "valid: files"),
    (["mcp", "--max-file-size", "x"], "is not a size"),
    (["serve", "--http-port", "70000"], "is not a port"),
]


@pytest.mark.parametrize(("words", "text"), BAD, ids=range(len(BAD)))
def test_a_bad_setting_is_a_sentence_and_status_2(
    tmp_path: Path, words: list[str], text: str
) -> None:
    done = run(tmp_path, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert text in done.stderr
    assert "Traceback" not in done.stderr


def test_a_skill_file_that_is_not_there_is_warned_of_at_the_start(tmp_path: Path) -> None:
    done = run(tmp_path, "mcp", "--skill-file", "none.md")
    assert done.returncode == 0
    assert "--skill-file: none.md does not exist" in done.stderr
    (tmp_path / "none.md").write_text("# Skill\n", encoding="utf-8")
    assert "--skill-file" not in run(tmp_path, "mcp", "--skill-file", "none.md").stderr


def test_the_environment_is_read_and_a_flag_wins(tmp_path: Path) -> None:
    done = run(tmp_path, "mcp", FLASHGREP_WORKDIR="/no/such")
    assert "/no/such" in done.stderr
    assert run(tmp_path, "mcp", "--workdir", ".", FLASHGREP_WORKDIR="/no/such").returncode == 0


def test_an_empty_session_ends_well_in_any_locale(tmp_path: Path) -> None:
    plain = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    done = run(tmp_path, "mcp", **plain)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_logs_can_be_json_lines(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("in the way", encoding="utf-8")
    done = run(tmp_path, "mcp", "--log-format", "json")
    assert done.returncode == 0
    assert '"level": "warning"' in done.stderr
