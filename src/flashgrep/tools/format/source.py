"""An open file on its way into an answer, and what a caller has seen of it.

What a caller has read is remembered by content. A view of ten lines must not read ten megabytes
for that, so there are two kinds of memory: the hash of all bytes, if the file is small or was read
to its end, and otherwise the file's identity (inode, size, times). The identity can only err
towards "changed": a large file that was touched but not altered needs another read, and so does one
changed so shortly before the view that it could change again without new times.
"""

from __future__ import annotations

import codecs
import hashlib
import os
import time
from collections.abc import Iterator
from enum import Enum
from typing import Final

from flashgrep import limits
from flashgrep.errors import NotRead, TooLarge, from_os_error
from flashgrep.limits import size_text
from flashgrep.tools.dispatch.caller import Caller, content_hash
from flashgrep.workspace.scope import ResolvedPath, Scope, shown_name
from flashgrep.workspace.text import byte_order_mark

_HASHED_VIEW_BYTES: Final = 1 * limits.MIB
"""A view of a part of a file up to this size hashes all of it (1 ms); a larger one is remembered
by inode, size and times unless the view came to its end anyway."""

RACY_SECONDS: Final = 0.05
"""A file changed this recently can change again without new times; they prove nothing."""

UNSETTLED = "stat:unsettled"
"""Remembered of a file that was read in part and may change without a trace."""


class Source:
    """A regular file opened for showing; close it by leaving the block."""

    def __init__(self, scope: Scope, place: ResolvedPath, ceiling: int, caller: Caller) -> None:
        self.place = place
        self.shown = place.shown
        self.name = shown_name(place.path)
        self._caller = caller
        self.ceiling = ceiling
        self._fd, self.status = scope.open_regular(place)
        self.size = self.status.st_size
        self._hash = hashlib.blake2b(digest_size=16)  # as caller.content_hash
        self._read = 0
        self._ended = False
        try:
            self.head = os.pread(self._fd, limits.SNIFF_BYTES, 0)
        except OSError as error:
            os.close(self._fd)
            raise from_os_error(error, self.shown) from None

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)

    @property
    def descriptor(self) -> int:
        """The open file."""
        return self._fd

    def require_size(self, what: str) -> None:
        """Refuse a file over the size limit."""
        if max(self.size, self._read) > self.ceiling:
            raise too_large(what, max(self.size, self._read), self.ceiling)

    def chunks(self) -> Iterator[bytes]:
        """The bytes in pieces, to the end of the file or the size limit, whatever its size said."""
        is_small = self.size <= _HASHED_VIEW_BYTES
        piece_size = _HASHED_VIEW_BYTES if is_small else limits.CHUNK_BYTES
        while not self._ended and (piece := os.pread(self._fd, piece_size, self._read)):
            self._hash.update(piece)
            self._read += len(piece)
            self.require_size(self.place.shown)
            self._ended = is_small and len(piece) < piece_size
            yield piece
        self._ended = True

    def whole(self) -> bytes:
        """All bytes, or what is left of them."""
        return b"".join(self.chunks())

    def text_chunks(self, keep_odd: bool = False) -> Iterator[str]:
        """The text in pieces as answers may hold it: no BOM, U+FFFD for what is not text.

        With `keep_odd`, bytes that are not UTF-8 come as surrogates (see `text`) instead.
        """
        mark, encoding = byte_order_mark(self.head)
        errors = "surrogateescape" if keep_odd and encoding == "utf-8" else "replace"
        decoder = codecs.getincrementaldecoder(encoding)(errors)
        skip = len(mark)
        for piece in self.chunks():
            text = decoder.decode(piece[skip:])
            skip = 0
            if text:
                yield text
        rest = decoder.decode(b"", final=True)
        if rest:
            yield rest

    def trailer(self, first: int, room: int) -> str:
        """Nothing is said after a file's lines."""
        return ""

    def was_shown(self) -> None:
        """Any part of a file that was shown counts as a read of it."""
        self._caller.remember(self.place.path, self.memory())

    def memory(self) -> str:
        """What to remember of this file: its hash if all of it was read, else its identity."""
        if self.size <= min(self.ceiling, _HASHED_VIEW_BYTES):
            self.whole()
        if self._ended:
            return self._hash.hexdigest()
        changed = max(self.status.st_ctime, self.status.st_mtime)
        is_settled = time.time() - changed > RACY_SECONDS
        return identity(self.status) if is_settled else UNSETTLED


def identity(status: os.stat_result) -> str:
    """A file's inode, size and times, in the form that is remembered for its content."""
    times = f"{status.st_mtime_ns}:{status.st_ctime_ns}"
    return f"stat:{status.st_dev}:{status.st_ino}:{status.st_size}:{times}"


def too_large(what: str, size: int, ceiling: int, remedy: str = "") -> TooLarge:
    """The refusal of something over --max-file-size."""
    remedy = remedy or "Use grep to find the part you need"
    return TooLarge(
        f"{what} has {size_text(size)}, which exceeds the size limit of {size_text(ceiling)}. "
        f"{remedy}, or start the server with a larger --max-file-size."
    )


# ── what was read ────────────────────────────────────────────────────────────────────────────────
# Which files a caller has read, and whether they are still what it saw.
#
# Judged by content: the remembered hash against the bytes the edit is about to change. A part of a
# large file is remembered by its identity instead (see `source`), which holds until something
# touches it.


class Seen(Enum):
    """What a caller knows about a file."""

    NEVER = "never"
    SAME = "same"
    CHANGED = "changed"


def judge(caller: Caller, key: bytes, data: bytes, status: os.stat_result | None = None) -> Seen:
    """Whether the caller has seen a document, a file by its path, with these bytes."""
    seen = caller.seen(key)
    if seen is None:
        return Seen.NEVER
    now = identity(status) if status and seen.startswith("stat:") else content_hash(data)
    return Seen.SAME if seen == now else Seen.CHANGED


def wrote(caller: Caller, key: bytes, data: bytes) -> None:
    """A document the caller wrote counts as read."""
    caller.remember(key, content_hash(data))


def not_read(shown: str) -> NotRead:
    """The refusal of a change to what the caller has never read, in both known wordings."""
    return NotRead(
        "File has not been read yet. Read it first before writing to it. You must read this "
        f'document before editing it. Call the read tool with file_path: "{shown}" first.'
    )
