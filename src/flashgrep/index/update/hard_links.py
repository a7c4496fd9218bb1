"""Names that stand for one file, and what a change of one means for the others.

A directory's watch says nothing about a write through another name of the file elsewhere. So files
with several names are looked at by every query, and a change that is told under one name counts
for all of them.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator

import numpy as np

from flashgrep.index.answer.view import View
from flashgrep.index.watch.listing import identity
from flashgrep.index.watch.tracker import Changes, Tracker, is_below
from flashgrep.workspace.walk import RULE_FILE, statuses_below


def changed(tracker: Tracker, view: View, root: str) -> Changes:
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


def widen(tracker: Tracker, view: View, changes: Changes) -> None:
    """Add what changes mean for others: all that rules rule, all names of a file."""
    for path in list(changes.entries):
        directory, _, name = path.rpartition("/")
        if name == RULE_FILE:
            changes.subtrees.add(directory)
        status = tracker.status(path)
        if status is not None and stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
            changes.entries.update(_names_of(view, status.st_ino))


def _known_names_of_files_below(tracker: Tracker, view: View, subtree: str) -> Iterator[str]:
    """Files that have got a further name in a directory that is not watched yet."""
    for status in statuses_below(tracker.scope, tracker.real(subtree)):
        if status.st_nlink > 1 and stat.S_ISREG(status.st_mode):
            yield from _names_of(view, status.st_ino)


def _names_of(view: View, inode: int) -> Iterator[str]:
    """The names that the segments have for a file."""
    for segment, alive in zip(view.snapshot.segments, view.snapshot.alive, strict=True):
        for file in np.flatnonzero(alive & (segment.status[:, 3] == inode)).tolist():
            yield segment.name(file)
