"""Compacts changes into the index, and decides which files to read again.

A small change becomes a small segment after the others; in those, its files are dead.
Many small ones are joined into one, and when much of the base is dead, or there is none, the base
is built anew.
"""

from __future__ import annotations

import operator
import os
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import Any, Final

import numpy as np

from flashgrep import limits
from flashgrep.errors import Cancelled
from flashgrep.index.answer.view import IndexSnapshot, IndexView, snapshot
from flashgrep.index.format.segment import RACY, Mask, Segment, path_key
from flashgrep.index.format.segment_set import FileLocation
from flashgrep.index.format.store import Loaded, Store
from flashgrep.index.update.rescan import (
    RacyFiles,
    awaited_files,
    racy_files,
    rescan_all,
    rescan_changes,
)
from flashgrep.index.watch.changes import Changes, Identity, Tree, identity
from flashgrep.index.watch.tracker import Tracker
from flashgrep.system.child import DIED, PROGRESS, run_jobs

SMALL_SEGMENT_BYTES: Final = 8 * limits.MIB
"""A smaller segment is not worth cutting a tree for, even to keep every core busy."""

SEGMENT_FILES: Final = 32_000
"""Files of one segment: blocks are numbered in 16 bits, and a file may begin one."""

SEGMENT_BYTES: Final = 96 * limits.MIB
"""Text of one segment: building one takes about four times as much memory."""

# ── compactor ────────────────────────────────────────────────────────────────────────────────────


_NICE: Final = 5
_MANY: Final = 1_000
_MOST_LATER: Final = 8
_MARGIN_BYTES: Final = 64 * limits.MIB


class Compactor:
    """The writing side of an index; used by one thread."""

    def __init__(
        self, store: Store, tracker: Tracker, builders: Builders, report: Callable[[float], None]
    ) -> None:
        self._store = store
        self._tracker = tracker
        self._builders = builders
        self._report = report
        self._seen = store.identity()
        self.segments: list[Segment] = []
        self.base = 0
        self.updated: float | None = None
        # Looking through the segments is one core's work; the tree is listed meanwhile.
        self._loader = ThreadPoolExecutor(1, "flashgrep-load", _give_way)
        self._loaded: Future[Loaded] | None = self._loader.submit(store.load)
        self.size = store.size()
        self.writes = False
        """Whether this process is the one that writes."""
        self._missing: dict[str, Identity] = {}
        """What another process, which writes, has yet to put into a segment."""

    def drop_damaged(self, paths: set[str]) -> None:
        """Stop using segments found to be damaged."""
        for number in reversed(range(len(self.segments))):
            if self.segments[number].path in paths:
                del self.segments[number]
                self.base -= number < self.base

    def close(self) -> None:
        """Let another process write."""
        self._finish_loading()
        self._store.close()

    def _finish_loading(self) -> None:
        loaded, self._loaded = self._loaded, None
        self._loader.shutdown()
        if loaded is not None:
            self.segments, self.base, self.updated = loaded.result()

    @property
    def blocks(self) -> int:
        """Blocks of all segments."""
        return sum(segment.blocks for segment in self.segments)

    def update(self, view: IndexView | None, changes: Changes) -> IndexView | None:
        """A view that knows the changes; None where most of the tree is in no segment."""
        writes = self.writes = self._store.lock()
        seen = self._store.identity()
        if seen != self._seen:
            self._finish_loading()
            self.segments, self.base, self.updated = self._store.load()
            self._seen = seen
            view = None
        if view is not None and not self._holds(view):
            view = None
        if view is None or changes.lost or "" in changes.subtrees:
            rescan = rescan_all(self._tracker, self._builders.stopped)
            self._finish_loading()
            alive = [np.zeros(segment.files, bool) for segment in self.segments]
            untouched = set()
        else:
            rescan = rescan_changes(self._tracker, view, changes, self._builders.stopped)
            alive = list(view.snapshot.alive)
            untouched = {name for name in view.entries if not changes.touch(name)}
        self._look_at_other_names(rescan, alive)
        missing = self._found(rescan.files, alive)
        left_out = set(missing)
        self._remember_missing(missing, untouched)
        if writes and missing:
            alive, left_out = self._built(alive, missing)
        elif len(missing) > sum(int(mask.sum()) for mask in alive):
            return None
        if writes and self.updated is None:
            self._commit(self.segments, self.base)  # no file to index: the index is complete
        return self._view(rescan, alive, left_out | untouched | rescan.unreadable)

    def _remember_missing(self, missing: dict[str, Identity], still: set[str]) -> None:
        kept = {name: status for name, status in self._missing.items() if name in still}
        kept.update(missing)
        self._missing = {n: s for n, s in kept.items() if s[0] <= limits.INDEXED_FILE_BYTES}

    def racy_files(self, view: IndexView) -> RacyFiles:
        """What should be looked at again after a view was made, although nothing changes."""
        return racy_files(view) if self.writes else awaited_files(self._missing)

    def _holds(self, view: IndexView) -> bool:
        """Whether a view is of these very segments: some were dropped, or loaded anew."""
        of = view.snapshot.segments
        return len(of) == len(self.segments) and all(map(operator.is_, of, self.segments))

    def _view(self, rescan: Tree, alive: list[Mask], left_out: set[str]) -> IndexView:
        snap = snapshot(self.segments, self.base, alive)
        return IndexView(
            snapshot=snap,
            entries=frozenset(left_out),
            subtrees=frozenset(),
            directories=rescan.directories,
            links=rescan.links,
            aliases=dict(_aliases(snap, rescan.links)),
            shared=rescan.shared,
            above=rescan.above,
            root=rescan.root,
        )

    def _look_at_other_names(self, rescan: Tree, alive: list[Mask]) -> None:
        """A file that has got a further name may have been changed through it."""
        inodes = list({status[3] for status in rescan.shared.values()})
        for number, segment in enumerate(self.segments if inodes else ()):
            same = alive[number] & np.isin(segment.status[:, 3], inodes)
            if not same.any():
                continue
            alive[number] = alive[number] & ~same
            for file in np.flatnonzero(same).tolist():
                name = segment.name(file)
                status = self._tracker.status(name)
                if status is not None and name not in rescan.files:
                    rescan.files[name] = rescan.shared[name] = identity(status)

    # ── finding ─────────────────────────────────────────────────────────────────────────────────

    def _found(self, files: dict[str, Identity], alive: list[Mask]) -> dict[str, Identity]:
        """Mark files as alive whose copy in a segment matches the disk; return the rest."""
        missing = dict(files)
        for number in reversed(range(len(self.segments))):
            segment = self.segments[number]
            if len(missing) * 20 < segment.files:
                found = ((segment.find(path_key(name)), name) for name in missing)
                places = [(file, name) for file, name in found if file is not None]
            else:
                places = list(enumerate(segment.all_names()))
            self._mark(segment, alive, number, places, missing)
        return missing

    def _mark(
        self,
        segment: Segment,
        alive: list[Mask],
        number: int,
        places: list[tuple[int, str]],
        missing: dict[str, Identity],
    ) -> None:
        is_many = len(places) > _MANY
        rows = segment.status.tolist() if is_many else segment.status
        is_racy = ((segment.flags & RACY) != 0).tolist()
        found = []
        for file, name in places:
            status = missing.get(name)
            if status is not None and (*rows[file],) == status and not is_racy[file]:
                found.append(file)
                del missing[name]
        alive[number] = alive[number].copy()
        alive[number][found] = True

    # ── building ────────────────────────────────────────────────────────────────────────────────

    def _built(
        self, alive: list[Mask], missing: dict[str, Identity]
    ) -> tuple[list[Mask], set[str]]:
        """Build what is missing; the masks of all segments then, and the files left out."""
        too_large = {n for n, status in missing.items() if status[0] > limits.INDEXED_FILE_BYTES}
        wanted = {name: status for name, status in missing.items() if name not in too_large}
        if not wanted:
            return alive, too_large
        kept, base = self._kept(alive, wanted)
        for number in set(range(len(self.segments))) - set(kept):
            wanted.update(_alive_files(self.segments[number], alive[number]))
        self._require_room(wanted)
        fresh, left_out = self._build(wanted)
        segments = [self.segments[number] for number in kept] + fresh
        self._commit(segments, base or len(fresh))
        masks = [alive[number] for number in kept] + [np.ones(one.files, bool) for one in fresh]
        return masks, too_large | left_out

    def _commit(self, segments: list[Segment], base: int) -> None:
        """Put segments in force; where that fails, those before stay, here as on disk."""
        try:
            self.updated = self._store.commit(segments, base)
        except OSError:
            self._store.sweep()
            raise
        self.segments, self.base = segments, base
        self._seen = self._store.identity()
        self.size = self._store.size()

    def _kept(self, alive: list[Mask], wanted: dict[str, Identity]) -> tuple[list[int], int]:
        """Which segments stay, and how many of them are the base; none where all is built anew."""
        held = sum(segment.text_bytes for segment in self.segments[: self.base])
        living = sum(int(s.status[m, 0].sum()) for s, m in zip(self.segments, alive, strict=True))
        new = sum(status[0] for status in wanted.values())
        later = len(self.segments) - self.base
        if not self.base or living < held // 2 or new > living:
            return [], 0
        return list(range(self.base if later >= _MOST_LATER else len(self.segments))), self.base

    def _build(self, files: dict[str, Identity]) -> tuple[list[Segment], set[str]]:
        jobs = [(names, self._store.new_path()) for names in portions(files, self._builders.count)]
        built = 0.0

        def done(count: float) -> None:
            nonlocal built
            built += count
            self._report(built / len(files))

        self._report(0.0)
        try:
            left_out = set(self._builders.build(jobs, done))
        except BuildFailed:
            self._store.sweep()  # half a segment is useless, above all on a full disk
            raise
        written = [Segment(path) for _, path in jobs]
        return [segment for segment in written if segment.files], left_out

    def _require_room(self, files: dict[str, Identity]) -> None:
        need = 2 * sum(status[0] for status in files.values()) + _MARGIN_BYTES
        free = self._store.free()
        if free < need:
            raise BuildFailed(
                f"{self._store.directory} has {free // limits.MIB} MiB free and needs "
                f"{need // limits.MIB}; make room, or name another place with --state-dir"
            )


def _give_way() -> None:
    """Let a server that starts go first; on Linux each thread has a priority."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)


def _aliases(snap: IndexSnapshot, links: dict[str, str | None]) -> Any:
    for link, target in links.items():
        for number, file in snap.find(target) if target else ():
            if snap.alive[number][file]:
                yield link, FileLocation(number, file)


def _alive_files(segment: Segment, alive: Mask) -> dict[str, Identity]:
    rows = segment.status.tolist()
    return {segment.name(file): tuple(rows[file]) for file in alive.nonzero()[0].tolist()}


# ── building processes ───────────────────────────────────────────────────────────────────────────


MODULE: Final = "flashgrep.index.update.builder"


class BuildFailed(Exception):
    """The segments could not be written."""


def portions(files: dict[str, Identity], workers: int) -> list[list[str]]:
    """Files in walk order, cut into portions for one segment each."""
    names = sorted(files, key=path_key)
    total = sum(files[name][0] for name in names)
    room = min(SEGMENT_BYTES, max(total // (2 * workers), SMALL_SEGMENT_BYTES))
    cut: list[list[str]] = []
    size = room
    for name in names:
        if size >= room or len(cut[-1]) >= SEGMENT_FILES:
            cut.append([])
            size = 0
        cut[-1].append(name)
        size += files[name][0]
    return cut


class Builders:
    """Builds segments in as many processes as there are cores."""

    def __init__(self, tracker: Tracker, stopped: Callable[[], bool]) -> None:
        self._scope = tracker.scope.packed
        self._tracker = tracker
        self.stopped = stopped
        self.count = min(len(os.sched_getaffinity(0)), limits.BUILDERS)

    def build(
        self, jobs: Sequence[tuple[list[str], str]], done: Callable[[float], None]
    ) -> list[str]:
        """Build a segment of each list of files at each path; gives the files left out.

        `done` gets work in files, also in halves: a file that is read is half done.
        """
        messages = (
            (self._scope, [(name, self._tracker.real(name)) for name in names], path)
            for names, path in jobs
        )
        left_out: list[str] = []
        reported = [0.0] * len(jobs)
        try:
            with closing(run_jobs(MODULE, messages, self.count, self.stopped)) as answers:
                for job, (kind, body) in answers:
                    if kind == DIED:
                        raise BuildFailed(f"a building process {body}; is there enough memory?")
                    if kind == "failed":
                        raise BuildFailed(body)
                    now = body / 2 if kind == PROGRESS else float(len(jobs[job][0]))
                    done(now - reported[job])
                    reported[job] = now
                    if kind != PROGRESS:
                        left_out.extend(body)
        except OSError as error:
            raise BuildFailed(f"a building process could not be started: {error}") from None
        if self.stopped():
            raise Cancelled("stopped")
        return left_out
