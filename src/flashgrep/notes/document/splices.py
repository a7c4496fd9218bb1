"""Changes of a text as spans and what stands there afterwards, counted in characters."""

from __future__ import annotations

import difflib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from flashgrep import limits
from flashgrep.errors import InvalidParams, TooLarge
from flashgrep.workspace.text import common_prefix

_COMPARED_LINES: Final = 2_000
"""Line by line comparison takes the square of this; a longer change is one replacement."""


@dataclass(frozen=True, slots=True)
class TextSplice:
    """What stands between two places of a text, counted in code points, becomes `text`."""

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
    """By how much a splice moves what stands behind it."""
    return len(splice.text) - (splice.end - splice.start)


class Push:
    """Where the spans of records end up: with their first and their last character.

    Mostly both stand outside all splices, and side by side. But a mark that somebody broke is text,
    which may be edited in part; its record still holds it, and may hold a whole mark afterwards.
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
                f"the change of {splice.start} to {splice.end} overlaps another one, or lies "
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
    """Few and small splices that turn one text into another, whole lines where lines differ.

    A text that is replaced as a whole would throw out what others are typing in it.
    """
    start = common_prefix(old, new)
    end = common_prefix(old[start:][::-1], new[start:][::-1])
    old_lines = old[start : len(old) - end].splitlines(keepends=True)
    new_lines = new[start : len(new) - end].splitlines(keepends=True)
    if old_lines == new_lines:
        return []
    if max(len(old_lines), len(new_lines)) > _COMPARED_LINES:
        return [TextSplice(start, len(old) - end, new[start : len(new) - end])]
    return list(_by_lines(start, old_lines, new_lines))


def _by_lines(start: int, old: Sequence[str], new: Sequence[str]) -> Iterator[TextSplice]:
    places = [start]
    for line in old:
        places.append(places[-1] + len(line))
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for kind, first, last, new_first, new_last in matcher.get_opcodes():
        if kind != "equal":
            yield TextSplice(places[first], places[last], "".join(new[new_first:new_last]))
