"""What a search takes and what it returns: one value, over the disk, an index or notes.

A `SearchResult` is made as far as it is read. It begins with the results that the question wants,
and `reach` searches on. `files` names the files that are looked at, `lines` fetches the lines of
one page, and `stale` says which of the shown files have changed since.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from flashgrep.search.pattern import PatternSpec
    from flashgrep.search.scan.fair_queue import CancelFlag
    from flashgrep.workspace.scope import PackedScope


Counting = Literal["files", "lines", "matches", "parts"]
"""What is wanted of each file: whether it matches, its matching lines, its matches, or those of its
matches that are not empty, which is what `only_matching` shows."""

Order = Literal["walk", "newest"]
"""Depth first with entries by bytes, or the file changed last first."""

Unit = Literal["matches", "files"]
"""What a result of a page is: a matching line (or a match), or a file."""

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
    """Its matching lines, or matches; 1 if the question was only whether it matches."""
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
    """Results, the first ones in `order`, after which the rest need not be searched; 0 = all."""
    results: Unit = "matches"
    order: Order = "walk"
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

    def reach(self, wanted: int) -> None:
        """Search on until so many results are known, as the question counts them; 0 = all.

        Those that come first in the order of the question are then sure to be among `files`.
        """
        ...

    def files(self, order: Order = "walk") -> Sequence[FoundFile]:
        """The files that are known to match; only those that are read are made."""
        ...

    def lines(self, page: Page) -> list[tuple[str, list[Line]]]:
        """The lines of a page by file, in order; a file that has gone is left out."""
        ...

    def stale(self, paths: Sequence[str]) -> list[str]:
        """Which of some found files are no longer what was searched; the next search knows."""
        ...

    def answered(self) -> None:
        """Nothing more is asked of this result: it may be kept for whoever wants the next page."""
        ...


Where = TypeVar("Where", contravariant=True)


class Searcher(Protocol[Where]):
    """What can be searched: the disk, an index, notes."""

    def search(
        self, where: Where, question: SearchQuestion, cancelled: CancelFlag, report: Report
    ) -> SearchResult | None:
        """Search a place; None where this searcher cannot answer and another one has to."""
        ...


def counts_of(files: Sequence[FoundFile]) -> list[int]:
    """The count of each of some found files; their names are not made for it."""
    known = getattr(files, "counts", None)
    return [file.count for file in files] if known is None else known


def on_page(
    files: Sequence[FoundFile], offset: int, limit: int | None
) -> list[tuple[str, int, int]]:
    """From each file, which of its matches fall on the page; without a limit, all that follow."""
    ends = list(accumulate(counts_of(files)))
    end = ends[-1] if ends and limit is None else offset + (limit or 0)
    first = bisect_right(ends, offset)
    past = bisect_left(ends, end) + 1
    page = []
    for file, stop in zip(files[first:past], ends[first:past], strict=True):
        start = stop - file.count
        if max(offset, start) < min(end, stop):
            page.append((file.path, max(offset, start) - start, min(end, stop) - start))
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
