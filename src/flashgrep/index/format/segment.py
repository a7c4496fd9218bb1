"""A segment: some files' text and what is needed to find things in it, in one immutable file.

    8 bytes   magic and version, b"flashsg3"
    4 bytes   length of the header, little end first
    header    JSON: {"hash": "sha1", "sections": {name: [offset, size, crc32]}}, padded with spaces
    4 bytes   crc32 of the header
    sections  each at a multiple of 64 bytes

    names       the files' paths, one after the other      name_ends   where each ends
    ids         per file: git's id of its bytes as a blob, by the header's hash
    sizes       per file: its bytes on disk
    flags       per file: 1 binary (no text kept), 2 no final newline
    first       per file: its first piece, and one past the last
    starts, lengths, lines, marks, sums, owners, groups
                per piece: place in the pack, bytes, number of its first line, 1 if it holds a
                character that folds to an ASCII letter, crc32 of its bytes, its file, its block
    keys        distinct 4-grams, sorted (see `postings`)
    offsets     per key: where its postings begin, and one past the last
    postings    per key: the blocks that hold it (see `postings`)
    pack        `\\n`, then the text: each file as whole lines of UTF-8, `\\n` alone, in walk order

A segment says what files with these names and bytes contain. It does not say where such files are:
the roster of each tree that uses the segment does (see `roster`).

A pack holds what `search.decode.lines_of` gives, with invalid sequences hidden (see there), so a
search in it is a search in the file.
A file is cut into pieces of at most 16 KB at `\\n` (a longer line is one piece), so a
line is always decided inside one piece. Neighbouring small pieces share a block, also of 16 KB,
and postings speak of blocks: half as many as pieces, for half the size. At most 65,535 blocks.
Everything but the pack is checked when a segment is opened; a piece is checked when it is first
matched. A piece that is never a candidate needs no check: its grams had theirs.
"""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate, chain, pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from flashgrep.index.format.header import (
    HASHES,
    LENGTH,
    MAGIC,
    DamagedSegment,
    checked_section,
    read_header,
)
from flashgrep.index.format.name_columns import NameColumns
from flashgrep.index.format.postings import bitmap_bytes, marked
from flashgrep.index.format.roster import Roster, blank_roster
from flashgrep.system.atomic import is_ours_alone, open_own

BLOCK_BYTES: Final = 16 * 1024
BINARY: Final = 1
UNENDED: Final = 2
TYPES: Final[dict[str, Any]] = {
    "name_ends": np.uint32,
    "sizes": np.int64,
    "flags": np.uint8,
    "first": np.uint32,
    "starts": np.uint64,
    "lengths": np.uint32,
    "lines": np.uint32,
    "marks": np.uint8,
    "sums": np.uint32,
    "owners": np.uint32,
    "groups": np.uint16,
    "keys": np.uint32,
    "offsets": np.uint32,
}
_IDENTITY: Final = struct.Struct("=4q")
"""A row of a roster, for those who ask for few: a row of an array takes five times as long."""
Keys = npt.NDArray[np.uint32]
Mask = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]
Columns = tuple[Sequence[int], Sequence[int], Sequence[int]]


class Segment:
    """An open segment, mapped."""

    def __init__(self, path: str, is_checked: bool = False) -> None:
        """`is_checked` says that another process has just checked all but the pack."""
        self.path = path
        with open_own(path) as file:
            status = os.fstat(file.fileno())
            if not is_ours_alone(status):
                raise DamagedSegment(path, "not ours alone")
            if status.st_size < len(MAGIC) + LENGTH.size:
                raise DamagedSegment(path, "cut short")
            self.buffer = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.size = status.st_size
        self._view = memoryview(self.buffer)
        self._header = read_header(path, self._view)
        self.hash_name, self._sections = self._header
        self.id_bytes = HASHES[self.hash_name]
        if not is_checked:
            self._check_sections()
        arrays = {name: self._array(name) for name in TYPES}
        self.names, self.ids = self._bytes("names"), self._bytes("ids")
        self.name_ends = arrays["name_ends"]
        self.sizes = arrays["sizes"]
        self.flags, self.first = arrays["flags"], arrays["first"]
        self.sums, self.owners = arrays["sums"], arrays["owners"]
        self.keys, self.offsets, self.lines = arrays["keys"], arrays["offsets"], arrays["lines"]
        self.postings = np.frombuffer(self._bytes("postings"), np.uint8)
        # Places in `buffer`, not in the pack: what a matcher is given.
        self.starts = arrays["starts"].astype(np.int64) + self._sections["pack"][0]
        self.ends = self.starts + arrays["lengths"]
        self.groups = arrays["groups"]
        self.files, self.pieces = len(self.flags), len(self.starts)
        self._roster: Roster | None = None
        self.roster_file = ""
        """Where the roster is kept; empty if it is not, or not in its present state."""
        self.blocks = int(self.groups[-1]) + 1 if self.pieces else 0
        self.bitmap_bytes = bitmap_bytes(self.blocks)
        self.posting_base = self._sections["postings"][0]
        self.text_bytes = self._sections["pack"][1]
        if bytes(self._bytes("pack")[:1]) != b"\n":
            raise DamagedSegment(path, "the pack is damaged")
        self.marked: Numbers = np.flatnonzero(arrays["marks"])
        self.block_firsts = np.searchsorted(self.groups, np.arange(self.blocks + 1))
        self._trusted = bytearray(self.pieces)
        self._is_trusted = False
        self._release_postings()

    @cached_property
    def columns(self) -> Columns:
        """Where pieces start (and the last ends), the file of each, and where files end.

        For loops, which ask for single numbers: arrays are slow at that.
        """
        starts = np.append(self.starts, self.ends[-1:]) if self.pieces else np.zeros(1, np.int64)
        return starts.data, self.owners.data, starts[self.first[1:]].data

    @cached_property
    def lists(self) -> Columns:
        """The same as lists: three times as fast, but a new process would wait for them."""
        starts, owners, ends = self.columns
        return list(starts), list(owners), list(ends)

    @cached_property
    def bounds(self) -> tuple[str, str]:
        """The walk keys of the first and the last file."""
        if not self.files:
            return "\U0010ffff", ""
        return self.key(0), self.key(self.files - 1)

    @cached_property
    def paths(self) -> tuple[str, list[int]]:
        """All files' paths in one text, and where each begins there.

        Answers name files by the thousand, and a list of the paths would take three times as much.
        """
        text, ends = bytes(self.names), [0, *self.name_ends.tolist()]
        if text.isascii():
            return text.decode("ascii"), ends
        # One by one: the end of a name and the begin of the next may look like one character.
        parts = [text[a:b].decode("utf-8", "surrogateescape") for a, b in pairwise(ends)]
        return "".join(parts), [0, *accumulate(map(len, parts))]

    @cached_property
    def name_columns(self) -> NameColumns:
        """The paths as arrays, to ask about all of them at once."""
        return NameColumns(self)

    def name(self, file: int) -> str:
        """A file's path, as names of the tree; read alone until all are asked for."""
        if "paths" not in self.__dict__:
            return self._path_bytes(file).decode("utf-8", "surrogateescape")
        paths, starts = self.paths
        return paths[starts[file] : starts[file + 1]]

    def key(self, file: int) -> str:
        """The `walk_key` of a file's path, straight from its bytes: binary searches ask often."""
        return path_key(self._path_bytes(file))

    def first_from(self, key: str) -> int:
        """The first file whose key is not before this one."""
        return bisect_left(range(self.files), key, key=self.key)

    def find(self, key: str) -> int | None:
        """The file with this key; None where there is none."""
        if not self.bounds[0] <= key <= self.bounds[1]:
            return None
        file = self.first_from(key)
        return file if self.key(file) == key else None

    def _path_bytes(self, file: int) -> bytes:
        start = int(self.name_ends[file - 1]) if file else 0
        return bytes(self.names[start : int(self.name_ends[file])])

    def all_names(self) -> list[str]:
        """Every file's path."""
        paths, starts = self.paths
        return [paths[a:b] for a, b in pairwise(starts)]

    # ── in a tree ───────────────────────────────────────────────────────────────────────────────

    @property
    def roster(self) -> Roster:
        """The files of the tree that ours are; processes that only match never ask."""
        if self._roster is None:
            self._roster = blank_roster(self.files)
        return self._roster

    @roster.setter
    def roster(self, roster: Roster) -> None:
        self._roster = roster

    @property
    def status(self) -> Numbers:
        """Per file size, mtime_ns, ctime_ns and inode of the tree's file that it is."""
        return self.roster.status

    @property
    def racy(self) -> Mask:
        """Per file whether it was read right after a change."""
        return self.roster.racy

    def identity(self, file: int) -> tuple[int, int, int, int]:
        """What a file was: size, times, inode."""
        size, modified, changed, inode = _IDENTITY.unpack_from(
            self.roster.status.data, file * _IDENTITY.size
        )
        return size, modified, changed, inode

    def enrol(self, files: Sequence[int], status: Any, racy: Any) -> None:
        """Say which files of the tree some of ours are; those who read the old roster keep it."""
        if len(files):
            rows, flags = self.roster.status.copy(), self.roster.racy.copy()
            rows[files], flags[files] = status, racy
            self.roster, self.roster_file = Roster(rows, flags), ""

    def id(self, file: int) -> bytes:
        """The id of a file's bytes."""
        return bytes(self.ids[file * self.id_bytes : (file + 1) * self.id_bytes])

    def all_ids(self) -> list[bytes]:
        """The id of every file."""
        ids, width = bytes(self.ids), self.id_bytes
        return [ids[at : at + width] for at in range(0, len(ids), width)]

    @property
    def short_ids(self) -> Any:
        """The first eight bytes of every id, as numbers: to tell quickly which may be equal."""
        return short_ids(np.frombuffer(self.ids, np.uint8).reshape(-1, self.id_bytes))

    def span(self, file: int) -> tuple[int, int]:
        """Where a file's text is in `buffer`; its pieces are neighbours."""
        first, past = int(self.first[file]), int(self.first[file + 1])
        return (int(self.starts[first]), int(self.ends[past - 1])) if past > first else (0, 0)

    def text(self, file: int) -> bytes:
        """A file's text, without the newline the pack added; checked."""
        self.check(int(self.first[file]), int(self.first[file + 1]))
        start, end = self.span(file)
        return bytes(self._view[start : end - bool(end and self.flags[file] & UNENDED)])

    # ── postings ────────────────────────────────────────────────────────────────────────────────

    def places(self, lows: Keys, highs: Keys | None) -> tuple[Any, Any]:
        """For ranges of keys, ends included, the first number among ours and one past the last.

        Without `highs` each range is one key.
        """
        # All of the keys' own type: numpy would copy all keys to compare them with another.
        first = self.keys.searchsorted(lows)
        if highs is not None:
            return first, self.keys.searchsorted(highs, "right")
        if not len(self.keys):
            return first, first
        return first, first + (self.keys.take(first, mode="clip") == lows)

    def posting_sizes(self, sets: Sequence[Sequence[tuple[int, int]]]) -> list[int]:
        """The length of the postings for each of some sets of keys. A set consists of ranges, with
        their ends excluded.
        """
        ranges = np.array([*chain.from_iterable(sets)], np.int64).reshape(-1, 2)
        lows, highs = ranges[:, 0].astype(np.uint32), (ranges[:, 1] - 1).astype(np.uint32)
        first, past = self.places(lows, highs)
        lengths = self.offsets.take(past).astype(np.int64) - self.offsets.take(first)
        ends = accumulate(map(len, sets), initial=0)
        return [int(lengths[start:end].sum()) for start, end in pairwise(ends)]

    def holding(self, first: Any, past: Any) -> Mask:
        """Which blocks hold a gram of these ranges of key numbers."""
        keys = numbers(first, past)
        starts, ends = self.offsets[keys].astype(np.int64), self.offsets[keys + 1].astype(np.int64)
        found: Mask = marked(self.postings, starts, ends, self.blocks)
        return found

    def release(self) -> None:
        """Give mapped pages back; they stay in the page cache, and come back when touched."""
        self.buffer.madvise(mmap.MADV_DONTNEED)

    def _release_postings(self) -> None:
        """Give back most of what checking has touched; each search looks into the rest.

        Its pages would come back one by one, a millisecond of a new process's second search.
        """
        offset, size, _ = self._sections["postings"]
        start = -(-offset // mmap.PAGESIZE) * mmap.PAGESIZE
        if start < offset + size:
            self.buffer.madvise(mmap.MADV_DONTNEED, start, offset + size - start)

    # ── trust ───────────────────────────────────────────────────────────────────────────────────

    def check_all(self, firsts: Any, pasts: Any) -> None:
        """Make sure of several stretches of pieces."""
        if self._is_trusted:
            return
        for first, past in zip(firsts.tolist(), pasts.tolist(), strict=True):
            self.check(first, past)
        self._is_trusted = self._trusted.find(0) < 0

    def check(self, piece: int, past: int) -> None:
        """Make sure that pieces of the pack are what was written; each is checked once."""
        if self._is_trusted or self._trusted.find(0, piece, past) < 0:
            return
        for at in range(piece, past):
            if not self._trusted[at]:
                data = self._view[int(self.starts[at]) : int(self.ends[at])]
                if zlib.crc32(data) != int(self.sums[at]):
                    raise DamagedSegment(self.path, f"piece {at} is damaged")
                self._trusted[at] = 1

    def _check_sections(self) -> None:
        for name in self._sections:
            if name != "pack":
                checked_section(self.path, self._view, self._header, name)

    def _bytes(self, name: str) -> memoryview:
        offset, size, _ = self._sections[name]
        return self._view[offset : offset + size]

    def _array(self, name: str) -> Any:
        return np.frombuffer(self._bytes(name), TYPES[name])


def path_key(path: str | bytes) -> str:
    """What sorts paths in walk order: the same as `walk_key`, also from a path's bytes."""
    raw = path if isinstance(path, bytes) else path.encode("utf-8", "surrogateescape")
    return raw.replace(b"/", b"\0").decode("latin-1")


def short_ids(ids: Any) -> Any:
    """The first eight bytes of ids, which are rows of bytes, as numbers."""
    return np.ascontiguousarray(ids[:, :8]).view(np.uint64).reshape(-1)


def numbers(first: Any, past: Any) -> Numbers:
    """All whole numbers of some ranges."""
    counts = past - first
    ends = np.cumsum(counts)
    found: Numbers = np.arange(int(counts.sum())) + np.repeat(first - (ends - counts), counts)
    return found
