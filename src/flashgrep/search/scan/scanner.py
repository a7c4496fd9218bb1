"""Searches directories and files: the loop that does the work, in a worker or in the server.

The cost is in opening files, so that is all it does per file: open by the directory's descriptor,
read in after the previous file, close (see `batch`). A slice of work ends after a while and hands
back what is left, so that several workers share one tree and a cancel takes effect.
"""

from __future__ import annotations

import errno
import itertools
import math
import os
import stat
import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from flashgrep import limits
from flashgrep.errors import FlashgrepError
from flashgrep.search.decode import TooSparse
from flashgrep.search.match_count import Counter, TooLargeForMultiline
from flashgrep.search.pattern import PatternSpec, is_predictable
from flashgrep.search.result import ROOT, FoundFile, Item, ScanRequest, SearchQuestion, SliceResult
from flashgrep.search.scan.batch import FileBatch, modified
from flashgrep.workspace.globs import NameFilter
from flashgrep.workspace.ignore_rules import IgnoreChain
from flashgrep.workspace.safe_open import DIRECTORY, REGULAR, open_in
from flashgrep.workspace.scope import ResolvedPath, Scope, is_within
from flashgrep.workspace.text import is_text
from flashgrep.workspace.walk import (
    NOISE,
    REASON,
    DirectoryListing,
    RuleChains,
    chain_above,
    is_made_up,
    is_made_up_place,
    list_directory,
    parent_rules,
)

SLICE_FILES: Final = 1_500
"""Files a worker scans before it hands its remaining directories back to be shared."""

INLINE_SECONDS: Final = 0.03
"""A search this short is answered in the server's own thread, without worker processes."""

INLINE_FILE_BYTES: Final = 1 * limits.MIB
"""A larger file always goes to a worker process, which can be stopped."""

INLINE_PREDICTABLE_BYTES: Final = 4 * limits.MIB
"""The same for a pattern that is sure to be matched fast: 10 ms, less than a process takes."""

_NUMBERS: Final = itertools.count(1)
_OPEN_DIRECTORIES = 16
_LOOK_AT_CLOCK = 32
_MOST_WAITING = 4
"""How many times longer than its own time a slice in the server may last by the wall's clock."""


@dataclass(frozen=True)
class SliceLimits:
    """How long a slice may last, and how large a file it takes on."""

    seconds: float = limits.SLICE_SECONDS
    files: int = SLICE_FILES
    file_bytes: int = limits.WINDOW_BYTES
    leaves_large: bool = False
    """A large file is left for a worker, which can be stopped; how large depends on the pattern."""


INLINE = SliceLimits(
    seconds=INLINE_SECONDS,
    files=SLICE_FILES,
    file_bytes=INLINE_FILE_BYTES,
    leaves_large=True,
)
WORKER = SliceLimits()


# ── requests ─────────────────────────────────────────────────────────────────────────────────────


def scan_request(scope: Scope, where: ResolvedPath, question: SearchQuestion) -> ScanRequest:
    """The request for a question about a directory."""
    return _request(scope, where.path, question, tuple(parent_rules(scope, where.path)))


def file_request(scope: Scope, where: ResolvedPath, question: SearchQuestion) -> ScanRequest:
    """The request for a question about one file; ignore rules do not apply: it was named."""
    return _request(scope, os.path.dirname(where.path), question)


def _request(
    scope: Scope, root: bytes, question: SearchQuestion, rules: tuple[tuple[bytes, bytes], ...] = ()
) -> ScanRequest:
    return ScanRequest(
        root=root,
        pattern=question.pattern,
        counting=question.counting,
        reach=scope.packed,
        filters=question.filters,
        rules=rules,
    )


def unpacked_scanner(data: tuple[Any, ...]) -> Scanner:
    """The scanner of a request that `ScanRequest.packed` gave, with a scope of its own."""
    root, pattern, counting, reach, filters, rules = data
    request = ScanRequest(
        root=root,
        pattern=PatternSpec(*pattern),
        counting=counting,
        reach=reach,
        filters=filters,
        rules=rules,
    )
    return Scanner(request, Scope.unpacked(reach))


# ── scanning ─────────────────────────────────────────────────────────────────────────────────────


class Scanner:
    """Searches what it is handed, for one request."""

    def __init__(self, request: ScanRequest, scope: Scope) -> None:
        self.request = request
        self.scope = scope
        self.number = next(_NUMBERS)
        """By which the workers know the search."""
        self._filters = [NameFilter(names) for names in request.filters]
        self._batches: dict[int, FileBatch] = {}

    # Made where something is matched: the index may know that nothing has to be.

    @cached_property
    def counter(self) -> Counter:
        return Counter(self.request.pattern, self.request.counting)

    # Made where something is read from disk: a search by the index alone needs neither.

    @cached_property
    def _chains(self) -> RuleChains:
        return RuleChains(self.scope, chain_above(self.request.rules, self.request.root))

    @cached_property
    def root_is_made_up(self) -> bool:
        return is_made_up_place(self.scope, self.request.root)

    def batch(self, room: int) -> FileBatch:
        """An empty batch; kept from slice to slice, because fresh memory is dear."""
        if room not in self._batches:
            self._batches[room] = FileBatch(self.counter, room)
        return self._batches[room]

    def run(
        self, items: list[Item], entered: frozenset[bytes], patience: SliceLimits
    ) -> SliceResult:
        """Search `items` in order, as far as patience goes."""
        return _Slice(self, items, entered, patience).run()

    @property
    def begin(self) -> tuple[int, tuple[Any, ...]]:
        """What a worker has to know before it works for the search."""
        return self.number, self.request.packed()

    def keeps(self, shown: str) -> bool:
        """Whether a file passes every name filter."""
        return all(names.keeps(shown) for names in self._filters)

    def chain_of(self, item: Item) -> IgnoreChain:
        """The rules in force in a directory, its own not among them."""
        return self._chains.at(item.shown, item.ruled)


class _Slice:
    """One stretch of work: from the items handed over to what is left of them."""

    def __init__(
        self, scanner: Scanner, items: list[Item], entered: frozenset[bytes], patience: SliceLimits
    ) -> None:
        self.scanner = scanner
        self.scope = scanner.scope
        self.entered = entered
        self.patience = patience
        # In the server other threads may keep this one waiting: its own time counts there.
        is_own = patience.leaves_large
        self.deadline = time.monotonic() + patience.seconds * (_MOST_WAITING if is_own else 1)
        self.own_deadline = time.thread_time() + patience.seconds if is_own else math.inf
        self.stack: list[tuple[Item, IgnoreChain | None]] = [(i, None) for i in reversed(items)]
        self.multiline = scanner.counter.multiline
        is_by_line = scanner.request.counting in ("files", "lines")
        is_known = is_by_line and is_predictable(scanner.request.pattern)
        self.look_after = _LOOK_AT_CLOCK if is_known else 1
        self.largest = INLINE_PREDICTABLE_BYTES if is_known else INLINE_FILE_BYTES
        self.was_large = False
        """Whether a file took so long that it is time to look at the clock."""
        self.batch = scanner.batch(0 if self.multiline else patience.file_bytes)
        self.directories: list[int] = []
        self.opened: tuple[bytes | None, int] = (None, -1)
        """The directory opened last, if it still is."""
        self.outcome = SliceResult(found=[], pending=[], links=[], skipped=[], scanned=0)
        self.scanned = 0

    def run(self) -> SliceResult:
        try:
            while self.stack and not self._is_over():
                item, chain = self.stack.pop()
                self._directory(item, chain)
                if len(self.directories) >= _OPEN_DIRECTORIES:
                    self._flush()
            self._flush()
        finally:
            self.batch.clear()
            self._close_directories()
        pending = self.outcome.pending
        pending.extend(item for item, _ in reversed(self.stack))
        return self.outcome._replace(scanned=self.scanned)

    def _is_over(self) -> bool:
        return (
            self.scanned >= self.patience.files
            or time.monotonic() > self.deadline
            or time.thread_time() > self.own_deadline
        )

    # ── directories ─────────────────────────────────────────────────────────────────────────────

    def _directory(self, item: Item, chain: IgnoreChain | None) -> None:
        try:
            directory = self._open(item.real)
            self.directories.append(directory)
            if not self.scanner.root_is_made_up and is_made_up(directory, item.real):
                self.outcome.skipped.append((item.shown, REASON))
                return
            self.opened = (item.real, directory)
            if item.names is None:
                chain = chain or self.scanner.chain_of(item)
                listing = list_directory(directory, item.real, chain, self.scope)
        except OSError as error:
            self._skip(item.shown or ROOT, error)
            return
        if item.names is None:
            self._listed(item, directory, listing)
        else:
            self._files(item, directory, list(item.names))

    def _open(self, real: bytes) -> int:
        """Open a directory: by one name from its parent, if that is the last one opened."""
        parent, _, name = real.rpartition(b"/")
        if parent == self.opened[0] and name:
            return open_in(name, DIRECTORY, dir_fd=self.opened[1])
        return self.scope.open_real(real, DIRECTORY)

    def _listed(self, item: Item, directory: int, listing: DirectoryListing) -> None:
        if listing.has_rules:
            item = item._replace(ruled=(*item.ruled, (item.shown, item.real)))
        self._push(item, listing)
        prefix = item.shown + "/" if item.shown else ""
        for name in listing.links:
            self._link(item, prefix + name, name, directory)
        files = listing.files
        if self.scanner._filters:
            files = [name for name in files if self.scanner.keeps(prefix + name)]
        self._files(item, directory, files)

    def _push(self, item: Item, listing: DirectoryListing) -> None:
        prefix = item.shown + "/" if item.shown else ""
        real = item.real.rstrip(b"/") + b"/"
        chain = listing.chain
        for name in reversed(listing.directories):
            encoded = os.fsencode(name)
            child = Item(prefix + name, real + encoded, item.ruled)
            if child.real not in self.entered:
                self.stack.append((child, chain.child(encoded) if chain.levels else chain))

    def _link(self, item: Item, shown: str, name: str, directory: int) -> None:
        """A link to a file is that file; one to a directory outside is entered later, in order."""
        place, mode = self._target(item, name)
        if self._leads_to_kernel(shown, place.path, mode):
            return
        if stat.S_ISREG(mode) and self.scanner.keeps(shown):
            self._linked_file(place.path, item, shown, name, directory)
        elif stat.S_ISDIR(mode) and name not in NOISE and not self._is_below_root(place.path):
            self.outcome.links.append(Item(shown, place.path, item.ruled))

    def _target(self, item: Item, name: str) -> tuple[ResolvedPath, int]:
        """Where a link leads, and the mode of the target: 0 where it may not be seen."""
        real = item.real.rstrip(b"/") + b"/" + os.fsencode(name)
        try:
            place = self.scope.follow(real)
            status = self.scope.status(place)
        except FlashgrepError:
            return ResolvedPath("", real), 0  # denied, or leading nowhere: silent, as documented
        return place, 0 if status is None else status.st_mode

    def _leads_to_kernel(self, shown: str, path: bytes, mode: int) -> bool:
        """Whether a link leads where no walk goes by itself; it is reported as skipped."""
        is_directory = stat.S_ISDIR(mode)
        if self.scanner.root_is_made_up:
            return is_directory
        if not (is_directory or stat.S_ISREG(mode)) or not is_made_up_place(self.scope, path):
            return False
        if is_directory or self.scanner.keeps(shown):
            self.outcome.skipped.append((shown, REASON))
        return True

    def _is_below_root(self, path: bytes) -> bool:
        return is_within(path, self.scanner.request.root)

    # ── files ───────────────────────────────────────────────────────────────────────────────────

    def _files(self, item: Item, directory: int, files: list[str]) -> None:
        prefix = item.shown + "/" if item.shown else ""
        for at, name in enumerate(files):
            if (self.was_large or at % self.look_after == 0) and at and self._is_over():
                self._leave(item, files[at:])
                return
            try:
                fd = open_in(name, REGULAR, dir_fd=directory)
            except OSError as error:
                if error.errno == errno.ELOOP:  # a link named outright, or left for a worker
                    self._link(item, prefix + name, name, directory)
                else:
                    self._skip(prefix + name, error)
                continue
            self._file(fd, item, prefix, name, directory)

    def _leave(self, item: Item, files: list[str]) -> None:
        """Leave files for later, in portions: a huge directory's names must not travel together."""
        portion = self.patience.files
        for start in reversed(range(0, len(files), portion)):
            names = tuple(files[start : start + portion])
            self.stack.append((item._replace(names=names), None))

    def _linked_file(self, real: bytes, item: Item, shown: str, name: str, directory: int) -> None:
        try:
            fd = self.scope.open_real(real, REGULAR)
        except OSError as error:
            self._skip(shown, error)
            return
        self._file(fd, item, shown.removesuffix(name), name, directory)

    def _file(self, fd: int, item: Item, prefix: str, name: str, directory: int) -> None:
        self.scanned += 1
        try:
            if self.multiline:
                self._single(fd, item, prefix + name, name, directory)
            elif not self.batch.read(fd, prefix, name, directory):
                self._flush(keep_directories=True)
                self._single(fd, item, prefix + name, name, directory)
            elif self.batch.is_full:
                self._flush(keep_directories=True)
        except OSError as error:
            if error.errno == errno.EISDIR and is_made_up(fd, item.real):
                self.outcome.skipped.append((prefix + name, REASON))
            else:
                self._skip(prefix + name, error)
        finally:
            os.close(fd)

    def _single(self, fd: int, item: Item, shown: str, name: str, directory: int) -> None:
        """A file matched on its own: a large one, or any in multiline."""
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            return
        self.was_large = True
        if self.patience.leaves_large and status.st_size >= self.largest:
            self.outcome.pending.append(item._replace(names=(name,)))
            return
        if not is_text(os.pread(fd, limits.SNIFF_BYTES, 0)):
            return
        try:
            value = self.scanner.counter.in_file(fd)
        except TooLargeForMultiline:
            limit = limits.MULTILINE_BYTES // limits.MIB
            self.outcome.skipped.append((shown, f"over {limit} MiB, too large for multiline"))
            return
        except TooSparse:
            gib = limits.HOLE_BYTES // limits.GIB
            self.outcome.skipped.append((shown, f"a sparse file with over {gib} GiB of holes"))
            return
        if value:
            when = modified(name, directory) if self.scanner.counter.counting == "files" else 0
            self.outcome.found.append(FoundFile(shown, value, when))

    # ── ends ────────────────────────────────────────────────────────────────────────────────────

    def _flush(self, keep_directories: bool = False) -> None:
        self.outcome.found.extend(self.batch.flush())
        if not keep_directories:
            self._close_directories()

    def _close_directories(self) -> None:
        for directory in self.directories:
            os.close(directory)
        self.directories.clear()
        self.opened = (None, -1)

    def _skip(self, shown: str, error: OSError) -> None:
        reason = os.strerror(error.errno).lower() if error.errno else "unreadable"
        self.outcome.skipped.append((shown, reason))
