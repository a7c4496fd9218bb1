"""The order of a note's characters, worked out at once from the encoded document.

The engine finds a place in the text, or a name, by walking over all blocks before it: fine for a
few, but n marks take n² steps (10,000 names in a note of 5,000 suggestions: seconds). Here the
blocks are put in order as Yjs does it, once, and then looked up by bisection. `Anchors` uses this
when it needs many names, and many deletions become one update this way.

Each block says what it was put after and before (`left`, `right`); blocks put between the same two
at the same time are ordered by YATA, the rule of Yjs' `Item.integrate`. The engine does the same,
which allows a check that needs no trust: the characters in this order must be the engine's text. If
they are not, or the document holds something unknown here, there is no order (`None`), and the
engine is asked for each place.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from flashgrep.notes.document.updates import LAST_OF_ONE_UNIT, Name, Struct, Update, unit_count

_STEPS_A_BLOCK: Final = 64
"""Blocks that are passed on the way to the place of one; more of them are not worth it."""
_LAST_CLOCK: Final = 2**53
_COUNTED_CHARACTERS: Final = 1_024
"""Longest piece in which units are counted for each look-up."""


class Run(NamedTuple):
    """Characters that one client wrote one after the other."""

    client: int
    clock: int
    """Of the first of them."""
    units: int
    """How many, as clocks count: in UTF-16 units."""

    def is_followed_by(self, other: Run) -> bool:
        """Whether another one goes on where this one ends."""
        return (self.client, self.clock + self.units) == (other.client, other.clock)


class _Item:
    """A struct of the text, or a part of one, between its neighbours."""

    __slots__ = ("before", "behind", "client", "clock", "end", "left", "right", "struct")

    def __init__(
        self, struct: Struct, client: int, clock: int, end: int, left: Name | None
    ) -> None:
        self.struct = struct
        self.client = client
        self.clock = clock
        self.end = end
        self.left = left
        self.right = struct.right
        self.before: _Item | None = None
        self.behind: _Item | None = None


class _NoOrder(Exception):
    """The document holds what has no place here."""


class _Row:
    """The blocks of a text on their way into order."""

    def __init__(self, update: Update, root: str) -> None:
        self._structs = update.structs
        self._root = root
        self._next = dict.fromkeys(update.structs, 0)
        self._clocks: dict[int, list[int]] = {client: [] for client in update.structs}
        self._blocks: dict[int, list[_Item | None]] = {client: [] for client in update.structs}
        """By client, in the order of clocks; None for what is not part of the text."""
        self._have = {client: row[0].clock for client, row in update.structs.items()}
        self._steps = _STEPS_A_BLOCK * sum(map(len, update.structs.values()))
        self.first: _Item | None = None
        for client in update.structs:
            self._all_of(client)

    def _all_of(self, client: int) -> None:
        """Put all of a client's blocks in, and first what they refer to."""
        waiting = [client]
        while waiting:
            row, at = self._structs[waiting[-1]], self._next[waiting[-1]]
            if at == len(row):
                waiting.pop()
            elif (missing := self._missing(waiting[-1], row[at])) is None:
                self._put(waiting[-1], row[at])
                self._next[waiting[-1]] += 1
                if len(waiting) > 1:
                    waiting.pop()
            elif missing in waiting:
                raise _NoOrder
            else:
                waiting.append(missing)

    def _missing(self, client: int, struct: Struct) -> int | None:
        """A client of which more must be there first."""
        for name in (struct.left, struct.right, struct.parent):
            if name is not None and name.clock >= self._have.get(name.client, 0):
                if name.client == client or name.client not in self._structs:
                    raise _NoOrder
                return name.client
        return None

    def _put(self, client: int, struct: Struct) -> None:
        block = None
        if self._is_of_text(struct):
            block = _Item(struct, client, struct.clock, struct.end, struct.left)
            self._integrate(block)
        self._clocks[client].append(struct.clock)
        self._blocks[client].append(block)
        self._have[client] = struct.end

    def _is_of_text(self, struct: Struct) -> bool:
        """What a struct is in is said by the first that is put there; others are beside it."""
        name = struct.left or struct.right
        if name is None:
            return struct.root == self._root
        return self._at(name) is not None

    def _at(self, name: Name) -> _Item | None:
        at = bisect_right(self._clocks[name.client], name.clock) - 1
        if at < 0:
            raise _NoOrder
        return self._blocks[name.client][at]

    def _integrate(self, new: _Item) -> None:
        left = self._ending_at(new.left) if new.left else None
        right = self._beginning_at(new.right) if new.right else None
        behind = left.behind if left else self.first
        if behind is not right:
            left = self._place(new, left, behind, right)
            behind = left.behind if left else self.first
        new.before, new.behind = left, behind
        if left:
            left.behind = new
        else:
            self.first = new
        if behind:
            behind.before = new

    def _place(
        self, new: _Item, left: _Item | None, other: _Item | None, right: _Item | None
    ) -> _Item | None:
        """After which block one goes that was put where others were put at the same time."""
        conflicting: set[int] = set()
        before: set[int] = set()
        while other is not None and other is not right:
            self._steps -= 1
            if self._steps < 0:
                raise _NoOrder
            before.add(id(other))
            conflicting.add(id(other))
            if new.left == other.left:
                if other.client < new.client:
                    left = other
                    conflicting.clear()
                elif new.right == other.right:
                    break
            elif other.left is not None and id(origin := self._at(other.left)) in before:
                if id(origin) not in conflicting:
                    left = other
                    conflicting.clear()
            else:
                break
            other = other.behind
        return left

    def _ending_at(self, name: Name) -> _Item:
        """The block that ends with a unit."""
        block = self._at(name)
        if block is None:
            raise _NoOrder
        if block.end > name.clock + 1:
            self._split(block, name.clock + 1)
        return block

    def _beginning_at(self, name: Name) -> _Item:
        """The block that begins with a unit."""
        block = self._at(name)
        if block is None:
            raise _NoOrder
        return self._split(block, name.clock) if block.clock < name.clock else block

    def _split(self, block: _Item, clock: int) -> _Item:
        rest = _Item(block.struct, block.client, clock, block.end, Name(block.client, clock - 1))
        block.end = clock
        rest.before, rest.behind = block, block.behind
        if block.behind:
            block.behind.before = rest
        block.behind = rest
        at = bisect_right(self._clocks[block.client], block.clock)
        self._clocks[block.client].insert(at, clock)
        self._blocks[block.client].insert(at, rest)
        return rest

    def in_order(self) -> Iterator[_Item]:
        block = self.first
        while block is not None:
            yield block
            block = block.behind


class _Piece(NamedTuple):
    """Characters of the text that follow each other by name too."""

    client: int
    clock: int
    text: str
    start: int
    """In the text, in characters."""
    is_plain: bool
    """Each character is one unit."""

    def units(self, count: int) -> int:
        """How many units some characters from its beginning are."""
        return count if self.is_plain else unit_count(self.text[:count])

    def characters(self, count: int) -> int | None:
        """How many characters some units from its beginning are; None for half of one."""
        return count if self.is_plain else _characters(self.text, count)


class TextOrder:
    """Where each character of a text is, and what each is called; the text must not change."""

    def __init__(self, parts: Iterable[tuple[int, int, str]]) -> None:
        """`parts` are client, clock and characters, from left to right."""
        self._pieces: list[_Piece] = []
        start = 0
        for client, clock, text in parts:
            for piece in _looked_up(client, clock, text, start):
                self._pieces.append(piece)
                start += len(piece.text)
        self.length = start
        self._starts = [piece.start for piece in self._pieces]
        self._by_name = sorted(self._pieces, key=_name)
        self._names = [_name(piece) for piece in self._by_name]

    def text(self) -> str:
        """All characters."""
        return "".join(piece.text for piece in self._pieces)

    def name(self, index: int) -> Name | None:
        """What a character is called; None where there is none."""
        if not 0 <= index < self.length:
            return None
        piece = self._pieces[bisect_right(self._starts, index) - 1]
        return Name(piece.client, piece.clock + piece.units(index - piece.start))

    def last_unit(self, index: int) -> Name | None:
        """What the last unit of a character is called; None where there is none."""
        if (first := self.name(index)) is None:
            return None
        piece = self._pieces[bisect_right(self._starts, index) - 1]
        width = piece.units(index + 1 - piece.start) - piece.units(index - piece.start)
        return Name(first.client, first.clock + width - 1)

    def find(self, name: Name) -> int | None:
        """Where a character is; None for one that is not there, and for half of one."""
        at = bisect_right(self._names, (name.client, name.clock)) - 1
        piece = self._by_name[at] if at >= 0 else None
        if piece is None or piece.client != name.client:
            return None
        index = piece.characters(name.clock - piece.clock)
        return piece.start + index if index is not None and index < len(piece.text) else None

    def runs(self, start: int, end: int) -> list[Run]:
        """A stretch of the text as its clients wrote it."""
        found: list[Run] = []
        at = bisect_right(self._starts, start) - 1
        while start < end:
            piece = self._pieces[at]
            first, last = start - piece.start, min(end - piece.start, len(piece.text))
            clock = piece.clock + piece.units(first)
            run = Run(piece.client, clock, piece.units(last) - piece.units(first))
            if found and found[-1].is_followed_by(run):
                found[-1] = found[-1]._replace(units=found[-1].units + run.units)
            else:
                found.append(run)
            start, at = piece.start + last, at + 1
        return found


def _name(piece: _Piece) -> tuple[int, int]:
    return piece.client, piece.clock


def _looked_up(client: int, clock: int, text: str, start: int) -> Iterator[_Piece]:
    """A part as it is looked up; one in which units must be counted, in short pieces."""
    if text.isascii() or (text and max(text) <= LAST_OF_ONE_UNIT):
        yield _Piece(client=client, clock=clock, text=text, start=start, is_plain=True)
        return
    for at in range(0, len(text), _COUNTED_CHARACTERS):
        some = text[at : at + _COUNTED_CHARACTERS]
        yield _Piece(client=client, clock=clock, text=some, start=start + at, is_plain=False)
        clock += unit_count(some)


def order_of(update: Update, root: str, text: str) -> TextOrder | None:
    """The order of the text `root` of a whole document; None where it is not known for sure."""
    try:
        row = _Row(update, root)
    except _NoOrder:
        return None
    gone: dict[int, list[tuple[int, int]]] = {}
    for client, clock, length in sorted(update.deletions):
        gone.setdefault(client, []).append((clock, clock + length))
    order = TextOrder(_left_of(row.in_order(), gone))
    return order if order.text() == text else None


def _left_of(
    blocks: Iterable[_Item], gone: Mapping[int, list[tuple[int, int]]]
) -> Iterator[tuple[int, int, str]]:
    """The characters of blocks that were not deleted: a deletion takes whole blocks.

    Of a transaction that is not over yet, deleted blocks still have their text.
    """
    for block in blocks:
        struct = block.struct
        deleted = gone.get(block.client, [])
        last = bisect_right(deleted, (block.clock, _LAST_CLOCK)) - 1
        if struct.text_bytes and (last < 0 or deleted[last][1] <= block.clock):
            start = _characters(struct.text, block.clock - struct.clock)
            end = _characters(struct.text, block.end - struct.clock)
            yield block.client, block.clock, struct.text[start:end]


def _characters(text: str, count: int) -> int | None:
    """How many characters a number of units is; None for half of one."""
    if text.isascii():
        return count
    try:
        return len(text.encode("utf-16-le")[: 2 * count].decode("utf-16-le"))
    except UnicodeDecodeError:
        return None
