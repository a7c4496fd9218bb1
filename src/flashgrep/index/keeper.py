"""Keeps an index of the workspace: watches it, builds it in the background, answers from it.

A query first drains what the kernel has queued of changes; the kernel queues an event before the
write that caused it returns, so a change made before the query is known to it. What changed is
searched on disk until the background thread has folded it into a new segment. The thread sleeps
until something changes.

Where changes cannot be watched (no more watches, a system without inotify) every query looks at
the whole tree first; where even that has lost its sense, or the index is not there yet, `scan`
gives None, and the search goes over the disk as if there were no index.
"""

from __future__ import annotations

import logging
import os
import select
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from flashgrep import limits
from flashgrep.errors import Cancelled
from flashgrep.index.builder import Builders, BuildFailed
from flashgrep.index.folding import Folder
from flashgrep.index.inotify import WatchLimit
from flashgrep.index.listing import Rules, identity
from flashgrep.index.matchers import Matchers
from flashgrep.index.mounts import remote_mount
from flashgrep.index.rank_keeper import RankKeeper
from flashgrep.index.resting import Rest
from flashgrep.index.scan import IndexedScan
from flashgrep.index.scoring import RankedFile
from flashgrep.index.segment import Damaged
from flashgrep.index.snapshot import EMPTY
from flashgrep.index.status import Status
from flashgrep.index.store import Store
from flashgrep.index.sweeping import sweep
from flashgrep.index.tracker import Changes, Tracker, is_below, parents
from flashgrep.index.view import View
from flashgrep.search.pool import Pool
from flashgrep.search.request import ScanRequest, walk_key
from flashgrep.search.scan import Flag, Report
from flashgrep.workspace.finding import Entry
from flashgrep.workspace.scope import Scope, is_within
from flashgrep.workspace.walking import RULE_FILE, parent_rules

log = logging.getLogger(__name__)

_TURN_SECONDS: Final = 0.02


class Keeper:
    """The index of one workspace."""

    def __init__(self, scope: Scope, directory: Path, pool: Pool) -> None:
        self._scope = scope
        self._directory = directory
        self._pool = pool
        self._changed = threading.Condition()
        self._view: View | None = None
        self._since = Changes()
        """What happened since the background thread began what it is doing."""
        self._lost = "nothing is known yet"
        """Why the whole tree has to be looked at; empty where it has not."""
        self._stuck: set[str] = set()
        """Files that are in no segment and will not be: too large, unreadable."""
        self._damaged: set[str] = set()
        self._noted = self._folded = self._retry_at = 0.0
        self._failures = 0
        self._status = Status(state="building")
        self._loading = True
        """The segments of an earlier server are being looked through: an answer is near."""
        self._stopping = False
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_write, False)
        self._closed = False
        self._tracker = Tracker(scope, scope.workdir)
        self._watches = False
        self._matchers = Matchers()
        self._swept = time.monotonic()
        self._touched = 0
        self._rest = Rest(self._release, limits.RELEASE_SECONDS)
        self._ranks = RankKeeper(str(directory / "ranked"), self._tell_ranked)
        self._thread = threading.Thread(target=self._work, name="flashgrep-index", daemon=True)

    def start(self) -> None:
        """Begin to watch and to build."""
        self._thread.start()

    def close(self) -> None:
        """Stop working in the background."""
        self._stopping = True
        self._wake()
        if self._thread.is_alive():
            self._thread.join()
        self._ranks.close()
        self._rest.close()
        self._closed = True
        self._matchers.close()
        self._tracker.close()
        os.close(self._wake_read)
        os.close(self._wake_write)

    def status(self) -> Status:
        """How far it is."""
        with self._changed:
            view, status = self._view, self._status
            if view is None:
                return status
            return replace(status, total_files=view.snapshot.files + len(view.entries))

    # ── answering ───────────────────────────────────────────────────────────────────────────────

    def scan(
        self, request: ScanRequest, wanted: int, cancelled: Flag, report: Report
    ) -> IndexedScan | None:
        """Search below a directory; None where the disk has to be searched."""
        root = self._shown(request.root)
        if root is None:
            return None
        self._wait_while_loading(cancelled)
        view = self._current(root, request.rules)
        if view is None:
            return None
        scan = IndexedScan(request, view, self._tracker, root, self._pool, self._set_aside)
        try:
            scan.run(wanted, self._matchers, cancelled, report)
        except Damaged as error:
            self._set_aside(error)
            return None
        self._sweep_some_day()
        self._touched += scan.matched_bytes
        if self._touched > limits.RELEASE_BYTES:
            self._rest.used()
        return scan

    def tell_changed(self, root: bytes, shown: list[str]) -> None:
        """Learn that files are not what the index has of them."""
        directory = self._shown(root) or ""
        names = {f"{directory}/{name}" if directory else name for name in shown}
        with self._changed:
            self._take(Changes(entries=names))

    def files(self, stopped: Callable[[], bool]) -> list[str] | None:
        """Every file a search of the workspace looks at, in walk order."""
        view = self._current("", None)
        if view is None or view.changed_below(""):
            return None
        names = [
            name
            for segment, alive in zip(view.snapshot.segments, view.snapshot.alive, strict=True)
            for name, is_alive in zip(segment.all_names(), alive.tolist(), strict=True)
            if is_alive
        ]
        for link, target in view.links.items():
            if link in view.aliases:
                names.append(link)
            elif target not in view.directories:
                return None  # it leads elsewhere
        return sorted(names, key=lambda name: walk_key("", name))

    def tree(self, root: bytes) -> tuple[Iterable[Entry], Iterable[str]] | None:
        """The files and links below a directory; None where something there is not certain."""
        shown = self._shown(root)
        rules = tuple(parent_rules(self._scope, root))
        view = None if shown is None else self._current(shown, rules)
        if shown is None or view is None or view.changed_below(shown):
            return None
        cut = len(shown) + 1 if shown else 0
        links = [link[cut:] for link in view.links if is_below(link, shown)]
        return view.snapshot.entries(shown), links

    def ranked(
        self, text: str, keeps: Callable[[str], bool], stopped: Callable[[], bool]
    ) -> list[RankedFile] | None:
        """The files that answer a question, best first; None where a scan has to say."""
        view = None if stopped() else self._current("", None)
        return None if view is None else self._ranks.ranked(text, keeps, view, self._tracker)

    def _shown(self, root: bytes) -> str | None:
        if not is_within(root, self._tracker.root):
            return None
        return os.fsdecode(root[len(self._tracker.root.rstrip(b"/")) + 1 :])

    def _wait_while_loading(self, cancelled: Flag) -> None:
        deadline = time.monotonic() + limits.INDEX_WAIT_SECONDS
        with self._changed:
            while self._loading and not cancelled and time.monotonic() < deadline:
                self._changed.wait(_TURN_SECONDS)

    def _current(self, root: str, rules: Rules | None) -> View | None:
        """The view as of now, if it covers a directory."""
        self._look_at_everything_unless_watching()
        with self._changed:
            if self._view is None:
                return None
            self._take(self._tracker.changes())
            self._take(self._shared_changes(root))
            view = self._view
        if view is None or not view.covers(root) or self._is_own_repository(root):
            return None
        if view.root != self._tracker.root_identity():
            self._lose("another directory stands in the workspace's place")
            return None
        if rules is not None and not self._has_same_rules_above(rules, view):
            self._lose("the ignore rules above the workspace changed")
            return None
        return view

    def _look_at_everything_unless_watching(self) -> None:
        view = self._view
        while not self._watches and view is not None:
            changes = sweep(self._tracker, view, lambda: self._stopping)
            with self._changed:
                if self._view is view:
                    self._take(changes)
                    return
                view = self._view  # folded meanwhile: what was seen is of another view

    def _shared_changes(self, root: str) -> Changes:
        """Files with several names that were changed, perhaps through another one."""
        changes = Changes()
        view = self._view or View()
        for name, known in view.shared.items():
            if (is_below(name, root) or name.endswith(RULE_FILE)) and view.is_certain(name):
                status = self._tracker.status(name)
                if status is None or identity(status) != known:
                    changes.entries.add(name)
        for subtree in view.subtrees:
            changes.entries.update(self._other_names_below(subtree))
        return changes

    def _other_names_below(self, subtree: str) -> Iterator[str]:
        """Files that have got a further name in a directory that is not watched yet."""
        for directory, _, names in os.walk(self._tracker.real(subtree)):
            for name in names:
                with suppress(OSError):
                    status = os.lstat(os.path.join(directory, name))
                    if status.st_nlink > 1 and stat.S_ISREG(status.st_mode):
                        yield from self._names_of(status.st_ino)

    def _is_own_repository(self, root: str) -> bool:
        """Whether a repository begins between the workspace and this directory: the rules above
        it do not count for a search that starts in it."""
        return any(
            directory and self._tracker.status(f"{directory}/.git") is not None
            for directory in parents(root)
        )

    def _has_same_rules_above(self, rules: Rules, view: View) -> bool:
        top = self._tracker.root
        return view.above == tuple(
            pair for pair in rules if pair[0] != top and is_within(top, pair[0])
        )

    # ── changes ─────────────────────────────────────────────────────────────────────────────────

    def _take(self, changes: Changes) -> None:
        """Make changes part of the view; called with the lock held."""
        if not changes:
            return
        self._widen(changes)
        self._since.add(changes)
        is_news = not self._is_waiting()
        self._stuck -= changes.entries
        self._noted = time.monotonic()
        if changes.lost:
            self._view, self._lost = None, changes.lost
            self._status = replace(self._status, state="building", grep_ready=False)
        elif self._view is not None:
            view = self._view
            self._view = replace(
                view,
                snapshot=view.snapshot.without(changes.entries, changes.subtrees),
                entries=view.entries | changes.entries,
                subtrees=view.subtrees | changes.subtrees,
            )
        if is_news:
            self._wake()

    def _widen(self, changes: Changes) -> None:
        """Add what a change means for others: all that rules rule, all names of a file."""
        for path in list(changes.entries):
            directory, _, name = path.rpartition("/")
            if name == RULE_FILE:
                changes.subtrees.add(directory)
            status = self._tracker.status(path)
            if status is not None and stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
                changes.entries.update(self._names_of(status.st_ino))

    def _names_of(self, inode: int) -> Iterator[str]:
        """The names that the segments have for a file."""
        snapshot = EMPTY if self._view is None else self._view.snapshot
        for segment, alive in zip(snapshot.segments, snapshot.alive, strict=True):
            for file in np.flatnonzero(alive & (segment.status[:, 3] == inode)).tolist():
                yield segment.name(file)

    def _lose(self, reason: str) -> None:
        log.info("the index looks at the whole workspace again: %s", reason)
        with self._changed:
            self._take(Changes(lost=reason))

    def _set_aside(self, error: Damaged) -> None:
        """Use a damaged segment no more; what it held is built again."""
        with self._changed:
            self._damaged.add(error.path)
        self._lose(f"a part of it is damaged: {error}")

    def _sweep_some_day(self) -> None:
        """Look at everything again now and then: a write through a memory map tells nobody."""
        if self._is_time_to_sweep():
            self._wake()

    def _release(self) -> None:
        """Give mapped pages back: they count as ours as long as nobody else maps them."""
        self._touched = 0
        for segment in (self._view or View()).snapshot.segments:
            segment.release()
        self._matchers.release()

    def _wake(self) -> None:
        if threading.current_thread() is not self._thread and not self._closed:
            with suppress(BlockingIOError):  # a full pipe wakes as well as one byte
                os.write(self._wake_write, b"!")

    # ── in the background ───────────────────────────────────────────────────────────────────────

    def _work(self) -> None:
        try:
            store = Store(self._directory)
            self._begin_to_watch()
            if store.is_large():
                self._tracker.expect_listing()  # they start while the segments are looked through
            builders = Builders(self._tracker, lambda: self._stopping)
            folder = Folder(store, self._tracker, builders, self._told)
        except (OSError, Damaged) as error:
            self._give_up(f"the index cannot be kept: {error}")
            return
        try:
            self._keep(folder)
        except Cancelled:
            log.debug("the index stops")
        except Exception:  # whatever it is, searches must not wait for a thread that is gone
            log.exception("the index has failed")
            self._give_up("the index has failed; the log says why")
        finally:
            folder.close()

    def _begin_to_watch(self) -> None:
        kind = remote_mount(self._tracker.root)
        if kind:
            log.info("changes on %s cannot be watched: each search looks at every file", kind)
            return
        try:
            self._tracker.watch()
            self._watches = True
        except OSError as error:
            self._stop_watching(str(error))

    def _stop_watching(self, reason: str) -> None:
        log.warning("the workspace cannot be watched: %s; each search looks at every file", reason)
        with self._changed:
            self._watches = False
            self._tracker.close()
            self._take(Changes(lost=reason))

    def _keep(self, folder: Folder) -> None:
        while not self._stopping:
            if self._is_due():
                self._attempt(folder)
            self._sleep()
            with self._changed:
                self._take(self._tracker.changes())
            if self._is_time_to_sweep():
                self._sweep()

    def _is_time_to_sweep(self) -> bool:
        return self._watches and time.monotonic() - self._swept > limits.SWEEP_SECONDS

    def _sweep(self) -> None:
        self._swept = time.monotonic()
        view = self._view
        if view is None:
            return
        try:
            changes = sweep(self._tracker, view, lambda: self._stopping)
        except WatchLimit as error:
            self._stop_watching(str(error))
            return
        with self._changed:
            self._take(changes)

    def _sleep(self) -> None:
        """Until something happens; while something waits to be folded in, not for long."""
        poll = select.poll()
        poll.register(self._wake_read, select.POLLIN)
        timeout = None
        if self._is_waiting():
            # Not woken by each single change: they are taken in together.
            pause = max(limits.FOLD_TURN_SECONDS, self._retry_at - time.monotonic())
            timeout = 1000 * pause
        elif self._tracker.fd is not None:
            poll.register(self._tracker.fd, select.POLLIN)
        if any(fd == self._wake_read for fd, _ in poll.poll(timeout)):
            os.read(self._wake_read, 4096)

    def _is_waiting(self) -> bool:
        view = self._view
        if self._stopping:
            return False
        return view is None or bool(view.subtrees) or not view.entries <= self._stuck

    def _is_due(self) -> bool:
        now = time.monotonic()
        if not self._is_waiting() or now < self._retry_at:
            return False
        return (
            now - self._noted > limits.FOLD_QUIET_SECONDS
            or now > self._folded + limits.FOLD_LATEST_SECONDS
        )

    def _attempt(self, folder: Folder) -> None:
        """Fold changes in; where that fails, what was known stays, and so do the changes."""
        with self._changed:
            self._take(self._tracker.changes())
            view, self._since = self._view, Changes()
            changes = Changes(lost=self._lost)
            if view is not None:
                changes = Changes(set(view.entries - self._stuck), set(view.subtrees), self._lost)
        folder.drop(self._damaged)
        try:
            self._publish(folder.fold(view, changes), folder)
        except WatchLimit as error:
            self._stop_watching(str(error))
        except (BuildFailed, OSError, MemoryError, Damaged) as error:
            log.warning("the index does not grow for now: %s", error)
            self._failures += 1
            pause = min(2.0**self._failures, limits.FOLD_RETRY_SECONDS)
            self._retry_at = time.monotonic() + pause
            with self._changed:
                self._loading = False
                self._status = replace(self._status, reason=str(error))
                self._changed.notify_all()
        self._folded = time.monotonic()

    def _publish(self, view: View | None, folder: Folder) -> None:
        with self._changed:
            missed, self._since = self._since, Changes()
            missed.add(self._tracker.changes())
            self._loading, self._lost, self._failures = False, "", 0
            self._view = view
            self._stuck = set(view.entries) if view is not None else set()
            if view is None:
                self._retry_at = time.monotonic() + limits.FOLD_LATEST_SECONDS
            self._status = replace(
                self._status,
                state="building" if view is None else "ready",
                grep_ready=view is not None,
                progress=self._status.progress if view is None else 1.0,
                total_chunks=folder.blocks,
                index_size_bytes=folder.size,
                last_update=folder.updated,
                freshness="watching" if self._watches else "sweeping",
                reason="another server builds the index" if view is None else "",
            )
            self._take(missed)
            self._changed.notify_all()
        if view is not None:
            self._ranks.follow(view.snapshot.segments, folder.writes)
            self._tell_ranked()

    def _tell_ranked(self) -> None:
        with self._changed:
            self._status = replace(self._status, query_ready=self._ranks.is_ready)
            self._changed.notify_all()

    def _told(self, progress: float) -> None:
        with self._changed:
            self._loading = False
            self._status = replace(self._status, progress=progress)
            self._changed.notify_all()

    def _give_up(self, reason: str) -> None:
        log.warning("%s", reason)
        with self._changed:
            self._view, self._loading = None, False
            self._status = Status(state="off", reason=reason)
            self._changed.notify_all()
