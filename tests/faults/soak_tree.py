"""A tree of made-up source code under git, with two branches that differ in many files."""

from __future__ import annotations

import subprocess
from pathlib import Path
from random import Random

BRANCHES = ("one", "two")
_SYLLABLES = ("ba", "ce", "di", "fo", "gu", "ka", "le", "mi", "no", "pu", "ra", "se", "ti", "vo")


class SoakTree:
    """Files that look like code: identifiers of many words, definitions, comments."""

    def __init__(self, root: Path, chance: Random, words: int = 5_000) -> None:
        self.root = root
        self.chance = chance
        self.names: list[str] = []
        self._words = ["".join(chance.choices(_SYLLABLES, k=3)) for _ in range(words)]

    def grow(self, files: int, flipped: int, lines: int) -> None:
        """Make the files and commit them; on the second branch so many have another text."""
        for number in range(files):
            self.names.append(f"d{number % 100:02}/{self.word()}_{number}.py")
        self.git("init", "-q", "-b", BRANCHES[0])
        self._commit(self.names, lines, BRANCHES[0])
        self.git("checkout", "-q", "-b", BRANCHES[1])
        self._commit(self.chance.sample(self.names, flipped), lines, BRANCHES[1])

    def check_out(self, branch: str) -> None:
        """Flip to a branch, whatever was edited."""
        self.git("checkout", "-q", "-f", branch)

    def edit(self, lines: int) -> str:
        """Write another text into a file."""
        name = self.chance.choice(self.names)
        (self.root / name).write_text(self.text(lines))
        return name

    def word(self) -> str:
        return self.chance.choice(self._words)

    def text(self, lines: int) -> str:
        """Some lines of code."""
        return "".join(self._line() for _ in range(lines))

    def _line(self) -> str:
        a, b, c, d = self.chance.choices(self._words, k=4)
        kind = self.chance.random()
        if kind < 0.1:
            return f"def {a}_{b}({c}, {d}):\n"
        if kind < 0.3:
            return f"    # {a} the {b} of every {c} before {d}\n"
        return f"    {a}{b.title()} = self.{c}_{d}({a}, {b})\n"

    def _commit(self, names: list[str], lines: int, message: str) -> None:
        for name in names:
            place = self.root / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(self.text(self.chance.randrange(lines // 2, 2 * lines)))
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)

    def git(self, *words: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
        quiet = ["-c", "gc.auto=0", "-c", "maintenance.auto=false"]
        subprocess.run(
            ["git", "-C", str(self.root), *identity, *quiet, *words],
            check=True,
            capture_output=True,
        )
