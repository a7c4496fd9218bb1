"""Finds paths by glob, with a walk that opens no directory it knows to be useless.

Excludes, depth, hidden entries and the pattern's own fixed beginning prune the walk, not its
result: a pattern `src/**/*.py` opens nothing but `src`.
"""

from __future__ import annotations

import heapq
import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from flashgrep.errors import Cancelled, FlashgrepError
from flashgrep.workspace.globs import Glob, NameFilter
from flashgrep.workspace.ignore_rules import IgnoreChain
from flashgrep.workspace.safe_open import DIRECTORY
from flashgrep.workspace.scope import Scope, is_within
from flashgrep.workspace.walk import (
    NOISE,
    REASON,
    DirectoryListing,
    chain_above,
    is_made_up,
    is_made_up_place,
    list_directory,
    parent_rules,
)


@dataclass(frozen=True)
class FindRequest:
    """What to find."""

    pattern: Glob | None = None
    directories: bool = False
    exclude: NameFilter | None = None
    extensions: frozenset[str] = frozenset()
    max_depth: int | None = None
    include_hidden: bool = True
    follow_symlinks: bool = False
    respect_gitignore: bool = True
    case_sensitive: bool = True


class FoundEntry(NamedTuple):
    """A path found: relative to the root, with what it can be sorted by."""

    shown: str
    size: int
    modified: int


@dataclass
class Finding:
    """What a walk found."""

    entries: list[FoundEntry] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    opened: int = 0
    """Directories opened: how well the walk was pruned."""


class _Directory(NamedTuple):
    shown: str
    real: bytes
    depth: int
    chain: IgnoreChain | None


class Chooser:
    """Decides which paths are wanted, by their names alone."""

    def __init__(self, wanted: FindRequest) -> None:
        self.wanted = wanted
        self.prefix = wanted.pattern.fixed_prefix if wanted.pattern else ()
        self.deepest = _deepest(wanted)
        self._reached: dict[str, bool] = {}

    def chosen(self, entries: Iterable[FoundEntry]) -> list[FoundEntry]:
        """Those that a walk of a tree that holds just these would find."""
        found = []
        for entry in entries:
            directory, _, name = entry.shown.rpartition("/")
            if self._is_wanted(entry.shown, name) and self.is_reached(directory):
                found.append(entry)
        return found

    def is_reached(self, directory: str) -> bool:
        """Whether a walk would enter a directory."""
        unknown: list[str] = []
        while directory and directory not in self._reached:
            unknown.append(directory)
            directory = directory.rpartition("/")[0]
        reached = self._reached.get(directory, True)
        for below in reversed(unknown):
            depth, name = below.count("/") + 1, below.rpartition("/")[2]
            reached = reached and self._enters(below, name, depth)
            self._reached[below] = reached
        return reached

    def _is_wanted(self, shown: str, name: str) -> bool:
        wanted = self.wanted
        if not wanted.include_hidden and name.startswith("."):
            return False
        if wanted.extensions and not self.has_extension(name):
            return False
        if wanted.pattern is not None:
            subject = shown if wanted.pattern.has_slash else name
            if not wanted.pattern.matches(subject):
                return False
        return not self._is_excluded(shown)

    def has_extension(self, name: str) -> bool:
        """Whether a name ends with one of the extensions."""
        if not self.wanted.case_sensitive:
            name = name.lower()
        # "tar.gz" is an extension too, so every dot may begin it. A name has few dots, a caller may
        # have named any number of extensions.
        at = name.find(".")
        while at >= 0:
            if name[at + 1 :] in self.wanted.extensions:
                return True
            at = name.find(".", at + 1)
        return False

    def _is_excluded(self, shown: str) -> bool:
        return self.wanted.exclude is not None and self.wanted.exclude.keeps(shown)

    def _enters(self, shown: str, name: str, depth: int) -> bool:
        if self.deepest is not None and depth > self.deepest:
            return False
        if not self.wanted.include_hidden and name.startswith("."):
            return False
        if depth <= len(self.prefix) and not self._follows_prefix(name, depth):
            return False
        return not self._is_excluded(shown)

    def _follows_prefix(self, name: str, depth: int) -> bool:
        expected = self.prefix[depth - 1]
        if self.wanted.case_sensitive:
            return name == expected
        return name.lower() == expected.lower()


class Finder(Chooser):
    """One walk."""

    def __init__(
        self, scope: Scope, root: bytes, wanted: FindRequest, cancelled: Callable[[], bool]
    ) -> None:
        super().__init__(wanted)
        self.scope = scope
        self.root = root
        self.cancelled = cancelled
        self.finding = Finding()
        self.entered = {root}
        self.stack: list[_Directory] = []
        self.later: list[tuple[list[bytes], _Directory]] = []
        self._root_is_made_up = is_made_up_place(scope, root)

    def run(self) -> Finding:
        """Walk the tree below the root."""
        chain = None
        if self.wanted.respect_gitignore:
            chain = chain_above(parent_rules(self.scope, self.root), self.root)
        self.stack.append(_Directory(shown="", real=self.root, depth=0, chain=chain))
        return self.walk()

    def below_links(self, links: Iterable[tuple[str, bytes, IgnoreChain]]) -> Finding:
        """Walk only the directories outside the root that some of its links lead to."""
        for shown, real, chain in links:
            at = _Directory(shown=shown, real=real, depth=shown.count("/") + 1, chain=chain)
            heapq.heappush(self.later, (os.fsencode(shown).split(b"/"), at))
        return self.walk()

    def walk(self) -> Finding:
        """Walk what is left to be walked."""
        while self.stack or self._enter_link():
            if self.cancelled():
                raise Cancelled("The call was cancelled")
            self._directory(self.stack.pop())
        return self.finding

    def among_links(self, links: Iterable[str]) -> None:
        """Find the same in a list of links, without a walk; for one that follows no links."""
        for shown in links:
            directory, _, name = shown.rpartition("/")
            if self._is_wanted(shown, name) and self.is_reached(directory):
                real = self.root.rstrip(b"/") + b"/" + os.fsencode(directory)
                at = _Directory(shown=directory, real=real, depth=0, chain=None)
                self._link(at, None, shown, name)

    def among_entries(self, shown: str, real: bytes, listing: DirectoryListing) -> None:
        """Find the same among some entries of a directory; what is below them is left to `walk`.

        For a walk that respects ignore rules.
        """
        if not self.is_reached(shown):
            return
        depth = shown.count("/") + 1 if shown else 0
        at = _Directory(shown=shown, real=real, depth=depth, chain=listing.chain)
        try:
            directory = self.scope.open_real(real, DIRECTORY)
        except OSError:
            return  # it has gone
        try:
            self._entries(at, listing, directory)
        finally:
            os.close(directory)

    def _enter_link(self) -> bool:
        """Continue with the first link in walk order to a directory not entered yet."""
        while self.later:
            at = heapq.heappop(self.later)[1]
            if not any(is_within(at.real, seen) for seen in self.entered):
                self.entered.add(at.real)
                self.stack.append(at)
                return True
        return False

    def _directory(self, at: _Directory) -> None:
        try:
            directory = self.scope.open_real(at.real, DIRECTORY)
        except OSError as error:
            self._skip(at.shown, error)
            return
        try:
            if not self._root_is_made_up and is_made_up(directory, at.real):
                self.finding.skipped.append((at.shown, REASON))
                return
            self.finding.opened += 1
            listing = list_directory(directory, at.real, at.chain, self.scope)
            self._entries(at, listing, directory)
        except OSError as error:
            self._skip(at.shown, error)
        finally:
            os.close(directory)

    def _entries(self, at: _Directory, listing: DirectoryListing, directory: int) -> None:
        prefix = at.shown + "/" if at.shown else ""
        if self.wanted.directories:
            self._offer(prefix, listing.directories, directory)
        else:
            self._offer(prefix, listing.files, directory)
        for name in listing.links:
            self._link(at, listing, prefix + name, name)
        for name in reversed(listing.directories):
            if self._enters(prefix + name, name, at.depth + 1):
                child = self._child(at, listing, prefix + name, name)
                if child.real not in self.entered:
                    self.stack.append(child)

    def _child(
        self, at: _Directory, listing: DirectoryListing, shown: str, name: str
    ) -> _Directory:
        encoded = os.fsencode(name)
        chain = listing.chain.child(encoded) if at.chain is not None else None
        return _Directory(
            shown=shown, real=at.real.rstrip(b"/") + b"/" + encoded, depth=at.depth + 1, chain=chain
        )

    def _offer(self, prefix: str, names: list[str], directory: int) -> None:
        for name in names:
            if self._is_wanted(prefix + name, name):
                try:
                    status = os.stat(name, dir_fd=directory, follow_symlinks=False)
                except OSError:
                    continue  # it has gone
                self._found(prefix + name, status)

    def _link(
        self, at: _Directory, listing: DirectoryListing | None, shown: str, name: str
    ) -> None:
        try:
            place = self.scope.follow(at.real.rstrip(b"/") + b"/" + os.fsencode(name))
            status = self.scope.status(place)
        except FlashgrepError:
            return
        if status is None:
            return
        is_directory = stat.S_ISDIR(status.st_mode)
        if is_directory and name in NOISE:
            return
        of_kind = is_directory if self.wanted.directories else stat.S_ISREG(status.st_mode)
        if of_kind and self._is_wanted(shown, name):
            self._found(shown, status)
        if listing is None or not is_directory or not self.wanted.follow_symlinks:
            return
        if self._root_is_made_up:
            return
        if self._enters(shown, name, at.depth + 1):
            child = self._child(at, listing, shown, name)
            key = os.fsencode(shown).split(b"/")
            heapq.heappush(self.later, (key, child._replace(real=place.path)))

    def _found(self, shown: str, status: os.stat_result) -> None:
        self.finding.entries.append(FoundEntry(shown, status.st_size, status.st_mtime_ns))

    def _skip(self, shown: str, error: OSError) -> None:
        reason = os.strerror(error.errno).lower() if error.errno else "unreadable"
        self.finding.skipped.append((shown or ".", reason))


def _deepest(wanted: FindRequest) -> int | None:
    """The deepest directory worth opening: 0 is the root."""
    depths = [] if wanted.max_depth is None else [wanted.max_depth]
    if wanted.pattern and wanted.pattern.has_slash and wanted.pattern.max_depth is not None:
        depths.append(wanted.pattern.max_depth - 1)
    return min(depths, default=None)
