"""What is known of the tree, under one lock that searches and the updater share.

A view is replaced, never changed, so a search that has one needs no lock. Changes are in the view
as soon as they are known: a search reads them from disk until the updater has put them into a
segment.
"""

from __future__ import annotations

import logging
import os
import select
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Final

import numpy as np

from flashgrep import limits
from flashgrep.index.answer.view import IndexView
from flashgrep.index.format.header import DamagedSegment
from flashgrep.index.index import BUILT_ELSEWHERE, IndexStatus
from flashgrep.index.update import rescan
from flashgrep.index.update.rescan import NO_RACY_FILES, RacyFiles, without
from flashgrep.index.watch.changes import Changes, identity, is_below
from flashgrep.index.watch.tracker import Tracker
from flashgrep.search.scan.fair_queue import CancelFlag
from flashgrep.workspace.walk import RULE_FILE, statuses_below

POLL_SECONDS: Final = 300.0
"""A search this long after the last look at the whole tree starts another: writes through a
memory map raise no event."""

FOLD_TURN_SECONDS: Final = 0.1
"""While changes wait to be folded in, the kernel's queue is emptied this often."""

FOLD_RETRY_SECONDS: Final = 60.0
"""After failures, on a full disk for one, the index tries again ever later, at most so much."""

FOLD_QUIET_SECONDS: Final = 1.0
"""Changes are folded into the index when there was none for this long: then once is enough…"""

log = logging.getLogger(__name__)

_TURN_SECONDS: Final = 0.02


class TreeState:
    """The view of one workspace, the changes since, and the index's progress."""

    def __init__(self, tracker: Tracker) -> None:
        self.tracker = tracker
        self.debounce = Debounce()
        self.wakeup = Wakeup()
        """Wakes the updater."""
        self.watches = False
        """Whether the kernel reports changes; if not, every search looks at the whole tree."""
        self.stopping = False
        self.racy = NO_RACY_FILES
        """What the updater checks again, although nothing changes."""
        self.damaged: set[str] = set()
        """Segments that are used no more."""
        self._changed = threading.Condition()
        self._view: IndexView | None = None
        self._since = Changes()
        """What happened since the updater began what it is doing."""
        self._lost = "nothing is known yet"
        """Why the whole tree must be checked; empty if it need not be."""
        self._stuck: set[str] = set()
        """Files that are in no segment and will not be: too large, unreadable."""
        self._status = IndexStatus(state="building")
        self._loading = True
        """The segments of an earlier server are being checked: an answer is near."""

    # ── for searches ────────────────────────────────────────────────────────────────────────────

    @property
    def view(self) -> IndexView | None:
        """The last view, without what has happened since; None where there is none."""
        return self._view

    def status(self) -> IndexStatus:
        """How far the index is."""
        with self._changed:
            view, status = self._view, self._status
            if view is None:
                return status
            return replace(status, total_files=view.snapshot.files + len(view.entries))

    def wait_while_loading(self, cancelled: CancelFlag) -> None:
        """Wait for the segments of an earlier server, but not for long."""
        deadline = time.monotonic() + limits.INDEX_WAIT_SECONDS
        with self._changed:
            while self._loading and not cancelled and time.monotonic() < deadline:
                self._changed.wait(_TURN_SECONDS)

    def current(self, root: str) -> IndexView | None:
        """The view as of now, for a search of a directory: all that the kernel has queued is in it.

        The kernel queues an event before the write that caused it returns.
        """
        with self._changed:
            if self._view is None:
                return None
            self._take(self.tracker.changes())
            self._take(changed_hard_links(self.tracker, self._view or IndexView(), root))
            return self._view

    def take(self, changes: Changes) -> None:
        """Make changes part of the view."""
        with self._changed:
            self._take(changes)

    def take_for(self, view: IndexView, changes: Changes) -> bool:
        """The same, unless they were found by comparing with a view that was replaced since."""
        with self._changed:
            if self._view is view:
                self._take(changes)
                return True
            return False

    def take_queued(self) -> None:
        """Make what the kernel has queued part of the view."""
        with self._changed:
            self._take(self.tracker.changes())

    def lose(self, reason: str) -> None:
        """Forget the view: the whole tree has to be looked at again."""
        log.info("the index looks at the whole workspace again: %s", reason)
        self.take(Changes(lost=reason))

    def set_aside(self, error: DamagedSegment) -> None:
        """Stop using a damaged segment; its files are indexed again."""
        with self._changed:
            self.damaged.add(error.path)
        self.lose(f"a part of it is damaged: {error}")

    def _take(self, changes: Changes) -> None:
        """Make changes part of the view; called with the lock held."""
        if not changes:
            return
        widen(self.tracker, self._view or IndexView(), changes)
        self._since.add(changes)
        is_news = not self.is_waiting()
        self._stuck -= changes.entries
        self.debounce.changed()
        if changes.lost:
            self._view, self._lost = None, changes.lost
            self._status = replace(self._status, state="building", grep_ready=False, progress=0.0)
        elif self._view is not None:
            view = self._view
            self._view = replace(
                view,
                snapshot=view.snapshot.without(changes.entries, changes.subtrees),
                entries=view.entries | changes.entries,
                subtrees=view.subtrees | changes.subtrees,
            )
        if is_news:
            self.wakeup.wake()

    # ── for the updater ─────────────────────────────────────────────────────────────────────────

    def is_waiting(self) -> bool:
        """Whether changes wait to be put into segments."""
        view = self._view
        if self.stopping:
            return False
        if view is None or view.subtrees or not view.entries <= self._stuck:
            return True
        return self.racy.is_due()

    def begin_update(self, is_listed: bool = False) -> tuple[IndexView | None, Changes]:
        """The view to start from, and the changes to put into segments.

        `is_listed`: the tree may be listed already, and what has happened since still counts.
        """
        with self._changed:
            self._take(self.tracker.changes())
            view = self._view
            if view is None:
                self._since = self._since if is_listed else Changes()
                return None, Changes(lost=self._lost)
            self._since = Changes()
            changes = Changes(set(view.entries - self._stuck), set(view.subtrees), self._lost)
            if self.racy.is_due():
                # Searches go on with what was read: they would know of a change.
                changes.entries |= self.racy.names
                view = without(view, self.racy.names)
            return view, changes

    def publish(
        self, view: IndexView | None, racy: RacyFiles, blocks: int, size: int, updated: float | None
    ) -> None:
        """Replace the view; what happened meanwhile is part of the new one."""
        with self._changed:
            missed, self._since = self._since, Changes()
            missed.add(self.tracker.changes())
            self._loading, self._lost = False, ""
            self.debounce.succeeded()
            self._view = view
            self._stuck = set(view.entries) if view is not None else set()
            self.racy = racy
            if view is None:
                self.debounce.put_off(rescan.FOLD_LATEST_SECONDS)
            self._status = replace(
                self._status,
                state="building" if view is None else "ready",
                grep_ready=view is not None,
                progress=self._status.progress if view is None else 1.0,
                total_chunks=blocks,
                index_size_bytes=size,
                last_update=updated,
                freshness="watching" if self.watches else "sweeping",
                reason=BUILT_ELSEWHERE if view is None else "",
            )
            self._take(missed)
            self._changed.notify_all()

    def publish_early(self, view: IndexView) -> None:
        """Answer from a view in which files are missing that are just being read.

        What happens from now on is part of it, and of the one that is made meanwhile too.
        """
        with self._changed:
            missed = Changes()
            missed.add(self._since)
            missed.add(self.tracker.changes())
            self._loading = False
            self._view, self._stuck = view, set()  # should reading fail, it is tried again
            self._status = replace(self._status, grep_ready=True)
            self._take(missed)
            self._changed.notify_all()

    def report_progress(self, progress: float) -> None:
        """Segments are being built."""
        with self._changed:
            self._loading = False
            if self._status.state == "building":  # else a change beside an index that is whole
                self._status = replace(self._status, progress=progress)
            self._changed.notify_all()

    def report_ranked(self, is_ready: bool) -> None:
        """Whether queries can be answered by rank."""
        with self._changed:
            self._status = replace(self._status, query_ready=is_ready)
            self._changed.notify_all()

    def retry_later(self, reason: str) -> None:
        """An update failed; the view stays, and so do the changes."""
        self.debounce.failed()
        with self._changed:
            self._loading = False
            self._status = replace(self._status, reason=reason)
            self._changed.notify_all()

    def stop_watching(self, reason: str) -> None:
        """Changes are reported no more: each search looks at every file."""
        log.warning("the workspace cannot be watched: %s; each search looks at every file", reason)
        with self._changed:
            self.watches = False
            self.tracker.close()
            self._take(Changes(lost=reason))

    def give_up(self, reason: str) -> None:
        """There will be no index."""
        log.warning("%s", reason)
        with self._changed:
            self._view, self._loading = None, False
            self._status = IndexStatus(state="off", reason=reason)
            self._changed.notify_all()


# ── hard links ───────────────────────────────────────────────────────────────────────────────────
# Several names of one file, and what a change through one means for the others.
#
# A directory's watch says nothing about a write through another name of the file elsewhere. So
# every query looks at files with several names, and a change that is reported under one name counts
# for all of them.


def changed_hard_links(tracker: Tracker, view: IndexView, root: str) -> Changes:
    """Files with several names that were changed, perhaps through another one."""
    changes = Changes()
    for name, known in view.shared.items():
        if (is_below(name, root) or name.endswith(RULE_FILE)) and view.is_certain(name):
            status = tracker.status(name)
            if status is None or identity(status) != known:
                changes.entries.add(name)
    for subtree in view.subtrees:
        if is_below(root, subtree):
            continue  # all that is asked for is looked at on disk
        changes.entries.update(_known_names_of_files_below(tracker, view, subtree))
    return changes


def widen(tracker: Tracker, view: IndexView, changes: Changes) -> None:
    """Widen changes to all that an ignore file governs, and to every name of a hard-linked file."""
    for path in list(changes.entries):
        directory, _, name = path.rpartition("/")
        if name == RULE_FILE:
            changes.subtrees.add(directory)
        status = tracker.status(path)
        if status is not None and stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
            changes.entries.update(_names_of(view, status.st_ino))


def _known_names_of_files_below(tracker: Tracker, view: IndexView, subtree: str) -> Iterator[str]:
    """Files that have got a further name in a directory that is not watched yet."""
    for status in statuses_below(tracker.scope, tracker.real(subtree)):
        if status.st_nlink > 1 and stat.S_ISREG(status.st_mode):
            yield from _names_of(view, status.st_ino)


def _names_of(view: IndexView, inode: int) -> Iterator[str]:
    """The names that the segments have for a file."""
    for segment, alive in view.snapshot.parts():
        for file in np.flatnonzero(alive & (segment.status[:, 3] == inode)).tolist():
            yield segment.name(file)


# ── timing ───────────────────────────────────────────────────────────────────────────────────────
# When the background thread works, and how it sleeps until then.


class Debounce:
    """Decides when changes are folded in: once they pause, or after a while at the latest."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._noted = self._attempted = self._retry_at = 0.0
        self._failures = 0
        self._polled = now()

    def changed(self) -> None:
        """Something happened just now."""
        self._noted = self._now()

    def attempted(self) -> None:
        """Changes were folded in, or that failed."""
        self._attempted = self._now()

    def succeeded(self) -> None:
        """The next failure is a first one."""
        self._failures = 0

    def failed(self) -> None:
        """Wait twice as long after each failure."""
        self._failures += 1
        self.put_off(min(2.0**self._failures, FOLD_RETRY_SECONDS))

    def put_off(self, seconds: float) -> None:
        """Not before so many seconds have passed."""
        self._retry_at = self._now() + seconds

    def is_due(self) -> bool:
        """Whether it is time to fold in what is waiting."""
        now = self._now()
        is_quiet = now - self._noted > FOLD_QUIET_SECONDS
        is_late = now > self._attempted + rescan.FOLD_LATEST_SECONDS
        return now >= self._retry_at and (is_quiet or is_late)

    def pause(self) -> float:
        """How long to sleep while something is waiting, in seconds."""
        return max(FOLD_TURN_SECONDS, self._retry_at - self._now())

    def polled(self) -> None:
        """The whole tree was looked at just now."""
        self._polled = self._now()

    def is_poll_due(self) -> bool:
        """Whether it is time to look at the whole tree again."""
        return self._now() - self._polled > POLL_SECONDS


class Wakeup:
    """Wakes a thread that sleeps."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        self._closed = False
        self._owner: threading.Thread | None = None

    def owned_by_this_thread(self) -> None:
        """The one that sleeps: it does not wake itself."""
        self._owner = threading.current_thread()

    def wake(self) -> None:
        """End the sleep, or the next one; does nothing once it is closed."""
        if not self._closed and threading.current_thread() is not self._owner:
            with suppress(BlockingIOError):  # a full pipe wakes as well as one byte
                os.write(self._write, b"!")

    def wait(self, seconds: float | None, fd: int | None = None) -> None:
        """Sleep until woken, until `fd` can be read, or for so long; None is forever."""
        poll = select.poll()
        poll.register(self._read, select.POLLIN)
        if fd is not None:
            poll.register(fd, select.POLLIN)
        ready = poll.poll(None if seconds is None else 1000 * seconds)
        if any(ready_fd == self._read for ready_fd, _ in ready):
            os.read(self._read, 4096)

    def close(self) -> None:
        """Called once no thread sleeps."""
        self._closed = True
        os.close(self._read)
        os.close(self._write)
