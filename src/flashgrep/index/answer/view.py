"""What one query sees of the index: a snapshot, and what has to be looked at on disk."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import dropwhile
from typing import Any

import numpy as np

from flashgrep.index.format.snapshot import EMPTY, Place, Snapshot
from flashgrep.index.watch.listing import Identity
from flashgrep.index.watch.tracker import is_below
from flashgrep.workspace.walk import Ruled


@dataclass(frozen=True)
class View:
    """The index and the changes it does not know yet; a later state is another view."""

    snapshot: Snapshot = EMPTY
    entries: frozenset[str] = frozenset()
    """Files and links that changed, or are in no segment."""
    subtrees: frozenset[str] = frozenset()
    """Directories whose whole content is uncertain."""
    directories: Mapping[str, Ruled] = field(default_factory=dict)
    links: Mapping[str, str | None] = field(default_factory=dict)
    """Symbolic links, and the path in the tree each leads to; None where that is not certain."""
    aliases: Mapping[str, Place] = field(default_factory=dict)
    """Links to files that are in a segment."""
    shared: Mapping[str, Identity] = field(default_factory=dict)
    """Files with several names, as they were when the tree was listed."""
    above: tuple[tuple[bytes, bytes], ...] = ()
    """The rule files above the root when the tree was listed."""
    root: tuple[int, int] = (0, 0)
    """Device and inode of the root then."""

    @cached_property
    def sure_aliases(self) -> dict[str, Place]:
        """The aliases that nothing has happened to, neither the link nor the file."""
        alive = self.snapshot.alive
        return {
            link: place
            for link, place in self.aliases.items()
            if self.is_certain(link) and alive[place.segment][place.file]
        }

    @cached_property
    def alias_spans(self) -> tuple[list[str], Any]:
        """Such aliases, and the first piece of each one's file among all, and one past the last."""
        segment_set = self.snapshot.segment_set
        spans = [segment_set.span(*place) for place in self.sure_aliases.values()]
        return list(self.sure_aliases), np.array(spans, np.int64).reshape(-1, 2).T.copy()

    @cached_property
    def sure_links(self) -> list[tuple[str, str | None]]:
        """The other links that nothing has happened to, and where each leads."""
        return [
            (link, target)
            for link, target in self.links.items()
            if link not in self.sure_aliases and self.is_certain(link)
        ]

    def covers(self, directory: str) -> bool:
        """Whether a search of this directory can be answered from here."""
        if directory not in self.directories:
            return False
        return not any(is_below(directory, subtree) for subtree in self.subtrees)

    def changed_below(self, directory: str) -> bool:
        """Whether anything at all below a directory is not as the segments have it."""
        return any(is_below(path, directory) for path in (*self.entries, *self.subtrees))

    def is_certain(self, name: str) -> bool:
        """Whether nothing that is known to have changed touches this path."""
        return name not in self.entries and not any(
            is_below(name, subtree) for subtree in self.subtrees
        )


def topmost(subtrees: Iterable[str]) -> list[str]:
    """Subtrees without those that lie in another."""
    kept: list[str] = []
    for subtree in sorted(subtrees, key=lambda path: (path.count("/"), path)):
        if not any(is_below(subtree, above) for above in kept):
            kept.append(subtree)
    return kept


def led_to(link: str, text: str) -> str | None:
    """Where a link's text leads, as a path in the tree, if no other link is on the way.

    Whether none is shows later: every directory on the way must be one of the tree's own.
    """
    parts = [part for part in text.split("/") if part not in ("", ".")]
    if text.startswith("/") or ".." in list(dropwhile(lambda part: part == "..", parts)):
        return None  # what is left of x/.. is for the kernel to say: x may be a link
    if text.endswith(("/", "/.")):
        return None  # which kind stands there decides, and changes without the link
    path = os.path.normpath(os.path.join(os.path.dirname(link), text))
    if path == ".":
        return ""
    return None if path == ".." or path.startswith("../") else path
