"""Anchors as `notes.document.anchors` finds them, character by character: slow, and the oracle.

An anchor is the name that Yjs gives a character: the client that typed it and that client's clock,
counted in UTF-16 units. It is what Yjs writes as `{"item": {"client", "clock"}}` in a relative
position, so a page can use it as it is.

A text is a row of blocks, each typed by one client without a pause of its clock. pycrdt's
`StickyIndex` counts wrongly inside a block that is not ASCII: it names the character at a byte
`clock of the block + bytes into it`, and sees a name at `bytes before the block + units into it`.
Both are right where a block begins. The engine does not tell where that is, but within a block
`byte - clock`, here the drift, is the same for every byte. So we go back to where the drift
changes, and count from there. Two neighbours may have one drift by chance: then, after the first
one's last character, the name that would come next is seen somewhere else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pycrdt import Assoc, StickyIndex, Text

from flashgrep.errors import InvalidParams
from flashgrep.notes.document.anchors import Anchor
from flashgrep.notes.document.text import catching_panics

_ASCII: Final = "".join(map(chr, range(128)))
_WIDE: Final = 4
"""UTF-8 bytes of a character that takes two UTF-16 units."""


class Anchors:
    """The anchors of a text as it is now; to be made anew when it changed."""

    def __init__(self, text: Text, clocks: dict[int, int]) -> None:
        """`clocks` is the document's state vector: what it does not name is not there."""
        self._text = text
        self._clocks = clocks
        with catching_panics():
            self._data = str(text).encode()

    def at(self, index: int) -> Anchor:
        """The anchor of a character."""
        before = self._data.decode()[: max(index, 0)].encode()
        if index < 0 or len(before) >= len(self._data):
            raise InvalidParams(f"there is no character {index} in the note to hold on to")
        if self._is_right(len(before)):
            return self._claim(len(before))
        named = self._named(self._run_start(len(before)))
        return next(anchor for place, anchor in named if place == len(before))

    def find(self, anchor: Anchor) -> int | None:
        """Where an anchor's character is; None where it was deleted or never was."""
        if not self._is_known(anchor) or not self._data:
            return None
        place = self._seen(anchor)
        if place < len(self._data) and self._is_right(place) and self._claim(place) == anchor:
            return len(self._data[:place].decode())
        seen = self._character(min(place, len(self._data) - 1))
        if self._drift(seen) != (anchor.client, self._seen(anchor) - anchor.clock):
            return None
        for place, name in self._named(self._run_start(seen)):
            if name == anchor:
                return len(self._data[:place].decode())
        return None

    def _is_right(self, place: int) -> bool:
        """Whether the engine's name for a byte is right: nothing but ASCII stands before it in its
        block. Looked at is the last character before it that is not: were it in the same block,
        it would have the same drift."""
        if self._data[place] & 0xC0 == 0x80:
            return False
        before = self._data[:place]
        other = len(before.decode().rstrip(_ASCII).encode())
        return not other or self._drift(self._character(other - 1)) != self._drift(place)

    def _named(self, start: int) -> Iterator[tuple[int, Anchor]]:
        """Each character of the blocks of one drift, from where the first of them begins."""
        drift, name, seen = self._drift(start), self._claim(start), start
        place = start
        while place < len(self._data) and self._drift(place) == drift:
            if not (self._is_known(name) and self._seen(name) == seen):
                name, seen = self._claim(place), place  # the next block begins here
            yield place, name
            width = _width(self._data[place])
            units = 2 if width == _WIDE else 1
            place, name, seen = place + width, name._replace(clock=name.clock + units), seen + units

    def _run_start(self, place: int) -> int:
        """The first character from here to the left up to which the drift is the same."""
        drift = self._drift(place)
        while place > 0 and self._drift(before := self._character(place - 1)) == drift:
            place = before
        return place

    def _drift(self, place: int) -> tuple[int, int]:
        claimed = self._claim(place)
        return claimed.client, place - claimed.clock

    def _character(self, place: int) -> int:
        """Where the character begins that a byte belongs to."""
        while self._data[place] & 0xC0 == 0x80:
            place -= 1
        return place

    def _is_known(self, anchor: Anchor) -> bool:
        return 0 <= anchor.clock < self._clocks.get(anchor.client, 0)

    def _claim(self, place: int) -> Anchor:
        """What the engine calls the character at a byte: right where a block begins."""
        with catching_panics():
            item = StickyIndex.new(self._text, place, Assoc.AFTER).to_json()["item"]
        return Anchor(int(item["client"]), int(item["clock"]))

    def _seen(self, anchor: Anchor) -> int:
        """Where the engine sees a name: bytes before its block and units into it."""
        described = {"item": anchor._asdict(), "assoc": int(Assoc.AFTER)}
        with catching_panics():
            return StickyIndex.from_json(described, self._text).get_index()


def _width(lead: int) -> int:
    return 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else _WIDE
