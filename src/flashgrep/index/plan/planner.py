r"""Turns a pattern into what every match must hold: AND and OR of sets of 4-grams.

    Grams({(lo, hi), …})   a gram whose key is in one of these ranges
    All((…))               each of them, somewhere in the match
    Any((…))               at least one of them
    None                   nothing is known: every block is a candidate

A plan may only be too wide, never too narrow. It is made from the pattern's tree (`search.syntax`),
seen as a row of steps: one character out of a set, a run of such characters, a gap about which
nothing is known. From each single step, every way to go on for four bytes is followed; together
the ways are the grams that can be there, and one of them must. So a literal gives one gram for
each of its places, and `\d+\.\d+\.\d+`, which has no literal, gives `[0-9].[0-9][0-9.]`: 200
ranges of keys, because the last byte of a gram is a range. Before the end, and before a gap, the
ways back are followed too.

Under `(?i)` both cases of a letter are in the set. `k` and `s` have twins outside ASCII (the Kelvin
sign, the long s); the block table marks blocks that hold those, and they stay candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from typing import Any, Final, TypeVar

import numpy as np

from flashgrep.index.format.segment import Segment
from flashgrep.search.pattern import PatternSpec
from flashgrep.search.syntax import (
    Alt,
    Cat,
    Char,
    Choice,
    Edge,
    Node,
    Repeat,
)

_MOST_RANGES: Final = 4_096
"""Ranges of one set of grams; a wider one takes longer to look up than it saves."""
_MOST_WAYS: Final = 16
_MOST_BRANCHES: Final = 64
_MOST_WINDOWS: Final = 24
_MOST_COPIES: Final = 8
_WIDTH: Final = 4

KeyRange = tuple[int, int]
"""First key and one past the last."""


@dataclass(frozen=True)
class Grams:
    """One of these grams must be there."""

    ranges: tuple[KeyRange, ...]
    is_back: bool = field(default=False, compare=False)
    """Whether it was found by going back from a gap or an end: then a literal may be near."""


@dataclass(frozen=True)
class AllOf:
    """Every part must be there."""

    parts: tuple[Need, ...]


@dataclass(frozen=True)
class AnyOf:
    """One part must be there."""

    parts: tuple[Need, ...]


Need = Grams | AllOf | AnyOf


@dataclass(frozen=True)
class GramPlan:
    """What a block (in multiline, a file) must hold to be worth matching."""

    need: Need | None
    folded: bool = False
    """Some letter counts in either case, so marked blocks are candidates too."""
    alternatives: tuple[Need, ...] = ()
    """What each alternative of the pattern needs, in its order, where it is nothing but those."""


@dataclass(frozen=True)
class _PlanStep:
    """One byte out of a set; in a run, any number of them."""

    members: frozenset[int]
    is_run: bool = False


@dataclass(frozen=True)
class _Gap:
    """Nothing is known of the text here, but perhaps of what it must hold."""

    need: Need | None = None


_BYTES: Final = [_PlanStep(frozenset((byte,))) for byte in range(256)]
_Row = list[_PlanStep | _Gap]
_Way = tuple[frozenset[int], ...]


@lru_cache(maxsize=64)
def plan(spec: PatternSpec) -> GramPlan:
    """The plan of a pattern; remembered, because agents page."""
    tree = spec.tree
    if tree is None:
        return GramPlan(None)
    if spec.is_plain and len(spec.source) >= _WIDTH:
        return GramPlan(_literal_need(spec.source.encode("ascii")))
    may_fold = spec.case_insensitive or "(?" in spec.source
    planner, is_folded = _Planner(spec.multiline), may_fold and _is_folded(tree)
    if isinstance(tree, Alt) and not is_folded:
        needs = [need for part in tree.parts if (need := planner.need(part)) is not None]
        if len(needs) == len(tree.parts):
            return GramPlan(_any([*needs]), alternatives=tuple(needs))
    return GramPlan(planner.need(tree), is_folded)


def _is_folded(node: Node) -> bool:
    if isinstance(node, (Cat, Alt)):
        return any(_is_folded(part) for part in node.parts)
    if isinstance(node, Repeat):
        return _is_folded(node.part)
    return isinstance(node, (Char, Choice)) and node.folded


class _Planner:
    """Plans for lines, or for whole texts, where a match may hold newlines."""

    def __init__(self, multiline: bool) -> None:
        self._multiline = multiline

    def need(self, node: Node) -> Need | None:
        if isinstance(node, Alt):
            return _any([self.need(part) for part in node.parts])
        row = list(self._row(node))
        if not self._multiline and _ends(node):
            row.append(_PlanStep(frozenset(b"\n")))  # a line in the pack ends so
        needs = [gap.need for gap in row if isinstance(gap, _Gap)]
        return _all([*self._windows(row), *needs])

    # ── steps ───────────────────────────────────────────────────────────────────────────────────

    def _row(self, node: Node) -> Iterator[_PlanStep | _Gap]:
        if isinstance(node, Cat):
            for part in node.parts:
                yield from self._row(part)
        elif isinstance(node, Char):
            yield from self._character(node)
        elif isinstance(node, Choice):
            yield self._step(node.members)
        elif isinstance(node, Repeat):
            yield from self._repeated(node)
        elif isinstance(node, Alt):
            yield _Gap(self.need(node))
        elif not isinstance(node, Edge):
            yield _Gap()

    def _character(self, node: Char) -> Iterator[_PlanStep]:
        if node.folded:
            yield self._step(frozenset((ord(node.text.lower()), ord(node.text.upper()))))
            return
        for byte in node.text.encode("utf-8", "surrogatepass"):
            yield _BYTES[byte] if byte != 0x0A else self._step(frozenset((byte,)))

    def _step(self, members: frozenset[int], is_run: bool = False) -> _PlanStep:
        # Within a line there is no newline to match.
        return _PlanStep(members if self._multiline else members - {0x0A}, is_run)

    def _repeated(self, node: Repeat) -> Iterator[_PlanStep | _Gap]:
        once = list(self._row(node.part))
        if len(once) == 1 and isinstance(once[0], _PlanStep) and not once[0].is_run:
            for _ in range(min(node.low, _MOST_COPIES)):
                yield once[0]
            if node.high != node.low or node.low > _MOST_COPIES:
                yield _PlanStep(once[0].members, is_run=True)
            return
        if node.low >= 1:
            yield from once
        if (node.low, node.high) != (1, 1):
            yield _Gap()

    # ── grams ───────────────────────────────────────────────────────────────────────────────────

    def _windows(self, row: _Row) -> list[Grams | None]:
        starts = [
            at for at, step in enumerate(row) if isinstance(step, _PlanStep) and not step.is_run
        ]
        stride = max(1, len(starts) // _MOST_WINDOWS)
        places = starts[::stride]
        singles = [*map(_single, row)]
        whole = [_literal_gram(singles[at : at + _WIDTH]) or self._whole(row, at) for at in places]
        if not any(whole):
            whole = [_grams([*_ways(row, at)], _WIDTH - 1) for at in places]
        return [*whole, *_last_grams(row)]

    @staticmethod
    def _whole(row: _Row, at: int) -> Grams | None:
        """The grams at a place of a row; None where that is nearer to its end than a gram is long.

        A run may end a gram that begins so near to it.
        """
        if at + _WIDTH > len(row) and not any(
            isinstance(step, _PlanStep) and step.is_run for step in row[at:]
        ):
            return None
        return _grams([*_ways(row, at)], _WIDTH)


def _literal_need(text: bytes) -> Need | None:
    """What a planner makes of the characters of a text that is long enough for a gram."""
    stride = max(1, len(text) // _MOST_WINDOWS)
    starts = range(0, len(text) - _WIDTH + 1, stride)
    keys = [int.from_bytes(text[at : at + _WIDTH], "big") for at in starts]
    return _all(Grams(((key, key + 1),)) for key in keys)


def _single(step: _PlanStep | _Gap) -> int:
    """The byte of a step that is a certain one; -1 for any other."""
    if isinstance(step, _Gap) or step.is_run or len(step.members) != 1:
        return -1
    (byte,) = step.members
    return byte


def _literal_gram(singles: list[int]) -> Grams | None:
    """The gram of four certain bytes: what `_grams` makes of the one way through them."""
    if len(singles) < _WIDTH or -1 in singles or 0x0A in singles[: _WIDTH - 1]:
        return None
    key = int.from_bytes(bytes(singles), "big")
    return Grams(((key, key + 1),))


def _grams(ways: list[_Way], shortest: int) -> Grams | None:
    """The grams that one of these ways must be; None where that is not known."""
    if len(ways) > _MOST_WAYS or not all(_is_usable(way, shortest) for way in ways):
        return None
    if sum(_cost(way) for way in ways) > _MOST_RANGES:
        return None
    return Grams(tuple(_joined(pair for way in ways for pair in _ranges(way))))


def _is_usable(way: _Way, shortest: int) -> bool:
    # No gram reaches over a block's end, which is some newline: only its last byte may be one.
    # Of three bytes, the fourth may be anything, so the third is not the last.
    if any(0x0A in members for members in way[: _WIDTH - 1]):
        return False
    return len(way) >= shortest


def _ends(node: Node) -> bool:
    """Whether the end of the line is the last thing a pattern asks for."""
    while isinstance(node, Cat) and node.parts:
        node = node.parts[-1]
    return node == Edge("end")


def _ways(row: _Row, start: int) -> Iterator[_Way]:
    """Every way to go on from a step for up to four bytes."""
    stack: list[tuple[_Way, int]] = [((), start)]
    found = 0
    while stack and found <= _MOST_WAYS:
        way, at = stack.pop()
        step = row[at] if at < len(row) else None
        if len(way) == _WIDTH or not isinstance(step, _PlanStep):
            found += 1
            yield way
            continue
        stack.append(((*way, step.members), at if step.is_run else at + 1))
        if step.is_run:
            stack.append((way, at + 1))


def _last_grams(row: _Row) -> Iterator[Grams]:
    r"""The grams that end where a gap begins or the row ends, shortly after a run.

    What goes on from there is unknown, so only the ways back say anything. `\w+\(\);` must hold
    `[0-9A-Za-z_]\(\);`, and `\w+\+\+` three bytes of that kind: a fourth one before them is one of
    so many that it says hardly more, and takes a long time to look up.
    """
    for past in range(1, len(row) + 1):
        if past == len(row) or isinstance(row[past], _Gap):
            near = row[max(0, past - _WIDTH) : past]
            if near and _is_one(near[-1]) and not all(map(_is_one, near)):
                for width in (_WIDTH, _WIDTH - 1):
                    ways = [*_ways_back(row, past, width)]
                    if sum(map(_cost, ways)) <= _FEW_RANGES and (found := _grams(ways, width)):
                        yield Grams(found.ranges, is_back=True)
                        break


def _is_one(step: _PlanStep | _Gap) -> bool:
    return isinstance(step, _PlanStep) and not step.is_run


def _ways_back(row: _Row, past: int, width: int) -> Iterator[_Way]:
    """Every way to come to a place of a row in so many bytes."""
    found = dict[_Way, None]()
    stack: list[tuple[_Way, int]] = [((), past)]
    while stack and len(found) <= _MOST_WAYS:
        way, at = stack.pop()
        step = row[at - 1] if at else None
        if len(way) == width or not isinstance(step, _PlanStep):
            found[way] = None
            continue
        stack.append(((step.members, *way), at if step.is_run else at - 1))
        if step.is_run:
            stack.append((way, at - 1))
    yield from found


def _cost(way: _Way) -> int:
    cost = 1
    for members in way[: _WIDTH - 1]:
        cost *= len(members)
    return cost * (len(_runs(way[-1])) if len(way) == _WIDTH else 1)


def _ranges(way: _Way) -> Iterator[KeyRange]:
    last = _runs(way[_WIDTH - 1]) if len(way) == _WIDTH else [(0, 256)]
    for head in product(*way[: _WIDTH - 1]):
        key = int.from_bytes(bytes(head), "big") << 8
        for low, past in last:
            yield key + low, key + past


def _runs(members: frozenset[int]) -> list[tuple[int, int]]:
    """A set of bytes as ranges."""
    return _joined((byte, byte + 1) for byte in members)


def _joined(ranges: Iterable[KeyRange]) -> list[KeyRange]:
    """Ranges in order, touching ones joined."""
    joined: list[KeyRange] = []
    for low, past in sorted(ranges):
        if joined and low <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(past, joined[-1][1]))
        else:
            joined.append((low, past))
    return joined


def _all(parts: Iterable[Need | None]) -> Need | None:
    known = tuple(dict.fromkeys(part for part in parts if part is not None))
    if not known:
        return None
    return known[0] if len(known) == 1 else AllOf(known)


def _any(parts: list[Need | None]) -> Need | None:
    if len(parts) > _MOST_BRANCHES:
        return None
    known = [part for part in dict.fromkeys(parts) if part is not None]
    if None in parts or not known:
        return None
    return known[0] if len(known) == 1 else AnyOf(tuple(known))


# ── gram trees ───────────────────────────────────────────────────────────────────────────────────
# A plan made ready to be looked up: its sets of grams numbered, and all their ranges in one row.
#
# A plan is a tree of grams of which all, or any, must be there; each alternative of a pattern of a
# few has its own tree, so that a block is later searched only for those it may hold.
#
# A literal has a gram for each of its places, and each one that is looked up costs ten cache misses
# in every segment. The rarest few do as well as all. Which those are is read from one segment for
# all; where it is wrong, a few blocks more are matched.


_MOST_GRAMS: Final = 4
"""Grams of a literal that are looked up…"""
_MOST_SINGLES: Final = 6
"""…and of several literals with classes between them."""
_FEW_RANGES: Final = 200
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
    """What a plan needs, as nodes and leaves."""

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
        is_many = sum(len(gram.ranges) for gram in grams) > _FEW_RANGES
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
