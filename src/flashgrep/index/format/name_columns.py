"""The paths of a segment's files as arrays, matched against a pattern without an object for each.

Patterns that only the beginning and end of a path decide (`*.c`, `Makefile`, `src/**/*.h`) are
compared byte by byte over all files at once: 470,000 paths take 5 ms. For all others the paths are
lines of one text, which RE2 goes through in one sweep: 30 ms, and 1 µs for each match.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from flashgrep.workspace.globs import GlobShape, LineGlobs

if TYPE_CHECKING:
    from flashgrep.index.format.segment import Mask, Numbers, Segment

_SLASH: Final = ord("/")
_DOT: Final = ord(".")


class NameColumns:
    """The paths of one segment; each column is made on first use."""

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        self._bytes: npt.NDArray[np.uint8] = np.frombuffer(segment.names, np.uint8)
        self._ends = segment.name_ends.astype(np.int64)
        self._starts = np.append(np.zeros(1, np.int64), self._ends[:-1])[: segment.files]

    @cached_property
    def _base_starts(self) -> Numbers:
        """Where the last component of each path begins."""
        slashes = np.flatnonzero(self._bytes == _SLASH)
        if not len(slashes):
            return self._starts
        last = slashes.take(slashes.searchsorted(self._ends) - 1, mode="clip")
        return np.where((last >= self._starts) & (last < self._ends), last + 1, self._starts)

    @cached_property
    def depths(self) -> Numbers:
        """How many directories each path has."""
        slashes = np.flatnonzero(self._bytes == _SLASH)
        found: Numbers = slashes.searchsorted(self._ends) - slashes.searchsorted(self._starts)
        return found

    @cached_property
    def hidden(self) -> Mask:
        """Whose last component begins with a dot."""
        found: Mask = self._bytes[self._base_starts] == _DOT
        return found

    @cached_property
    def directories(self) -> tuple[list[str], Numbers]:
        """Every directory that holds one of the files, and the number of each file's."""
        numbers: dict[str, int] = {}
        known = [
            numbers.setdefault(name[: max(0, name.rfind("/"))], len(numbers))
            for name in self._segment.all_names()
        ]
        return list(numbers), np.array(known, np.int64)

    # ── patterns ────────────────────────────────────────────────────────────────────────────────

    def ending(self, tails: Sequence[str], is_name: bool, first: int, past: int) -> Mask:
        """Which of the files from `first` on end with one of some texts, all ASCII.

        With `is_name`, that is the whole of their last component.
        """
        found = np.zeros(self._segment.files, bool)
        for tail in tails:
            begins = self._ends[first:past] - len(tail)
            least = self._base_starts[first:past] if is_name else self._starts[first:past]
            fits = begins == least if is_name else begins >= least
            files = np.flatnonzero(fits) + first
            for back, letter in enumerate(reversed(tail.encode("ascii")), 1):
                files = files[self._bytes[self._ends[files] - back] == letter]
            found[files] = True
        return found

    def shaped(self, shape: GlobShape, below: str, first: int, past: int) -> Mask:
        """Which of the files below a directory, from `first` on, have a shape.

        They have to be below the shape's own directory.
        """
        found = self.ending(shape.tails, shape.is_name, first, past)
        if not shape.is_deep:
            above = [part for part in (below, shape.directory) if part]
            found &= self.depths == sum(part.count("/") + 1 for part in above)
        return found

    @cached_property
    def _lines(self) -> tuple[bytes, list[int], Numbers]:
        """The paths as lines that end in a slash, the files that are left out, and where each line
        begins, and one past the last."""
        raw, ends = bytes(self._segment.names), [0, *self._ends.tolist()]
        lines = [raw[start:end] for start, end in pairwise(ends)]
        odd = [] if raw.isascii() and b"\n" not in raw else _odd(lines)
        for file in odd:
            lines[file] = b""  # the slash alone: no pattern matches that
        lengths = np.fromiter(map(len, lines), np.int64, len(lines)) + 2
        text = b"/\n".join((*lines, b""))
        return text, odd, np.append(np.zeros(1, np.int64), np.cumsum(lengths))

    @property
    def odd(self) -> list[int]:
        """The files whose names are no lines of text."""
        return self._lines[1]

    def matching(
        self, globs: LineGlobs, first: int, past: int, singly: Callable[[str], bool]
    ) -> Mask:
        """Which of the files from `first` on match; odd names are asked about one by one."""
        text, odd, begins = self._lines
        ends = globs.ends(text, int(begins[first]), int(begins[past]))
        found = np.zeros(self._segment.files, bool)
        found[begins.searchsorted(np.array(ends, np.int64), "right") - 1] = True
        for file in odd:
            found[file] = singly(self._segment.name(file))
        return found


def _odd(names: list[bytes]) -> list[int]:
    """Those of some names that are no lines of text."""
    return [number for number, name in enumerate(names) if b"\n" in name or not _is_text(name)]


def _is_text(name: bytes) -> bool:
    try:
        name.decode()
    except UnicodeDecodeError:
        return False
    return True
