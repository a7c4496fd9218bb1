"""Finds what changed in the tree: after events, by hard links, or by looking at everything."""

from __future__ import annotations

import os
import stat
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from flashgrep.index.answer.view import IndexView, led_to, topmost
from flashgrep.index.format.segment import RACY
from flashgrep.index.watch.listing import Identity, Rules, Tree, identity, joined
from flashgrep.index.watch.tracker import Changes, Tracker, is_below
from flashgrep.workspace.walk import RULE_FILE, RuleChains, Ruled, statuses_below


@dataclass
class Rescan:
    """The tree's tables after a look, and the files that were looked at."""

    above: Rules
    files: dict[str, Identity] = field(default_factory=dict)
    """Files that have to be found in a segment, or built into one."""
    directories: dict[str, Ruled] = field(default_factory=dict)
    links: dict[str, str | None] = field(default_factory=dict)
    shared: dict[str, Identity] = field(default_factory=dict)
    unreadable: set[str] = field(default_factory=set)
    root: tuple[int, int] = (0, 0)
    """Device and inode of the root."""

    def take(self, tree: Tree, tracker: Tracker) -> None:
        """Add what a listing found."""
        self.files.update(tree.files)
        self.directories.update(tree.directories)
        self.shared.update(tree.shared)
        self.unreadable |= tree.unreadable
        for link in tree.links:
            self.links[link] = _target(tracker, link)

    def drop(self, subtree: str) -> None:
        """Forget a directory and all below it."""
        self.directories = {d: r for d, r in self.directories.items() if not is_below(d, subtree)}
        self.links = {d: t for d, t in self.links.items() if not is_below(d, subtree)}
        self.shared = {n: i for n, i in self.shared.items() if not is_below(n, subtree)}


def rescan_all(tracker: Tracker, stopped: Callable[[], bool]) -> Rescan:
    """Look at the whole tree."""
    above = tracker.rules_above()
    found = Rescan(above, root=tracker.root_identity())
    found.take(tracker.list_tree("", above, (), stopped), tracker)
    tracker.forget("", found.directories)
    return found


def rescan_changes(
    tracker: Tracker, view: IndexView, changes: Changes, stopped: Callable[[], bool]
) -> Rescan:
    """Look at what changed; everything else is as the view has it."""
    found = Rescan(
        above=view.above,
        files={},
        directories=dict(view.directories),
        links=dict(view.links),
        shared=dict(view.shared),
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
    found: Rescan,
    directory: str,
    names: list[str],
    chains: RuleChains,
    stopped: Callable[[], bool],
) -> None:
    ruled = found.directories.get(directory)
    listing = None if ruled is None else tracker.entries(directory, names, chains, ruled)
    if ruled is None or listing is None:
        return
    tree = Tree(links={joined(directory, name) for name in listing.links})
    for name in listing.files:
        path = joined(directory, name)
        status = tracker.status(path)
        if status is None:
            continue
        tree.files[path] = identity(status)
        if status.st_nlink != 1:
            tree.shared[path] = identity(status)
    found.take(tree, tracker)
    for name in listing.directories:
        path = joined(directory, name)
        if path not in found.directories:
            found.take(tracker.list_tree(path, found.above, ruled, stopped), tracker)


def _target(tracker: Tracker, link: str) -> str | None:
    try:
        text = os.readlink(tracker.real(link))
    except OSError:
        return None
    return led_to(link, os.fsdecode(text))


# ── hard links ───────────────────────────────────────────────────────────────────────────────────
# Names that stand for one file, and what a change of one means for the others.
#
# A directory's watch says nothing about a write through another name of the file elsewhere. So
# files with several names are looked at by every query, and a change that is told under one name
# counts for all of them.


def changed(tracker: Tracker, view: IndexView, root: str) -> Changes:
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
    """Add what changes mean for others: all that rules rule, all names of a file."""
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
    for segment, alive in zip(view.snapshot.segments, view.snapshot.alive, strict=True):
        for file in np.flatnonzero(alive & (segment.status[:, 3] == inode)).tolist():
            yield segment.name(file)


# ── poll ─────────────────────────────────────────────────────────────────────────────────────────
# Finds what changed by looking at everything: for changes that no event tells.


def poll(tracker: Tracker, view: IndexView, stopped: Callable[[], bool]) -> Changes:
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


def _changed_files(view: IndexView, files: dict[str, Identity]) -> set[str]:
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


def _changed_links(view: IndexView, found: Rescan) -> set[str]:
    links = found.links.keys() | view.links.keys()
    missing = object()
    return {
        link for link in links if found.links.get(link, missing) != view.links.get(link, missing)
    }
