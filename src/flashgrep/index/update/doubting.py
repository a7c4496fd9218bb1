"""Files that were read right after a change, and when they are read again.

Two changes within the grain of a file system's clock leave the same times, so what was read in
between looks like the file and is not. The server that wrote a segment watches the tree and would
know; a server that only reads the segment cannot, and searches such files on disk. So the writer
reads them again once they have been still for a while, and a reader looks for the result.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from flashgrep import limits
from flashgrep.index.answer.view import View
from flashgrep.index.format.segment import RACY
from flashgrep.index.watch.listing import Identity

_AHEAD_NS: Final = 60 * 1_000_000_000
"""A file that was changed further in the future than this is never trusted."""


@dataclass(frozen=True)
class Doubt:
    """Files to look at again, and when: a time of the monotonic clock."""

    names: frozenset[str] = frozenset()
    at: float = 0.0

    def pause(self) -> float | None:
        """How long until then, in seconds; None where there is nothing to wait for."""
        return max(0.0, self.at - time.monotonic()) if self.names else None

    def is_due(self) -> bool:
        """Whether it is time."""
        return self.pause() == 0.0


NO_DOUBT: Final = Doubt()


def doubt(view: View, now: Callable[[], int] = time.time_ns) -> Doubt:
    """What the writer of the segments reads again, once it has been still for long enough."""
    times: dict[str, int] = {}
    for segment, alive in zip(view.snapshot.segments, view.snapshot.alive, strict=True):
        racy = np.flatnonzero(alive & ((segment.flags & RACY) != 0)).tolist()
        times.update((segment.name(file), int(segment.status[file, 2])) for file in racy)
    wall = now()
    times = _believable(times, wall)
    if not times:
        return NO_DOUBT
    age = (wall - max(times.values())) / 1e9
    return Doubt(frozenset(times), time.monotonic() + limits.DOUBT_SECONDS - age)


def hope(missing: Mapping[str, Identity], now: Callable[[], int] = time.time_ns) -> Doubt:
    """What a reader of the segments looks for again: files that their writer will have put there.

    It waits about twice as long each time, and gives up in the end: its answers are right anyhow.
    """
    wall = now()
    times = _believable({name: status[2] for name, status in missing.items()}, wall)
    age = (wall - max(times.values(), default=0)) / 1e9
    if not times or age > limits.DOUBT_LATEST_SECONDS:
        return NO_DOUBT
    return Doubt(frozenset(times), time.monotonic() + max(limits.FOLD_LATEST_SECONDS, age))


def _believable(times: dict[str, int], wall: int) -> dict[str, int]:
    return {name: at for name, at in times.items() if at < wall + _AHEAD_NS}


def without(view: View, names: frozenset[str]) -> View:
    """A view in which some files have to be read again."""
    snapshot = view.snapshot.without(names, ())
    return replace(view, snapshot=snapshot, entries=view.entries | names)
