"""A roster: which files of one tree a segment's files correspond to, by their status.

A segment may serve several trees, and a tree may have only some of its files. A tree's roster has,
for each file of a segment, the status (size, times, inode) of the tree's own file when that was
known to have the same bytes. It has its own file:

    8 bytes   magic and version, b"flashro1"
    4 bytes   crc32 of the rest, little end first
    4 bytes   number of files
    status    size, mtime_ns, ctime_ns, inode of each file (int64 × 4)
    racy      per file: 1 where it was read right after a change
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flashgrep.index.format.roster_file import roster_body, roster_bytes
from flashgrep.system.atomic import Name, open_own, replacing

RACY_SECONDS: Final = 1.0
"""A file that was changed within this time before it was read is read again later: two changes
so close together may leave the same times."""
_NOBODY: Final = -1
"""The size of no file."""


class Roster(NamedTuple):
    """What a tree knows about the files of a segment; never changed, only replaced."""

    status: npt.NDArray[np.int64]
    racy: npt.NDArray[np.bool_]


def blank_roster(files: int) -> Roster:
    """One in which no file of the segment is in the tree."""
    return Roster(np.full((files, 4), _NOBODY, np.int64), np.zeros(files, bool))


def write_roster(path: Name, roster: Roster) -> None:
    """Keep a roster; after a power cut it may be damaged, which is noticed."""
    with replacing(path, is_durable=False) as file:
        file.write(roster_bytes(roster.status.tobytes(), roster.racy.tobytes()))


def read_roster(path: Name, files: int) -> Roster | None:
    """The roster of a segment of so many files; None where it is not what was written."""
    try:
        with open_own(path) as file:
            data = file.read()
    except OSError:
        return None
    body = roster_body(data, files)
    if body is None:
        return None
    status = np.frombuffer(body, np.int64, 4 * files).reshape(-1, 4)
    return Roster(status, np.frombuffer(body, np.uint8, files, 32 * files) != 0)
