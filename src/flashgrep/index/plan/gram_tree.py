"""A plan made ready to be looked up: its sets of grams numbered, and all their ranges in one row.

A plan is a tree of grams of which all, or any, must be there; of a pattern of a few alternatives
each has a tree of its own, so that a block is later searched only for those it may hold.

A literal has a gram for each of its places, and each one that is looked up costs ten cache misses
in every segment. The rarest few do as well as all. Which those are, one segment tells for the
others; where it is wrong, a few blocks more are matched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import numpy as np

from flashgrep.index.format.segment import Segment
from flashgrep.index.plan import planner
from flashgrep.index.plan.planner import GramPlan, KeyRange, Need

_MOST_GRAMS: Final = 4
"""Grams of a literal that are looked up."""
_MOST_ALTERNATIVES: Final = 8
"""Alternatives that are told apart: a bit of a byte for each."""
_APART: Final = 4
"""Grams so near to each other share bytes: where one stands, mostly the other does too."""


@dataclass(frozen=True)
class GramSet:
    """A set of grams: its number among the leaves, and its ranges among all ranges."""

    number: int
    ranges: slice
    place: int
    """Where it stands among its neighbours."""

    @property
    def is_single(self) -> bool:
        return bool(self.ranges.stop - self.ranges.start == 1)

    def is_near(self, other: GramSet) -> bool:
        """Whether it shares bytes with another of the same literal."""
        return abs(self.place - other.place) < _APART


@dataclass(frozen=True)
class Node:
    """Leaves and nodes of which all, or any, must hold."""

    is_all: bool
    leaves: tuple[GramSet, ...]
    nodes: tuple[Node, ...]


class GramTree:
    """What a plan needs, as nodes and leaves."""

    def __init__(self, plan: GramPlan, pilot: Segment | None = None) -> None:
        """`pilot` is a segment in which grams are about as rare as in the others."""
        self._pilot = pilot
        self.folded = plan.folded
        self._ranges: list[KeyRange] = []
        self.firsts: list[int] = []
        """Per leaf its first range."""
        self.alternatives: tuple[Node, ...] = ()
        self.root = None if plan.need is None else self._rooted(plan, plan.need)
        self.lows = np.array([low for low, _ in self._ranges], np.uint32)
        """The first key of each range."""
        self.highs: Any = None
        """The last key of each; None where all are single keys."""
        if any(past - low > 1 for low, past in self._ranges):
            self.highs = np.array([past - 1 for _, past in self._ranges], np.uint32)
        self._pilot = None  # it may be replaced, and is not to stay for this

    def _rooted(self, plan: GramPlan, need: Need) -> Node:
        if not 0 < len(plan.alternatives) <= _MOST_ALTERNATIVES:
            return self._prepared(need)
        self.alternatives = tuple(map(self._prepared, plan.alternatives))
        return Node(False, (), self.alternatives)

    def _prepared(self, need: Need) -> Node:
        is_all = not isinstance(need, planner.AnyOf)
        parts = (need,) if isinstance(need, planner.Grams) else need.parts
        grams = [part for part in parts if isinstance(part, planner.Grams)]
        places = self._rarest(grams) if is_all else range(len(grams))
        leaves = [self._leaf(grams[place], place) for place in places]
        nodes = [self._prepared(part) for part in parts if not isinstance(part, planner.Grams)]
        return Node(is_all, tuple(leaves), tuple(nodes))

    def _rarest(self, grams: list[planner.Grams]) -> Sequence[int]:
        """Which of some grams that must all be there are looked up, in their order.

        All where the pattern has classes: what stands around one may be in a single gram.
        """
        places = range(len(grams))
        keys = [gram.ranges[0][0] for gram in grams if _is_key(gram)]
        if self._pilot is None or len(grams) <= _MOST_GRAMS or len(keys) < len(grams):
            return places
        sizes = self._pilot.posting_sizes(keys)
        by_size = sorted(places, key=sizes.__getitem__)
        return sorted(apart_first(by_size, lambda a, b: abs(a - b) < _APART)[:_MOST_GRAMS])

    def _leaf(self, grams: planner.Grams, place: int) -> GramSet:
        # No range at all cannot be looked up; one that no gram is in stands for it.
        ranges = grams.ranges or ((0, 1),)
        first = len(self._ranges)
        self.firsts.append(first)
        self._ranges.extend(ranges)
        return GramSet(len(self.firsts) - 1, slice(first, first + len(ranges)), place)


def _is_key(grams: planner.Grams) -> bool:
    """Whether there is but one gram."""
    return len(grams.ranges) == 1 and grams.ranges[0][1] - grams.ranges[0][0] == 1


_Thing = TypeVar("_Thing")


def apart_first(
    things: Iterable[_Thing], is_near: Callable[[_Thing, _Thing], bool]
) -> list[_Thing]:
    """The same in order; those behind the others that are near to one before them."""
    first: list[_Thing] = []
    near: list[_Thing] = []
    for thing in things:
        (near if any(is_near(thing, other) for other in first) else first).append(thing)
    return first + near
