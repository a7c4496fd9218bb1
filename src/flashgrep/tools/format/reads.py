"""Which files a caller has read, and whether they are still what it saw.

Judged by content: the remembered hash against the bytes the edit is about to change. A part of a
large file is remembered by its identity instead (see `source`), which holds as long as nothing
touched it.
"""

from __future__ import annotations

import os
from enum import Enum

from flashgrep.errors import NotRead
from flashgrep.tools.dispatch.caller import Caller, content_hash
from flashgrep.tools.format.source import identity
from flashgrep.workspace.scope import Place


class Seen(Enum):
    """What a caller knows of a file."""

    NEVER = "never"
    SAME = "same"
    CHANGED = "changed"


def judge(caller: Caller, place: Place, data: bytes, status: os.stat_result) -> Seen:
    """Whether the caller has seen these bytes at this place."""
    seen = caller.seen(place.path)
    if seen is None:
        return Seen.NEVER
    now = identity(status) if seen.startswith("stat:") else content_hash(data)
    return Seen.SAME if seen == now else Seen.CHANGED


def wrote(caller: Caller, place: Place, data: bytes) -> None:
    """A file the caller wrote counts as read."""
    caller.remember(place.path, content_hash(data))


def not_read(shown: str) -> NotRead:
    """The refusal of a change to what the caller has never read, in both known wordings."""
    return NotRead(
        "File has not been read yet. Read it first before writing to it. You must read this "
        f'document before editing it. Call the read tool with file_path: "{shown}" first.'
    )
