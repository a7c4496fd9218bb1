"""Opens a knowledge base and kills itself around a statement, or a change of a file's name.

    python -m tests.notes.dying HOME STEP

Steps are counted from the first statement of the migration on, the copy included. Without enough of
them it says how many there were.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
from pathlib import Path
from typing import Any

from flashgrep.notes.home import Home


class Steps:
    """Counts, and kills at the one that was asked for."""

    def __init__(self, fatal: int) -> None:
        self._left = fatal
        self.count = 0

    def __call__(self, *_: Any) -> None:
        if self.count == self._left:
            os.kill(os.getpid(), signal.SIGKILL)
        self.count += 1


class Connection(sqlite3.Connection):
    """A connection that counts its statements, and the steps of a copy."""

    steps: Steps

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        self.steps()
        cursor = super().execute(*arguments)
        self.steps()
        return cursor

    def backup(self, target: sqlite3.Connection, **_: Any) -> None:
        super().backup(target, pages=1, progress=self.steps)


def main(home: str, fatal: int) -> None:
    steps = Connection.steps = Steps(fatal)
    connect, rename = sqlite3.connect, os.rename

    def renamed(source: Path, target: Path) -> None:
        steps()
        rename(source, target)
        steps()

    vars(sqlite3)["connect"] = lambda *a, **k: connect(*a, **k, factory=Connection)
    vars(os)["rename"] = renamed
    opened = Home(Path(home))
    opened.own()
    opened.opened().close()
    sys.stdout.write(f"{steps.count}\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
