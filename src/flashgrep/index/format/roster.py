"""A roster: which files of one tree the files of a segment are, by their status.

A segment may serve several trees, and a tree may hold some of its files only. The roster
of a tree has, for each file of a segment, the status (size, times, inode) of the tree's own file
when that was known to have the same bytes. It is kept in a file of its own:

    8 bytes   magic and version, b"flashro1"
    4 bytes   crc32 of the rest, little end first
    4 bytes   number of files
    status    size, mtime_ns, ctime_ns, inode of each file (int64 × 4)
    racy      per file: 1 where it was read right after a change
"""

from __future__ import annotations

import struct
import zlib
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flashgrep.system.atomic import Name, open_own, replacing

RACY_SECONDS: Final = 1.0
"""A file that was changed within this time before it was read is read again later: two changes
so close together may leave the same times."""
_MAGIC: Final = b"flashro1"
_HEAD: Final = struct.Struct("<II")
_COUNT: Final = struct.Struct("<I")
_NOBODY: Final = -1
"""The size of no file."""


class Roster(NamedTuple):
    """What a tree knows of the files of a segment; never changed, only replaced."""

    status: npt.NDArray[np.int64]
    racy: npt.NDArray[np.bool_]


def blank_roster(files: int) -> Roster:
    """One in which no file of the segment is in the tree."""
    return Roster(np.full((files, 4), _NOBODY, np.int64), np.zeros(files, bool))


def write_roster(path: Name, roster: Roster) -> None:
    """Keep a roster; after a power cut it may be damaged, which is noticed."""
    body = _COUNT.pack(len(roster.racy)) + roster.status.tobytes() + roster.racy.tobytes()
    with replacing(path, is_durable=False) as file:
        file.write(_MAGIC + _COUNT.pack(zlib.crc32(body)) + body)


def read_roster(path: Name, files: int) -> Roster | None:
    """The roster of a segment of so many files; None where it is not what was written."""
    try:
        with open_own(path) as file:
            data = file.read()
    except OSError:
        return None
    start = len(_MAGIC) + _HEAD.size
    if len(data) != start + 33 * files or not data.startswith(_MAGIC):
        return None
    crc, count = _HEAD.unpack_from(data, len(_MAGIC))
    if crc != zlib.crc32(data[len(_MAGIC) + _COUNT.size :]) or count != files:
        return None
    status = np.frombuffer(data, np.int64, 4 * files, start).reshape(-1, 4)
    racy = np.frombuffer(data, np.uint8, files, start + 32 * files) != 0
    return Roster(status, racy)
