"""The pattern file: class, what ripgrep counted on the Linux tree, pattern."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

CLASSES = ("absent", "rare", "some", "many", "most", "nolit")

_FILE = Path(__file__).with_name("patterns.tsv")


@dataclass(frozen=True)
class Pattern:
    """One row."""

    kind: str
    source: str


def read_patterns() -> list[Pattern]:
    """Every row, those of a class together, in the file's order within it."""
    rows = []
    for line in _FILE.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            kind, _files, _lines, source = line.split("\t")
            rows.append(Pattern(kind, source))
    return sorted(rows, key=lambda row: CLASSES.index(row.kind))
