"""What the tree holds and what changed since: every directory watched, every change remembered.

A directory is watched before it is listed, so nothing can happen unseen in between. A query drains
later events: single entries, or whole subtrees where a directory came, went or moved, or an ignore
file changed. Such places are searched on disk, so reporting too much is never wrong, and reporting
too little always is.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping
from typing import NamedTuple

from flashgrep.index.format.enrolled_files import EnrolledFiles
from flashgrep.index.watch.changes import (
    IN_ATTRIB,
    IN_DELETE_SELF,
    IN_IGNORED,
    IN_ISDIR,
    IN_MOVE_SELF,
    IN_Q_OVERFLOW,
    IN_UNMOUNT,
    Changes,
    Inotify,
    InotifyEvent,
    Rules,
    Tree,
    is_below,
    joined,
    real_path,
)
from flashgrep.index.watch.listing import (
    Lister,
    SharedListing,
    Waiting,
    list_tree,
    start_workers,
)
from flashgrep.workspace.safe_open import DIRECTORY, O_PATH
from flashgrep.workspace.scope import Scope
from flashgrep.workspace.walk import (
    RULE_FILE,
    TEMPORARY_PREFIX,
    DirectoryListing,
    RuleChains,
    Ruled,
    chain_above,
    list_entries,
    parent_rules,
)


class _Begun(NamedTuple):
    """A listing of the whole tree that other processes began."""

    shared: SharedListing
    lister: Lister
    above: Rules
    root: tuple[int, int]


class Tracker:
    """Watches a tree."""

    def __init__(self, scope: Scope, root: bytes) -> None:
        self.scope = scope
        self.root = root
        self._prefix = os.fsdecode(root.rstrip(b"/")) + "/"
        self._inotify: Inotify | None = None
        self._watched: dict[int, str] = {}
        self._loose: set[int] = set()
        """Watches of directories that moved: where they are is known once they are listed again."""
        self._listing = False
        self._listings = 0
        self._begun: _Begun | None = None
        self._unclaimed: list[InotifyEvent] = []

    def watch(self) -> None:
        """Watch every directory that is listed from now on; raises OSError if it cannot."""
        self._inotify = Inotify()

    def close(self) -> None:
        """Stop watching."""
        begun, self._begun = self._begun, None
        if begun is not None:
            begun.shared.end()
        inotify, self._inotify = self._inotify, None
        if inotify is not None:
            inotify.close()

    @property
    def fd(self) -> int | None:
        """Readable when something happened; None where nothing is watched."""
        return None if self._inotify is None else self._inotify.fd

    def real(self, shown: str) -> bytes:
        """The real path of a shown one."""
        return real_path(self.root, shown)

    def shown(self, real: bytes) -> str | None:
        """The shown path of a real one; None where it is not below the root."""
        if real == self.root:
            return ""
        prefix = self.root.rstrip(b"/") + b"/"
        return os.fsdecode(real[len(prefix) :]) if real.startswith(prefix) else None

    def root_identity(self) -> tuple[int, int]:
        """What identifies the root: another directory may take its place."""
        try:
            status = os.stat(self.root)
        except OSError:
            return -1, -1
        return status.st_dev, status.st_ino

    def status(self, shown: str) -> os.stat_result | None:
        """What a path is, links not followed; None where nothing is there."""
        try:
            return os.lstat(self._prefix + shown)
        except OSError as error:
            if error.errno != errno.ENAMETOOLONG:
                return None
        try:
            fd = self.scope.open_real(self.real(shown), O_PATH | os.O_NOFOLLOW)
        except OSError:
            return None
        try:
            return os.fstat(fd)
        finally:
            os.close(fd)

    def rules_above(self) -> Rules:
        """The rule files above the root, which no watch covers."""
        return tuple(parent_rules(self.scope, self.root))

    def chains(self, above: Rules) -> RuleChains:
        """Makes the chains of directories below the root; for one look at the tree."""
        return RuleChains(self.scope, chain_above(above, self.root))

    # ── listing ─────────────────────────────────────────────────────────────────────────────────

    def begin_listing(self, enrolled: EnrolledFiles | None, is_free: Callable[[], bool]) -> bool:
        """Have other processes begin to list the whole tree; False if there can be none.
        `list_everything` then continues it. Until this process `is_free`, it leaves the work to
        them.
        """
        workers = start_workers(self._inotify)
        if not workers:
            return False
        above, root = self.rules_above(), self.root_identity()
        lister = self._lister(above, enrolled)
        shared = SharedListing(lister, workers, is_free)
        self._begun = _Begun(shared=shared, lister=lister, above=above, root=root)
        self._listing = True
        shared.begin(Waiting("", ()))
        return True

    def list_everything(
        self, stopped: Callable[[], bool], enrolled: EnrolledFiles | None = None
    ) -> Tree:
        """List the whole tree; enrolled files that are as they were by number alone.

        A listing that has begun is taken, with the enrolled files that it was begun with.
        """
        begun, self._begun = self._begun, None
        if begun is None:
            above, root = self.rules_above(), self.root_identity()
            found = self.list_tree("", above, (), stopped, enrolled)
        else:
            above, root = begun.above, begun.root
            found = self._listed(begun.lister, Waiting("", ()), stopped, begun.shared)
        found.above, found.root = above, root
        self.forget("", found.directories)
        return found

    def list_tree(
        self,
        shown: str,
        above: Rules,
        ruled: Ruled,
        stopped: Callable[[], bool],
        enrolled: EnrolledFiles | None = None,
    ) -> Tree:
        """Watch and list a directory and everything below it; enrolled files by number."""
        lister = self._lister(above, enrolled)
        return self._listed(lister, Waiting(shown, ruled), stopped)

    def _lister(self, above: Rules, enrolled: EnrolledFiles | None) -> Lister:
        return Lister(
            scope=self.scope,
            root=self.root,
            inotify=self._inotify,
            above=above,
            enrolled=enrolled,
        )

    def _listed(
        self,
        lister: Lister,
        place: Waiting,
        stopped: Callable[[], bool],
        begun: SharedListing | None = None,
    ) -> Tree:
        self._listings += 1
        self._listing = True
        try:
            tree = list_tree(lister, [place], stopped, begun)
            self._watched.update(tree.watched)
            self._end_loose(tree.watched)
        finally:
            self._listing = False
        return tree

    def _end_loose(self, found: Mapping[int, str]) -> None:
        """Stop watching what moved and was not found again; found later, it is watched anew."""
        gone, self._loose = self._loose - found.keys(), set()
        for number in gone:
            if self._inotify is not None:
                self._inotify.unwatch(number)

    def entries(
        self, directory: str, names: list[str], chains: RuleChains, ruled: Ruled
    ) -> DirectoryListing | None:
        """Those of some names in a directory that a search looks at now."""
        above = tuple(pair for pair in ruled if pair[0] != directory)
        real = self.real(directory)
        try:
            fd = self.scope.open_real(real, DIRECTORY)
        except OSError:
            return None
        try:
            return list_entries(fd, real, chains.at(directory, above), self.scope, names)
        finally:
            os.close(fd)

    def forget(self, subtree: str, known: dict[str, Ruled]) -> None:
        """Stop watching directories of a subtree that are not known any more."""
        gone = [
            number
            for number, shown in list(self._watched.items())
            if is_below(shown, subtree) and shown not in known
        ]
        for number in gone:
            if self._inotify is not None:
                self._inotify.unwatch(number)
            self._watched.pop(number, None)
        self._end_loose({})

    # ── changes ─────────────────────────────────────────────────────────────────────────────────

    def changes(self) -> Changes:
        """What happened since the last call."""
        changes = Changes()
        if self._inotify is None:
            return changes
        # Asked first: what is unclaimed now may be claimed a moment later.
        listing, listings = self._listing, self._listings
        events = self._inotify.drain()
        if self._unclaimed and not listing:
            events = self._unclaimed + events
            self._unclaimed = []
        for event in events:
            if not self._note(event, changes) and (listing or self._listings != listings):
                self._unclaimed.append(event)  # of a directory that is just being listed
        return changes

    def _note(self, event: InotifyEvent, changes: Changes) -> bool:
        """Take an event in; False where its directory is not known."""
        if event.mask & (IN_Q_OVERFLOW | IN_UNMOUNT):
            changes.lost = "the kernel's queue of changes ran over"
            return True
        shown = self._watched.get(event.watch)
        if shown is None:
            return False
        if event.mask & IN_IGNORED:
            self._watched.pop(event.watch, None)
        elif event.mask & IN_DELETE_SELF:
            changes.subtrees.add(shown)
        elif event.mask & IN_MOVE_SELF:
            changes.subtrees.add(shown)
            self._let_go(shown)
        elif event.name:
            self._note_entry(event, shown, os.fsdecode(event.name), changes)
        elif event.mask & IN_ATTRIB:
            changes.subtrees.add(shown)
        return True

    def _let_go(self, subtree: str) -> None:
        """Forget where the directories of a subtree are.

        Reported under the old name while the new one is being listed, a change would be lost.
        """
        for number, shown in list(self._watched.items()):
            if is_below(shown, subtree):
                self._loose.add(number)
                self._watched.pop(number, None)

    def _note_entry(self, event: InotifyEvent, shown: str, name: str, changes: Changes) -> None:
        if name == RULE_FILE:
            changes.subtrees.add(shown)
        elif event.mask & IN_ISDIR:
            changes.subtrees.add(joined(shown, name))
        elif not name.startswith(TEMPORARY_PREFIX):
            changes.entries.add(joined(shown, name))
