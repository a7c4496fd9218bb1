"""The files in a tree's rosters, looked up by the processes that list the tree.

A file with the status in its roster is reported by its number in the segment: for half a million
files, a starting server gets some numbers and no names. Rosters are read without numpy, segment by
segment as directories need them; a few are kept, because a listing stays in one place for a while.
"""

from __future__ import annotations

import mmap
import os
import struct
from array import array
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from flashgrep.index.format.header import DamagedSegment, checked_section, read_header
from flashgrep.index.format.manifest import Generation
from flashgrep.index.format.roster_file import roster_body
from flashgrep.search.result import walk_key
from flashgrep.system.atomic import is_ours_alone, open_own

STATUS: Final = struct.Struct("=4q")
"""A row of a roster."""
_KEPT_TABLES: Final = 12
_DAMAGE: Final = (OSError, DamagedSegment, ValueError, KeyError)


class EnrolledPart(NamedTuple):
    """A segment and the tree's roster for it, as file paths."""

    segment: str
    roster: str


@dataclass(frozen=True)
class EnrolledTable:
    """The files of one segment."""

    segment: str
    numbers: dict[str, int]
    """By name; without those that were read right after a change."""
    rows: bytes
    """The status of each, as a roster has it."""

    def statuses(self, numbers: list[int]) -> list[tuple[int, ...]]:
        """The status of each of some files; of neighbours, as in most directories, all at once."""
        size, rows, unpack_from = STATUS.size, self.rows, STATUS.unpack_from
        first, past = numbers[0], numbers[0] + len(numbers)
        if numbers == list(range(first, past)):
            return list(STATUS.iter_unpack(rows[size * first : size * past]))
        return [unpack_from(rows, size * number) for number in numbers]


def enrolled_by(generation: Generation, home: Path, store: Path) -> EnrolledFiles | None:
    """The files of a generation: its rosters are in `home`, its segments in `store`.

    None where nothing is known of the files of a segment.
    """
    pairs = list(zip(generation.segments, generation.rosters, strict=True))
    if not pairs or not all(roster for _, roster in pairs):
        return None
    parts = [EnrolledPart(str(store / name), str(home / roster)) for name, roster in pairs]
    return EnrolledFiles(parts, generation.base)


class EnrolledFiles:
    """The files of all segments of a tree."""

    def __init__(self, parts: Sequence[EnrolledPart], base: int) -> None:
        """The first `base` parts hold the tree in walk order; later ones what changed since."""
        self.parts = tuple(parts)
        self.base = base
        self._tables: OrderedDict[EnrolledPart, EnrolledTable] = OrderedDict()
        self._firsts: list[str] | None = None
        self._base: list[EnrolledPart] = []

    @property
    def packed(self) -> tuple[tuple[tuple[str, str], ...], int]:
        """As plain data, for another process."""
        return tuple((part.segment, part.roster) for part in self.parts), self.base

    @classmethod
    def unpacked(cls, packed: tuple[tuple[tuple[str, str], ...], int]) -> EnrolledFiles:
        """What `packed` gave."""
        return cls([EnrolledPart(*part) for part in packed[0]], packed[1])

    def tables(self, directory: str) -> list[EnrolledTable]:
        """Where files of a directory can be; those that hold later versions first."""
        parts = [*reversed(self.parts[self.base :]), *self._around(directory)]
        return [self._table(part) for part in parts]

    def _around(self, directory: str) -> list[EnrolledPart]:
        """The parts of the base that files of a directory are in."""
        if self._firsts is None:
            self._firsts = self._opened()
        key = walk_key(directory)
        if not directory:
            return self._base
        first = max(0, bisect_right(self._firsts, key + "\0") - 1)
        return self._base[first : bisect_left(self._firsts, key + "\1")]

    def _opened(self) -> list[str]:
        """The walk key of the first file of each part of the base that can be read."""
        firsts = []
        for part in self.parts[: self.base]:
            try:
                names = _names(part.segment, 1)
            except _DAMAGE:
                continue
            if names:
                firsts.append(walk_key(names[0]))
                self._base.append(part)
        return firsts

    def _table(self, part: EnrolledPart) -> EnrolledTable:
        table = self._tables.pop(part, None)
        if table is None:
            try:
                table = _read(part)
            except _DAMAGE:
                table = EnrolledTable(part.segment, {}, b"")  # whoever opens it all will say so
        self._tables[part] = table
        if len(self._tables) > _KEPT_TABLES + len(self.parts) - self.base:
            self._tables.popitem(last=False)
        return table


def _read(part: EnrolledPart) -> EnrolledTable:
    names = _names(part.segment)
    with open_own(part.roster) as file:
        body = roster_body(file.read(), len(names))
    if body is None:
        raise ValueError(part.roster)
    end = STATUS.size * len(names)
    rows, racy = bytes(body[:end]), bytes(body[end:])
    numbers = dict(zip(names, range(len(names)), strict=True))
    for number in _set(racy):
        del numbers[names[number]]
    return EnrolledTable(part.segment, numbers, rows)


def _set(flags: bytes) -> Iterator[int]:
    at = flags.find(1)
    while at >= 0:
        yield at
        at = flags.find(1, at + 1)


def _names(path: str, most: int | None = None) -> list[str]:
    """The names of a segment's files, or of the first of them."""
    with open_own(path) as file:
        if not is_ours_alone(os.fstat(file.fileno())):
            raise DamagedSegment(path, "not ours alone")
        view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    header = read_header(path, view)
    ends = array("I", bytes(checked_section(path, view, header, "name_ends")))[:most]
    text = bytes(checked_section(path, view, header, "names"))
    starts = pairwise([0, *ends])
    if text.isascii():  # nearly always: then all are decoded at once
        decoded = text.decode("ascii")
        return [decoded[start:end] for start, end in starts]
    return [text[start:end].decode("utf-8", "surrogateescape") for start, end in starts]
