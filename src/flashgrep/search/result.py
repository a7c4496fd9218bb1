"""What a search is asked, and what it gives: one value, over the disk, an index or notes.

A `SearchResult` is made as far as it is read. `files` names the files that are looked at, `lines`
fetches the lines of one page, and `stale` says which of the shown files have changed since.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from flashgrep.search.pattern import PatternSpec
    from flashgrep.search.scan.fair_queue import CancelFlag
    from flashgrep.workspace.scope import PackedScope


Counting = Literal["files", "lines", "matches"]
"""What is wanted of each file: whether it matches, its matching lines, or its matches."""

Order = Literal["walk", "newest"]
"""Depth first with entries by bytes, or the file changed last first."""

Filters = tuple[tuple[str, ...] | str, ...]
"""Name filters that a file must pass, all of them."""

Line = tuple[int, bool, str]
"""Line number from 1, whether it matches, and its text as shown."""

Report = Callable[[float, float | None, str], None]
"""Takes progress: how much is done, of how much, and a sentence."""


class FoundFile(NamedTuple):
    """A file that matches."""

    path: str
    """Relative to what was searched."""
    count: int  # type: ignore[assignment]  # hides the method of tuples, which is never called
    """Its matching lines, or matches; 1 where it was only asked whether it matches."""
    modified: int = 0
    """When it was changed last, in nanoseconds; known only where the question counts files."""


class Page(NamedTuple):
    """The lines an answer shows: from each file, the matches `first` up to `last`."""

    files: list[tuple[str, int, int]]
    before: int = 0
    after: int = 0
    only_matching: bool = False
    budget: int = 0
    """Characters after which no further file is begun; 0 is no limit."""
    largest: int = 0
    """Files above this size are left to a worker; 0 is no limit."""


@dataclass(frozen=True)
class SearchQuestion:
    """What is looked for."""

    pattern: PatternSpec
    counting: Counting
    filters: Filters = ()
    wanted: int = 0
    """Matching lines after which the rest need not be searched; 0 = all."""
    may_be_partial: bool = False
    """Whether the answer shows the remarks of the search: then it may end when its time is over."""


class SearchResult(Protocol):
    """What a search found."""

    @property
    def skipped(self) -> list[tuple[str, str]]:
        """Files that could not be searched, with the reason."""
        ...

    @property
    def remarks(self) -> list[str]:
        """What else the answer should say of this search."""
        ...

    @property
    def looked_at(self) -> int | None:
        """How many files were matched against the pattern; None where that was not counted."""
        ...

    def files(self, order: Order = "walk") -> Sequence[FoundFile]:
        """The files that match; only those that are read are made."""
        ...

    def lines(self, page: Page) -> list[tuple[str, list[Line]]]:
        """The lines of a page by file, in order; a file that has gone is left out."""
        ...

    def stale(self, paths: Sequence[str]) -> list[str]:
        """Which of some found files are no longer what was searched; the next search knows."""
        ...


Where = TypeVar("Where", contravariant=True)


class Searcher(Protocol[Where]):
    """What can be searched: the disk, an index, notes."""

    def search(
        self, where: Where, question: SearchQuestion, cancelled: CancelFlag, report: Report
    ) -> SearchResult | None:
        """Search a place; None where this searcher cannot answer and another one has to."""
        ...


def on_page(
    files: Sequence[FoundFile], offset: int, limit: int | None
) -> list[tuple[str, int, int]]:
    """From each file, which of its matches fall on the page; without a limit, all that follow."""
    end = None if limit is None else offset + limit
    page = []
    for file, stop in zip(files, accumulate(file.count for file in files), strict=True):
        start = stop - file.count
        first, last = max(offset, start), stop if end is None else min(end, stop)
        if first < last:
            page.append((file.path, first - start, last - start))
    return page


# ── requests ─────────────────────────────────────────────────────────────────────────────────────
# What a search asks of a worker, as plain data: it crosses process borders by `marshal`.


@dataclass(frozen=True)
class ScanRequest:
    """One search over a directory tree or a file."""

    root: bytes
    pattern: PatternSpec
    counting: Counting
    reach: PackedScope
    """The scope a worker opens files through."""
    filters: Filters = ()
    rules: tuple[tuple[bytes, bytes], ...] = ()
    """Rule files above the root: the directory of each and its text, top first."""

    def packed(self) -> tuple[Any, ...]:
        """As marshal takes it."""
        return astuple(self)


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
    """What a slice of a search found, and what it left."""

    found: list[FoundFile]
    pending: list[Item]
    links: list[Item]
    """Links to directories outside the search root, to be entered in walk order."""
    skipped: list[tuple[str, str]]
    """Files that could not be searched, with the reason."""
    scanned: int
