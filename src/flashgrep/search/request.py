"""What a search asks of a worker, as plain data: it crosses process borders by `marshal`."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any, Literal, NamedTuple

from flashgrep.search.pattern import PatternSpec

Counting = Literal["files", "lines", "matches"]
"""What is wanted of each file: whether it matches, its matching lines, or its matches."""


@dataclass(frozen=True)
class Reach:
    """The scope a worker opens files through: the arguments of `workspace.Scope`."""

    workdir: bytes
    allow: tuple[bytes, ...] = ()
    deny: tuple[str, ...] = ()
    always_denied: tuple[bytes, ...] = ()


@dataclass(frozen=True)
class ScanRequest:
    """One search over a directory tree or a file."""

    root: bytes
    pattern: PatternSpec
    counting: Counting
    reach: Reach
    filters: tuple[tuple[str, ...] | str, ...] = ()
    """Name filters that a file must pass, all of them."""
    rules: tuple[tuple[bytes, bytes], ...] = ()
    """Rule files above the root: the directory of each and its text, top first."""

    def packed(self) -> tuple[Any, ...]:
        """As marshal takes it."""
        return astuple(self)


def unpacked(data: tuple[Any, ...]) -> ScanRequest:
    """The request that `packed` gave."""
    root, pattern, counting, reach, filters, rules = data
    return ScanRequest(root, PatternSpec(*pattern), counting, Reach(*reach), filters, rules)


ROOT = "."
"""How the search root itself is named where something is said of it."""


class Item(NamedTuple):
    """A directory still to be searched, or some files of one."""

    shown: str
    """Its path relative to the search root, as names of the tree; empty for the root."""
    real: bytes
    ruled: tuple[tuple[str, bytes], ...] = ()
    """Directories above it that hold rule files: shown path and real path, top first."""
    names: tuple[str, ...] | None = None
    """Only these files and links of it, already filtered; None is all of it."""

    @property
    def key(self) -> str:
        """Sorts items, and the files in them, in walk order."""
        return walk_key(self.shown, self.names[0] if self.names else "")


def walk_key(directory: str, name: str) -> str:
    """A text that sorts paths depth first, entries by bytes."""
    path = f"{directory}/{name}" if directory and name else directory or name
    if not path.isascii():
        path = path.encode("utf-8", "surrogateescape").decode("latin-1")
    return path.replace("/", "\0")


class Found(NamedTuple):
    """A file that matches: its path and its count, or modification time for `files`."""

    shown: str
    value: int


class Outcome(NamedTuple):
    """What a slice of a search brought."""

    found: list[Found]
    pending: list[Item]
    links: list[Item]
    """Links to directories outside the search root, to be entered in walk order."""
    skipped: list[tuple[str, str]]
    """Files that could not be searched, with the reason."""
    scanned: int
