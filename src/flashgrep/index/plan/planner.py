r"""Turns a pattern into what every match must hold: AND and OR of sets of 4-grams.

    Grams({(lo, hi), …})   a gram whose key is in one of these ranges
    All((…))               each of them, somewhere in the match
    Any((…))               at least one of them
    None                   nothing is known: every block is a candidate

A plan may only be too wide, never too narrow. It is made from the pattern's tree (`search.syntax`),
seen as a row of steps: one character out of a set, a run of such characters, a gap about which
nothing is known. From each single step, every continuation of four bytes is followed; these are the
grams that can be there, and one of them must. So a literal gives one gram at each position, and
`\d+\.\d+\.\d+`, which has no literal, gives `[0-9].[0-9][0-9.]`: 200 ranges of keys, because the
last byte of a gram is a range. Before the end, and before a gap, continuations are followed
backwards too.

Under `(?i)` both cases of a letter are in the set. `k` and `s` have twins outside ASCII (the Kelvin
sign, the long s); the block table marks blocks that hold those, and they stay candidates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from typing import Final

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
FEW_RANGES: Final = 200
"""Ranges that take no longer to look up than a few literals."""
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
    """What a block (in multiline, a file) must contain to be worth matching."""

    need: Need | None
    folded: bool = False
    """Some letter counts in either case, so marked blocks are candidates too."""
    alternatives: tuple[Need, ...] = ()
    """What each alternative of the pattern needs, in order, if the pattern is nothing but
    alternatives."""


@dataclass(frozen=True)
class _PlanStep:
    """One byte out of a set; in a run, any number of them."""

    members: frozenset[int]
    is_run: bool = False


@dataclass(frozen=True)
class _Gap:
    """Text about which nothing is known, except perhaps what it must contain."""

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
    """Plans for lines, or for whole texts, in which a match may contain newlines."""

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

    What follows is unknown, so only going backwards says anything. `\w+\(\);` must hold
    `[0-9A-Za-z_]\(\);`, and `\w+\+\+` three bytes of that kind: a fourth one before them is one of
    so many that it says hardly more, and takes a long time to look up.
    """
    for past in range(1, len(row) + 1):
        if past == len(row) or isinstance(row[past], _Gap):
            near = row[max(0, past - _WIDTH) : past]
            if near and _is_one(near[-1]) and not all(map(_is_one, near)):
                for width in (_WIDTH, _WIDTH - 1):
                    ways = [*_ways_back(row, past, width)]
                    if sum(map(_cost, ways)) <= FEW_RANGES and (found := _grams(ways, width)):
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
