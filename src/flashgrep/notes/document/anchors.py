"""Characters of a note, followed by their Yjs names: anchors in the text, and who wrote it.

An anchor is the name that Yjs gives a character: the client that typed it and that client's clock,
counted in UTF-16 units. It is what Yjs writes as `{"item": {"client", "clock"}}` in a relative
position, so a page can use it as it is.

A text is a row of blocks, each typed by one client without a pause of its clock. pycrdt's
`StickyIndex` counts wrongly inside a block that is not ASCII: it names the character at a byte
`clock of the block + bytes into it`, and sees a name at `bytes before the block + units into it`.
Both are right where a block begins, and where nothing but ASCII precedes the character in its
block. Within a block `byte - clock`, here the drift, is the same for every byte, so the last
non-ASCII character before it decides: a different drift means a different block.

For all other characters the blocks themselves are read from the document, encoded as an update, and
counted through from their beginning. That takes time linear in the document, but only once for all
anchors of a text. `tests/notes/slow_anchors.py` does the same without the shortcut.

Each question to the engine is a walk over the blocks before the place. A caller that will ask for
many says so, or has asked for many, and is answered from `order`, in which all blocks are put in
order once.

Who wrote each character of a note, by the name that Yjs gives the character.

    authors    a Y.Map beside the text. Each entry says who wrote what some clients sent from a
               clock on: key → [name, client, clock, client, clock, …, kind], the kind being one of
               `roles.AuthorKind` (older entries have none). The key is unique and means nothing.

A character's author is that of its client's entry with the greatest clock not above the
character's. An editor keeps its client for as long as it is open, so an entry is written when
somebody begins to type, not at every keystroke. Our own client writes for many authors: it gets an
entry whenever the author changes.

The map is part of the document: it becomes durable with the text, and snapshots and backups include
it. Peers cannot change it (see `causality`). Characters written before the map existed have no
known author.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, NamedTuple

from pycrdt import Assoc, Map, StickyIndex, Text

from flashgrep.errors import InvalidParams
from flashgrep.notes.access.roles import Author, source_named
from flashgrep.notes.document.order import Run, TextOrder, order_of
from flashgrep.notes.document.text import Offsets, catching_panics
from flashgrep.notes.document.updates import Name, Update, number, parse

MANY: Final = 1_000
"""From so many look-ups on it is cheaper to put all blocks in order first (2,500 take 25 ms)."""
_ITEM: Final = b"\0"
"""A relative position as bytes begins with this if it names an item; client and clock follow…"""
_AFTER: Final = b"\0"
"""…and that it belongs to the character after it."""


class Anchor(NamedTuple):
    """One character, wherever it is."""

    client: int
    clock: int


class _Block(NamedTuple):
    """A stretch of text that one client typed."""

    clock: int
    units: int
    size: int
    """In bytes."""


class Anchors:
    """The anchors of a text as it is now; make them again after a change.

    Callers that need many ask in one transaction of the document, which saves one for each.
    """

    def __init__(self, text: Text, clocks: dict[int, int], root: str = "", many: int = 0) -> None:
        """`clocks` is the document's state vector: what it does not name is not there.

        `root` is the text's name in the document, and `many` how much will be asked for.
        """
        self._text = text
        self._clocks = clocks
        self._root = root
        self._asked = many
        with catching_panics():
            shown = str(text)
        self._data = shown.encode()
        self._offsets = Offsets(self._data)
        self._shown = shown

    def at(self, index: int) -> Anchor:
        """The anchor of a character."""
        if (order := self._known) and (name := order.name(index)):
            return Anchor(*name)
        place = self._offsets.byte(index) if index >= 0 else len(self._data)
        if place >= len(self._data):
            raise InvalidParams(f"there is no character {index} in the note to hold on to")
        claimed = self._claim(place)
        if self._is_right(place, claimed):
            return claimed
        for block in self._around(claimed):
            start = self._seen(Anchor(claimed.client, block.clock))
            if start <= place < start + block.size and self._begins(claimed.client, block, start):
                units = self._offsets.units(place) - self._offsets.units(start)
                return Anchor(claimed.client, block.clock + units)
        raise InvalidParams(f"character {index} of the note has no name to hold on to")

    def find(self, anchor: Anchor) -> int | None:
        """Where an anchor's character is; None where it was deleted or never was."""
        if not (0 <= anchor.clock < self._clocks.get(anchor.client, 0)) or not self._data:
            return None
        if order := self._known:
            return order.find(Name(*anchor))
        place = self._seen(anchor)
        if place < len(self._data) and self._data[place] & 0xC0 != 0x80:
            claimed = self._claim(place)
            if self._is_right(place, claimed) and claimed == anchor:
                return self._offsets.character(place)
        return None if self._offsets.is_ascii else self._find_in_block(anchor)

    def left_of(self, first: Anchor, units: int) -> list[tuple[int, int]]:
        """Where the characters are that a client typed from an anchor on, so many units of them.
        Deleted ones are left out. Each block is looked up once, however long it is.
        """
        starts, blocks = self._blocks.get(first.client, ([], []))
        end = first.clock + units
        found = []
        for block in blocks[max(bisect_right(starts, first.clock) - 1, 0) :]:
            if block.clock >= end:
                break
            begin = max(block.clock, first.clock)
            last = min(block.clock + block.units, end) - 1
            if begin > last:
                continue
            start, stop = (self.find(Anchor(first.client, clock)) for clock in (begin, last))
            if stop is None and begin < last:  # the second unit of a character
                stop = self.find(Anchor(first.client, last - 1))
            elif stop is None:
                stop = start
            if start is not None and stop is not None:
                found.append((start, stop + 1))
        return sorted(found)

    def runs(self, start: int, end: int) -> list[Run]:
        """A stretch of the text as its clients wrote it; few places of it are looked up."""
        if start >= end:
            return []
        if order := self._known:
            return order.runs(start, end)
        first, last = self.at(start), self.at(end - 1)
        run = Run(first.client, first.clock, self._units(start, end))
        if last == (run.client, run.clock + run.units - self._units(end - 1, end)):
            written = self.left_of(first, run.units)
            is_whole = all(one[1] == two[0] for one, two in pairwise(written))
            if is_whole and (written[0][0], written[-1][1]) == (start, end):
                return [run]
        middle = (start + end) // 2
        return [*self.runs(start, middle), *self.runs(middle, end)]

    def _units(self, start: int, end: int) -> int:
        offsets = self._offsets
        return offsets.units(offsets.byte(end)) - offsets.units(offsets.byte(start))

    def _find_in_block(self, anchor: Anchor) -> int | None:
        starts, blocks = self._blocks.get(anchor.client, ([], []))
        number_of = bisect_right(starts, anchor.clock) - 1
        if number_of < 0 or anchor.clock >= starts[number_of] + blocks[number_of].units:
            return None
        block = blocks[number_of]
        place = self._seen(Anchor(anchor.client, block.clock))
        if not self._begins(anchor.client, block, place):
            return None  # deleted
        found = self._offsets.byte_of_unit(self._offsets.units(place) + anchor.clock - block.clock)
        return self._offsets.character(found) if found is not None else None

    def _is_right(self, place: int, claimed: Anchor) -> bool:
        """Whether the engine's name for a character is right: nothing but ASCII precedes it in
        its block. Looked at is the last character before it that is not: were it in the same
        block, it would have the same drift."""
        other = self._offsets.other_before(place)
        if other < 0:
            return True
        start = self._offsets.start(other)
        before = self._claim(start)
        return before.client != claimed.client or place - claimed.clock != start - before.clock

    # ── blocks ──────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def _written(self) -> Update:
        with catching_panics():
            return parse(self._text.doc.get_update())

    @property
    def _known(self) -> TextOrder | None:
        """The order of all blocks, from so many questions on that it pays."""
        self._asked += 1
        return self._order if self._root and self._asked > MANY else None

    @cached_property
    def _order(self) -> TextOrder | None:
        return order_of(self._written, self._root, self._shown)

    @cached_property
    def _blocks(self) -> dict[int, tuple[list[int], list[_Block]]]:
        """The texts of the document, by client: the clocks they begin with, and themselves."""
        found: dict[int, tuple[list[int], list[_Block]]] = {}
        for client, row in self._written.structs.items():
            blocks = [
                _Block(struct.clock, struct.length, struct.text_bytes)
                for struct in row
                if struct.text_bytes
            ]
            found[client] = ([block.clock for block in blocks], blocks)
        return found

    def _around(self, claimed: Anchor) -> Iterator[_Block]:
        """The blocks that a claimed name can be of, the likeliest first.

        A claim counts bytes from the beginning of its block, which are never fewer than units.
        """
        starts, blocks = self._blocks.get(claimed.client, ([], []))
        for at in range(bisect_right(starts, claimed.clock) - 1, -1, -1):
            if claimed.clock - starts[at] < blocks[at].size:
                yield blocks[at]

    def _begins(self, client: int, block: _Block, place: int) -> bool:
        """Whether a block begins at a byte; one that was deleted begins nowhere."""
        return place < len(self._data) and self._claim(place) == (client, block.clock)

    # ── the engine ──────────────────────────────────────────────────────────────────────────────

    def _claim(self, place: int) -> Anchor:
        """What the engine calls the character at a byte: right where a block begins."""
        with catching_panics():
            named = StickyIndex.new(self._text, place, Assoc.AFTER).encode()
        client, at = _number(named, 1)
        return Anchor(client, _number(named, at)[0])

    def _seen(self, anchor: Anchor) -> int:
        """Where the engine sees a name: bytes before its block and units into it."""
        described = _ITEM + number(anchor.client) + number(anchor.clock) + _AFTER
        with catching_panics():
            return StickyIndex.decode(described, self._text).get_index()


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, low ones first, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        shift += 7
        at += 1
        if byte < 0x80:
            return value, at


# ── authorship ───────────────────────────────────────────────────────────────────────────────────


AUTHORS: Final = "authors"
_NOBODY: Final = Author("")


class Authorship:
    """The authors of one document. The map is read once; only `add` changes it."""

    def __init__(self, stored: Map[Any]) -> None:
        self._stored = stored
        self._known: dict[int, list[tuple[int, Author]]] | None = None

    def author_of(self, name: Name) -> Author | None:
        """Who wrote a character; None where that was never recorded."""
        rows = self._rows().get(name.client, [])
        at = bisect_right(rows, name.clock, key=_clock)
        found = rows[at - 1][1] if at else _NOBODY
        return found if found.name else None

    def of_run(self, run: Run) -> set[Author | None]:
        """Who wrote the characters of a run."""
        rows = self._rows().get(run.client, [])
        begins = bisect_left(rows, run.clock + run.units, key=_clock)
        first = bisect_right(rows, run.clock, key=_clock)
        names = [
            Name(run.client, run.clock),
            *(Name(run.client, at) for at, _ in rows[first:begins]),
        ]
        return {self.author_of(name) for name in names}

    def all(self) -> dict[int, list[tuple[int, Author]]]:
        """What is stored: for each client, from which clock on it wrote for whom."""
        found: dict[int, list[tuple[int, Author]]] = {}
        for entry in (self._stored.to_py() or {}).values():
            for client, clock, author in _entry(entry):
                found.setdefault(client, []).append((clock, author))
        return {client: sorted(rows, key=_in_order) for client, rows in found.items()}

    def add(self, author: Author, starts: Mapping[int, int], key: Name) -> bool:
        """Record who wrote what clients sent from a clock on; False if that is known already."""
        rows = self._rows()
        author = author if author.name else _NOBODY
        new = {
            client: clock
            for client, clock in starts.items()
            if author != (rows[client][-1][1] if client in rows else _NOBODY)
        }
        if not new:
            return False
        self._put(author, map(Name._make, new.items()), key)
        for client, clock in new.items():
            rows.setdefault(client, []).append((clock, author))
        return True

    def ascribe(self, written: Sequence[tuple[Run, Author]], key: Callable[[], Name]) -> None:
        """Record that others wrote some of what clients have sent already.

        A run in which another row begins keeps the author it has. What comes after a run is whose
        it was. An author's runs make one entry, and `key` gives each entry's.
        """
        whose: dict[Name, Author] = {}
        after: dict[Name, Author] = {}
        for run, author in written:
            rows = self._rows().get(run.client, [])
            end = run.clock + run.units
            at = bisect_left(rows, run.clock, key=_clock)
            if at < len(rows) and rows[at][0] < end:
                continue
            whose[Name(run.client, run.clock)] = author
            if at == len(rows) or rows[at][0] > end:
                after[Name(run.client, end)] = rows[at - 1][1] if at else _NOBODY
        begins = after | whose
        by_author: dict[Author, list[Name]] = {}
        for name in sorted(begins):
            by_author.setdefault(begins[name], []).append(name)
        for author, names in by_author.items():
            self._put(author, names, key())
        for name, author in begins.items():
            insort(self._rows().setdefault(name.client, []), (name.clock, author), key=_clock)

    def _put(self, author: Author, begins: Iterable[Name], key: Name) -> None:
        numbers = [number for name in begins for number in name]
        kind = [author.source.value] if author.source else []
        self._stored[f"{key.client}.{key.clock}"] = [author.name, *numbers, *kind]

    def _rows(self) -> dict[int, list[tuple[int, Author]]]:
        if self._known is None:
            self._known = self.all()
        return self._known


def _clock(row: tuple[int, Author]) -> int:
    return row[0]


def _in_order(row: tuple[int, Author]) -> tuple[int, str, str]:
    clock, author = row
    return clock, author.name, author.source or ""


def _entry(value: Any) -> list[tuple[int, int, Author]]:
    """The rows of an entry; none where it is not one of ours."""
    if not isinstance(value, list) or not value or not isinstance(value[0], str):
        return []
    name, *numbers = value
    source = source_named(numbers.pop()) if numbers and isinstance(numbers[-1], str) else None
    if len(numbers) % 2 or not all(isinstance(one, int | float) for one in numbers):
        return []
    pairs = zip(numbers[::2], numbers[1::2], strict=True)
    author = Author(name, source)
    return [(int(client), int(clock), author) for client, clock in pairs]
