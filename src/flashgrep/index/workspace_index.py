"""The index of a workspace, which answers searches from what is known of the tree.

A query first drains the changes that the kernel has queued (`tree_state`), so it knows every change
made before it. Changed files are searched on disk until the updater has put them into a segment.
Where changes cannot be watched (no more watches, a system without inotify) every query checks the
whole tree first. Where even that makes no sense, or the index is not there yet, `search` returns
None, and the search scans the disk as if there were no index.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from flashgrep import limits
from flashgrep.index.answer.found_files import FoundFiles, found_files, searched_files
from flashgrep.index.answer.indexed_search import IndexedScan
from flashgrep.index.answer.kept_scans import Asked, KeptScans
from flashgrep.index.answer.match_pool import Matchers, SnapshotGone
from flashgrep.index.answer.view import IndexView, has_same_rules_above, is_own_repository
from flashgrep.index.format.header import DamagedSegment
from flashgrep.index.format.shelf import RANKED, Shelf, tag_of
from flashgrep.index.index import Index, IndexStatus, Keeps, Stopped
from flashgrep.index.plan.lookup import Candidates
from flashgrep.index.update.ranked_index import RankedIndex
from flashgrep.index.update.rescan import poll
from flashgrep.index.update.tree_state import TreeState
from flashgrep.index.update.updater import PASSING, Updater
from flashgrep.index.watch.changes import Changes, Rules
from flashgrep.index.watch.first_listing import FirstListing
from flashgrep.index.watch.tracker import Tracker
from flashgrep.ranking.question import RankedFile
from flashgrep.search.at_once import (
    AT_ONCE_BYTES,
    AT_ONCE_GRAMS,
    AT_ONCE_LINKS,
    AT_ONCE_NAMES,
    AT_ONCE_PIECES,
    NotAtOnce,
    is_tried,
    may_wait,
)
from flashgrep.search.pattern import PatternSpec, is_predictable
from flashgrep.search.result import Report, ScanRequest, SearchQuestion
from flashgrep.search.scan.fair_queue import ON_BEHALF, CancelFlag
from flashgrep.search.scan.pool import Pool
from flashgrep.search.scan.scanner import scan_request
from flashgrep.system.idle import IdleRelease
from flashgrep.workspace.find import FindRequest
from flashgrep.workspace.globs import NameFilter
from flashgrep.workspace.scope import ResolvedPath, Scope
from flashgrep.workspace.walk import parent_rules

_RELEASE_BYTES: Final = 64 * limits.MIB
"""When searches have touched so much of the index, its mapped pages are given back …"""

RELEASE_SECONDS: Final = 10.0
"""… after so long without a search: mapping 75,000 of them again takes 100 ms."""

FORGET_SECONDS: Final = 120.0
"""After so long without a search nobody is taken to ask for a next page."""

log = logging.getLogger(__name__)

_TRIES: Final = 3
"""Views a search takes before it scans: an update may remove segments that workers have to open."""


class WorkspaceIndex(Index):
    """The index of one workspace, at work."""

    def __init__(
        self,
        scope: Scope,
        directory: Path,
        pool: Pool,
        shared: Path | None = None,
        first: FirstListing | None = None,
    ) -> None:
        """`shared` is where trees of one repository keep their segments; without it they are in
        `directory`. `first` has begun to list the tree, maybe."""
        self._scope = scope
        self._directory = directory
        self._pool = pool
        self._tracker = Tracker(scope, scope.workdir) if first is None else first.tracker
        self._state = TreeState(self._tracker)
        self._matchers = Matchers()
        self._touched = 0
        self._rest = IdleRelease(self._release, RELEASE_SECONDS)
        self._kept = KeptScans()
        self._forget = IdleRelease(self._kept.clear, FORGET_SECONDS)
        self._ranks = RankedIndex(
            str((shared or directory) / RANKED),
            self._report_ranked,
            tag_of(directory),
            lambda name: Shelf(directory, shared).is_left_over(name),
        )
        self._updater = Updater(directory, shared, self._state, self._ranks, first)

    def start(self) -> None:
        """Begin to watch and to build."""
        self._updater.start()

    def close(self) -> None:
        """Stop working in the background."""
        self._updater.close()
        self._ranks.close()
        self._rest.close()
        self._forget.close()
        self._kept.clear()
        self._state.wakeup.close()
        self._matchers.close()
        self._tracker.close()

    def status(self) -> IndexStatus:
        """How far it is."""
        return self._state.status()

    def is_ready(self) -> bool:
        """Whether it could answer now, without waiting."""
        return self._state.view is not None

    def is_brief(self, pattern: PatternSpec, is_page: bool) -> bool:
        """Whether little is to be matched and nothing on disk: where nothing can be watched, each
        search looks at every file, and at files with several names anyway."""
        view = self._state.view
        if view is None or not self._state.watches or len(view.shared) > AT_ONCE_NAMES:
            return False
        if view.entries or view.subtrees or len(view.sure_aliases) > AT_ONCE_LINKS:
            return False
        return _is_little(pattern, view, is_page)

    def search(
        self, where: ResolvedPath, question: SearchQuestion, cancelled: CancelFlag, report: Report
    ) -> IndexedScan | None:
        """Search below a directory; None where the disk has to be searched."""
        root, state = self._tracker.shown(where.path), self._state
        if root is None:
            return None
        state.wait_while_loading(cancelled)
        request = scan_request(self._scope, where, question)
        for _ in range(_TRIES):
            try:
                return self._search(root, request, question, cancelled, report)
            except SnapshotGone:
                continue
        return None

    def _search(
        self,
        root: str,
        request: ScanRequest,
        question: SearchQuestion,
        cancelled: CancelFlag,
        report: Report,
    ) -> IndexedScan | None:
        state = self._state
        view = self._current(root, request.rules)
        if view is None:
            return None
        if is_tried() and not _is_little(request.pattern, view, bool(question.wanted)):
            may_wait()  # the view is another one by now
        asked = (ON_BEHALF.get(), (root, replace(question, wanted=0)))
        scan = self._kept.take(asked, view) or IndexedScan(
            request,
            question,
            view,
            self._tracker,
            root,
            self._pool,
            self._matchers,
            damaged=state.set_aside,
            changed=lambda names: state.take(Changes(entries=names)),
            keep=partial(self._keep, asked),
        )
        before = scan.matched_bytes
        try:
            scan.run(question.wanted, cancelled, report)
        except NotAtOnce:
            self._keep(asked, scan)  # for the thread that goes on with it
            raise
        except DamagedSegment as error:
            state.set_aside(error)
            return None
        if state.watches and state.debounce.is_poll_due():
            state.wakeup.wake()  # a write through a memory map raises no event
        self._touched += scan.matched_bytes - before
        if self._touched > _RELEASE_BYTES:
            self._rest.used()
        return scan

    def _keep(self, asked: Asked, scan: IndexedScan) -> None:
        if self._kept.keep(asked, scan):
            self._forget.used()

    @property
    def view(self) -> IndexView | None:
        """What is known of the tree now, as far as it is indexed."""
        return self._state.view

    def files(self, keeps: NameFilter | None, stopped: Stopped) -> FoundFiles | None:
        """Every file a search of the workspace looks at; None where a walk has to say."""
        view = self._current("", None)
        return None if view is None else searched_files(view, self._tracker, keeps, stopped)

    def found(self, root: bytes, wanted: FindRequest, stopped: Stopped) -> FoundFiles | None:
        """What is wanted of the files below a directory; None where a walk has to say."""
        shown = self._tracker.shown(root)
        rules = tuple(parent_rules(self._scope, root))
        view = None if shown is None else self._current(shown, rules)
        if shown is None or view is None:
            return None
        return found_files(view, self._tracker, shown, wanted, stopped)

    def ranked(self, text: str, keeps: Keeps, stopped: Stopped) -> list[RankedFile] | None:
        """The files that answer a question, best first; None where a scan has to say."""
        found, keys = None, None
        while found is None and keys != self._ranks.keys and not stopped():
            keys = self._ranks.keys  # others may be ranked by the time the changes are counted
            view = self._current("", None)
            if view is None:
                return None
            found = self._ranks.ranked(text, keeps, view, self._tracker)
        return found

    def _current(self, root: str, rules: Rules | None) -> IndexView | None:
        """The view as of now, if it covers a directory."""
        try:
            self._look_at_everything_unless_watching()
        except PASSING as error:
            log.warning("a search goes over the disk: %s", error)
            return None
        view = self._state.current(root)
        if view is None or not view.covers(root) or is_own_repository(self._tracker, root):
            return None
        if view.root != self._tracker.root_identity():
            self._state.lose("another directory has taken the place of the workspace")
            return None
        if rules is not None and not has_same_rules_above(self._tracker, rules, view):
            self._state.lose("the ignore rules above the workspace changed")
            return None
        return view

    def _look_at_everything_unless_watching(self) -> None:
        state = self._state
        while not state.watches and (view := state.view) is not None:
            changes = poll(self._tracker, view, lambda: state.stopping, self._directory)
            if state.take_for(view, changes):
                return  # else it was updated meanwhile: what was seen is of another view

    def _release(self) -> None:
        """Give mapped pages back: they count as ours unless another process maps them too."""
        self._touched = 0
        for segment in (self._state.view or IndexView()).snapshot.segments:
            segment.release()
        self._matchers.release()

    def _report_ranked(self) -> None:
        self._state.report_ranked(self._ranks.is_ready)


def _is_little(pattern: PatternSpec, view: IndexView, is_page: bool) -> bool:
    """Whether what may hold a match is matched in a moment, or a page of it is begun in one."""
    candidates = Candidates(pattern, view.snapshot.segment_set)
    if is_page:
        return is_predictable(pattern) and candidates.asks_little(AT_ONCE_GRAMS)
    return candidates.is_little(AT_ONCE_PIECES, AT_ONCE_BYTES)
