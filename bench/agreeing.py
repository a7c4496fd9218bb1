"""Whether our files are ripgrep's, and for each file that is not, why.

The reasons are looked for in this order, and what has none is listed as such:
- links: ripgrep follows none; we search a link to a file under the link's name
- ignored: only one of the two takes the file for ignored
- sniffing: the first 512 bytes are a binary type to us (PostScript, PDF …); ripgrep asks for a NUL
- NUL: ripgrep gives a file up at its first NUL; our 512 bytes were text
- dialect: `\\w \\d \\s \\b` are Unicode in ripgrep and ASCII in RE2
- bytes: the file is not UTF-8, and the two step over invalid bytes differently
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from bench import ripgrep
from bench.report import Table, code
from flashgrep import limits
from flashgrep.workspace.text import content_type, is_text

UNEXPLAINED = "unexplained"

_SHOWN = 5
_NOTHING = "No matches found"


def files_of(answer: str) -> set[str]:
    """The paths of a files_with_matches answer; a last line in parentheses lists skips."""
    lines = answer.split("\n")
    if lines[-1].startswith("(") and lines[-1].endswith(")"):
        lines.pop()
    return {line for line in lines if line and not line.startswith(_NOTHING)}


class Agreement:
    """Collects differences over a run of patterns."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._compared = 0
        self._found: dict[tuple[str, str], list[tuple[str, str]]] = {}

    def compare(self, pattern: str, theirs: set[str], ours: set[str]) -> None:
        """Take note of each file that one of the two lacks, under its reason."""
        self._compared += 1
        for path in sorted(theirs ^ ours):
            side = "ripgrep only" if path in theirs else "ours only"
            reason = self._reason(pattern, path, path in theirs)
            self._found.setdefault((side, reason), []).append((pattern, path))

    def _reason(self, pattern: str, path: str, is_theirs: bool) -> str:
        checks: list[tuple[str, Callable[[], bool]]] = [
            ("a symbolic link, which ripgrep does not follow", lambda: self._linked(path)),
            ("ignored by one of the two", lambda: self._ignored(path, is_theirs)),
            (f"sniffed as {self._type(path)}", lambda: is_theirs and not is_text(self._head(path))),
            ("holds a NUL after text", lambda: not is_theirs and b"\0" in self._bytes(path)),
            ("Unicode classes in ripgrep, ASCII in RE2", lambda: self._dialect(pattern, path)),
            ("holds bytes that are not UTF-8", lambda: not self._is_utf8(path)),
        ]
        return next((reason for reason, holds in checks if holds()), UNEXPLAINED)

    def _linked(self, path: str) -> bool:
        parts = Path(path).parts
        return any(
            (self._root / Path(*parts[:depth])).is_symlink() for depth in range(1, len(parts) + 1)
        )

    def _ignored(self, path: str, is_theirs: bool) -> bool:
        if not is_theirs:
            return path not in self._searched
        command = ["git", "check-ignore", "--quiet", "--no-index", path]
        return subprocess.run(command, cwd=self._root, stderr=subprocess.DEVNULL).returncode == 0

    @cached_property
    def _searched(self) -> set[str]:
        return ripgrep.searched_files(self._root)

    def _dialect(self, pattern: str, path: str) -> bool:
        """Whether ripgrep answers otherwise for this file when its classes are ASCII too."""
        command = [ripgrep.executable(), "-q", "-e", pattern, "--", path]
        plain = subprocess.run(command, cwd=self._root, capture_output=True).returncode
        command.insert(1, "--no-unicode")
        return subprocess.run(command, cwd=self._root, capture_output=True).returncode != plain

    def _bytes(self, path: str) -> bytes:
        try:
            return (self._root / os.fsencode(path).decode("utf-8", "surrogateescape")).read_bytes()
        except OSError:
            return b""

    def _head(self, path: str) -> bytes:
        return self._bytes(path)[: limits.SNIFF_BYTES]

    def _type(self, path: str) -> str:
        return content_type(self._head(path)).partition(";")[0]

    def _is_utf8(self, path: str) -> bool:
        try:
            self._bytes(path).decode("utf-8")
        except UnicodeDecodeError:
            return False
        return True

    def summary(self) -> list[str]:
        """What a reader wants to know first."""
        total = sum(len(rows) for rows in self._found.values())
        if not total:
            return [f"The files are ripgrep's for each of the {self._compared} patterns."]
        puzzles = sum(
            len(rows) for (_, reason), rows in self._found.items() if reason == UNEXPLAINED
        )
        return [
            f"Over {self._compared} patterns, {total} answers (a file under a pattern) are on one "
            f"side only; {puzzles} of them without an explanation. Every reason:"
        ]

    def tables(self) -> list[Table]:
        """The reasons, with a few files of each."""
        rows = []
        for (side, reason), cases in sorted(self._found.items()):
            paths = sorted({path for _, path in cases})
            more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
            shown = ", ".join(code(path) for path in paths[:_SHOWN]) + more
            rows.append([side, reason, str(len(cases)), str(len(paths)), shown])
        columns = ["on the side of", "because", "answers", "files", "which"]
        return [Table("Where the answers differ", columns, rows)] if rows else []
