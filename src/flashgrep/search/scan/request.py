"""What a search asks of a worker, as plain data: it crosses process borders by `marshal`."""

from __future__ import annotations

import os
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from flashgrep.search.pattern import PatternSpec
from flashgrep.search.result import Counting, Filters, FoundFile, SearchQuestion
from flashgrep.workspace.walk import parent_rules

if TYPE_CHECKING:
    from flashgrep.workspace.scope import ResolvedPath, Scope


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
    filters: Filters = ()
    rules: tuple[tuple[bytes, bytes], ...] = ()
    """Rule files above the root: the directory of each and its text, top first."""

    def packed(self) -> tuple[Any, ...]:
        """As marshal takes it."""
        return astuple(self)


def scan_request(scope: Scope, where: ResolvedPath, question: SearchQuestion) -> ScanRequest:
    """A question about a directory, as those who search files take it."""
    return _request(scope, where.path, question, tuple(parent_rules(scope, where.path)))


def file_request(scope: Scope, where: ResolvedPath, question: SearchQuestion) -> ScanRequest:
    """A question about one file; ignore rules do not count, because it was named."""
    return _request(scope, os.path.dirname(where.path), question)


def _request(
    scope: Scope, root: bytes, question: SearchQuestion, rules: tuple[tuple[bytes, bytes], ...] = ()
) -> ScanRequest:
    reach = Reach(
        workdir=scope.workdir,
        allow=scope.allowed,
        deny=scope.denied,
        always_denied=scope.always_denied,
    )
    return ScanRequest(
        root=root,
        pattern=question.pattern,
        counting=question.counting,
        reach=reach,
        filters=question.filters,
        rules=rules,
    )


def unpacked(data: tuple[Any, ...]) -> ScanRequest:
    """The request that `packed` gave."""
    root, pattern, counting, reach, filters, rules = data
    return ScanRequest(
        root=root,
        pattern=PatternSpec(*pattern),
        counting=counting,
        reach=Reach(*reach),
        filters=filters,
        rules=rules,
    )


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
        return walk_key("/".join(filter(None, (self.shown, *(self.names or ())[:1]))))


def walk_key(path: str) -> str:
    """A text that sorts paths depth first, entries by bytes."""
    if not path.isascii():
        path = path.encode("utf-8", "surrogateescape").decode("latin-1")
    return path.replace("/", "\0")


class SliceResult(NamedTuple):
    """What a slice of a search brought."""

    found: list[FoundFile]
    pending: list[Item]
    links: list[Item]
    """Links to directories outside the search root, to be entered in walk order."""
    skipped: list[tuple[str, str]]
    """Files that could not be searched, with the reason."""
    scanned: int
