"""Which notes a caller has read, and whether they are still what it saw.

A note is known by its id, which outlives its path, and judged by its text with the marks: the same
memory as for files, under a name that no file can have.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from flashgrep import limits
from flashgrep.errors import NotRead
from flashgrep.tools.caller import Caller, content_hash
from flashgrep.tools.reads import Seen

_PREFIX: Final = b"note:"


def remember(caller: Caller, note: str, data: bytes) -> None:
    """Note that a caller was shown a note (its id) when its text, marks included, was `data`."""
    caller.remember(_key(note), content_hash(data))


def judge(caller: Caller, note: str, data: bytes) -> Seen:
    """Whether the caller has seen this text of the note."""
    seen = caller.seen(_key(note))
    if seen is None:
        return Seen.NEVER
    return Seen.SAME if seen == content_hash(data) else Seen.CHANGED


def not_read(shown: str) -> NotRead:
    """The refusal of an edit of a note that the caller has never read, in both known wordings."""
    return NotRead(
        "File has not been read yet. Read it first before writing to it. You must read this "
        f'document before editing it. Call the read tool with file_path: "{shown}" first.'
    )


def known(caller: Caller) -> list[tuple[str, str]]:
    """The notes a caller saw last, with what it saw: for another process that answers for us."""
    seen = caller.latest(_PREFIX, limits.TOLD_READS)
    return [(key.removeprefix(_PREFIX).decode(), digest) for key, digest in seen]


def learn(caller: Caller, seen: Iterable[tuple[str, str]]) -> None:
    """Take over what another process knows of a caller's reads."""
    for note, digest in seen:
        caller.remember(_key(note), digest)


def _key(note: str) -> bytes:
    """Paths of files are absolute; this is none."""
    return _PREFIX + note.encode()
