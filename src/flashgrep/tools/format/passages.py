"""The best part of a file for a query: which lines, what they belong to, and a few of them shown.

Read from disk when the answer is made, so line numbers are those of the file as it is. A passage is
the stretch of about a screen in which most of the words are together; words among the names that
are defined count double. It begins at the definition around it, if that is near.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from flashgrep import limits
from flashgrep.errors import FlashgrepError
from flashgrep.ranking.question import PIECE_BYTES, RankedFile, RankedQuestion
from flashgrep.ranking.rerank import WordReader
from flashgrep.ranking.words import landmarks
from flashgrep.search.decode import lines_of
from flashgrep.workspace.text import is_text

if TYPE_CHECKING:
    from flashgrep.search.scan.texts import TextSearch
    from flashgrep.workspace.scope import Scope

_PASSAGE_BYTES: Final = 4 * limits.MIB
"""What is read of a file to find its best lines."""

_WINDOW_LINES: Final = 40
_ABOVE_LINES: Final = 40
_MOST_MARKS: Final = 20_000
_SATING: Final = 100
"""A word that is in so many places of a text tells none of them apart."""

Mark = tuple[int, int]
"""A place in the text where something was found, and which of the things looked for it is."""
MarkFinder = Callable[[bytes], list[Mark]]


@dataclass(frozen=True)
class Passage:
    """Lines of a file, from 1 and inclusive."""

    start_line: int
    end_line: int
    symbol: str | None
    preview: str


def read_text(scope: Scope, path: bytes) -> bytes | None:
    """The text of a file of the tree, as far as it is looked at; None where it has none now."""
    return _read(scope, path, 0, _PASSAGE_BYTES)[0]


class RankedTexts:
    """The texts of ranked files for one answer; a file that was read whole is not read again."""

    def __init__(self, scope: Scope, root: bytes) -> None:
        self._scope = scope
        self._root = root.rstrip(b"/") + b"/"
        self._whole: dict[str, bytes | None] = {}

    def piece(self, file: RankedFile) -> bytes | None:
        """The text that a file was ranked for; None where it has none now."""
        path = self._root + os.fsencode(file.path)
        text, is_whole = _read(self._scope, path, file.piece * PIECE_BYTES, PIECE_BYTES)
        if is_whole:
            self._whole[file.path] = text
        return text

    def whole(self, path: str) -> bytes | None:
        """The text of a file, as far as it is looked at; None where it has none now."""
        if path in self._whole:
            return self._whole[path]
        return read_text(self._scope, self._root + os.fsencode(path))


def _read(scope: Scope, path: bytes, start: int, most: int) -> tuple[bytes | None, bool]:
    """At most so many bytes of a file as text, and whether that is all of it."""
    try:
        fd, status = scope.open_regular(scope.follow(path))
    except FlashgrepError:
        return None, False
    try:
        data = os.pread(fd, most, start)
    except OSError:
        return None, False
    finally:
        os.close(fd)
    text = lines_of(data) if is_text(data[: limits.SNIFF_BYTES]) else None
    return text, not start and status.st_size < most


# ── finding ─────────────────────────────────────────────────────────────────────────────────────


def word_finder(question: RankedQuestion) -> MarkFinder:
    """Finds the words of a question, in any form and case, inside longer words too."""
    reader = WordReader(question, question.words)

    def find(text: bytes) -> list[Mark]:
        found: list[Mark] = []
        for start, _, numbers, whole in reader.matches(text, _MOST_MARKS, _SATING):
            found += [(start, number) for number in numbers]
            if whole is not None:
                found.append((start, whole))
        return found

    return find


def pattern_finder(search: TextSearch) -> MarkFinder:
    """Finds the lines a pattern matches; in multiline, the lines on which matches begin."""
    return lambda text: [(start, 0) for start in search.marks(text)]


# ── choosing ────────────────────────────────────────────────────────────────────────────────────


def best_passage(text: bytes, find: MarkFinder, context: int) -> Passage | None:
    """The passage of a text where most is found together; None where nothing is."""
    import numpy as np  # here, not above: a server that answers no query starts without

    marks = find(text)
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n"))
    if not len(ends):
        return None
    defined = list(landmarks(text, 0, len(text)))
    heads = _lines(ends, [place for place, _ in defined])
    if not marks:
        # Ranked for its name alone: its beginning says what it is.
        last = min(len(ends), limits.PASSAGE_LINES)
        return Passage(
            start_line=1, end_line=last, symbol=None, preview=_preview(text, ends, [0], 0)
        )
    found = _found(_lines(ends, [place for place, _ in marks]), [which for _, which in marks])
    weights = _weights(found, set(heads))
    lines = _densest(found, weights)
    first, last, at = _around(lines, weights, heads, len(ends))
    symbol = None if at is None else defined[at][1].decode("utf-8", "replace")
    inside = [line for line in found if first <= line <= last]
    shown = sorted(inside, key=lambda line: (-weights[line], line))[: limits.PREVIEW_LINES]
    return Passage(
        start_line=first + 1,
        end_line=last + 1,
        symbol=symbol,
        preview=_preview(text, ends, sorted(shown), context),
    )


def _lines(ends: Any, places: Sequence[int]) -> list[int]:
    """The 0-based lines of places."""
    import numpy as np

    numbers: list[int] = np.searchsorted(ends, places).tolist()
    return numbers


def _found(lines: Sequence[int], which: Sequence[int]) -> dict[int, set[int]]:
    found: dict[int, set[int]] = {}
    for line, number in zip(lines, which, strict=True):
        found.setdefault(line, set()).add(number)
    return dict(sorted(found.items()))


def _weights(found: dict[int, set[int]], heads: set[int]) -> dict[int, float]:
    """How much each line says: rare words more, and a line that defines something double."""
    counts: dict[int, int] = {}
    for numbers in found.values():
        for number in numbers:
            counts[number] = counts.get(number, 0) + 1
    rarities = {number: 1.0 / (1.0 + count) ** 0.5 for number, count in counts.items()}
    return {
        line: sum(rarities[number] for number in numbers) * (2.0 if line in heads else 1.0)
        for line, numbers in found.items()
    }


def _densest(found: dict[int, set[int]], weights: dict[int, float]) -> list[int]:
    """The lines of the window in which most distinct things, then most of them, are found."""
    lines = list(found)
    best: tuple[float, float, int] = (-1.0, 0.0, 0)
    chosen: list[int] = []
    held: dict[int, int] = {}
    total, low = 0.0, 0
    for high, line in enumerate(lines):
        total += weights[line]
        for number in found[line]:
            held[number] = held.get(number, 0) + 1
        while lines[low] <= line - _WINDOW_LINES:
            total -= weights[lines[low]]
            for number in found[lines[low]]:
                held[number] -= 1
                if not held[number]:
                    del held[number]
            low += 1
        if len(held) < best[0]:
            continue
        rank = (float(len(held)), round(total, 6), -lines[low])
        if rank > best:
            best, chosen = rank, lines[low : high + 1]
    return chosen


def _around(
    lines: list[int], weights: dict[int, float], heads: list[int], total: int
) -> tuple[int, int, int | None]:
    """The passage's first and last line, and which definition it belongs to.

    The line that says most decides: the passage is its definition, or what surrounds it.
    """
    best = max(lines, key=lambda line: (weights[line], -line))
    at = bisect_right(heads, best) - 1
    if at >= 0 and best - heads[at] <= _ABOVE_LINES:
        first = heads[at]
    else:
        first = max(0, lines[0] - 2, heads[at] if at >= 0 else 0, best - _ABOVE_LINES)
    following = heads[at + 1] - 1 if at + 1 < len(heads) else total - 1
    last = min(following, first + limits.PASSAGE_LINES - 1)
    return first, max(last, best), at if at >= 0 else None


# ── showing ─────────────────────────────────────────────────────────────────────────────────────


def _preview(text: bytes, ends: Any, lines: Sequence[int], context: int) -> str:
    """The lines themselves, with their numbers, and `--` where some between are left out."""
    wanted = sorted(
        {
            number
            for line in lines
            for number in range(max(0, line - context), min(len(ends) - 1, line + context) + 1)
        }
    )
    shown: list[str] = []
    for before, number in zip([None, *wanted], wanted, strict=False):
        if context and before is not None and number > before + 1:
            shown.append("--")
        start = int(ends[number - 1]) + 1 if number else 0
        line = text[start : int(ends[number])].decode("utf-8", "replace").strip("\r")
        cut = line[: limits.PREVIEW_CHARS] + ("..." if len(line) > limits.PREVIEW_CHARS else "")
        shown.append(f"{number + 1}: {cut}")
    return "\n".join(shown)
