"""What of a search cannot be answered from the segments, and which of their files it may use."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator
from functools import cached_property

import numpy as np

from flashgrep.index.answer.view import View, topmost
from flashgrep.index.format.segment import Mask, Numbers
from flashgrep.index.format.snapshot import Place
from flashgrep.index.watch.listing import joined
from flashgrep.index.watch.tracker import Tracker, is_below
from flashgrep.search.scan.request import Item
from flashgrep.search.scan.scanner import Scanner
from flashgrep.workspace.walk import Ruled


class Overlay:
    """The two halves of one search root: what is in the segments and what is on disk."""

    def __init__(self, view: View, tracker: Tracker, root: str, scanner: Scanner) -> None:
        self._view = view
        self._tracker = tracker
        self._root = root
        self._scanner = scanner
        self._chains = tracker.chains(view.above)
        self._aliases = view.sure_aliases
        if root:
            self._aliases = {a: p for a, p in view.sure_aliases.items() if is_below(a, root)}

    def relative(self, shown: str) -> str:
        """A path of the tree as the search shows it."""
        return shown[len(self._root) + 1 :] if self._root else shown

    # ── in the segments ─────────────────────────────────────────────────────────────────────────

    @cached_property
    def in_scope(self) -> Mask:
        """Of all files of the segments, those that stand for the disk and lie below the root."""
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

    def aliases(self, links: Container[str] | None = None) -> Iterator[tuple[str, Place]]:
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

    def alias(self, shown: str) -> Place | None:
        """Where the file that a link stands for is in the segments."""
        return self._aliases.get(joined(self._root, shown))

    # ── on disk ─────────────────────────────────────────────────────────────────────────────────

    def items(self) -> list[Item]:
        """What the scanner has to look at."""
        names: dict[str, set[str]] = defaultdict(set)
        for path in (*self._changed(), *self._links()):
            directory, _, name = path.rpartition("/")
            names[directory].add(name)
        return [
            item for directory in names for item in self._in(directory, sorted(names[directory]))
        ]

    def _changed(self) -> Iterator[str]:
        subtrees = topmost(self._view.subtrees)
        yield from (path for path in subtrees if self._is_inside(path))
        for path in self._view.entries - self._view.subtrees:
            if self._is_inside(path) and not any(is_below(path, one) for one in subtrees):
                yield path

    def _is_inside(self, path: str) -> bool:
        return path != self._root and is_below(path, self._root)

    def _links(self) -> Iterator[str]:
        for link, target in self._view.sure_links:  # the others are looked at anyway
            if is_below(link, self._root) and not self._is_passed_over(target):
                yield link

    def _is_passed_over(self, target: str | None) -> bool:
        """Whether a link leads to a directory that the search comes by anyway."""
        return (
            target is not None
            and target in self._view.directories
            and is_below(target, self._root)
            and self._view.is_certain(target)
        )

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
