"""Where an edit's string stands in a text: exactly, by quotes alone, or nearly.

Exactly is on the text as shown. `edit` may also match when only the style of quotes differs: each
quote stands for one character either way, so positions agree. Everything nearer or further than
that is never edited, only reported, so that the caller can send what the file really says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

_SINGLE, _DOUBLE = "\u2018\u2019\u201a\u201b", "\u201c\u201d\u201e\u201f"
_STRAIGHT: Final = str.maketrans(_SINGLE + _DOUBLE, "'" * 4 + '"' * 4)
_NUMBERED: Final = re.compile(r"^ *\d+\t", re.MULTILINE)
_OPENS_AFTER: Final = frozenset(" \t\r\n([{<\u2014\u2013\u00a0")


@dataclass(frozen=True)
class Occurrences:
    """An edit's string and the text it was looked for in, both folded alike."""

    text: str
    old: str
    by_quotes: bool

    @property
    def count(self) -> int:
        """How often it stands there; `aa` stands twice in `aaa`, and neither is the one meant."""
        apart = self.text.count(self.old)
        if apart != 1:
            return apart
        first = self.text.index(self.old)
        return 2 if self.text.find(self.old, first + 1, first + 2 * len(self.old)) >= 0 else 1

    def spans(self) -> Iterator[tuple[int, int]]:
        """The occurrences from the left, none overlapping the one before."""
        at = self.text.find(self.old)
        while at >= 0:
            yield at, at + len(self.old)
            at = self.text.find(self.old, at + len(self.old))


def find(text: str, old: str, fold_quotes: bool) -> Occurrences:
    """Look for a string; quotes are folded only when nothing matches exactly."""
    if fold_quotes and old not in text:
        return Occurrences(straight(text), straight(old), by_quotes=True)
    return Occurrences(text, old, by_quotes=False)


def line_of(text: str, position: int) -> int:
    """The number of the line a position stands in."""
    return text.count("\n", 0, position) + 1


def straight(text: str) -> str:
    """The text with curly quotes made straight."""
    return text.translate(_STRAIGHT)


# ── quotes the file's way ───────────────────────────────────────────────────────────────────────


def in_file_quotes(found: str, old: str, new: str) -> str:
    """The replacement, with quotes as the file has them.

    What `new` shares with `old` at its beginning and end is taken from the file as it stands; in
    between, quotes take the style the found text uses, where it uses only one.
    """
    head = _shared(old, new)
    tail = _shared(old[head:][::-1], new[head:][::-1])
    middle = new[head : len(new) - tail]
    for plain, curly in (("'", "\u2018\u2019"), ('"', "\u201c\u201d")):
        middle = _restyled(found, middle, plain, curly, found[:head])
    return found[:head] + middle + found[len(found) - tail :]


def _shared(one: str, other: str) -> int:
    """How many characters two texts share at their beginning."""
    for at, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return at
    return min(len(one), len(other))


def _restyled(found: str, middle: str, plain: str, curly: str, before: str) -> str:
    is_curly = any(quote in found for quote in curly)
    if is_curly and plain not in found:
        return _curled(middle, plain, curly, before)
    if plain in found and not is_curly:
        return middle.replace(curly[0], plain).replace(curly[1], plain)
    return middle


def _curled(text: str, plain: str, curly: str, before: str) -> str:
    pieces: list[str] = []
    last = before[-1:]
    for character in text:
        opens = not last or last in _OPENS_AFTER
        pieces.append(curly[0 if opens else 1] if character == plain else character)
        last = character
    return "".join(pieces)


# ── near misses ─────────────────────────────────────────────────────────────────────────────────


def _unspaced(text: str) -> str:
    return "".join(text.split())


_VARIANTS: Final[tuple[tuple[str, Callable[[str], str]], ...]] = (
    ("quotes", straight),
    ("whitespace", _unspaced),
    ("case", str.casefold),
    ("whitespace, quotes or case", lambda text: _unspaced(straight(text)).casefold()),
)


def near(text: str, old: str) -> str:
    """A sentence about where something like `old` stands; empty when nothing does."""
    unnumbered = _NUMBERED.sub("", old)
    if unnumbered != old and unnumbered in text:
        return (
            f"It stands at line {line_of(text, text.index(unnumbered))} without the line numbers, "
            "which are not part of the file."
        )
    for difference, fold in _VARIANTS:
        line = _line_of_variant(text, old, fold)
        if line:
            return f"A text that differs only in {difference} stands at line {line}."
    first = next((row for row in old.split("\n") if row.strip()), "")
    if first != old and first in text:
        return f"Its first line stands at line {line_of(text, text.index(first))}."
    return ""


def _line_of_variant(text: str, old: str, fold: Callable[[str], str]) -> int:
    """The line where folded `old` begins in folded `text`, or 0; line by line to find it again."""
    wanted = fold(old)
    position = fold(text).find(wanted) if wanted else -1
    if position < 0:
        return 0
    for number, line in enumerate(text.split("\n"), 1):
        position -= len(fold(line + "\n"))
        if position < 0:
            return number
    return 0
