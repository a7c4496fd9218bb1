"""The text of a document in characters: splices, and pycrdt's offsets and panics.

pycrdt counts UTF-8 bytes in `len`, `insert`, `del` and relative positions, but code points in
`text[a:b]`. An offset inside a character does not fail: it inserts at the end, deletes everything,
or panics. So no other module touches a `pycrdt.Text`. Each change is checked before it is made
(the text must be only characters: an embedded object counts in offsets but is not in `str()`) and
compared with Python's own splice afterwards.

The unit may become characters in a later release; `check_offsets` refuses what is not bytes.
"""

from __future__ import annotations

import difflib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Final

from pycrdt import Doc, Text

from flashgrep import limits
from flashgrep.errors import InvalidParams, IOFailure, TooLarge, Unavailable
from flashgrep.notes.document.order import Run, TextOrder
from flashgrep.notes.document.updates import (
    Name,
    Struct,
    Update,
    clocks,
    encode,
    text_struct,
    unit_count,
)
from flashgrep.workspace.text import common_prefix

# ── splices ──────────────────────────────────────────────────────────────────────────────────────
# Changes of a text as spans and their new text, counted in characters.


_COMPARED_LINES: Final = 2_000
"""Line by line comparison takes the square of this; a longer change is one replacement."""


@dataclass(frozen=True, slots=True)
class TextSplice:
    """The text between two places, counted in code points, becomes `text`."""

    start: int
    end: int
    text: str = ""


def spliced(text: str, splices: Iterable[TextSplice]) -> str:
    """The text after all splices, which are in the order of `ordered`."""
    pieces, at = [], 0
    for splice in splices:
        pieces += [text[at : splice.start], splice.text]
        at = splice.end
    return "".join([*pieces, text[at:]])


def growth(splice: TextSplice) -> int:
    """By how much a splice moves the text after it."""
    return len(splice.text) - (splice.end - splice.start)


class Push:
    """Where the spans of records end up: with their first and last characters.

    Usually both are outside all splices, and side by side. But a mark that somebody broke is text
    and may be edited in part; its record still holds it, and may hold a whole mark afterwards.
    """

    def __init__(self, splices: Sequence[TextSplice]) -> None:
        """`splices` are in the order of `ordered`."""
        self._starts = [splice.start for splice in splices]
        self._ends = [splice.end for splice in splices]
        self._shifts = [0, *accumulate(map(growth, splices))]

    def spans(self, spans: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
        """The spans afterwards, without those whose first or last character is deleted."""
        found = []
        for start, end in spans:
            first, last = self._place(start), self._place(end - 1)
            if first is not None and last is not None:
                found.append((first, last + 1))
        return tuple(found)

    def _place(self, at: int) -> int | None:
        """Where a character is; None for one that is deleted."""
        before = bisect_right(self._ends, at)
        is_deleted = before < len(self._starts) and self._starts[before] <= at
        return None if is_deleted else at + self._shifts[before]


def ordered(text: str, splices: Iterable[TextSplice]) -> list[TextSplice]:
    """The splices from left to right; refused where they overlap or leave the text."""
    found = sorted(splices, key=lambda splice: (splice.start, splice.end))
    at = 0
    for splice in found:
        if not at <= splice.start <= splice.end <= len(text):
            raise InvalidParams(
                f"the change of {splice.start} to {splice.end} overlaps another one, or is "
                f"outside the note's {len(text)} characters; read the note again"
            )
        at = splice.end
        check_characters(splice.text)
    return found


def check_characters(text: str) -> None:
    """Refuse what a note cannot hold: half characters, NUL, and line ends other than LF."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        half = ord(text[error.start])
        raise InvalidParams(
            f"character {error.start} is half of a surrogate pair (U+{half:04X}); "
            "send whole characters"
        ) from None
    if "\0" in text:
        raise InvalidParams("a note cannot hold U+0000; remove it")
    if "\r" in text:
        raise InvalidParams("a note's lines end with LF alone; send no carriage returns")


def check_size(text: str) -> None:
    """Refuse a text that is larger than a note may be."""
    size = len(text.encode())
    if size > limits.NOTE_BYTES:
        raise TooLarge(f"the note would have {size} bytes; a note has at most {limits.NOTE_BYTES}")


def with_lf(text: str) -> str:
    """The text with every line end as LF."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def repairs(text: str) -> list[TextSplice]:
    """What makes a peer's text one that a note can hold.

    NUL becomes U+FFFD, as CommonMark has it. Refusing the peer instead would leave a person with
    a note that never syncs again, for one pasted character.
    """
    found, at = [], 0
    if "\r" not in text and "\0" not in text:
        return []
    for at, character in enumerate(text):
        if character == "\0":
            found.append(TextSplice(at, at + 1, "\ufffd"))
        elif character == "\r":
            found.append(TextSplice(at, at + 1, "" if text[at + 1 : at + 2] == "\n" else "\n"))
    return found


def between(old: str, new: str) -> list[TextSplice]:
    """Few and small splices that turn one text into another.

    A text, or a line, that is replaced as a whole would throw out what others are typing in it,
    and the marks that records hold.
    """
    start, end = _alike(old, new)
    if start + end in (len(old), len(new)):  # something came, or something went, in one place
        return _replaced(0, old, new)
    first = old.rfind("\n", 0, start) + 1
    last = old.find("\n", len(old) - end) + 1 or len(old)
    old_lines = old[first:last].splitlines(keepends=True)
    new_lines = new[first : len(new) - (len(old) - last)].splitlines(keepends=True)
    if max(len(old_lines), len(new_lines)) > _COMPARED_LINES:
        return _replaced(0, old, new)
    return list(_by_lines(first, old_lines, new_lines))


def _by_lines(start: int, old: Sequence[str], new: Sequence[str]) -> Iterator[TextSplice]:
    places = list(accumulate(map(len, old), initial=start))
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for kind, first, last, new_first, new_last in matcher.get_opcodes():
        if kind == "equal":
            continue
        was, now = old[first:last], new[new_first:new_last]
        if len(was) == len(now):
            for place, one, other in zip(places[first:last], was, now, strict=True):
                yield from _replaced(place, one, other)
        else:
            yield from _replaced(places[first], "".join(was), "".join(now))


def _replaced(place: int, old: str, new: str) -> list[TextSplice]:
    """One splice for a stretch of text, without what both begin and end with."""
    start, end = _alike(old, new)
    if start + end == len(old) == len(new):
        return []
    return [TextSplice(place + start, place + len(old) - end, new[start : len(new) - end])]


def _alike(old: str, new: str) -> tuple[int, int]:
    """How many characters both begin with, and with how many of the others both end."""
    start = common_prefix(old, new)
    return start, common_prefix(old[start:][::-1], new[start:][::-1])


# ── text ─────────────────────────────────────────────────────────────────────────────────────────


# ── panics ───────────────────────────────────────────────────────────────────────────────────────
# Panics of the CRDT engine, which are not Python exceptions, raised as failures.
#
# pycrdt raises `pyo3_runtime.PanicException` for a bug or a bad offset. It is a `BaseException`, so
# that `except Exception` lets it through to the end of the thread, and its class cannot be
# imported. A caller that catches `Panicked` drops the document and loads it from the journal.


_MODULE: Final = "pyo3_runtime"


class Panicked(IOFailure):
    """The CRDT engine failed internally; this note's data in memory cannot be trusted."""


@contextmanager
def catching_panics() -> Iterator[None]:
    """Turn a panic inside the block into `Panicked`."""
    try:
        yield
    except BaseException as error:
        if type(error).__module__ != _MODULE:
            raise
        raise Panicked(
            f"the note's engine failed ({error}); nothing was changed, the note is loaded again"
        ) from None


# ── text ─────────────────────────────────────────────────────────────────────────────────────────


_PROBE: Final = "\N{GRINNING FACE}"
END_CHARS: Final = 3
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
    """The text holds an object that is not a character, so no offset in it can be trusted."""


class SharedText:
    """A `pycrdt.Text` that is read and changed in code points."""

    def __init__(self, text: Text) -> None:
        self._text = text

    def read(self) -> str:
        """All of it."""
        with catching_panics():
            return str(self._text)

    def checked(self) -> str:
        """All of it, if it is nothing but characters."""
        text = self.read()
        with catching_panics():
            counted = len(self._text)
        if counted != len(text.encode()):
            raise NotText("the note's text holds an embedded object; a note holds characters only")
        return text

    def splice(self, splices: Iterable[TextSplice], order: TextOrder | None = None) -> str:
        """Make all changes or none, in one transaction; gives the new text.

        Where the text's order is known they are one update, and the engine need not look for the
        place of each.
        """
        text = self.checked()
        changes = ordered(text, splices)
        expected = spliced(text, changes)
        with catching_panics(), self._text.doc.transaction():
            if order and order.length and order.text() == text:
                doc = self._text.doc
                own = Name(doc.client_id, clocks(doc.get_state()).get(doc.client_id, 0))
                doc.apply_update(encode(_as_update(changes, order, own)))
            else:
                self._change(changes, _byte_places(text, changes))
        if self.read() != expected:
            raise Panicked("the note's engine made another change than the one asked for")
        return expected

    def _change(self, changes: Sequence[TextSplice], places: Sequence[tuple[int, int]]) -> None:
        """Make changes one by one: the middle one first, then those before it, then those after
        it, and so on in each half.

        The engine cuts a block in two at each place, and copies both; from one end to the other a
        long text would be copied for each change.
        """
        for number, shift in _middle_first(changes, places):
            start, end = places[number]
            if end > start:
                del self._text[start + shift : end + shift]
            for piece in _as_inserted(changes[number].text):
                self._text.insert(start + shift, piece)


def _middle_first(
    changes: Sequence[TextSplice], places: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """The numbers of the changes in the order they are made, and by how much each has moved. When a
    stretch of them begins, all before it have been made, and none of its own.
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


def _as_inserted(text: str) -> list[str]:
    """A text as it is put in, its end first, each piece before the one before it.

    The last few characters of a text that is not ASCII become a block of their own, because they
    were typed earlier than what they follow. The end of a mark is asked for all the time, and in a
    block that is ASCII the engine names it at once; in a long one it must be counted (`anchors`).
    """
    head, tail = text[:-END_CHARS], text[-END_CHARS:]
    return [tail, head] if tail.isascii() and not head.isascii() else [text] if text else []


def _as_update(changes: Iterable[TextSplice], order: TextOrder, own: Name) -> Update:
    """Changes as a peer would send them whose next unit is `own`."""
    structs: list[Struct] = []
    deletions: list[Run] = []
    place, left, clock = -1, None, own.clock
    for change in changes:
        deletions += order.runs(change.start, change.end)
        if not change.text:
            continue
        if change.start != place:
            place, left = change.start, order.last_unit(change.start - 1)
        right, ends = order.name(place), list[int]()
        for piece in _as_inserted(change.text):
            structs.append(text_struct(piece, clock, left, right))
            right, clock = Name(own.client, clock), structs[-1].end
            ends.append(clock - 1)
        left = Name(own.client, ends[0])  # the first of the pieces is the last in the text
    ranges = [(run.client, run.clock, run.units) for run in sorted(deletions)]
    return Update({own.client: structs} if structs else {}, ranges)


def _byte_places(text: str, changes: Iterable[TextSplice]) -> list[tuple[int, int]]:
    places, at, offset = [], 0, 0
    for change in changes:
        start = offset + len(text[at : change.start].encode())
        offset = start + len(text[change.start : change.end].encode())
        places.append((start, offset))
        at = change.end
    return places


# ── offsets ──────────────────────────────────────────────────────────────────────────────────────
# Offsets in UTF-8: from characters to bytes and back, without reading all before them.


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
            units.append(units[-1] + unit_count(text))
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
        """Where the character of a number begins; the end of the text for one after it."""
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
        return units[at] + unit_count(self.data[places[at] : place].decode())

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
