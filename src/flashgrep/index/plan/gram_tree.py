"""A plan ready for lookup: its sets of grams numbered, and all their ranges in one row.

A plan is a tree of grams of which all, or any, must be there. If a pattern has a few alternatives,
each has its own tree, so that a block is later searched only for those it may contain.

A literal has a gram at each position, and each lookup costs ten cache misses in every segment. The
rarest few do as well as all. One segment tells which those are for all segments; where it is wrong,
a few more blocks are matched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import numpy as np

from flashgrep.index.format.segment import Segment
from flashgrep.index.plan.planner import (
    FEW_RANGES,
    AllOf,
    AnyOf,
    GramPlan,
    Grams,
    KeyRange,
    Need,
)

_MOST_GRAMS: Final = 4
"""Grams of a literal that are looked up…"""
_MOST_SINGLES: Final = 6
"""…and of several literals with classes between them."""
_COMMON_BYTES: Final = 1.5
"""Postings of so many bytes a block are those of a class that most blocks hold."""
_BACK_BYTES: Final = 0.5
"""A class that was found by going back and has more is left out, if that leaves nothing too: a page
is found among the first files sooner than such postings are read."""
_CLASS_WORTH: Final = 8
"""A class is looked up if its postings take no more than so many times those of the rarest gram."""
_MOST_ALTERNATIVES: Final = 8
"""Alternatives that are kept apart: a bit of a byte for each."""
_APART: Final = 4
"""Grams so near to each other share bytes: where one is, mostly the other is too."""


@dataclass(frozen=True)
class GramSet:
    """A set of grams: its number among the leaves, and its ranges among all ranges."""

    number: int
    ranges: slice
    place: int
    """Its place among its neighbours."""

    @property
    def is_single(self) -> bool:
        return bool(self.ranges.stop - self.ranges.start == 1)

    def is_near(self, other: GramSet) -> bool:
        """Whether it shares bytes with another of the same literal."""
        return abs(self.place - other.place) < _APART


@dataclass(frozen=True)
class GramNode:
    """Leaves and nodes of which all, or any, must hold."""

    is_all: bool
    leaves: tuple[GramSet, ...]
    nodes: tuple[GramNode, ...]


class GramTree:
    """What a plan requires, as nodes and leaves."""

    def __init__(self, plan: GramPlan, pilot: Segment | None = None) -> None:
        """`pilot` is a segment in which grams are about as rare as in the others."""
        self._pilot = pilot
        self.known: tuple[Any, dict[int, int]] | None = None
        """What was found with it, where that is little: pieces, and the alternatives of each."""
        self.rare: tuple[dict[int, int] | None] | None = None
        """What `rare` says of it, where that was asked and is little."""
        self.folded = plan.folded
        self._ranges: list[KeyRange] = []
        self.firsts: list[int] = []
        """Per leaf its first range."""
        self.alternatives: tuple[GramNode, ...] = ()
        need = None if plan.need is None or self._is_weak(plan.need) else plan.need
        self.root = None if need is None else self._rooted(plan, need)
        self.lows = np.array([low for low, _ in self._ranges], np.uint32)
        """The first key of each range."""
        self.highs: Any = None
        """The last key of each; None where all are single keys."""
        if any(past - low > 1 for low, past in self._ranges):
            self.highs = np.array([past - 1 for _, past in self._ranges], np.uint32)
        self._pilot = None  # it may be replaced, and is not to stay for this

    def _is_weak(self, need: Need) -> bool:
        """Whether looking up what is needed would take longer than a page."""
        if not isinstance(need, Grams):
            are = map(self._is_weak, need.parts)
            return all(are) if isinstance(need, AllOf) else any(are)
        if not need.is_back or self._pilot is None:
            return False
        return self._pilot.posting_sizes([need.ranges])[0] > _BACK_BYTES * self._pilot.blocks

    def _rooted(self, plan: GramPlan, need: Need) -> GramNode:
        if not 0 < len(plan.alternatives) <= _MOST_ALTERNATIVES:
            return self._prepared(need)
        self.alternatives = tuple(map(self._prepared, plan.alternatives))
        return GramNode(False, (), self.alternatives)

    def _prepared(self, need: Need) -> GramNode:
        is_all = not isinstance(need, AnyOf)
        parts = (need,) if isinstance(need, Grams) else need.parts
        if is_all:
            parts = tuple(part for part in parts if not self._is_weak(part))
        grams = [part for part in parts if isinstance(part, Grams)]
        places = self._rarest(grams) if is_all else range(len(grams))
        leaves = [self._leaf(grams[place], place) for place in places]
        nodes = [self._prepared(part) for part in parts if not isinstance(part, Grams)]
        return GramNode(is_all, tuple(leaves), tuple(nodes))

    def _rarest(self, grams: list[Grams]) -> Sequence[int]:
        """Which of some grams that must all be there are looked up, in their order.

        Of classes, which are many keys in every segment, those that may save more than they cost,
        and as many as there are too few single grams.
        """
        places = range(len(grams))
        is_many = sum(len(gram.ranges) for gram in grams) > FEW_RANGES
        if self._pilot is None or (len(grams) <= _MOST_GRAMS and not is_many):
            return places
        sizes = self._pilot.posting_sizes([gram.ranges for gram in grams])
        by_size = sorted(places, key=sizes.__getitem__)
        if is_many:  # of those that are nearly everywhere at most one is looked up
            common = _COMMON_BYTES * self._pilot.blocks
            by_size = [place for place in by_size if sizes[place] < common] or by_size[:1]
            if len(by_size) <= _MOST_GRAMS:
                return sorted(by_size)
        singles = [place for place in by_size if _is_key(grams[place])]
        if len(singles) < _MOST_GRAMS:
            return sorted(_first_apart(by_size, _MOST_GRAMS))
        if len(singles) == len(grams):
            return sorted(_first_apart(singles, _MOST_GRAMS))
        most = _CLASS_WORTH * sizes[singles[0]]
        classes = [place for place in by_size if sizes[place] < most and place not in singles]
        chosen = _first_apart(singles, _MOST_SINGLES) + _first_apart(classes, _MOST_GRAMS)
        return sorted(chosen)

    def _leaf(self, grams: Grams, place: int) -> GramSet:
        # No range at all cannot be looked up; use one that no gram is in.
        ranges = grams.ranges or ((0, 1),)
        first = len(self._ranges)
        self.firsts.append(first)
        self._ranges.extend(ranges)
        return GramSet(len(self.firsts) - 1, slice(first, first + len(ranges)), place)


def _is_key(grams: Grams) -> bool:
    """Whether there is but one gram."""
    return len(grams.ranges) == 1 and grams.ranges[0][1] - grams.ranges[0][0] == 1


def _first_apart(places: list[int], most: int) -> list[int]:
    """The first few of `apart_first`, for places."""
    found: list[int] = []
    for place in places:
        if all(abs(place - other) >= _APART for other in found):
            found.append(place)
            if len(found) == most:
                return found
    near = [place for place in places if place not in found]
    return found + near[: most - len(found)]


_Thing = TypeVar("_Thing")


def apart_first(
    things: Iterable[_Thing], is_near: Callable[[_Thing, _Thing], bool]
) -> list[_Thing]:
    """The same in order, but those that are near to one before them come last."""
    first: list[_Thing] = []
    near: list[_Thing] = []
    for thing in things:
        (near if any(is_near(thing, other) for other in first) else first).append(thing)
    return first + near
