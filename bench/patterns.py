"""The pattern file: class, what ripgrep counted on the Linux tree, pattern."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

CLASSES = ("absent", "rare", "some", "many", "most", "nolit")

_FILE = Path(__file__).with_name("patterns.tsv")
OUTSIDE = Path(__file__).with_name("outside.tsv")
"""Patterns that nothing was tuned on."""


@dataclass(frozen=True)
class Pattern:
    """One row."""

    kind: str
    source: str

    @property
    def folds_case(self) -> bool:
        return self.source.startswith("(?i)")


def read_patterns(file: Path = _FILE) -> list[Pattern]:
    """Every row, those of a class together, in the file's order within it."""
    rows = []
    for line in file.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            kind, *_, source = line.split("\t")
            rows.append(Pattern(kind, source))
    return sorted(rows, key=lambda row: CLASSES.index(row.kind))


def few_patterns(count: int | None, file: Path = _FILE) -> list[Pattern]:
    """The first so many rows of each class; all of them for None."""
    rows = read_patterns(file)
    by_class = [[row for row in rows if row.kind == kind] for kind in CLASSES]
    return [row for own in by_class for row in own[:count]]
