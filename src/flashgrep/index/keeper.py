"""Keeps an index of the workspace: watches it, builds it in the background, answers from it.

A query first drains what the kernel has queued of changes; the kernel queues an event before the
write that caused it returns, so a change made before the query is known to it. What changed is
searched on disk until the background thread has folded it into a new segment. The thread sleeps
until something changes.

Where changes cannot be watched (no more watches, a system without inotify) every query looks at
the whole tree first; where even that has lost its sense, or the index is not there yet, `search`
gives None, and the search goes over the disk as if there were no index.

Over 400 lines, because those who ask and the thread that folds share one state under one lock, and
whoever changes one side has to see the other.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final

from flashgrep import limits
from flashgrep.errors import Cancelled
from flashgrep.index import inventory, siblings
from flashgrep.index.away import Gone
from flashgrep.index.builder import Builders, BuildFailed
from flashgrep.index.doubting import NO_DOUBT, without
from flashgrep.index.folding import Folder
from flashgrep.index.inotify import WatchLimit
from flashgrep.index.inventory import has_same_rules_above, is_own_repository
from flashgrep.index.listing import Rules
from flashgrep.index.matchers import Matchers
from flashgrep.index.mounts import remote_mount
from flashgrep.index.pacing import Bell, Pace
from flashgrep.index.rank_keeper import RankKeeper
from flashgrep.index.resting import Rest
from flashgrep.index.scan import IndexedScan
from flashgrep.index.scoring import RankedFile
from flashgrep.index.segment import Damaged
from flashgrep.index.status import Status
from flashgrep.index.store import Store
from flashgrep.index.sweeping import sweep
from flashgrep.index.tracker import Changes, Tracker
from flashgrep.index.view import View
from flashgrep.search.pool import Pool
from flashgrep.search.request import scan_request
from flashgrep.search.result import Report, SearchQuestion
from flashgrep.search.turns import Flag
from flashgrep.workspace.finding import Entry
from flashgrep.workspace.scope import Place, Scope, is_within
from flashgrep.workspace.walking import parent_rules

log = logging.getLogger(__name__)

_TURN_SECONDS: Final = 0.02
_PASSING: Final = (BuildFailed, OSError, MemoryError, RuntimeError, Damaged)
"""What may go well another time; the RuntimeError is a thread that cannot be started."""
Asked = Callable[[], bool]


class Keeper:
    """The index of one workspace."""

    def __init__(
        self, scope: Scope, directory: Path, pool: Pool, is_started: Asked = lambda: True
    ) -> None:
        """Until the server `is_started`, the work is left to other processes as far as it can."""
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
        self._doubt = NO_DOUBT
        self._damaged: set[str] = set()
        self._pace = Pace()
        self._status = Status(state="building")
        self._loading = True
        """The segments of an earlier server are being looked through: an answer is near."""
        self._stopping = False
        self._bell = Bell()
        self._tracker = Tracker(scope, scope.workdir, is_started)
        self._watches = False
        self._matchers = Matchers()
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
        self._bell.close()
        self._matchers.close()
        self._tracker.close()

    def status(self) -> Status:
        """How far it is."""
        with self._changed:
            view, status = self._view, self._status
            if view is None:
                return status
            return replace(status, total_files=view.snapshot.files + len(view.entries))

    # ── answering ───────────────────────────────────────────────────────────────────────────────

    def search(
        self, where: Place, question: SearchQuestion, cancelled: Flag, report: Report
    ) -> IndexedScan | None:
        """Search below a directory; None where the disk has to be searched."""
        root = self._shown(where.path)
        if root is None:
            return None
        self._wait_while_loading(cancelled)
        request = scan_request(self._scope, where, question)
        view = self._current(root, request.rules)
        if view is None:
            return None
        scan = IndexedScan(
            request,
            view,
            self._tracker,
            root,
            self._pool,
            cancelled,
            self._set_aside,
            self._tell_changed,
        )
        try:
            scan.run(question.wanted, self._matchers, report)
        except Damaged as error:
            self._set_aside(error)
            return None
        except Gone:
            return None
        if self._watches and self._pace.is_time_to_sweep():
            self._wake()  # a write through a memory map tells nobody
        self._touched += scan.matched_bytes
        if self._touched > limits.RELEASE_BYTES:
            self._rest.used()
        return scan

    def is_ready(self) -> bool:
        """Whether it could answer now, without waiting."""
        return self._view is not None

    def _tell_changed(self, names: set[str]) -> None:
        """Learn that files are not what the index has of them."""
        with self._changed:
            self._take(Changes(entries=names))

    def files(self, stopped: Asked) -> list[str] | None:
        """Every file a search of the workspace looks at, in walk order."""
        view = self._current("", None)
        if view is None or view.changed_below(""):
            return None
        return inventory.names(view)

    def tree(self, root: bytes) -> tuple[Iterable[Entry], Iterable[str]] | None:
        """The files and links below a directory; None where something there is not certain."""
        shown = self._shown(root)
        rules = tuple(parent_rules(self._scope, root))
        view = None if shown is None else self._current(shown, rules)
        if shown is None or view is None or view.changed_below(shown):
            return None
        return view.snapshot.entries(shown), inventory.links(view, shown)

    def ranked(
        self, text: str, keeps: Callable[[str], bool], stopped: Asked
    ) -> list[RankedFile] | None:
        """The files that answer a question, best first; None where a scan has to say."""
        found, keys = None, None
        while found is None and keys != self._ranks.keys and not stopped():
            keys = self._ranks.keys  # others may be ranked by the time the changes are counted
            view = self._current("", None)
            if view is None:
                return None
            found = self._ranks.ranked(text, keeps, view, self._tracker)
        return found

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
        try:
            self._look_at_everything_unless_watching()
        except _PASSING as error:
            log.warning("a search goes over the disk: %s", error)
            return None
        with self._changed:
            if self._view is None:
                return None
            self._take(self._tracker.changes())
            self._take(siblings.changed(self._tracker, self._view or View(), root))
            view = self._view
        if view is None or not view.covers(root) or is_own_repository(self._tracker, root):
            return None
        if view.root != self._tracker.root_identity():
            self._lose("another directory stands in the workspace's place")
            return None
        if rules is not None and not has_same_rules_above(self._tracker, rules, view):
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

    # ── changes ─────────────────────────────────────────────────────────────────────────────────

    def _take(self, changes: Changes) -> None:
        """Make changes part of the view; called with the lock held."""
        if not changes:
            return
        siblings.widen(self._tracker, self._view or View(), changes)
        self._since.add(changes)
        is_news = not self._is_waiting()
        self._stuck -= changes.entries
        self._pace.changed()
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
            self._wake()

    def _lose(self, reason: str) -> None:
        log.info("the index looks at the whole workspace again: %s", reason)
        with self._changed:
            self._take(Changes(lost=reason))

    def _set_aside(self, error: Damaged) -> None:
        """Use a damaged segment no more; what it held is built again."""
        with self._changed:
            self._damaged.add(error.path)
        self._lose(f"a part of it is damaged: {error}")

    def _release(self) -> None:
        """Give mapped pages back: they count as ours as long as nobody else maps them."""
        self._touched = 0
        for segment in (self._view or View()).snapshot.segments:
            segment.release()
        self._matchers.release()

    def _wake(self) -> None:
        if threading.current_thread() is not self._thread:
            self._bell.ring()

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
            if self._is_waiting() and self._pace.is_due():
                self._attempt(folder)
            self._sleep()
            with self._changed:
                self._take(self._tracker.changes())
            if self._watches and self._pace.is_time_to_sweep():
                self._sweep()

    def _sweep(self) -> None:
        self._pace.swept()
        view = self._view
        if view is None:
            return
        try:
            changes = sweep(self._tracker, view, lambda: self._stopping)
        except WatchLimit as error:
            self._stop_watching(str(error))
            return
        except _PASSING as error:
            log.warning("the workspace is looked through another time: %s", error)
            return
        with self._changed:
            self._take(changes)

    def _sleep(self) -> None:
        """Until something happens; while something waits to be folded in, not for long."""
        if self._is_waiting():
            self._bell.wait(self._pace.pause())  # not for each single change: they go together
        else:
            self._bell.wait(self._doubt.pause(), self._tracker.fd)

    def _is_waiting(self) -> bool:
        view = self._view
        if self._stopping:
            return False
        if view is None or view.subtrees or not view.entries <= self._stuck:
            return True
        return self._doubt.is_due()

    def _attempt(self, folder: Folder) -> None:
        """Fold changes in; where that fails, what was known stays, and so do the changes."""
        with self._changed:
            self._take(self._tracker.changes())
            view, self._since = self._view, Changes()
            changes = Changes(lost=self._lost)
            if view is not None:
                changes = Changes(set(view.entries - self._stuck), set(view.subtrees), self._lost)
                if self._doubt.is_due():
                    # Searches go on with what was read: they would know of a change.
                    changes.entries |= self._doubt.names
                    view = without(view, self._doubt.names)
        folder.drop(self._damaged)
        try:
            self._publish(folder.fold(view, changes), folder)
        except WatchLimit as error:
            self._stop_watching(str(error))
        except _PASSING as error:
            log.warning("the index does not grow for now: %s", error)
            self._try_later(str(error))
        except Cancelled:
            raise
        except Exception as error:
            # A defect of ours, most likely with one state: from the beginning it may go well.
            log.exception("the index could not take in what changed")
            self._lose(repr(error))  # never empty, which would say that nothing is lost
            self._try_later("the index has failed and is put together again; the log says why")
        self._pace.attempted()

    def _try_later(self, reason: str) -> None:
        self._pace.failed()
        with self._changed:
            self._loading = False
            self._status = replace(self._status, reason=reason)
            self._changed.notify_all()

    def _publish(self, view: View | None, folder: Folder) -> None:
        with self._changed:
            missed, self._since = self._since, Changes()
            missed.add(self._tracker.changes())
            self._loading, self._lost = False, ""
            self._pace.succeeded()
            self._view = view
            self._stuck = set(view.entries) if view is not None else set()
            self._doubt = folder.doubt(view) if view is not None else NO_DOUBT
            if view is None:
                self._pace.put_off(limits.FOLD_LATEST_SECONDS)
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
            if self._view is None:  # what changed is folded in beside an index that is whole
                self._status = replace(self._status, progress=progress)
            self._changed.notify_all()

    def _give_up(self, reason: str) -> None:
        log.warning("%s", reason)
        with self._changed:
            self._view, self._loading = None, False
            self._status = Status(state="off", reason=reason)
            self._changed.notify_all()
