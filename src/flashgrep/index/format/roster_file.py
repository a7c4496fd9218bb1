"""Reads and checks the file of a roster without numpy; `roster` describes it."""

from __future__ import annotations

import struct
import zlib
from typing import Final

ROSTER_MAGIC: Final = b"flashro1"
_HEAD: Final = struct.Struct("<II")
_ROW_BYTES: Final = 33
"""Four numbers of eight bytes, and a flag."""


def roster_bytes(status: bytes, racy: bytes) -> bytes:
    """The file of a roster with these columns."""
    body = struct.pack("<I", len(racy)) + status + racy
    return ROSTER_MAGIC + struct.pack("<I", zlib.crc32(body)) + body


def roster_body(data: bytes, files: int) -> memoryview | None:
    """The columns of a roster of so many files; None where they are not what was written."""
    start = len(ROSTER_MAGIC) + _HEAD.size
    if len(data) != start + _ROW_BYTES * files or not data.startswith(ROSTER_MAGIC):
        return None
    crc, count = _HEAD.unpack_from(data, len(ROSTER_MAGIC))
    if crc != zlib.crc32(memoryview(data)[start - 4 :]) or count != files:
        return None
    return memoryview(data)[start:]
