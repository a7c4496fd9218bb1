"""The background thread of the index: puts changes into segments, and sleeps until there are
any."""

from __future__ import annotations

import logging
import os
import threading
from functools import partial
from pathlib import Path
from typing import Final

from flashgrep.errors import Cancelled
from flashgrep.index.format.header import DamagedSegment
from flashgrep.index.format.store import Store, no_ids
from flashgrep.index.git.proof import blob_ids, index_ids
from flashgrep.index.git.repository import GitRepository, repository_of
from flashgrep.index.update.builders import Builders, BuildFailed
from flashgrep.index.update.compactor import Compactor, Telling
from flashgrep.index.update.ranked_index import RankedIndex
from flashgrep.index.update.rescan import NO_RACY_FILES, poll
from flashgrep.index.update.tree_state import TreeState
from flashgrep.index.watch.changes import WatchLimit, remote_mount
from flashgrep.index.watch.first_listing import FirstListing

log = logging.getLogger(__name__)

PASSING: Final = (BuildFailed, OSError, MemoryError, RuntimeError, DamagedSegment)
"""Errors that a later try may not meet; the RuntimeError is a thread that cannot be started."""


class Updater:
    """Watches the tree and keeps the segments up to date."""

    def __init__(
        self,
        directory: Path,
        shared: Path | None,
        state: TreeState,
        ranks: RankedIndex,
        first: FirstListing | None = None,
    ) -> None:
        """`shared` is where segments are that other trees use too; `first` lists the tree."""
        self._first = first
        self._directory = directory
        self._shared = shared
        self._state = state
        self._ranks = ranks
        self._thread = threading.Thread(target=self._work, name="flashgrep-index", daemon=True)

    def start(self) -> None:
        """Begin to watch and to build."""
        self._thread.start()

    def close(self) -> None:
        """Stop, and wait until the thread has ended."""
        self._state.stopping = True
        self._state.wakeup.wake()
        if self._thread.is_alive():
            self._thread.join()

    def _work(self) -> None:
        state = self._state
        state.wakeup.owned_by_this_thread()
        try:
            repository = repository_of(state.tracker.root)
            store = self._store(repository)
            self._begin_to_watch()
            compactor = self._compactor(store, repository)
        except (OSError, DamagedSegment) as error:
            state.give_up(f"the index cannot be kept: {error}")
            return
        try:
            self._keep_up(compactor)
        except Cancelled:
            log.debug("the index stops")
        except Exception:  # whatever it is, searches must not wait for a thread that is gone
            log.exception("the index has failed")
            state.give_up("the index has failed; the log says why")
        finally:
            compactor.close()

    def _store(self, repository: GitRepository | None) -> Store:
        ids = no_ids if repository is None else partial(index_ids, repository)
        workspace = os.fsdecode(self._state.tracker.root)
        return Store(self._directory, self._shared, workspace, ids)

    def _compactor(self, store: Store, repository: GitRepository | None) -> Compactor:
        state = self._state
        hash_name = "sha1" if repository is None else repository.hash_name
        builders = Builders(state.tracker, lambda: state.stopping, hash_name)
        telling = Telling(state.report_progress, state.publish_early)
        if repository is None:
            return Compactor(store, state.tracker, builders, telling, first=self._first)
        prove = partial(blob_ids, repository, environment=os.environ)
        return Compactor(store, state.tracker, builders, telling, prove, self._first)

    def _begin_to_watch(self) -> None:
        if self._state.tracker.fd is not None:
            self._state.watches = True  # for the first listing
            return
        kind = remote_mount(self._state.tracker.root)
        if kind:
            log.info("changes on %s cannot be watched: each search looks at every file", kind)
            return
        try:
            self._state.tracker.watch()
            self._state.watches = True
        except OSError as error:
            self._state.stop_watching(str(error))

    def _keep_up(self, compactor: Compactor) -> None:
        state = self._state
        while not state.stopping:
            if state.is_waiting() and state.debounce.is_due():
                self._update(compactor)
            self._sleep()
            state.take_queued()
            if state.watches and state.debounce.is_poll_due():
                self._poll()

    def _sleep(self) -> None:
        """Until something happens; while changes wait, not for long."""
        state = self._state
        if state.is_waiting():
            state.wakeup.wait(
                state.debounce.pause()
            )  # not for each single change: they go together
        else:
            state.wakeup.wait(state.racy.pause(), state.tracker.fd)

    def _poll(self) -> None:
        """Look at the whole tree: a write through a memory map raises no event."""
        state = self._state
        state.debounce.polled()
        view = state.view
        if view is None:
            return
        try:
            state.take(poll(state.tracker, view, lambda: state.stopping, self._directory))
        except WatchLimit as error:
            state.stop_watching(str(error))
        except PASSING as error:
            log.warning("the workspace is looked through another time: %s", error)

    def _update(self, compactor: Compactor) -> None:
        """Put changes into segments; where that fails, what was known stays, and so do they."""
        state = self._state
        view, changes = state.begin_update(compactor.is_listed_before)
        compactor.drop_damaged(state.damaged)
        try:
            updated = compactor.update(view, changes)
            racy = NO_RACY_FILES if updated is None else compactor.racy_files(updated)
            state.publish(updated, racy, compactor.blocks, compactor.size, compactor.updated)
            if updated is not None:
                _ = updated.snapshot.newest_first  # else the next page of files waits for it
                self._ranks.follow(updated.snapshot.segments, compactor.writes)
                state.report_ranked(self._ranks.is_ready)
        except WatchLimit as error:
            state.stop_watching(str(error))
        except PASSING as error:
            log.warning("the index does not grow for now: %s", error)
            state.retry_later(str(error))
        except Cancelled:
            raise
        except Exception as error:
            # A defect of ours, most likely with one state: from the beginning it may go well.
            log.exception("the index could not take in what changed")
            state.lose(repr(error))  # never empty, which would say that nothing is lost
            state.retry_later("the index has failed and is put together again; the log says why")
        state.debounce.attempted()
