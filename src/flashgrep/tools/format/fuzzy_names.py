"""Ranks paths by a few letters that a person types to find a file.

A path is found if it contains the letters in this order, whatever their case and what is between:
`gsr` finds `tools/get_slice_rows.py`. The best come first:

    1  the name begins with the letters, as a whole word       5  the name has them
    2  the name begins with the letters                        6  the path has them in one piece
    3  the name has them in one piece, at the start of a word  7  the path has them
    4  the name has them in one piece

Within a kind: more letters at the starts of words, then fewer characters between the first and the
last, then the shorter path, then walk order. Spaces in what is typed are ignored.

Every path is checked for each rare letter, which leaves few. Those are matched with possessive
repeats, so that no text takes long, and only the shortest of a kind are compared letter by letter:
78,000 paths take 10 to 50 ms.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from heapq import nsmallest
from typing import Final

_COMPARED: Final = 200
"""Paths of one kind whose letters are looked at one by one: the shortest."""

_COMMON: Final = "etaoinsrlcdpu/._"
"""Characters that most paths have."""

_TYPED_CHARS: Final = 200
"""Letters that count; no path is found by more."""


def ranked(paths: Sequence[str], typed: str, most: int) -> tuple[list[str], int]:
    """The best of some paths, at most so many, and how many are found at all."""
    wanted = "".join(typed.lower().split())[:_TYPED_CHARS]
    if not wanted:
        return list(paths[:most]), len(paths)
    for letter in dict.fromkeys(wanted):
        if not letter.isascii() or (letter in _COMMON and len(wanted) > 1):
            continue  # it may have other forms, or would leave nearly all
        upper = letter.upper()
        paths = [path for path in paths if letter in path or upper in path]
    lowered = _lowered(paths)
    found = list(range(len(lowered)))
    if len(wanted) > 1 or not wanted.isascii():
        has = _letters(wanted)
        found = [at for at, text in enumerate(lowered) if has(text)]
    compared = max(_COMPARED, most)
    chosen: list[int] = []
    for kind in _kinds(lowered, found, wanted):
        shortest = nsmallest(compared, kind, key=lambda at: (len(lowered[at]), at))
        shortest.sort(key=lambda at: _merit(paths[at], lowered[at], wanted, at))
        chosen += shortest[: most - len(chosen)]
        if len(chosen) >= most:
            break
    return [paths[at] for at in chosen], len(found)


def _lowered(paths: Sequence[str]) -> Sequence[str]:
    """All in lower case; at once, for one by one takes ten times as long."""
    joined = "\n".join(paths)
    if joined.isascii() and joined.count("\n") == len(paths) - 1:
        return joined.lower().split("\n")
    return [path.lower() for path in paths]


@lru_cache(_TYPED_CHARS)
def _letters(wanted: str) -> Callable[[str], object]:
    """Whether a text has some letters in this order."""
    parts = (f"[^{re.escape(letter)}]*+{re.escape(letter)}" for letter in wanted)
    return re.compile("".join(parts), re.DOTALL).match


def _kinds(lowered: Sequence[str], found: list[int], wanted: str) -> Iterable[list[int]]:
    """The found paths by kind, the best kind first; each is of the first that it fits."""
    slashed, left = "/" + wanted, found
    if "/" not in wanted:
        first = [at for at in found if _begins_name(lowered[at], wanted, slashed)]
        yield [at for at in first if _ends_word(lowered[at], slashed)]
        yield [at for at in first if not _ends_word(lowered[at], slashed)]
        taken = set(first)
        left = [at for at in left if at not in taken]
        names = {at: lowered[at].rpartition("/")[2] for at in left}
        for fits in (
            _at_word(wanted, names),
            lambda at: wanted in names[at],
            _has_letters(wanted, names),
        ):
            kind = [at for at in left if fits(at)]
            yield kind
            if kind:
                taken = set(kind)
                left = [at for at in left if at not in taken]
    whole = [at for at in left if wanted in lowered[at]]
    yield [at for at in whole if slashed in lowered[at] or lowered[at].startswith(wanted)]
    yield [at for at in whole if slashed not in lowered[at] and not lowered[at].startswith(wanted)]
    yield [at for at in left if wanted not in lowered[at]]


def _begins_name(path: str, wanted: str, slashed: str) -> bool:
    at = path.rfind(slashed)
    return path.find("/", at + 1) < 0 if at >= 0 else path.startswith(wanted) and "/" not in path


def _ends_word(path: str, slashed: str) -> bool:
    """Whether the letters that a name begins with are a word of it."""
    following = path[path.rfind(slashed) + len(slashed) :][:1]
    return not following.isalnum()


def _at_word(wanted: str, names: dict[int, str]) -> Callable[[int], object]:
    search = re.compile(rf"(?<![a-z0-9]){re.escape(wanted)}").search
    return lambda at: search(names[at])


def _has_letters(wanted: str, names: dict[int, str]) -> Callable[[int], object]:
    has = _letters(wanted)
    return lambda at: has(names[at])


def _merit(path: str, lowered: str, wanted: str, at: int) -> tuple[int, int, int, int]:
    """Sorts paths of one kind, the best first."""
    name = lowered.rfind("/") + 1
    begin = name if _letters(wanted)(lowered[name:]) else 0
    exact = lowered.find(wanted, begin)
    if exact >= 0:
        places: Sequence[int] = range(exact, exact + len(wanted))
    else:
        places = _places(path, lowered, wanted, begin)
    starts = sum(_begins_word(path, place) for place in places) if places else 0
    span = places[-1] - places[0] if places else len(lowered)
    return -starts, span, len(lowered), at


def _places(path: str, lowered: str, wanted: str, begin: int) -> list[int]:
    """Where the letters are: each at the next start of a word if the rest still follows."""
    places: list[int] = []
    at = begin
    for number, letter in enumerate(wanted):
        first = lowered.find(letter, at)
        rest = _letters(wanted[number + 1 :]) if number + 1 < len(wanted) else bool
        chosen, place = first, first
        while place >= 0:
            if _begins_word(path, place) and (rest is bool or rest(lowered[place + 1 :])):
                chosen = place
                break
            place = lowered.find(letter, place + 1)
        if chosen < 0:
            break
        places.append(chosen)
        at = chosen + 1
    return places


def _begins_word(path: str, at: int) -> bool:
    """After something that is no letter or digit, or a capital after a small letter."""
    if at == 0 or at >= len(path):
        return at == 0
    before, here = path[at - 1], path[at]
    return not before.isalnum() or (here.isupper() and before.islower())
