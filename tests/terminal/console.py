"""The `flashgrep` command run in this process, beside the real `rg`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from click.testing import CliRunner

from flashgrep.cli import cli

RG = str(Path(sys.executable).with_name("rg"))


class Ran(NamedTuple):
    """What a command said, and its exit status."""

    status: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode("utf-8", "surrogateescape")

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def messages(self) -> list[Any]:
        return [json.loads(line) for line in self.lines]


def flashgrep(*words: str) -> Ran:
    """Run a command in the current directory."""
    result = CliRunner().invoke(cli, list(words), catch_exceptions=False)
    return Ran(result.exit_code, result.stdout_bytes, result.stderr)


def ripgrep(*words: str) -> Ran:
    """Run `rg` as flashgrep behaves: every file that git would not ignore, sorted."""
    fixed = ("--no-config", "--sort", "path", "--hidden", "--no-require-git", "-g", "!.git")
    done = subprocess.run(
        [RG, *fixed, *words], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    return Ran(done.returncode, done.stdout, done.stderr.decode())
