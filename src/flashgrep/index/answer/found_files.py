"""Finds files by name from arrays: what a walk would find, without an object for each file.

The columns of a file's segment tell whether it is wanted (`name_columns`); only a file on the page
becomes an entry. The walk's own code, `Finder`, looks on disk at links and at whatever the segments
do not know for certain.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, overload

import numpy as np

from flashgrep.index.answer.view import IndexSnapshot, IndexView, by_directory, changed_paths
from flashgrep.index.format.segment import Mask, Numbers
from flashgrep.index.watch.changes import is_below, joined
from flashgrep.index.watch.tracker import Tracker
from flashgrep.mount import Entries, ordered, page_end
from flashgrep.search.result import walk_key
from flashgrep.workspace.find import Finder, FindRequest, FoundEntry
from flashgrep.workspace.globs import Glob, GlobShape, LineGlobs, NameFilter
from flashgrep.workspace.scope import shown_path

Stopped = Callable[[], bool]
_FEW: Final = 500
"""So many paths are put into their places sooner than all are sorted."""
_SOME: Final = 1_000
"""Entries made at once: an answer may have room for no more."""


class FoundFiles(Entries):
    """Files of the segments by number, and `entries` that are in no segment."""

    def __init__(
        self,
        snapshot: IndexSnapshot,
        root: str,
        mask: Mask,
        others: Sequence[FoundEntry],
        skipped: list[tuple[str, str]],
    ) -> None:
        """`mask` says which of all files, numbered through."""
        super().__init__(others, skipped, shown_path)
        self._snapshot = snapshot
        self._cut = len(root) + 1 if root else 0
        self._mask = mask
        self._count = int(np.count_nonzero(mask))

    @property
    def total(self) -> int:
        return self._count + len(self.entries)

    def page(
        self, by: str, is_descending: bool, offset: int, limit: int | None
    ) -> Sequence[FoundEntry]:
        end, files = page_end(offset, limit), self._ordered(by, is_descending)
        if not self.entries:
            return _MadeEntries(self, files[offset:end])
        first = [*_MadeEntries(self, files[:end]), *self.entries]
        return ordered(first, by, is_descending)[offset:end]

    def paths(self) -> list[str]:
        snapshot, cut = self._snapshot, self._cut
        names = [name for segment in snapshot.segments for name in segment.all_names()]
        found = [names[file][cut:] for file in self._ordered("path", False).tolist()]
        if len(self.entries) > _FEW:
            return sorted([*found, *super().paths()], key=walk_key)
        for other in super().paths():
            insort(found, other, key=walk_key)
        return found

    def made(self, files: Numbers) -> Iterable[FoundEntry]:
        """Entries of some files."""
        snapshot, cut = self._snapshot, self._cut
        sizes, times = snapshot.orders.sizes[files].tolist(), snapshot.modified[files].tolist()
        places = snapshot.segment_set.places(files)
        for (number, file), size, modified in zip(places, sizes, times, strict=True):
            yield FoundEntry(snapshot.segments[number].name(file)[cut:], size, modified)

    def _ordered(self, by: str, is_descending: bool) -> Numbers:
        """The files in order; equal ones in walk order."""
        snapshot = self._snapshot
        if by == "modified" and is_descending:
            newest = snapshot.newest_first
            return newest[self._mask[newest]]
        in_walk_order = snapshot.orders.in_walk_order
        if in_walk_order is None:
            files = np.flatnonzero(self._mask)
        else:
            files = in_walk_order[self._mask[in_walk_order]]
        if by == "path":
            return files[::-1] if is_descending else files
        if by == "name":
            keys = [walk_key(entry.shown.rpartition("/")[2]) for entry in self.made(files)]
            places = sorted(range(len(keys)), key=keys.__getitem__, reverse=is_descending)
            return files[np.array(places, np.int64)]
        values = (snapshot.orders.sizes if by == "size" else snapshot.modified)[files]
        return files[np.argsort(-values if is_descending else values, kind="stable")]


class _MadeEntries(Sequence[FoundEntry]):
    """Entries made as they are read, because an answer may have room for only a few."""

    def __init__(self, found: FoundFiles, files: Numbers) -> None:
        self._found = found
        self._files = files

    def __len__(self) -> int:
        return len(self._files)

    @overload
    def __getitem__(self, at: int) -> FoundEntry: ...
    @overload
    def __getitem__(self, at: slice) -> list[FoundEntry]: ...
    def __getitem__(self, at: int | slice) -> FoundEntry | list[FoundEntry]:
        if isinstance(at, slice):
            return list(self._found.made(self._files[at]))
        (entry,) = self._found.made(self._files[at : at + 1])
        return entry

    def __iter__(self) -> Iterator[FoundEntry]:
        for start in range(0, len(self._files), _SOME):
            yield from self._found.made(self._files[start : start + _SOME])


def found_files(
    view: IndexView, tracker: Tracker, root: str, wanted: FindRequest, stopped: Stopped
) -> FoundFiles:
    """What a walk of a directory would find, links not followed and ignore rules respected."""
    finder = Finder(tracker.scope, tracker.real(root), wanted, stopped)
    cut = len(root) + 1 if root else 0
    finder.among_links(
        link[cut:] for link in view.links if is_below(link, root) and view.is_certain(link)
    )
    _look_at(view, tracker, root, finder, changed_paths(view, root))
    finding = finder.walk()
    mask = _wanted(_Names(view.snapshot, root), finder, wanted)
    return FoundFiles(view.snapshot, root, mask, finding.entries, finding.skipped)


def searched_files(
    view: IndexView, tracker: Tracker, keeps: NameFilter | None, stopped: Stopped
) -> FoundFiles:
    """The files that a search of the whole tree looks at, if a filter keeps them."""
    finder = Finder(tracker.scope, tracker.root, FindRequest(follow_symlinks=True), stopped)
    links = (link for link, _ in view.links_away)
    _look_at(view, tracker, "", finder, (*changed_paths(view, ""), *links))
    finding = finder.walk()
    others = [*finding.entries, *(FoundEntry(link, 0, 0) for link in view.sure_aliases)]
    mask = view.snapshot.all_alive
    if keeps is not None:
        others = [entry for entry in others if keeps.keeps(entry.shown)]
        mask = mask & _Names(view.snapshot, "").kept(keeps)
    return FoundFiles(view.snapshot, "", mask, others, finding.skipped)


def _look_at(
    view: IndexView, tracker: Tracker, root: str, finder: Finder, paths: Iterable[str]
) -> None:
    """Find what is wanted of some paths on disk, and below those that are new directories."""
    chains = tracker.chains(view.above)
    cut = len(root) + 1 if root else 0
    for directory, names in by_directory(paths).items():
        ruled = view.directories.get(directory)
        listing = None if ruled is None else tracker.entries(directory, names, chains, ruled)
        if listing is None:
            continue  # not a directory that a walk comes into, or part of an uncertain one
        new = [
            name
            for name in listing.directories
            if (path := joined(directory, name)) in view.subtrees or path not in view.directories
        ]
        finder.among_entries(
            directory[cut:], tracker.real(directory), replace(listing, directories=new)
        )


# ── by name ──────────────────────────────────────────────────────────────────────────────────────


class _Names:
    """The names of all files of a snapshot below a directory, and how patterns match them."""

    def __init__(self, snapshot: IndexSnapshot, root: str) -> None:
        self.snapshot = snapshot
        self.root = root
        self._cut = len(root) + 1 if root else 0
        self._ends = snapshot.segment_set.files

    def _joined(self, parts: Iterable[Mask]) -> Mask:
        return np.concatenate([np.zeros(0, bool), *parts])

    def alive(self) -> Mask:
        """The files that are below the directory, and certain."""
        if not self.root:
            return self.snapshot.all_alive
        return self._within(self.root) & self.snapshot.all_alive

    def _within(self, directory: str) -> Mask:
        found = np.zeros(self.snapshot.segment_set.file_count, bool)
        for number, (base, _) in enumerate(self._ends):
            first, past = self.snapshot.stretch(number, directory)
            found[base + first : base + past] = True
        return found

    def matching(self, globs: Sequence[Glob]) -> Mask:
        """The files that match one of some patterns."""
        found = np.zeros(self.snapshot.segment_set.file_count, bool)
        for glob in globs:
            if glob.shape is not None:
                self._shaped(glob.shape, found)
        others = [glob for glob in globs if glob.shape is None]
        if others:
            self._swept(others, found)
        return found

    def _shaped(self, shape: GlobShape, found: Mask) -> None:
        below = "/".join(filter(None, (self.root, shape.directory)))
        for number, (base, past) in enumerate(self._ends):
            stretch = self.snapshot.stretch(number, below)
            if stretch[0] < stretch[1]:
                columns = self.snapshot.segments[number].name_columns
                found[base:past] |= columns.shaped(shape, self.root, *stretch)

    def _swept(self, globs: list[Glob], found: Mask) -> None:
        lines, cut = LineGlobs(globs, self.root), self._cut

        def singly(name: str) -> bool:
            return is_below(name, self.root) and any(
                glob.matches(name[cut:] if glob.has_slash else name.rpartition("/")[2])
                for glob in globs
            )

        for number, (base, past) in enumerate(self._ends):
            stretch = self.snapshot.stretch(number, self.root)
            if stretch[0] < stretch[1]:
                columns = self.snapshot.segments[number].name_columns
                found[base:past] |= columns.matching(lines, *stretch, singly)

    def kept(self, keeps: NameFilter) -> Mask:
        """The files that a filter keeps."""
        kept = np.ones(self.snapshot.segment_set.file_count, bool)
        if keeps.includes:
            kept &= self.matching(keeps.includes)
        if keeps.excludes:
            kept &= ~self.matching(keeps.excludes)
        return kept

    def ending(self, extensions: Iterable[str]) -> Mask:
        """The files with one of some extensions, all ASCII."""
        tails = ["." + extension for extension in extensions]
        columns = (segment.name_columns for segment in self.snapshot.segments)
        counts = (segment.files for segment in self.snapshot.segments)
        pairs = zip(columns, counts, strict=True)
        return self._joined(column.ending(tails, False, 0, count) for column, count in pairs)

    def hidden(self) -> Mask:
        """The files whose own names begin with a dot."""
        return self._joined(segment.name_columns.hidden for segment in self.snapshot.segments)

    def depths(self) -> Numbers:
        """How many directories are between the root and each file."""
        depths = [segment.name_columns.depths for segment in self.snapshot.segments]
        above = self.root.count("/") + 1 if self.root else 0
        return np.concatenate([np.zeros(0, np.int64), *depths]) - above

    def in_directories(self, are_wanted: Callable[[str], bool]) -> Mask:
        """The files below the root in directories that are wanted, by their paths from there."""
        parts = []
        for segment in self.snapshot.segments:
            directories, numbers = segment.name_columns.directories
            wanted = [
                is_below(path, self.root) and are_wanted(path[self._cut :]) for path in directories
            ]
            parts.append(np.array(wanted, bool)[numbers])
        return self._joined(parts)


def _wanted(names: _Names, finder: Finder, wanted: FindRequest) -> Mask:
    """The files that a walk would find: the same questions as `Chooser` asks, of all at once."""
    mask = names.alive()
    if wanted.pattern is not None:
        mask = mask & names.matching([wanted.pattern])
    if wanted.extensions:
        if wanted.case_sensitive and "".join(wanted.extensions).isascii():
            mask = mask & names.ending(wanted.extensions)
        else:
            mask = _with_extension(names, mask, finder)
    if finder.deepest is not None:
        mask = mask & (names.depths() <= finder.deepest)
    if not wanted.include_hidden:
        mask = mask & ~names.hidden()
    if wanted.exclude is not None:
        mask = mask & ~names.kept(wanted.exclude)
    # A pattern that begins with directories says itself which are entered, if case counts.
    if wanted.exclude or not wanted.include_hidden or (finder.prefix and not wanted.case_sensitive):
        mask = mask & names.in_directories(finder.is_reached)
    return mask


def _with_extension(names: _Names, mask: Mask, finder: Finder) -> Mask:
    files, segments = np.flatnonzero(mask), names.snapshot.segments
    places = names.snapshot.segment_set.places(files)
    found = np.zeros(len(mask), bool)
    bases = (segments[number].name(file).rpartition("/")[2] for number, file in places)
    found[files] = np.fromiter(map(finder.has_extension, bases), bool, len(files))
    return found
