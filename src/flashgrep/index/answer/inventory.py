"""What a view says about the tree itself: its files, its links, and whose rules count in it."""

from __future__ import annotations

from flashgrep.index.answer.view import View
from flashgrep.index.watch.listing import Rules
from flashgrep.index.watch.tracker import Tracker, is_below, parents
from flashgrep.search.scan.request import walk_key
from flashgrep.workspace.scope import is_within


def names(view: View) -> list[str] | None:
    """Every file a search of the workspace looks at, in walk order; None where a link leads away.

    Asked of a view to which nothing has happened since.
    """
    found = [
        name
        for segment, alive in zip(view.snapshot.segments, view.snapshot.alive, strict=True)
        for name, is_alive in zip(segment.all_names(), alive.tolist(), strict=True)
        if is_alive
    ]
    for link, target in view.links.items():
        if link in view.aliases:
            found.append(link)
        elif target not in view.directories:
            return None
    return sorted(found, key=lambda name: walk_key("", name))


def links(view: View, directory: str) -> list[str]:
    """The links below a directory, by their names there."""
    cut = len(directory) + 1 if directory else 0
    return [link[cut:] for link in view.links if is_below(link, directory)]


def is_own_repository(tracker: Tracker, root: str) -> bool:
    """Whether a repository begins between the workspace and this directory: the rules above it do
    not count for a search that starts in it."""
    return any(
        directory and tracker.status(f"{directory}/.git") is not None for directory in parents(root)
    )


def has_same_rules_above(tracker: Tracker, rules: Rules, view: View) -> bool:
    """Whether the rule files above the workspace are those the view was made with."""
    top = tracker.root
    return view.above == tuple(pair for pair in rules if pair[0] != top and is_within(top, pair[0]))
