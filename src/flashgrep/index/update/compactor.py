"""Compacts changes into the index, and decides which files to read again.

A small change becomes a small segment after the others, in which its files are then dead. Many
small segments are joined into one, and when much of the base is dead, or there is none, the base is
rebuilt. A file that changed back to what a segment holds, as after a switch between branches, is
alive there again and not rebuilt.
"""

from __future__ import annotations

import operator
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from flashgrep import limits
from flashgrep.index.answer.view import IndexSnapshot, IndexView, snapshot
from flashgrep.index.format.header import DamagedSegment
from flashgrep.index.format.roster import Roster
from flashgrep.index.format.segment import Mask, Segment
from flashgrep.index.format.segment_set import FileLocation
from flashgrep.index.format.store import Loaded, Store
from flashgrep.index.update.builders import Builders, BuildFailed, BuildJob, Built, portions
from flashgrep.index.update.recognition import (
    SegmentSlot,
    enrolled,
    found_by_id,
    found_by_status,
    slots_of,
)
from flashgrep.index.update.rescan import (
    RacyFiles,
    awaited_files,
    racy_files,
    rescan_changes,
)
from flashgrep.index.watch.changes import Changes, Identity, Tree, identity
from flashgrep.index.watch.first_listing import FirstListing
from flashgrep.index.watch.tracker import Tracker

_NICE: Final = 5
_FEW: Final = 100
"""So many files are read sooner than git's index is."""
_MOST_LATER: Final = 8
_MARGIN_BYTES: Final = 64 * limits.MIB


Prove = Callable[[Mapping[str, Identity]], Mapping[str, bytes]]
"""Tells the ids of files with content known without reading them."""


@dataclass(frozen=True)
class Telling:
    """Whoever a compactor reports its progress to."""

    progress: Callable[[float], None] = lambda share: None
    early: Callable[[IndexView], None] = lambda view: None
    """Gets a view that answers already, while the last files are still to be read."""


class Compactor:
    """The writing side of an index; used by one thread."""

    def __init__(
        self,
        store: Store,
        tracker: Tracker,
        builders: Builders,
        telling: Telling,
        prove: Prove = lambda files: {},
        first: FirstListing | None = None,
    ) -> None:
        """`first` has begun to list the tree, maybe."""
        self._store = store
        self._first = first
        self._tracker = tracker
        self._builders = builders
        self._telling = telling
        self._prove = prove
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
        """What another process, the writer, has yet to put into a segment."""

    @property
    def is_listed_before(self) -> bool:
        """Whether the next look at the whole tree may be one that has begun already."""
        return self._first is not None

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
            rescan, alive = self._rescan_all()
            untouched = set()
        else:
            rescan = rescan_changes(self._tracker, view, changes, self._builders.stopped)
            alive = list(view.snapshot.alive)
            untouched = {name for name in view.entries if not changes.touch(name)}
            self._look_at_other_names(rescan, alive)
        missing = self._found(rescan.files, alive)
        self._remember_missing(missing, untouched)
        left_out = set(missing)
        is_most_missing = len(missing) > sum(int(mask.sum()) for mask in alive)
        if is_most_missing and not writes:
            return None
        if writes and missing:
            if view is None and not is_most_missing:
                rest = left_out | untouched | rescan.unreadable
                self._telling.early(self._view(rescan, alive, rest))
            alive, left_out = self._built(alive, missing)
        if writes and (self.updated is None or not all(s.roster_file for s in self.segments)):
            self._commit(self.segments, self.base)  # nothing was built: what is known is complete
        return self._view(rescan, alive, left_out | untouched | rescan.unreadable)

    def _rescan_all(self) -> tuple[Tree, list[Mask]]:
        """Look at the whole tree, and mark files as alive that are as the rosters know them."""
        first, self._first = self._first, None
        listed = first.take() if first is not None else None
        if listed is None:
            enrolled = self._store.enrolled()
            rescan = self._tracker.list_everything(self._builders.stopped, enrolled)
        else:
            enrolled, rescan = listed
        self._finish_loading()
        opened = {(each.path, each.roster_file): n for n, each in enumerate(self.segments)}
        alive = [np.zeros(segment.files, bool) for segment in self.segments]
        for segment, roster in enrolled.parts if enrolled is not None else ():
            numbers = rescan.recognised.get(segment)
            place = opened.get((segment, os.path.basename(roster)))
            if numbers and place is None:
                # It is damaged, or was replaced meanwhile: nothing says which files these were.
                rescan = self._tracker.list_everything(self._builders.stopped)
                return rescan, [np.zeros(each.files, bool) for each in self.segments]
            if numbers and place is not None:
                alive[place][numbers] = True
        return rescan, alive

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
        """Mark files as alive that a segment is known to hold; return the rest."""
        missing = found_by_status(self.segments, alive, files)
        if len(missing) > _FEW and self.segments:
            missing = found_by_id(self.segments, alive, missing, self._prove(missing))
        return missing

    # ── building ────────────────────────────────────────────────────────────────────────────────

    def _built(
        self, alive: list[Mask], missing: dict[str, Identity]
    ) -> tuple[list[Mask], set[str]]:
        """Build what is missing; the masks of all segments then, and the files left out."""
        too_large = {n for n, status in missing.items() if status[0] > limits.INDEXED_FILE_BYTES}
        wanted = {name: status for name, status in missing.items() if name not in too_large}
        if not wanted:
            return alive, too_large
        slots = slots_of(self.segments, wanted)
        kept, base = self._kept(alive, wanted, slots)
        dropped = set(range(len(self.segments))) - set(kept)
        for number in dropped:
            wanted.update(_alive_files(self.segments[number], alive[number]))
        slots = _renumbered(slots, kept)
        self._require_room(_unlike(wanted, slots))
        fresh, left_out, known = self._build(wanted, slots)
        segments = [self.segments[number] for number in kept] + fresh
        masks = [alive[number] for number in kept] + [np.ones(one.files, bool) for one in fresh]
        enrolled(segments, masks, known, slots)
        self._commit(segments, base or len(fresh))
        return masks, too_large | left_out

    def _commit(self, segments: list[Segment], base: int) -> None:
        """Put segments in force; where that fails, those before stay, here as on disk."""
        try:
            self.updated = self._store.commit(segments, base)
        except OSError:
            self._store.sweep()
            raise
        except DamagedSegment as error:
            self.drop_damaged({error.path})
            raise
        self.segments, self.base = segments, base
        self._seen = self._store.identity()
        self.size = self._store.size()

    def _kept(
        self, alive: list[Mask], wanted: dict[str, Identity], slots: Mapping[str, list[SegmentSlot]]
    ) -> tuple[list[int], int]:
        """Which segments stay, and how many of them are the base; none where all is built anew."""
        held = sum(segment.text_bytes for segment in self.segments[: self.base])
        living = sum(int(s.sizes[m].sum()) for s, m in zip(self.segments, alive, strict=True))
        unlike = _unlike(wanted, slots)
        new = sum(status[0] for status in unlike.values())
        living += sum(status[0] for status in wanted.values()) - new
        later = len(self.segments) - self.base
        if not self.base or living < held // 2 or new > living:
            return [], 0
        is_many = later >= _MOST_LATER and bool(unlike)
        return list(range(self.base if is_many else len(self.segments))), self.base

    def _build(
        self, files: dict[str, Identity], slots: Mapping[str, list[SegmentSlot]]
    ) -> tuple[list[Segment], set[str], list[tuple[str, bytes, Identity, bool]]]:
        """Segments of some files; those left out, and those that a slot has already."""
        cut = portions(files, self._builders.count)
        jobs = [BuildJob(names, self._store.new_path(), _ids_in(slots, names)) for names in cut]
        done_files = 0.0

        def done(count: float) -> None:
            nonlocal done_files
            done_files += count
            self._telling.progress(done_files / len(files))

        self._telling.progress(0.0)
        try:
            built = self._builders.build(jobs, done)
        except BuildFailed:
            self._store.sweep()  # half a segment is useless, above all on a full disk
            raise
        written = [_opened(job, part) for job, part in zip(jobs, built, strict=True)]
        left_out = {name for part in built for name in part.left_out}
        known = [file for part in built for file in part.known]
        return [segment for segment in written if segment.files], left_out, known

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


def _unlike(
    files: Mapping[str, Identity], slots: Mapping[str, list[SegmentSlot]]
) -> dict[str, Identity]:
    """The files that are in no slot, as far as their sizes tell."""
    return {
        name: status
        for name, status in files.items()
        if not any(slot.size == status[0] for slot in slots.get(name, ()))
    }


def _renumbered(
    slots: Mapping[str, list[SegmentSlot]], kept: Sequence[int]
) -> dict[str, list[SegmentSlot]]:
    """The slots of segments that stay, by their numbers then."""
    places = {number: place for place, number in enumerate(kept)}
    found: dict[str, list[SegmentSlot]] = {}
    for name, at in slots.items():
        stay = [
            slot._replace(segment=places[slot.segment]) for slot in at if slot.segment in places
        ]
        if stay:
            found[name] = stay
    return found


def _ids_in(slots: Mapping[str, list[SegmentSlot]], names: list[str]) -> dict[str, list[bytes]]:
    return {name: [slot.id for slot in slots[name]] for name in names if name in slots}


def _opened(job: BuildJob, built: Built) -> Segment:
    """A segment that was just written, with the roster of this tree."""
    segment = Segment(job.path)
    status = np.frombuffer(built.status, np.int64).reshape(-1, 4)
    segment.roster = Roster(status, np.frombuffer(built.racy, np.uint8) != 0)
    return segment


def _alive_files(segment: Segment, alive: Mask) -> dict[str, Identity]:
    rows = segment.status.tolist()
    return {segment.name(file): tuple(rows[file]) for file in alive.nonzero()[0].tolist()}
