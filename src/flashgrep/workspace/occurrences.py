"""Finds an edit's string in a text: exactly, up to the style of quotes, or nearly.

An exact match is on the text as shown. `edit` may also match when only the style of quotes differs:
each quote is one character either way, so positions agree. Any other near match is never edited,
only reported, so that the caller can send what the file really says.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from flashgrep.workspace.text import common_prefix

_SINGLE, _DOUBLE = "\u2018\u2019\u201a\u201b", "\u201c\u201d\u201e\u201f"
_STRAIGHT: Final = str.maketrans(_SINGLE + _DOUBLE, "'" * 4 + '"' * 4)
_NUMBERED: Final = re.compile(r"^ *\d+\t", re.MULTILINE)
_LEADING_CHARS: Final = 1_000
"""How far back the whitespace before a near match is looked at."""
_IN_LINE: Final = " \t\u00a0"
_PIECE_CHARS: Final = 4_096
"""A text is folded in pieces of this size to find a place of the folded text in it."""
_SPACE: Final = re.compile(r"\s*")
_SAME: Final = re.compile(r"(\s)\1*")
_NAMED_KINDS: Final = 6
"""Runs of one kind that a description of whitespace names before it ends."""
_SPACES: Final = {" ": "space", "\t": "tab", "\n": "line end", "\u00a0": "no-break space"}
_OPENS_AFTER: Final = frozenset(" \t\r\n([{<\u2014\u2013\u00a0")


@dataclass(frozen=True)
class Occurrences:
    """An edit's string and the text to search, both folded alike."""

    text: str
    old: str
    by_quotes: bool

    @cached_property
    def apart(self) -> int:
        """How many `spans` there are."""
        return self.text.count(self.old)

    @property
    def count(self) -> int:
        """How often it occurs; `aa` occurs twice in `aaa`, and neither is the one meant."""
        if self.apart != 1:
            return self.apart
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
    """The number of the line a position is in."""
    return text.count("\n", 0, position) + 1


def straight(text: str) -> str:
    """The text with curly quotes made straight."""
    return text.translate(_STRAIGHT)


# ── quotes the file's way ───────────────────────────────────────────────────────────────────────


def in_file_quotes(found: str, old: str, new: str) -> str:
    """The replacement, with quotes as the file has them.

    What `new` shares with `old` at its beginning and end is taken from the file as it is; in
    between, quotes take the style the found text uses, where it uses only one.
    """
    head = common_prefix(old, new)
    tail = common_prefix(old[head:][::-1], new[head:][::-1])
    middle = new[head : len(new) - tail]
    for plain, curly in (("'", "\u2018\u2019"), ('"', "\u201c\u201d")):
        middle = _restyled(found, middle, plain, curly, found[:head])
    return found[:head] + middle + found[len(found) - tail :]


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
    # In pieces: `split` makes an object of each word.
    return "".join("".join(piece.split()) for piece in _pieces(text))


def _pieces(text: str) -> Iterator[str]:
    return (text[at : at + _PIECE_CHARS] for at in range(0, len(text), _PIECE_CHARS))


_VARIANTS: Final[tuple[tuple[str, Callable[[str], str]], ...]] = (
    ("quotes", straight),
    ("whitespace", _unspaced),
    ("case", str.casefold),
    ("whitespace, quotes or case", lambda text: _unspaced(straight(text)).casefold()),
)


def near(text: str, old: str) -> str:
    """A sentence about where something like `old` is; empty when nothing is."""
    unnumbered = _NUMBERED.sub("", old)
    if unnumbered != old and unnumbered in text:
        return (
            f"It is at line {line_of(text, text.index(unnumbered))} without the line numbers, "
            "which are not part of the file."
        )
    for difference, fold in _VARIANTS:
        at = _variant(text, old, fold)
        if at >= 0:
            detail = _other_whitespace(text, at, old) if fold is _unspaced else ""
            return (
                f"A text that differs only in {difference} is at line {line_of(text, at)}{detail}."
            )
    first = next((row for row in old.split("\n") if row.strip()), "")
    if first != old and first in text:
        return f"Its first line is at line {line_of(text, text.index(first))}."
    return ""


def _variant(text: str, old: str, fold: Callable[[str], str]) -> int:
    """Where in the text as it is folded `old` begins in folded `text`; -1 where it does not.

    Each fold is of single characters, so that folded pieces add up to the folded text: whole ones
    are passed over, and of the last one the characters.
    """
    wanted = fold(old)
    left = fold(text).find(wanted) if wanted else -1
    if left < 0:
        return -1
    at = 0
    for size in (_PIECE_CHARS, 1):
        while (length := len(fold(text[at : at + size]))) <= left:
            left -= length
            at += size
    return at


def _other_whitespace(text: str, at: int, old: str) -> str:
    """Which whitespace differs first, where what `old` has besides begins at a place in the text.

    Only there: to compare at each place where it might begin takes the square of the time.
    """
    there, here = (_described(run) for run in _unlike_runs(text, at, old))
    return f": the file has {there} where the string has {here}"


def _unlike_runs(text: str, at: int, old: str) -> tuple[str, str]:
    """The first two runs of whitespace that differ, in the text from `at` on and in `old`."""
    here = _run(old, 0)
    before = text[max(0, at - _LEADING_CHARS) : at]
    there = before[len(before.rstrip() if "\n" in here else before.rstrip(_IN_LINE)) :]
    if not there.endswith(here):
        return there, here
    body = old[len(here) :]
    same = len(body[: common_prefix(body, text[at : at + len(body)])].rstrip())
    return _run(text, at + same), _run(body, same)


def _run(text: str, at: int) -> str:
    """The whitespace that begins at a place."""
    return _SPACE.match(text, at)[0]  # type: ignore[index]  # it matches an empty run too


def _described(run: str) -> str:
    """Whitespace in words: `a tab and 2 spaces`."""
    kinds = list(itertools.islice(_SAME.finditer(run), _NAMED_KINDS + 1))
    words = [(_SPACES.get(same[1], f"U+{ord(same[1]):04X}"), len(same[0])) for same in kinds]
    counted = [f"a {word}" if count == 1 else f"{count} {word}s" for word, count in words]
    if len(kinds) > _NAMED_KINDS:
        counted[_NAMED_KINDS:] = ["more"]
    return " and ".join(counted) or "nothing"
