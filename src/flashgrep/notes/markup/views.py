"""A view of a text with marks: what it says without some of its pieces, and how offsets translate.

Between two characters of a view the text itself may hold a gap: delimiters, rejected text, a
comment. An offset there has several places in the text, and which one is meant depends on its use:

    text      ab{--cd--}{++xy++}ef          view (accepted)   abxyef
    start_of(2) = 13    the character at 2: where a span begins that starts with it
    end_of(2)   = 2     behind the character before 2: where a span ends that ends with it
    point(2)    = 2     where text is put that belongs to neither: outside every mark

So `start_of(a), end_of(b)` hugs the characters from a to b: marks that only touch them stay
outside. A point goes to the left of a gap, where a person's cursor behind the last character is,
but behind comments, which speak about the text before them. In the other direction every place
of a gap is the one offset it closes to, so `to_view` undoes all three.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol


class Piece(NamedTuple):
    """A stretch of the text and the views that show it."""

    start: int
    end: int
    in_base: bool
    in_accepted: bool


class Marked(Protocol):
    """What a view needs to know of a mark."""

    @property
    def span(self) -> tuple[int, int]:
        """Where it stands."""

    @property
    def kind(self) -> str:
        """What it is; a comment clings to the text before it."""


class MarkupView:
    """The pieces of a text that are shown, joined."""

    def __init__(self, text: str, pieces: Iterable[Piece], marks: Sequence[Marked]) -> None:
        self._raw_length = len(text)
        self._marks = marks
        self._raw: list[int] = []
        """Where each shown piece starts in the text…"""
        self._shown: list[int] = []
        """…where in the view…"""
        self._sizes: list[int] = []
        """…and how long it is; none is empty, and none touches the one before in the text."""
        self.text = self._join(text, pieces)

    def _join(self, text: str, pieces: Iterable[Piece]) -> str:
        parts: list[str] = []
        length = 0
        for piece in pieces:
            size = piece.end - piece.start
            if not size:
                continue
            if self._raw and self._raw[-1] + self._sizes[-1] == piece.start:
                self._sizes[-1] += size
            else:
                self._raw.append(piece.start)
                self._shown.append(length)
                self._sizes.append(size)
            parts.append(text[piece.start : piece.end])
            length += size
        return "".join(parts)

    def start_of(self, offset: int) -> int:
        """Where the character at an offset stands in the text; its end for the view's end."""
        if offset >= len(self.text):
            return self._raw_length
        index = bisect_right(self._shown, max(offset, 0)) - 1
        return self._raw[index] + max(offset, 0) - self._shown[index]

    def end_of(self, offset: int) -> int:
        """The place behind the character before an offset; 0 for the view's beginning."""
        if offset <= 0 or not self._shown:
            return 0
        offset = min(offset, len(self.text))
        index = bisect_left(self._shown, offset) - 1
        return self._raw[index] + offset - self._shown[index]

    def point(self, offset: int) -> int:
        """Where text put at an offset goes: outside the marks of a gap, behind its comments."""
        place, last = self.end_of(offset), self.start_of(offset)
        index = bisect_right(self._marks, place, key=lambda mark: mark.span[1])
        for mark in self._marks[index:]:
            start, end = mark.span
            if end > last or (start >= place and mark.kind != "comment"):
                break
            place = end
        return place

    def to_view(self, place: int) -> int:
        """The offset of a place of the text; inside a gap, the one it closes to."""
        index = bisect_right(self._raw, place) - 1
        if index < 0:
            return 0
        return self._shown[index] + min(place - self._raw[index], self._sizes[index])

    def line(self, offset: int) -> int:
        """The number of the line an offset stands in."""
        return self.text.count("\n", 0, max(offset, 0)) + 1

    def spans(self, start: int, end: int) -> list[tuple[int, int]]:
        """The pieces of the text between two of its places that this view shows."""
        found = []
        index = max(bisect_right(self._raw, start) - 1, 0)
        while index < len(self._raw) and self._raw[index] < end:
            first = max(self._raw[index], start)
            last = min(self._raw[index] + self._sizes[index], end)
            if first < last:
                found.append((first, last))
            index += 1
        return found
