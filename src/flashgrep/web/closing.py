"""Why a live connection is closed, in the numbers that y-websocket's client understands.

Codes from 4400 to 4499 are final for it: it does not come again. After any other it comes again,
with growing pauses, and both sides say anew what they have; nothing is lost by that.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from flashgrep.errors import FlashgrepError, InvalidParams, NotFound, TooLarge
from flashgrep.notes.store.journal import StorageFull


class Close(IntEnum):
    """The codes."""

    TEXT = 1003
    """A frame of text; the protocol has none."""
    MALFORMED = 1007
    """A frame, or an update, that cannot be read."""
    FAILED = 1011
    """The note cannot be given now: it is quarantined, or its engine failed."""
    OVERLOADED = 1013
    """Too many peers, a peer that does not keep up, or no room on the disk."""
    UNAUTHENTICATED = 4401
    FORBIDDEN = 4403
    NO_NOTE = 4404
    OTHER_EPOCH = 4409
    TOO_LARGE = 4413


REASONS: Final = {
    Close.TEXT: "send binary frames",
    Close.MALFORMED: "malformed",
    Close.FAILED: "the note cannot be read now",
    Close.OVERLOADED: "overloaded; come again",
    Close.UNAUTHENTICATED: "a valid token is needed",
    Close.FORBIDDEN: "not allowed on this note",
    Close.NO_NOTE: "no such note",
    Close.OTHER_EPOCH: "the note has begun anew; load it again",
    Close.TOO_LARGE: "too large",
}


class Refused(Exception):
    """A peer that is to be closed with a code."""

    def __init__(self, code: Close) -> None:
        super().__init__(REASONS[code])
        self.code = code


def code_of(error: FlashgrepError) -> Close:
    """The code for what a note answered to a peer."""
    if isinstance(error, InvalidParams):
        return Close.MALFORMED
    if isinstance(error, TooLarge):
        return Close.TOO_LARGE
    if isinstance(error, NotFound):
        return Close.NO_NOTE
    return Close.OVERLOADED if isinstance(error, StorageFull) else Close.FAILED
