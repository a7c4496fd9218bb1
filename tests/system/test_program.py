"""What our own command is called in lines that people copy."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from flashgrep.system.program import own_command


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in a directory that no shell looks at."""
    program = tmp_path / "with space" / "flashgrep"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return program


def test_a_command_that_a_shell_finds_has_its_short_name(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(installed.parent))
    assert own_command() == "flashgrep"


def test_otherwise_it_is_called_as_it_was_started(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["with space/flashgrep", "serve"])
    assert own_command() == "'with space/flashgrep'"


def test_started_as_a_module_it_is_called_as_a_module(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [str(installed.parent / "__main__.py"), "serve"])
    assert own_command() == f"{sys.executable} -m flashgrep"
