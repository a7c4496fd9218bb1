"""Looks at what changed in the tree and says what it holds now: the tables of a view, made new."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from flashgrep.index.answer.view import View, led_to, topmost
from flashgrep.index.watch.listing import Identity, Rules, Tree, identity, joined
from flashgrep.index.watch.tracker import Changes, Tracker, is_below
from flashgrep.workspace.walk import RuleChains, Ruled


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
    tracker: Tracker, view: View, changes: Changes, stopped: Callable[[], bool]
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
