"""The text of a document, in characters: the only code that knows pycrdt's offsets.

pycrdt counts UTF-8 bytes in `len`, `insert`, `del` and relative positions, but code points in
`text[a:b]`. An offset inside a character does not fail: it inserts at the end, deletes everything,
or panics. So no other module touches a `pycrdt.Text`. Each change is checked before it is made
(the text must be nothing but characters: an embedded object counts in offsets and is not in
`str()`) and compared with Python's own splice after it.

The unit may become characters in a later release; `check_offsets` refuses what is not bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Final

from pycrdt import Doc, Text

from flashgrep.errors import Unavailable
from flashgrep.notes.document.panics import Panicked, panics_told
from flashgrep.notes.document.splices import Splice, ordered, spliced

_PROBE: Final = "\N{GRINNING FACE}"
_END: Final = 3
"""Characters of a mark's closer."""
_UNITS: Final = {4: "bytes", 2: "UTF-16 units", 1: "characters"}


def check_offsets() -> None:
    """Refuse an engine that counts in anything but bytes; called once, before the first note."""
    doc: Doc[Text] = Doc()
    text = doc.get("probe", type=Text)
    text += _PROBE
    if (counted := len(text)) != len(_PROBE.encode()):
        raise Unavailable(
            f"this pycrdt counts offsets in {_UNITS.get(counted, counted)}, and flashgrep was "
            "written for bytes; install pycrdt>=0.14.10,<0.15"
        )


class NotText(Panicked):
    """The text holds an object that is no character, so no offset in it can be trusted."""


class SharedText:
    """A `pycrdt.Text` that is read and changed in code points."""

    def __init__(self, text: Text) -> None:
        self._text = text

    def read(self) -> str:
        """All of it."""
        with panics_told():
            return str(self._text)

    def checked(self) -> str:
        """All of it, if it is nothing but characters."""
        text = self.read()
        with panics_told():
            counted = len(self._text)
        if counted != len(text.encode()):
            raise NotText("the note's text holds an embedded object; a note holds characters only")
        return text

    def splice(self, splices: Iterable[Splice]) -> str:
        """Make all changes or none, in one transaction; gives the new text.

        The middle one first, then those before it, then those behind it, and so on in each half.
        The engine cuts a block in two at each place, and copies both; from one end to the other a
        long text would be copied for each change.
        """
        text = self.checked()
        changes = ordered(text, splices)
        expected = spliced(text, changes)
        places = _byte_places(text, changes)
        with panics_told(), self._text.doc.transaction():
            for number, shift in _middle_first(changes, places):
                start, end = places[number]
                if end > start:
                    del self._text[start + shift : end + shift]
                for piece in _pieces(changes[number].text):
                    self._text.insert(start + shift, piece)
        if self.read() != expected:
            raise Panicked("the note's engine made another change than the one asked for")
        return expected


def _middle_first(
    changes: Sequence[Splice], places: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """The numbers of the changes in the order they are made, and by how much each has moved.

    When a stretch of them is begun, all before it are made, and none of its own.
    """
    growths = (
        len(change.text.encode()) - (end - start)
        for change, (start, end) in zip(changes, places, strict=True)
    )
    shifts = list(accumulate(growths, initial=0))
    left = [(0, len(changes))]
    while left:
        first, end = left.pop()
        if first < end:
            middle = (first + end) // 2
            yield middle, shifts[first]
            left += [(middle + 1, end), (first, middle)]


def _pieces(text: str) -> list[str]:
    """A text as it is put in, its end first, each piece before the one before it.

    The last few characters of a text that is not ASCII become a block of their own, because they
    were typed earlier than what they follow. The end of a mark is asked for all the time, and in a
    block that is ASCII the engine names it at once; in a long one it must be counted (`anchors`).
    """
    head, tail = text[:-_END], text[-_END:]
    return [tail, head] if tail.isascii() and not head.isascii() else [text] if text else []


def _byte_places(text: str, changes: Iterable[Splice]) -> list[tuple[int, int]]:
    places, at, offset = [], 0, 0
    for change in changes:
        start = offset + len(text[at : change.start].encode())
        offset = start + len(text[change.start : change.end].encode())
        places.append((start, offset))
        at = change.end
    return places
