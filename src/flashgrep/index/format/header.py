"""How a segment's file begins (see `segment`), read without numpy: listing processes start fast."""

from __future__ import annotations

import json
import struct
import zlib
from typing import Final, NamedTuple

MAGIC: Final = b"flashsg3"
LENGTH: Final = struct.Struct("<I")
HASHES: Final = {"sha1": 20, "sha256": 32}
"""What ids are made by, and how long they are."""


class DamagedSegment(Exception):
    """A file of the index is not what was written."""

    def __init__(self, path: str, what: str) -> None:
        super().__init__(f"{path}: {what}")
        self.path = path
        self.what = what


class SegmentHeader(NamedTuple):
    """Says what is where in a segment."""

    hash_name: str
    sections: dict[str, list[int]]
    """Offset, size and crc32 of each."""


def read_header(path: str, view: memoryview) -> SegmentHeader:
    """The header of a segment that is mapped; damaged where it is not whole."""
    start = len(MAGIC) + LENGTH.size
    if len(view) < start:
        raise DamagedSegment(path, "cut short")
    if bytes(view[: len(MAGIC)]) != MAGIC:
        raise DamagedSegment(path, "of another kind or version")
    (length,) = LENGTH.unpack(view[len(MAGIC) : start])
    head = bytes(view[start : start + length])
    checksum = bytes(view[start + length : start + length + 4])
    if len(head) != length or checksum != LENGTH.pack(zlib.crc32(head)):
        raise DamagedSegment(path, "the header is damaged")
    told = json.loads(head)
    sections: dict[str, list[int]] = told["sections"]
    if any(offset + size > len(view) for offset, size, _ in sections.values()):
        raise DamagedSegment(path, "cut short")
    return SegmentHeader(told["hash"], sections)


def checked_section(path: str, view: memoryview, header: SegmentHeader, name: str) -> memoryview:
    """A section that is what was written."""
    offset, size, crc = header.sections[name]
    section = view[offset : offset + size]
    if zlib.crc32(section) != crc:
        raise DamagedSegment(path, f"{name} is damaged")
    return section
