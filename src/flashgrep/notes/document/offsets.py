"""Offsets in UTF-8: from characters to bytes and back, without reading all before them."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from typing import Final

_STRIDE: Final = 2_048
"""Bytes between two places that are counted once."""
_ASCII: Final = bytes(range(128))


class Offsets:
    """A text as bytes; the text must not change."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.is_ascii = data.isascii()

    @cached_property
    def _counted(self) -> tuple[list[int], list[int], list[int], list[int]]:
        """Every few bytes: the place, the characters before it, the UTF-16 units before it, the
        last byte before it that is not ASCII (-1 for none)."""
        places, characters, units, others = [0], [0], [0], [-1]
        while (place := places[-1] + _STRIDE) < len(self.data):
            place = self.start(place)
            piece = self.data[places[-1] : place]
            text = piece.decode()
            characters.append(characters[-1] + len(text))
            units.append(units[-1] + _units(text))
            other = len(piece.rstrip(_ASCII)) - 1
            others.append(places[-1] + other if other >= 0 else others[-1])
            places.append(place)
        return places, characters, units, others

    def start(self, place: int) -> int:
        """Where the character begins that a byte belongs to."""
        while self.data[place] & 0xC0 == 0x80:
            place -= 1
        return place

    def byte(self, index: int) -> int:
        """Where the character of a number begins; the end of the text for one behind it."""
        if self.is_ascii:
            return min(index, len(self.data))
        places, characters, _, _ = self._counted
        at = bisect_right(characters, index) - 1
        piece = self._piece(at)
        return places[at] + len(piece[: index - characters[at]].encode())

    def _piece(self, at: int) -> str:
        places = self._counted[0]
        stop = places[at + 1] if at + 1 < len(places) else len(self.data)
        return self.data[places[at] : stop].decode()

    def character(self, place: int) -> int:
        """The number of the character that begins at a byte."""
        if self.is_ascii:
            return place
        places, characters, _, _ = self._counted
        at = bisect_right(places, place) - 1
        return characters[at] + len(self.data[places[at] : place].decode())

    def units(self, place: int) -> int:
        """The UTF-16 units before the character that begins at a byte."""
        if self.is_ascii:
            return place
        places, _, units, _ = self._counted
        at = bisect_right(places, place) - 1
        return units[at] + _units(self.data[places[at] : place].decode())

    def byte_of_unit(self, unit: int) -> int | None:
        """Where a character begins that has so many units before it; None for half of one."""
        if self.is_ascii:
            return min(unit, len(self.data))
        places, _, units, _ = self._counted
        at = bisect_right(units, unit) - 1
        before = self._piece(at).encode("utf-16-le")[: 2 * (unit - units[at])]
        try:
            return places[at] + len(before.decode("utf-16-le").encode())
        except UnicodeDecodeError:
            return None

    def other_before(self, place: int) -> int:
        """The last byte before a place that is not ASCII; -1 where there is none."""
        if self.is_ascii:
            return -1
        places, _, _, others = self._counted
        at = bisect_right(places, place) - 1
        near = len(self.data[places[at] : place].rstrip(_ASCII)) - 1
        return places[at] + near if near >= 0 else others[at]


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2
