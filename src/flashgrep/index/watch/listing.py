"""Lists a tree, in this process and in others: `python -m` this module lists for the server.

A small tree is listed right here. What is left after a while goes to processes, one per core,
because a server that starts, or has lost track, must not wait for a hundred thousand stats.
They watch through the server's own inotify descriptor, which they inherit.
"""

from __future__ import annotations

import errno
import gc
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from flashgrep import limits
from flashgrep.errors import Cancelled
from flashgrep.index.format.enrolled_files import STATUS, EnrolledFiles, EnrolledTable
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
_GONE: Final = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EXDEV)


class Waiting(NamedTuple):
    """A directory still to be listed, with those above it that hold rule files."""

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

    def run(
        self, waiting: list[Waiting], is_over: Callable[[], bool]
    ) -> tuple[Tree, list[Waiting]]:
        """List directories and all below them until it is over; gives what is left then."""
        chains = RuleChains(self.scope, chain_above(self.above, self.root))
        tree = Tree()
        stack: list[tuple[Waiting, IgnoreChain | None]]
        stack = [(place, None) for place in reversed(waiting)]
        begun = False
        # One directory at least, however long its rules take to read: or it would never end.
        while stack and not (begun and is_over()):
            begun = True
            place, chain = stack.pop()
            chain = chain or chains.at(place.shown, place.ruled)
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
        tables = self.enrolled.tables(shown) if self.enrolled and listing.files else []
        if len(tables) == 1:
            _look_at_enrolled(tree, prefix, directory, listing.files, tables[0])
        else:
            _look_at_files(tree, prefix, directory, listing.files, tables)
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


def _look_at_files(
    tree: Tree, prefix: str, directory: int, names: list[str], tables: list[EnrolledTable]
) -> None:
    for name in names:
        try:
            status = os.stat(name, dir_fd=directory, follow_symlinks=False)
        except FileNotFoundError:
            continue  # gone: the watch has reported it
        path, now = prefix + name, identity(status)
        for table in tables:
            number = table.numbers.get(path)
            if number is not None and STATUS.unpack_from(table.rows, 32 * number) == now:
                tree.recognised.setdefault(table.segment, []).append(number)
                if status.st_nlink != 1:
                    tree.shared[path] = now
                break
        else:
            tree.add_file(path, status)


def _look_at_enrolled(
    tree: Tree, prefix: str, directory: int, names: list[str], table: EnrolledTable
) -> None:
    """The same with one table, which is nearly always so, in half the time."""
    stat, number_of, unpack_from, rows = os.stat, table.numbers.get, STATUS.unpack_from, table.rows
    found = tree.recognised.setdefault(table.segment, [])
    for name in names:
        try:
            status = stat(name, dir_fd=directory, follow_symlinks=False)
        except FileNotFoundError:
            continue
        path = prefix + name
        now = status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino
        number = number_of(path)
        if number is not None and unpack_from(rows, 32 * number) == now:
            found.append(number)
            if status.st_nlink != 1:
                tree.shared[path] = now
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
    started: list[Child] | None = None,
    is_free: Callable[[], bool] = lambda: True,
) -> Tree:
    """List directories and everything below them, here or on every core.

    `started` are processes for it, if they were started ahead. While this process is not free, it
    leaves the work to them.
    """
    deadline = time.monotonic() + LIST_INLINE_SECONDS
    try:
        # One directory at least; where processes were started ahead, the rest is theirs.
        tree, rest = lister.run(
            waiting, lambda: stopped() or started is not None or time.monotonic() > deadline
        )
        if stopped():
            raise Cancelled("stopped")
        if rest:
            workers = start_workers(lister.inotify) if started is None else started
            started = workers
            _Shared(lister, stopped, workers, is_free).run(rest, tree)
    finally:
        for worker in started or ():
            worker.stop(kill=True)
    return tree


class _Shared:
    """One listing shared out to processes; what they leave is done here."""

    def __init__(
        self,
        lister: Lister,
        stopped: Callable[[], bool],
        workers: list[Child],
        is_free: Callable[[], bool],
    ) -> None:
        fd = -1 if lister.inotify is None else lister.inotify.fd
        enrolled = lister.enrolled
        known = None if enrolled is None else enrolled.packed
        self._place = (lister.scope.packed, lister.root, fd, lister.above, known)
        self._lister = lister
        self._stopped = stopped
        self._workers = workers
        self._is_free = is_free
        self._waiting: list[Waiting] = []

    def run(self, waiting: list[Waiting], tree: Tree) -> None:
        self._waiting = waiting
        busy: dict[int, Child] = {}
        try:
            while self._waiting or busy:
                if self._stopped():
                    raise Cancelled("stopped")
                self._hand_out(self._workers, busy)
                helps = self._is_free() or not busy
                if helps:
                    self._list_here(tree)
                self._take_in(busy, tree, wait=not (helps and self._waiting))
        except ChildDied:
            raise OSError("a listing process died; is there enough memory?") from None

    def _list_here(self, tree: Tree) -> None:
        share, self._waiting = self._waiting[-_SHARE:], self._waiting[:-_SHARE]
        if share:
            deadline = time.monotonic() + min(_OWN_SECONDS, limits.SLICE_SECONDS)
            part, rest = self._lister.run(share, lambda: time.monotonic() > deadline)
            tree.take(part)
            self._waiting += rest

    def _hand_out(self, workers: list[Child], busy: dict[int, Child]) -> None:
        for worker in workers:
            if self._waiting and worker.out not in busy:
                count = max(1, min(_SHARE, len(self._waiting) // 2))
                share, self._waiting = self._waiting[-count:], self._waiting[:-count]
                worker.send((self._place, [tuple(place) for place in share]))
                busy[worker.out] = worker

    def _take_in(self, busy: dict[int, Child], tree: Tree, wait: bool) -> None:
        for out in readable(busy, _TURN_SECONDS if wait else 0):
            answered = busy.pop(out).receive()
            if answered[0] == "failed":
                raise OSError(answered[1])
            limit, tables, rest = answered
            if limit:
                raise WatchLimit(limit)
            tree.take(Tree(*tables))
            self._waiting += [Waiting(*place) for place in rest]


def answer(message: Any, listers: dict[Any, Lister]) -> Any:
    """What a listing process does with a message: a slice of the listing, and what is left."""
    place, share = message
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
    deadline = time.monotonic() + limits.SLICE_SECONDS
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
