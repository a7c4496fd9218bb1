"""Yjs updates and state vectors, read just far enough to know what an update needs.

    state vector    count, then count times: client, clock
    update          number of clients, then for each: number of structs, client, clock of the first
                    struct, the structs; then the delete set
    delete set      number of clients, then for each: client, count, then count times: clock, length
    struct          one byte: in the low five bits its kind, 0x80 an origin follows, 0x40 a right
                    origin follows, 0x20 a key follows where neither does; then the content

Numbers have seven bits per byte, low ones first; strings are a number of bytes, then UTF-8. The
clock of a client counts what it typed, in UTF-16 units; a state vector says how much of that a
document has. This is version 1 of the encoding, the one that every provider sends. The engine reads
updates too; `causality` says why that is not enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from flashgrep.errors import InvalidParams

_KIND, _KEY, _RIGHT, _ORIGIN = 0x1F, 0x20, 0x40, 0x80
_COLLECTED, _STRING, _SKIP = 0, 4, 10
_NAMED_TYPES: Final = {3, 5}
_TYPES: Final = 7
_NUMBER_BYTES: Final = 9
"""Longest client or clock number; JavaScript keeps those in 53 bits."""
LAST_OF_ONE_UNIT: Final = "\uffff"
_DEPTH: Final = 64
"""Deepest nesting of a value; our own have three."""


class Name(NamedTuple):
    """One character, or another unit of a document: who made it, and when by its own clock."""

    client: int
    clock: int


@dataclass(frozen=True, slots=True)
class Struct:
    """A run of units that one client made at once."""

    clock: int
    length: int
    data: bytes
    left: Name | None = None
    """What it was put after."""
    right: Name | None = None
    """What it was put before."""
    parent: Name | None = None
    """What it is in, unless that is a root…"""
    root: str | None = None
    """…which is given by its name, by the first that is put there; the others name their place."""
    halves: tuple[int, ...] = ()
    """The clocks of the second units of characters that have two."""
    is_skip: bool = False
    """A gap: units that this update does not have."""
    text_bytes: int = 0
    """The size of its text in UTF-8; 0 if it is not text."""

    @property
    def end(self) -> int:
        return self.clock + self.length

    @property
    def text(self) -> str:
        """Its text, which ends its data; empty if it is not text."""
        return self.data[len(self.data) - self.text_bytes :].decode()


@dataclass(frozen=True, slots=True)
class Update:
    """An update, taken apart."""

    structs: dict[int, list[Struct]]
    """By client, each following the one before it."""
    deletions: list[tuple[int, int, int]]
    """Client, clock, length."""


def clocks(state: bytes) -> dict[int, int]:
    """A state vector as a dictionary; the same whatever order the engine wrote it in."""
    reader = _UpdateReader(state, "state vector")
    found = {reader.number(): reader.number() for _ in range(reader.number())}
    return {client: clock for client, clock in found.items() if clock}


def parse(update: bytes) -> Update:
    """Take an update apart; refused where it is malformed, or holds what Yjs does not know."""
    reader = _UpdateReader(update, "update")
    structs: dict[int, list[Struct]] = {}
    for _ in range(reader.number()):
        count, client, clock = reader.number(), reader.number(), reader.number()
        if client in structs:
            raise reader.fail(f"client {client} comes twice")
        row = structs[client] = []
        for _ in range(count):
            row.append(_struct(reader, clock))
            clock = row[-1].end
    deletions = []
    for _ in range(reader.number()):
        client, count = reader.number(), reader.number()
        deletions += [(client, reader.number(), reader.number()) for _ in range(count)]
    return Update({client: row for client, row in structs.items() if row}, deletions)


def encode(update: Update) -> bytes:
    """Put an update together again; of each client, the structs must follow each other."""
    parts = [number(len(update.structs))]
    for client, row in update.structs.items():
        parts += [number(len(row)), number(client), number(row[0].clock)]
        parts += [struct.data for struct in row]
    ranges: dict[int, list[tuple[int, int]]] = {}
    for client, clock, length in update.deletions:
        ranges.setdefault(client, []).append((clock, length))
    parts.append(number(len(ranges)))
    for client, pairs in ranges.items():
        parts += [number(client), number(len(pairs))]
        parts += [number(value) for pair in pairs for value in pair]
    return b"".join(parts)


def text_struct(text: str, clock: int, left: Name | None, right: Name | None) -> Struct:
    """Some text that is put between two units; one of them at least is there."""
    encoded = text.encode()
    info = _STRING | (_ORIGIN if left else 0) | (_RIGHT if right else 0)
    places = [number(value) for name in (left, right) if name for value in name]
    length, halves = _string(text, clock)
    return Struct(
        clock=clock,
        length=length,
        data=b"".join([bytes([info]), *places, number(len(encoded)), encoded]),
        left=left,
        right=right,
        halves=halves,
        text_bytes=len(encoded),
    )


def unit_count(text: str) -> int:
    """How long a text is as clocks count."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def number(value: int) -> bytes:
    """A number as updates have it."""
    data = bytearray()
    while value >= 0x80:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    data.append(value)
    return bytes(data)


def _struct(reader: _UpdateReader, clock: int) -> Struct:
    start = reader.at
    info = reader.byte()
    kind = info & _KIND
    left = right = parent = root = None
    halves: tuple[int, ...] = ()
    text_bytes = 0
    if kind in (_COLLECTED, _SKIP):
        length = reader.number()
    else:
        left = reader.name() if info & _ORIGIN else None
        right = reader.name() if info & _RIGHT else None
        if left is not None and left == right:
            # The engine puts it here or there, by how it happens to hold the text in memory.
            raise reader.fail("something is put after and before the same unit")
        if left is right is None:
            parent, root = reader.parent(bool(info & _KEY))
        if kind == _STRING:
            text = reader.string()
            length, halves = _string(text, clock)
            text_bytes = length if text.isascii() else len(text.encode())
        else:
            length = reader.content(kind)
    data = reader.data[start : reader.at]
    return Struct(
        clock=clock,
        length=length,
        data=data,
        left=left,
        right=right,
        parent=parent,
        root=root,
        halves=halves,
        is_skip=kind == _SKIP,
        text_bytes=text_bytes,
    )


def _string(text: str, clock: int) -> tuple[int, tuple[int, ...]]:
    """The length of a text in units, and the clocks of second units."""
    length = unit_count(text)
    if length == len(text):
        return length, ()
    halves, at = [], clock
    for character in text:
        if character > LAST_OF_ONE_UNIT:
            at += 1
            halves.append(at)
        at += 1
    return length, tuple(halves)


class _UpdateReader:
    """Reads values one after the other."""

    def __init__(self, data: bytes, what: str) -> None:
        self.data = data
        self.at = 0
        self._what = what

    def fail(self, reason: str) -> InvalidParams:
        return InvalidParams(f"the {self._what} is malformed: {reason} at byte {self.at}")

    def byte(self) -> int:
        if self.at >= len(self.data):
            raise self.fail("it ends too early")
        self.at += 1
        return self.data[self.at - 1]

    def number(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
            if shift >= 7 * _NUMBER_BYTES:
                raise self.fail("a number is too large")

    def take(self, count: int) -> bytes:
        if count > len(self.data) - self.at:
            raise self.fail("it ends too early")
        self.at += count
        return self.data[self.at - count : self.at]

    def string(self) -> str:
        try:
            return self.take(self.number()).decode()
        except UnicodeDecodeError:
            raise self.fail("a string is not UTF-8") from None

    def name(self) -> Name:
        return Name(self.number(), self.number())

    def parent(self, has_key: bool) -> tuple[Name | None, str | None]:
        """What a struct is in, or the name of the root."""
        is_root = self.number() == 1
        found = (None, self.string()) if is_root else (self.name(), None)
        if has_key:
            self.string()
        return found

    def content(self, kind: int) -> int:
        """Skip a content; gives its length in units."""
        try:
            read = _CONTENTS[kind]
        except KeyError:
            raise self.fail(f"content {kind} is unknown") from None
        return read(self)

    def value(self, depth: int = 0) -> int:
        """Skip a JSON-like value."""
        if depth > _DEPTH:
            raise self.fail("a value is nested too deeply")
        kind = self.byte()
        if kind in (118, 117):  # an object, an array
            for _ in range(self.number()):
                if kind == 118:
                    self.string()
                self.value(depth + 1)
        elif kind in (119, 116):  # a string, bytes
            self.take(self.number())
        elif kind == 125:
            self.signed()
        elif kind in _FIXED:
            self.take(_FIXED[kind])
        else:
            raise self.fail(f"value {kind} is unknown")
        return 1

    def signed(self) -> None:
        while self.byte() >= 0x80:
            pass

    def values(self) -> int:
        count = self.number()
        for _ in range(count):
            self.value()
        return count

    def strings(self, count: int) -> int:
        for _ in range(count):
            self.string()
        return 1

    def json(self) -> int:
        count = self.number()
        self.strings(count)
        return count

    def type(self) -> int:
        kind = self.number()
        if kind >= _TYPES:
            raise self.fail(f"type {kind} is unknown")
        return self.strings(1 if kind in _NAMED_TYPES else 0)

    def document(self) -> int:
        self.string()
        return self.value()

    def binary(self) -> int:
        self.take(self.number())
        return 1


_FIXED: Final = {127: 0, 126: 0, 124: 4, 123: 8, 122: 8, 121: 0, 120: 0}
"""Undefined, null, two sizes of fractions, a large integer, false, true: their bytes."""

_CONTENTS: Final[dict[int, Callable[[_UpdateReader], int]]] = {
    1: _UpdateReader.number,  # deleted
    2: _UpdateReader.json,
    3: _UpdateReader.binary,
    5: lambda reader: reader.strings(1),  # embedded
    6: lambda reader: reader.strings(2),  # formatting
    7: _UpdateReader.type,
    8: _UpdateReader.values,
    9: _UpdateReader.document,
}
