"""Bytes that are no valid UTF-8: which they are, and what they were perhaps meant to be.

They stand in a text as the surrogates U+DC80–U+DCFF, one a byte (see `text`). Most such files
were written in Windows-1252, which holds all of Latin-1 that is ever seen in text.
"""

from __future__ import annotations

import re
from typing import Final

ODD: Final = re.compile("[\udc80-\udcff]")
_ENCODING: Final = "windows-1252"
REMEDY: Final = (
    "no edit can match them: edit text beside them, or convert the file first (iconv -f "
    "WINDOWS-1252 -t UTF-8)"
)


def described(character: str) -> str:
    """A byte by its number, and the character it is in Windows-1252."""
    byte = ord(character) - 0xDC00
    meant = _meant(character)
    is_seen = meant.isprintable() and meant != "\ufffd"
    return f"0x{byte:02X}" + (f" ({meant} in Windows-1252)" if is_seen else "")


def as_legacy(text: str) -> str:
    """The text if it had been written in Windows-1252 where it is no UTF-8."""
    return ODD.sub(lambda found: _meant(found[0]), text)


def _meant(character: str) -> str:
    return bytes([ord(character) - 0xDC00]).decode(_ENCODING, "replace")


class OddLines:
    """Lines on their way into an answer: the odd ones among them are shown with U+FFFD and told."""

    def __init__(self) -> None:
        self._first = ""
        self._lines = 0

    def see(self, number: int, text: str) -> None:
        """Look at a line that is shown."""
        found = ODD.search(text)
        if found is None:
            return
        self._first = self._first or f"byte {described(found[0])} at line {number}"
        self._lines += 1

    def note(self) -> str:
        """One line for the end of the answer; empty where all is text."""
        if not self._lines:
            return ""
        more = self._lines - 1
        others = f" and bytes of {more:,} more line{'s' if more > 1 else ''}" if more else ""
        return f"[Not valid UTF-8: {self._first}{others}. They are shown as \ufffd, and {REMEDY}.]"
