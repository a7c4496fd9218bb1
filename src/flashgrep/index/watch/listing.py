"""Lists a tree, in this process and in others: `python -m` this module lists for the server.

A small tree is listed right here. Whatever is left after a while goes to processes, one per core,
because a server that starts, or has lost track, must not wait for a hundred thousand stats. They
watch through the server's own inotify descriptor, which they inherit.
"""

from __future__ import annotations

import errno
import gc
import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Any, Final, NamedTuple

from flashgrep import limits
from flashgrep.errors import Cancelled
from flashgrep.index.format.enrolled_files import EnrolledFiles, EnrolledTable
from flashgrep.index.watch.changes import (
    Inotify,
    Rules,
    Tree,
    WatchLimit,
    identity,
    joined,
    link_target,
    real_path,
)
from flashgrep.system.child import Child, ChildDied, leave_ending_to_the_server, readable, serve
from flashgrep.workspace.ignore_rules import IgnoreChain
from flashgrep.workspace.safe_open import DIRECTORY
from flashgrep.workspace.scope import Scope
from flashgrep.workspace.walk import (
    RULE_FILE,
    DirectoryListing,
    RuleChains,
    Ruled,
    chain_above,
    is_made_up,
    list_directory,
)

LIST_INLINE_SECONDS: Final = 0.05
"""A tree that is listed this fast needs no processes to list it."""

MODULE: Final = "flashgrep.index.watch.listing"
_TURN_SECONDS: Final = 0.05
_OWN_SECONDS: Final = 0.01
"""How long this process lists by itself before it looks whether another one has nothing to do."""
_SHARE: Final = 64  # directories handed over at once
_AHEAD: Final = 2
"""Shares that a process has at a time: it does not wait until we have looked at its answer."""
_FIRST_SECONDS: Final = 0.1
"""How long processes list that began ahead: until this one looks after them, on a quiet machine."""
_SHARE_SECONDS: Final = 0.01
"""How long one lists before it answers: at the end all others wait for its last answer."""
_identity_of: Final = attrgetter("st_size", "st_mtime_ns", "st_ctime_ns", "st_ino")
_names_of: Final = attrgetter("st_nlink")
_ONCE: Final = frozenset((1,))
_GONE: Final = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EXDEV)


class Waiting(NamedTuple):
    """A directory still to be listed, with those above it that contain rule files."""

    shown: str
    ruled: Ruled


@dataclass
class Lister:
    """Lists directories below a root."""

    scope: Scope
    root: bytes
    inotify: Inotify | None
    above: Rules
    enrolled: EnrolledFiles | None = None
    """The files that are known: of those that are as they were, numbers are enough."""

    @cached_property
    def _chains(self) -> RuleChains:
        """A rule file that changes after it was read here is in a directory that is watched."""
        return RuleChains(self.scope, chain_above(self.above, self.root))

    def run(
        self, waiting: list[Waiting], is_over: Callable[[], bool]
    ) -> tuple[Tree, list[Waiting]]:
        """List directories, the last first, and all below them until it is over.

        Gives what is left then, in order.
        """
        tree = Tree()
        stack: list[tuple[Waiting, IgnoreChain | None]]
        stack = [(place, None) for place in waiting]
        begun = False
        # One directory at least, however long its rules take to read: or it would never end.
        while stack and not (begun and is_over()):
            begun = True
            place, chain = stack.pop()
            chain = chain or self._chains.at(place.shown, place.ruled)
            listing = self._directory(tree, place, chain)
            if listing is not None:
                below = tree.directories[place.shown]
                stack += [
                    (Waiting(joined(place.shown, name), below), chain_of(listing, name))
                    for name in listing.directories
                ]
        return tree, [place for place, _ in stack]

    def _directory(self, tree: Tree, place: Waiting, chain: IgnoreChain) -> DirectoryListing | None:
        """One directory, watched first; None where it cannot be read, or has gone."""
        real = real_path(self.root, place.shown)
        try:
            directory = self.scope.open_real(real, DIRECTORY)
        except OSError as error:
            _cannot_read(tree, place, error)
            return None
        try:
            if is_made_up(directory, real):
                tree.unreadable.add(place.shown)
                return None
            if self.inotify is not None:
                tree.watched[self.inotify.watch(directory)] = place.shown
            listing = list_directory(directory, real, chain, self.scope)
            self._look_at(tree, place.shown, directory, listing)
        except OSError as error:
            _cannot_read(tree, place, error)
            return None
        finally:
            os.close(directory)
        own = ((place.shown, real),) if listing.has_rules else ()
        tree.directories[place.shown] = (*place.ruled, *own)
        return listing

    def _look_at(self, tree: Tree, shown: str, directory: int, listing: DirectoryListing) -> None:
        prefix = shown + "/" if shown else ""
        if listing.files:
            tables = self.enrolled.tables(shown) if self.enrolled else []
            names, statuses = _statuses(directory, listing.files)
            if len(tables) != 1 or not _are_enrolled(tree, prefix, names, statuses, tables[0]):
                _look_at_files(tree, prefix, names, statuses, tables)
        if listing.has_rules and RULE_FILE not in listing.files:
            _look_at_rules(tree, prefix, directory)
        for name in listing.links:
            tree.links[prefix + name] = link_target(prefix + name, os.fsencode(name), directory)


def _cannot_read(tree: Tree, place: Waiting, error: OSError) -> None:
    if error.errno not in _GONE:
        tree.unreadable.add(place.shown)


def chain_of(listing: DirectoryListing, name: str) -> IgnoreChain:
    """The rules in force in a directory that a listing has."""
    return listing.chain.child(os.fsencode(name))


def _statuses(directory: int, names: list[str]) -> tuple[list[str], list[os.stat_result]]:
    """The status of each file, without those that have gone: the watch has reported them."""
    status_of = os.stat
    try:
        return names, [status_of(name, dir_fd=directory, follow_symlinks=False) for name in names]
    except FileNotFoundError:
        pass
    found: dict[str, os.stat_result] = {}
    for name in names:
        with suppress(FileNotFoundError):
            found[name] = status_of(name, dir_fd=directory, follow_symlinks=False)
    return list(found), list(found.values())


def _are_enrolled(
    tree: Tree,
    prefix: str,
    names: list[str],
    statuses: list[os.stat_result],
    table: EnrolledTable,
) -> bool:
    """Whether all files of a directory are as one table has them, each with one name; noted if so.

    It is nearly always so, and then no line of Python runs for a single file.
    """
    if not names or not _ONCE.issuperset(map(_names_of, statuses)):
        return False
    try:
        numbers = list(map(table.numbers.__getitem__, [prefix + name for name in names]))
    except KeyError:
        return False
    if table.statuses(numbers) != list(map(_identity_of, statuses)):
        return False
    tree.recognised.setdefault(table.segment, []).extend(numbers)
    return True


def _look_at_files(
    tree: Tree,
    prefix: str,
    names: list[str],
    statuses: list[os.stat_result],
    tables: list[EnrolledTable],
) -> None:
    for name, status in zip(names, statuses, strict=True):
        path, now = prefix + name, identity(status)
        for table in tables:
            number = table.numbers.get(path)
            if number is not None and table.statuses([number]) == [now]:
                tree.recognised.setdefault(table.segment, []).append(number)
                if status.st_nlink != 1:
                    tree.shared[path] = now
                break
        else:
            tree.add_file(path, status)


def _look_at_rules(tree: Tree, prefix: str, directory: int) -> None:
    """A rule file that ignores itself counts all the same."""
    try:
        status = os.stat(RULE_FILE, dir_fd=directory, follow_symlinks=False)
    except OSError:
        return
    if status.st_nlink != 1:
        tree.shared[prefix + RULE_FILE] = identity(status)


# ── in processes ────────────────────────────────────────────────────────────────────────────────


def start_workers(inotify: Inotify | None) -> list[Child]:
    """The processes of a listing: one for every core but our own."""
    inherited = (inotify.fd,) if inotify is not None else ()
    count = min(len(os.sched_getaffinity(0)), limits.BUILDERS) - 1
    return [Child(MODULE, inherited) for _ in range(count)]


def list_tree(
    lister: Lister,
    waiting: list[Waiting],
    stopped: Callable[[], bool],
    begun: SharedListing | None = None,
) -> Tree:
    """List directories and everything below them, here or on every core; or what has `begun`."""
    deadline = time.monotonic() + LIST_INLINE_SECONDS
    shared, tree, rest = begun, Tree(), list[Waiting]()
    try:
        if shared is None:
            tree, rest = lister.run(waiting, lambda: stopped() or time.monotonic() > deadline)
            if stopped():
                raise Cancelled("stopped")
            if rest:
                shared = SharedListing(lister, start_workers(lister.inotify))
        if shared is not None:
            shared.run(rest, tree, stopped)
    except BaseException:
        if shared is not None:
            shared.end()
        raise
    if shared is not None:
        shared.end_unawaited()
    return tree


class SharedListing:
    """One listing, shared out to processes; this process does what they leave."""

    def __init__(
        self, lister: Lister, workers: list[Child], is_free: Callable[[], bool] = lambda: True
    ) -> None:
        """While this process is not free, it leaves the work to the others."""
        fd = -1 if lister.inotify is None else lister.inotify.fd
        enrolled = lister.enrolled
        known = None if enrolled is None else enrolled.packed
        self._place = (lister.scope.packed, lister.root, fd, lister.above, known)
        self._lister = lister
        self.workers = {worker.out: worker for worker in workers}
        self._is_free = is_free
        self._busy: Counter[int] = Counter()
        self._waiting: list[Waiting] = []

    def begin(self, place: Waiting) -> None:
        """Have a process list a directory and what is below it, for as long as we look away."""
        worker = next(iter(self.workers.values()), None)
        if worker is None:
            self._waiting.append(place)
        else:
            self._send(worker, [place], _FIRST_SECONDS / len(self.workers))

    def end(self) -> None:
        """End the processes, whatever they are at."""
        for worker in self.workers.values():
            worker.stop(kill=True)

    def end_unawaited(self) -> None:
        """The same, in a thread: to give back its memory one takes 30 ms, and a search waits for
        what was listed."""
        for worker in self.workers.values():
            worker.kill()
        threading.Thread(target=self.end, name="flashgrep-reap").start()

    def run(self, waiting: list[Waiting], tree: Tree, stopped: Callable[[], bool]) -> None:
        """Add all that is found to a tree."""
        self._waiting += waiting
        busy = self._busy
        try:
            while self._waiting or busy:
                if stopped():
                    raise Cancelled("stopped")
                self._hand_out()
                helps = self._is_free() or not busy
                if helps:
                    self._list_here(tree)
                self._take_in(tree, wait=not (helps and self._waiting))
        except ChildDied:
            raise OSError("a listing process died; is there enough memory?") from None

    def _list_here(self, tree: Tree) -> None:
        share, self._waiting = self._waiting[-_SHARE:], self._waiting[:-_SHARE]
        if share:
            deadline = time.monotonic() + min(_OWN_SECONDS, limits.SLICE_SECONDS)
            part, rest = self._lister.run(share, lambda: time.monotonic() > deadline)
            tree.take(part)
            self._waiting += rest

    def _hand_out(self) -> None:
        # From the other end than ours: what lies together is in the same tables.
        for _ in range(_AHEAD):
            for worker in self.workers.values():
                if self._waiting and self._busy[worker.out] < _AHEAD:
                    count = max(1, min(_SHARE, len(self._waiting) // (2 * _AHEAD)))
                    share, self._waiting = self._waiting[:count], self._waiting[count:]
                    self._send(worker, share, min(_SHARE_SECONDS, limits.SLICE_SECONDS))

    def _send(self, worker: Child, share: list[Waiting], seconds: float) -> None:
        worker.send((self._place, seconds, [tuple(place) for place in share]))
        self._busy[worker.out] += 1

    def _take_in(self, tree: Tree, wait: bool) -> None:
        for out in readable(self._busy, _TURN_SECONDS if wait else 0):
            answered = self.workers[out].receive()
            self._busy -= Counter((out,))
            if answered[0] == "failed":
                raise OSError(answered[1])
            limit, tables, rest = answered
            if limit:
                raise WatchLimit(limit)
            tree.take(Tree(*tables))
            self._waiting[:0] = [Waiting(*place) for place in rest]


def answer(message: Any, listers: dict[Any, Lister]) -> Any:
    """What a listing process does with a message: a slice of the listing, and what is left."""
    place, seconds, share = message
    if place not in listers:
        reach, root, fd, above, known = place
        listers[place] = Lister(
            scope=Scope.unpacked(reach),
            root=root,
            inotify=None if fd < 0 else Inotify(fd),
            above=above,
            enrolled=None if known is None else EnrolledFiles.unpacked(known),
        )
    lister = listers[place]
    deadline = time.monotonic() + seconds
    try:
        tree, rest = lister.run(
            [Waiting(*place) for place in share], lambda: time.monotonic() > deadline
        )
    except WatchLimit as error:
        return str(error), (), []
    return "", tuple(vars(tree).values()), [tuple(place) for place in rest]


# ── the process ──────────────────────────────────────────────────────────────────────────────────
# A process that lists directories for the server; see `listing`.


_NICE: Final = 5


def main() -> None:
    """List for the server until it is gone; a server that starts has the right of way."""
    leave_ending_to_the_server()
    os.nice(_NICE)
    gc.disable()  # it makes a hundred thousand things to hand over, and no circles
    listers: dict[Any, Lister] = {}
    serve(lambda message: answer(message, listers))


if __name__ == "__main__":
    main()
