"""Finds what changed by looking at everything: for changes that no event tells."""

from __future__ import annotations

from collections.abc import Callable

from flashgrep.index.answer.view import View
from flashgrep.index.format.segment import RACY
from flashgrep.index.update.rescan import Rescan, rescan_all
from flashgrep.index.watch.listing import Identity
from flashgrep.index.watch.tracker import Changes, Tracker
from flashgrep.workspace.walk import RULE_FILE


def sweep(tracker: Tracker, view: View, stopped: Callable[[], bool]) -> Changes:
    """What is on disk other than the view has it."""
    found = rescan_all(tracker, stopped)
    changes = Changes()
    if found.above != view.above:
        changes.lost = "the ignore rules above the workspace changed"
    changes.entries |= _changed_files(view, found.files)
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


def _changed_files(view: View, files: dict[str, Identity]) -> set[str]:
    new = set(files) - view.entries
    changed: set[str] = set()
    for segment, alive in zip(view.snapshot.segments, view.snapshot.alive, strict=True):
        rows = segment.status.tolist()
        names, flags = segment.all_names(), segment.flags.tolist()
        for file in alive.nonzero()[0].tolist():
            if flags[file] & RACY or files.get(names[file]) != tuple(rows[file]):
                changed.add(names[file])
            new.discard(names[file])
    return changed | new


def _changed_links(view: View, found: Rescan) -> set[str]:
    links = found.links.keys() | view.links.keys()
    missing = object()
    return {
        link for link in links if found.links.get(link, missing) != view.links.get(link, missing)
    }
