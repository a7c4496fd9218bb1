"""Finds what changed in the tree: after events, by hard links, or by a full check."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from flashgrep.index.answer.view import IndexSnapshot, IndexView, topmost
from flashgrep.index.format.enrolled_files import EnrolledFiles, EnrolledPart
from flashgrep.index.format.roster import RACY_SECONDS
from flashgrep.index.format.segment import Segment
from flashgrep.index.watch.changes import (
    Changes,
    Identity,
    Tree,
    is_below,
    joined,
    link_target,
)
from flashgrep.index.watch.tracker import Tracker
from flashgrep.workspace.walk import RULE_FILE, RuleChains

FOLD_LATEST_SECONDS: Final = 5.0
"""Changes are folded into the index at the latest this long after the last time."""

AWAITED_SECONDS: Final = 600.0
"""For so long a server that does not write the index looks whether another one did that."""


def rescan_changes(
    tracker: Tracker, view: IndexView, changes: Changes, stopped: Callable[[], bool]
) -> Tree:
    """Look at what changed; everything else is as the view has it."""
    found = Tree(
        directories=dict(view.directories),
        links=dict(view.links),
        shared=dict(view.shared),
        above=view.above,
        root=view.root,
    )
    chains = tracker.chains(view.above)
    subtrees = topmost(changes.subtrees)
    names: dict[str, set[str]] = defaultdict(set)
    for subtree in subtrees:
        found.drop(subtree)
    for path in (*changes.entries, *subtrees):
        found.links.pop(path, None)
        found.shared.pop(path, None)
        if not any(path != subtree and is_below(path, subtree) for subtree in subtrees):
            directory, _, name = path.rpartition("/")
            names[directory].add(name)
    for directory in sorted(names):
        _look_into(tracker, found, directory, sorted(names[directory]), chains, stopped)
    for subtree in subtrees:
        tracker.forget(subtree, found.directories)
    return found


def _look_into(
    tracker: Tracker,
    found: Tree,
    directory: str,
    names: list[str],
    chains: RuleChains,
    stopped: Callable[[], bool],
) -> None:
    ruled = found.directories.get(directory)
    listing = None if ruled is None else tracker.entries(directory, names, chains, ruled)
    if ruled is None or listing is None:
        return
    for name in listing.links:
        path = joined(directory, name)
        found.links[path] = link_target(path, tracker.real(path))
    for name in listing.files:
        path = joined(directory, name)
        status = tracker.status(path)
        if status is not None:
            found.add_file(path, status)
    for name in listing.directories:
        path = joined(directory, name)
        if path not in found.directories:
            found.take(tracker.list_tree(path, found.above, ruled, stopped))


# ── poll ─────────────────────────────────────────────────────────────────────────────────────────
# Finds what changed by looking at everything: for changes that raise no event.


def poll(
    tracker: Tracker, view: IndexView, stopped: Callable[[], bool], home: Path | None = None
) -> Changes:
    """What differs on disk from the view; `home` is where the rosters are."""
    snapshot = view.snapshot
    enrolled = None if home is None else enrolled_files(snapshot.segments, snapshot.base, home)
    found = tracker.list_everything(stopped, enrolled)
    changes = Changes()
    if found.above != view.above:
        changes.lost = "the ignore rules above the workspace changed"
    compared = _changed_files if enrolled is None else _unrecognised_files
    changes.entries |= compared(view, found)
    changes.entries |= _changed_links(view, found)
    changes.subtrees |= {
        directory
        for directory in found.directories.keys() | view.directories.keys()
        if found.directories.get(directory) != view.directories.get(directory)
    }
    for path in changes.entries:
        directory, _, name = path.rpartition("/")
        if name == RULE_FILE:
            changes.subtrees.add(directory)
    return changes


def enrolled_files(segments: Sequence[Segment], base: int, home: Path) -> EnrolledFiles | None:
    """The files of some segments, by their rosters on disk; None where one is not on disk."""
    if not segments or not all(segment.roster_file for segment in segments):
        return None
    parts = [EnrolledPart(each.path, str(home / each.roster_file)) for each in segments]
    return EnrolledFiles(parts, base)


def _unrecognised_files(view: IndexView, found: Tree) -> set[str]:
    """Files that are not as their rosters know them, or that the view knows nothing of."""
    snapshot = view.snapshot
    changed: set[str] = set()
    new = set(found.files) - view.entries
    for segment, alive in snapshot.parts():
        seen = np.zeros(segment.files, bool)
        seen[found.recognised.get(segment.path, [])] = True
        changed.update(map(segment.name, np.flatnonzero(alive & ~seen).tolist()))
        new.update(map(segment.name, np.flatnonzero(seen & ~alive).tolist()))
    return changed | {name for name in new - view.entries if not _is_alive(snapshot, name)}


def _is_alive(snapshot: IndexSnapshot, name: str) -> bool:
    return any(snapshot.alive[number][file] for number, file in snapshot.find(name))


def _changed_files(view: IndexView, found: Tree) -> set[str]:
    """The same from the names of all files: the definition."""
    files = found.files
    new = set(files) - view.entries
    changed: set[str] = set()
    for segment, alive in view.snapshot.parts():
        rows = segment.status.tolist()
        names, is_racy = segment.all_names(), segment.racy.tolist()
        for file in alive.nonzero()[0].tolist():
            if is_racy[file] or files.get(names[file]) != tuple(rows[file]):
                changed.add(names[file])
            new.discard(names[file])
    return changed | new


def _changed_links(view: IndexView, found: Tree) -> set[str]:
    links = found.links.keys() | view.links.keys()
    missing = object()
    return {
        link for link in links if found.links.get(link, missing) != view.links.get(link, missing)
    }


# ── files to read again ──────────────────────────────────────────────────────────────────────────
# Files that were read right after a change, and when they are read again.
#
# Two changes within the grain of a file system's clock leave the same times, so what was read in
# between looks like the file and is not. The server that wrote a segment watches the tree and would
# know; a server that only reads the segment cannot, and searches such files on disk. So the writer
# reads them again once they have been still for a while, and a reader looks for the result.


_AHEAD_NS: Final = 60 * 1_000_000_000
"""A file that was changed further in the future than this is never trusted."""


@dataclass(frozen=True)
class RacyFiles:
    """Files to check again, and when (by the monotonic clock)."""

    names: frozenset[str] = frozenset()
    at: float = 0.0

    def pause(self) -> float | None:
        """How long until then, in seconds; None where there is nothing to wait for."""
        return max(0.0, self.at - time.monotonic()) if self.names else None

    def is_due(self) -> bool:
        """Whether it is time."""
        return self.pause() == 0.0


NO_RACY_FILES: Final = RacyFiles()


def racy_files(view: IndexView, now: Callable[[], int] = time.time_ns) -> RacyFiles:
    """What the writer of the segments reads again, once it has been still for long enough."""
    times: dict[str, int] = {}
    for segment, alive in view.snapshot.parts():
        racy = np.flatnonzero(alive & segment.racy).tolist()
        times.update((segment.name(file), int(segment.status[file, 2])) for file in racy)
    wall = now()
    times = _believable(times, wall)
    if not times:
        return NO_RACY_FILES
    age = (wall - max(times.values())) / 1e9
    return RacyFiles(frozenset(times), time.monotonic() + RACY_SECONDS - age)


def awaited_files(
    missing: Mapping[str, Identity], now: Callable[[], int] = time.time_ns
) -> RacyFiles:
    """What a reader of the segments looks for again: files that their writer will have put there.

    It waits about twice as long each time, and gives up in the end: its answers are right anyhow.
    """
    wall = now()
    times = _believable({name: status[2] for name, status in missing.items()}, wall)
    age = (wall - max(times.values(), default=0)) / 1e9
    if not times or age > AWAITED_SECONDS:
        return NO_RACY_FILES
    return RacyFiles(frozenset(times), time.monotonic() + max(FOLD_LATEST_SECONDS, age))


def _believable(times: dict[str, int], wall: int) -> dict[str, int]:
    return {name: at for name, at in times.items() if at < wall + _AHEAD_NS}


def without(view: IndexView, names: frozenset[str]) -> IndexView:
    """A view in which some files have to be read again."""
    snapshot = view.snapshot.without(names, ())
    return replace(view, snapshot=snapshot, entries=view.entries | names)
