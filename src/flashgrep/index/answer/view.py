"""What one query sees of the index: a snapshot, and what must be read from disk."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from flashgrep.index.format.segment import Mask, Numbers, Segment, path_key
from flashgrep.index.format.segment_set import FileLocation, SegmentSet, segment_set
from flashgrep.index.watch.changes import Identity, Rules, is_below, joined, parents
from flashgrep.index.watch.tracker import Tracker
from flashgrep.search.result import Item
from flashgrep.search.scan.scanner import Scanner
from flashgrep.workspace.scope import is_within
from flashgrep.workspace.walk import RuleChains, Ruled

# ── snapshots ────────────────────────────────────────────────────────────────────────────────────
# The segments of an index at one moment, and which of their files are still as on disk.
#
# The first segments are the base: together they hold the tree in walk order. Later ones hold what
# changed since; a file there is dead in the segments before. Each segment by itself is in walk
# order, so a subtree is one stretch of files in each. A snapshot never changes; `without` gives
# another one, which shares all it can.


NO_SEGMENTS: Final = segment_set(())
_GAPS: Final = 4096
ROOM: Final = 1 << 20
"""Files of later segments that fit between two files of the base."""


class FileOrders:
    """Columns over all files of some segments, each made on first use.

    They do not depend on which files are alive, so all snapshots of the same segments share them.
    """

    def __init__(self, segments: Sequence[Segment], ranks: Sequence[Any]) -> None:
        self._segments = segments
        self._ranks = ranks
        self._gaps: dict[str, int] = {}

    @cached_property
    def ranks(self) -> Numbers:
        return np.concatenate([np.zeros(0, np.int64), *self._ranks])

    @cached_property
    def modified(self) -> Numbers:
        times = (segment.status[:, 1] for segment in self._segments)
        return np.concatenate([np.zeros(0, np.int64), *times])

    @cached_property
    def newest_first(self) -> Numbers:
        return np.lexsort((self.ranks, -self.modified))

    @cached_property
    def in_walk_order(self) -> Numbers | None:
        """All files in walk order; None where that is the order of their numbers."""
        ranks = self.ranks
        return None if bool((ranks[1:] > ranks[:-1]).all()) else np.argsort(ranks, kind="stable")

    @cached_property
    def sizes(self) -> Numbers:
        sizes = (segment.status[:, 0] for segment in self._segments)
        return np.concatenate([np.zeros(0, np.int64), *sizes])

    def gap(self, snapshot: IndexSnapshot, name: str) -> int:
        """Before which file of the base a file comes that is in no segment; remembered."""
        known = self._gaps.get(name)
        if known is None:
            if len(self._gaps) >= _GAPS:
                self._gaps.clear()
            known = self._gaps[name] = snapshot.rank(name) // ROOM
        return known


@dataclass(frozen=True)
class IndexSnapshot:
    """The state of the index that queries read."""

    segments: tuple[Segment, ...]
    base: int
    """How many of the segments are the base."""
    alive: tuple[Mask, ...]
    ranks: tuple[Any, ...]
    """Per segment and file, a number that sorts all files in walk order."""
    segment_set: SegmentSet = NO_SEGMENTS
    orders: FileOrders = field(default_factory=lambda: FileOrders((), ()), compare=False)

    @cached_property
    def all_alive(self) -> Mask:
        """Which of all files, numbered through, are alive."""
        return np.concatenate([np.zeros(0, bool), *self.alive])

    @cached_property
    def is_all_alive(self) -> bool:
        """Whether no file is dead."""
        return bool(self.all_alive.all())

    @property
    def all_ranks(self) -> Numbers:
        """The ranks of all files, numbered through."""
        return self.orders.ranks

    @property
    def modified(self) -> Numbers:
        """When each of all files, numbered through, was changed last, in nanoseconds."""
        return self.orders.modified

    @property
    def newest_first(self) -> Numbers:
        """All files, numbered through, the one changed last first; ties in walk order."""
        return self.orders.newest_first

    def find(self, name: str) -> Iterable[FileLocation]:
        """Every place a name has in the segments, dead ones included."""
        key = path_key(name)
        for number, segment in enumerate(self.segments):
            file = segment.find(key)
            if file is not None:
                yield FileLocation(number, file)

    def stretch(self, number: int, directory: str) -> tuple[int, int]:
        """The files of a segment below a directory: the first, and one past the last."""
        segment = self.segments[number]
        if not directory:
            return 0, segment.files
        key = path_key(directory)
        if segment.bounds[1] < key + "\0" or segment.bounds[0] >= key + "\1":
            return 0, 0
        return segment.first_from(key + "\0"), segment.first_from(key + "\1")

    def without(self, names: Collection[str], subtrees: Collection[str]) -> IndexSnapshot:
        """The snapshot with some files dead; a directory that was may be a file by now."""
        alive = list(self.alive)
        fresh: set[int] = set()

        def kill(number: int, first: int, past: int) -> None:
            if alive[number][first:past].any():
                if number not in fresh:
                    alive[number] = alive[number].copy()
                    fresh.add(number)
                alive[number][first:past] = False

        for name in (*names, *subtrees):
            for number, file in self.find(name):
                kill(number, file, file + 1)
        for subtree in subtrees:
            for number in range(len(self.segments)):
                kill(number, *self.stretch(number, subtree))
        return replace(self, alive=tuple(alive)) if fresh else self

    def rank(self, name: str) -> int:
        """The rank of a file that is in no segment among those that are; ties by walk key."""
        key = path_key(name)
        before = 0
        for segment in self.segments[: self.base]:
            # A name is in at most one segment of the base; the others are skipped whole.
            if segment.bounds[1] < key:
                before += segment.files
            else:
                return (before + segment.first_from(key)) * ROOM
        return before * ROOM

    def parts(self) -> Iterator[tuple[Segment, Mask]]:
        """Each segment, and which of its files are alive."""
        return zip(self.segments, self.alive, strict=True)

    @property
    def files(self) -> int:
        """Files alive."""
        return sum(int(np.count_nonzero(mask)) for mask in self.alive)


EMPTY: Final = IndexSnapshot(segments=(), base=0, alive=(), ranks=())


def snapshot(segments: Sequence[Segment], base: int, alive: Sequence[Mask]) -> IndexSnapshot:
    """Put segments together; files are ranked once, here."""
    draft = IndexSnapshot(
        segments=tuple(segments),
        base=base,
        alive=tuple(alive),
        ranks=(),
        segment_set=segment_set(segments),
    )
    ranks: list[Any] = []
    before = 0
    for segment in segments[:base]:
        ranks.append((np.arange(before, before + segment.files, dtype=np.int64) + 1) * ROOM - 1)
        before += segment.files
    ranks += _later_ranks(draft, segments[base:])
    return replace(draft, ranks=tuple(ranks), orders=FileOrders(draft.segments, ranks))


def _later_ranks(draft: IndexSnapshot, later: Sequence[Segment]) -> list[Any]:
    """Ranks between those of the base: by place, then by walk key."""
    entries = [
        (draft.rank(name), path_key(name), number, file)
        for number, segment in enumerate(later)
        for file, name in enumerate(segment.all_names())
    ]
    ranks = [np.zeros(segment.files, np.int64) for segment in later]
    previous, step = -1, 0
    for place, _, number, file in sorted(entries):
        step = step + 1 if place == previous else 1
        previous = place
        ranks[number][file] = place + step - 1
    return ranks


# ── views ────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class IndexView:
    """The index plus the changes it does not know yet; a later state is another view."""

    snapshot: IndexSnapshot = EMPTY
    entries: frozenset[str] = frozenset()
    """Files and links that changed, or are in no segment."""
    subtrees: frozenset[str] = frozenset()
    """Directories whose whole content is uncertain."""
    directories: Mapping[str, Ruled] = field(default_factory=dict)
    links: Mapping[str, str | None] = field(default_factory=dict)
    """Symbolic links, and the path in the tree each leads to; None where that is not certain."""
    aliases: Mapping[str, FileLocation] = field(default_factory=dict)
    """Links to files that are in a segment."""
    shared: Mapping[str, Identity] = field(default_factory=dict)
    """Files with several names, as they were when the tree was listed."""
    above: tuple[tuple[bytes, bytes], ...] = ()
    """The rule files above the root when the tree was listed."""
    root: tuple[int, int] = (0, 0)
    """Device and inode of the root then."""

    @cached_property
    def sure_aliases(self) -> dict[str, FileLocation]:
        """The aliases that nothing has happened to, neither the link nor the file."""
        alive = self.snapshot.alive
        return {
            link: place
            for link, place in self.aliases.items()
            if self.is_certain(link) and alive[place.segment][place.file]
        }

    @cached_property
    def alias_spans(self) -> tuple[list[str], Any]:
        """Such aliases, and the first piece of each one's file among all, and one past the last."""
        segment_set = self.snapshot.segment_set
        spans = [segment_set.span(*place) for place in self.sure_aliases.values()]
        return list(self.sure_aliases), np.array(spans, np.int64).reshape(-1, 2).T.copy()

    @cached_property
    def sure_links(self) -> list[tuple[str, str | None]]:
        """The other links that nothing has happened to, and where each leads."""
        return [
            (link, target)
            for link, target in self.links.items()
            if link not in self.sure_aliases and self.is_certain(link)
        ]

    @cached_property
    def links_away(self) -> list[tuple[str, str | None]]:
        """Those of them that lead to no directory of the tree: every search follows these."""
        return [pair for pair in self.sure_links if not self.has_directory(pair[1])]

    def covers(self, directory: str) -> bool:
        """Whether a search of this directory can be answered from here."""
        if directory not in self.directories:
            return False
        return not any(is_below(directory, subtree) for subtree in self.subtrees)

    def has_directory(self, path: str | None) -> bool:
        """Whether a path is a directory of the tree that nothing has happened to."""
        return path is not None and path in self.directories and self.is_certain(path)

    def is_certain(self, name: str) -> bool:
        """Whether nothing that is known to have changed touches this path."""
        return name not in self.entries and not any(
            is_below(name, subtree) for subtree in self.subtrees
        )


def topmost(subtrees: Iterable[str]) -> list[str]:
    """Subtrees without those inside another."""
    kept: list[str] = []
    for subtree in sorted(subtrees, key=lambda path: (path.count("/"), path)):
        if not any(is_below(subtree, above) for above in kept):
            kept.append(subtree)
    return kept


# ── files and links ──────────────────────────────────────────────────────────────────────────────
# What a view says about the tree itself: what changed in it, and whose rules count in it.


def changed_paths(view: IndexView, root: str) -> Iterator[str]:
    """What below a directory has to be looked at on disk."""
    subtrees = topmost(view.subtrees)
    for path in subtrees:
        if path != root and is_below(path, root):
            yield path
    for path in view.entries - view.subtrees:
        is_inside = path != root and is_below(path, root)
        if is_inside and not any(is_below(path, one) for one in subtrees):
            yield path


def by_directory(paths: Iterable[str]) -> dict[str, list[str]]:
    """Names by the directory they are in."""
    names: dict[str, set[str]] = defaultdict(set)
    for path in paths:
        directory, _, name = path.rpartition("/")
        names[directory].add(name)
    return {directory: sorted(found) for directory, found in names.items()}


def is_own_repository(tracker: Tracker, root: str) -> bool:
    """Whether a repository begins between the workspace and this directory: the rules above it do
    not count for a search that starts in it."""
    return any(
        directory and tracker.status(f"{directory}/.git") is not None for directory in parents(root)
    )


def has_same_rules_above(tracker: Tracker, rules: Rules, view: IndexView) -> bool:
    """Whether the rule files above the workspace are those the view was made with."""
    top = tracker.root
    return view.above == tuple(pair for pair in rules if pair[0] != top and is_within(top, pair[0]))


# ── overlay ──────────────────────────────────────────────────────────────────────────────────────
# What of a search cannot be answered from the segments, and which of their files it may use.


class SearchOverlay:
    """The two halves of one search root: the part in the segments and the part on disk."""

    def __init__(self, view: IndexView, tracker: Tracker, root: str, scanner: Scanner) -> None:
        self.root = root
        self._view = view
        self._tracker = tracker
        self._root = root
        self._scanner = scanner
        self._aliases = view.sure_aliases
        if root:
            self._aliases = {a: p for a, p in view.sure_aliases.items() if is_below(a, root)}

    @cached_property
    def _chains(self) -> RuleChains:
        return self._tracker.chains(self._view.above)

    def relative(self, shown: str) -> str:
        """A path of the tree as the search shows it."""
        return shown[len(self._root) + 1 :] if self._root else shown

    # ── in the segments ─────────────────────────────────────────────────────────────────────────

    @property
    def is_everything(self) -> bool:
        """Whether all files of the segments are alive and below the root."""
        return not self._root and self._view.snapshot.is_all_alive

    @cached_property
    def in_scope(self) -> Mask:
        """Of all files of the segments, those alive below the root."""
        snapshot = self._view.snapshot
        if not self._root:
            return snapshot.all_alive
        scope = np.zeros(len(snapshot.all_alive), bool)
        for number, (base, _) in enumerate(snapshot.segment_set.files):
            first, past = snapshot.stretch(number, self._root)
            scope[base + first : base + past] = snapshot.alive[number][first:past]
        return scope

    def kept(self, files: Numbers) -> Mask:
        """Which of some files pass the name filters."""
        segments, keeps = self._view.snapshot.segments, self._scanner.keeps
        places = self._view.snapshot.segment_set.places(files)
        names = (self.relative(segments[number].name(file)) for number, file in places)
        return np.fromiter(map(keeps, names), bool, len(files))

    def aliases(self, links: Container[str] | None = None) -> Iterator[tuple[str, FileLocation]]:
        """Links below the root to files of the segments, by the names they are shown under.

        With `links`, of those alone.
        """
        keeps, keeps_all = self._scanner.keeps, not self._scanner.request.filters
        for link, place in self._aliases.items():
            if links is not None and link not in links:
                continue
            shown = self.relative(link)
            if keeps_all or keeps(shown):
                yield shown, place

    def alias(self, shown: str) -> FileLocation | None:
        """Where the file that a link leads to is in the segments."""
        return self._aliases.get(joined(self._root, shown))

    # ── on disk ─────────────────────────────────────────────────────────────────────────────────

    def items(self) -> list[Item]:
        """What the scanner has to look at."""
        changed = changed_paths(self._view, self._root)
        names = by_directory((*changed, *self._links()))
        return [item for directory in names for item in self._in(directory, names[directory])]

    def _links(self) -> Iterator[str]:
        # The others are looked at anyway.
        for link, target in self._view.sure_links if self._root else self._view.links_away:
            is_searched = self._view.has_directory(target) and is_below(target or "", self._root)
            if is_below(link, self._root) and not is_searched:
                yield link

    def _in(self, directory: str, names: list[str]) -> Iterator[Item]:
        ruled = self._view.directories.get(directory)
        if ruled is None:
            return  # not a directory a search looks at, or part of an uncertain one
        listing = self._tracker.entries(directory, names, self._chains, ruled)
        if listing is None:
            return
        place = Item(self.relative(directory), self._tracker.real(directory), self._below(ruled))
        keeps = self._scanner.keeps
        prefix = place.shown + "/" if place.shown else ""
        files = [name for name in listing.files if keeps(prefix + name)]
        if files or listing.links:
            yield place._replace(names=(*files, *listing.links))
        for name in listing.directories:
            path = joined(directory, name)
            if path in self._view.subtrees or path not in self._view.directories:
                yield Item(prefix + name, self._tracker.real(path), place.ruled)

    def _below(self, ruled: Ruled) -> Ruled:
        """Rule files at and below the root; those above it are in the request."""
        return tuple(
            (self.relative(shown), real) for shown, real in ruled if is_below(shown, self._root)
        )
