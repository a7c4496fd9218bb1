"""Work that is tried on the event loop's thread, because it will probably finish in a moment.

A thread for a call costs as much as a search for a rare word. So such a search is tried without
one: whatever would wait, read files or take longer than a moment says so before it begins, and the
call is made again in a thread.
"""

from __future__ import annotations

import threading
from typing import Final

AT_ONCE_PIECES: Final = 16
AT_ONCE_BYTES: Final = 512 * 1024
"""Candidates of the index, and their text, that are matched in a moment."""
AT_ONCE_PAGE_BYTES: Final = 2 * 1024 * 1024
"""Text that is matched for a page: five milliseconds at the slowest."""
AT_ONCE_GRAMS: Final = 100
"""Grams, and ranges of them, that are looked for in a moment."""
AT_ONCE_POSTINGS: Final = 8 * 1024
"""Bytes of postings of many grams, of which any will do."""
AT_ONCE_LINKS: Final = 500
"""Links to files that are asked in a moment whether their files are candidates."""
AT_ONCE_NAMES: Final = 32
"""Files that are looked at in a moment."""

_place = threading.local()


class NotAtOnce(Exception):
    """This may take longer than a moment, and is for another thread."""


class at_once:  # a generator would cost every search more
    """In this block, what may take longer than a moment raises `NotAtOnce`."""

    __slots__ = ()

    def __enter__(self) -> None:
        _place.is_trying = True

    def __exit__(self, *_: object) -> None:
        _place.is_trying = False


def is_tried() -> bool:
    """Whether this thread must not wait."""
    return getattr(_place, "is_trying", False)


def may_wait() -> None:
    """Called before anything that may take longer."""
    if is_tried():
        raise NotAtOnce
