"""A part of a file as whole lines, for answers that are JSON: where it ends, and why.

Lines are numbered from 1 as everywhere; a window is inclusive and its end may lie past the file.
The whole file is read whatever the window is: the answer tells how many lines there are, and a
hash of all bytes is what a later write can be made to depend on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from flashgrep import limits
from flashgrep.errors import InvalidParams, TooLarge
from flashgrep.settings import size_text
from flashgrep.tools.dispatch.spec import json_text
from flashgrep.tools.dispatch.toolbox import Call
from flashgrep.tools.format.numbered import LineStream
from flashgrep.tools.format.source import Source
from flashgrep.tools.mounts.files import Files
from flashgrep.workspace import text
from flashgrep.workspace.scope import ResolvedPath


@dataclass(frozen=True)
class Window:
    """The lines that are asked for; `last` None is the end of the file."""

    first: int = 1
    last: int | None = None
    is_given: bool = True
    """Whether the caller named the first line: in an empty file there is none to name."""

    def __post_init__(self) -> None:
        if self.last is not None and self.first > self.last:
            raise InvalidParams(
                f"start_line {self.first} lies after end_line {self.last}; "
                "lines are counted from 1 and both ends belong to the range"
            )


@dataclass(frozen=True)
class Slice:
    """What is given of a file."""

    first: int
    lines: list[str]
    total: int
    is_cut: bool
    """Whether a bound ended it before the window did."""
    file_hash: str

    @property
    def last(self) -> int:
        return self.first + len(self.lines) - 1

    @property
    def content(self) -> str:
        return "\n".join(self.lines)

    @property
    def following(self) -> int | None:
        """The line to go on with, where some of the window is missing."""
        return self.last + 1 if self.is_cut else None


class SliceBudget:
    """What a slice may hold: the caller's own bounds, and the answer's budget as JSON.

    A caller's bound never keeps the first line out: a slice of no lines could not be continued.
    The budget does, by a refusal that names it.
    """

    def __init__(
        self,
        call: Call,
        lines: int | None = None,
        size: int | None = None,
        tokens: int | None = None,
        overhead: int = 0,
    ) -> None:
        self._lines = lines
        self._bytes = size
        self._chars = None if tokens is None else tokens * limits.TOKEN_CHARS
        chars = call.output_chars
        self._budget = max(chars - limits.FOOTER_CHARS - overhead, chars // 2) if chars else None

    def take(self, line: str, is_first: bool, number: int) -> bool:
        """Take a line if it fits."""
        joint = 0 if is_first else 1
        if self._budget is not None:
            cost = len(json_text(line)) - 2 + 2 * joint
            if cost > self._budget:
                if is_first:
                    raise _too_long(number, line)
                return False
            self._budget -= cost
        fits = self._spend(line, joint)
        return fits or is_first

    def _spend(self, line: str, joint: int) -> bool:
        fits = True
        if self._lines is not None:
            self._lines -= 1
            fits = self._lines >= 0
        if self._bytes is not None:
            self._bytes -= len(line.encode("utf-8")) + joint
            fits = fits and self._bytes >= 0
        if self._chars is not None:
            self._chars -= len(line) + joint
            fits = fits and self._chars >= 0
        return fits


def _too_long(number: int, line: str) -> TooLarge:
    return TooLarge(
        f"Line {number} alone has {len(line):,} characters, more than one answer may hold "
        f"(--max-output-chars). Read it in parts with read (offset {number} and column)."
    )


def read_slice(call: Call, place: ResolvedPath, window: Window, room: SliceBudget) -> Slice:
    """Read the lines of a window; the caller has read the file then."""
    with Files(call).read(place) as source:
        _require_text(source)
        lines, total, is_cut = _collected(source.text_chunks(), window, room)
        if not lines and (total or window.is_given):
            raise InvalidParams(
                f"start_line {window.first} is past the end of {place.shown}, which has "
                f"{total:,} line{'' if total == 1 else 's'}"
            )
        source.was_shown()
        return Slice(
            first=window.first, lines=lines, total=total, is_cut=is_cut, file_hash=source.memory()
        )


def _require_text(source: Source) -> None:
    if not text.is_text(source.head):
        raise InvalidParams(
            f"{source.place.shown} is a binary file ({size_text(source.size)}) and has no lines"
        )
    source.require_size(source.place.shown)


def _collected(
    chunks: Iterable[str], window: Window, room: SliceBudget
) -> tuple[list[str], int, bool]:
    counted = _CountedLines(chunks)
    taken: list[str] = []
    is_cut = False
    for line in LineStream(counted, window.first):
        if not room.take(line.text, not taken, line.number):
            is_cut = True
            break
        taken.append(line.text)
        if line.number == window.last:
            break
    return taken, counted.total(), is_cut


class _CountedLines:
    """Text on its way, its lines counted; the rest of it is counted without being looked at."""

    def __init__(self, chunks: Iterable[str]) -> None:
        self._chunks = iter(chunks)
        self._ends = 0
        self._is_open = False

    def __iter__(self) -> Iterator[str]:
        for chunk in self._chunks:
            self._ends += chunk.count("\n")
            self._is_open = not chunk.endswith("\n")
            yield chunk

    def total(self) -> int:
        """Lines in all, once the rest has passed."""
        for _ in self:
            pass
        return self._ends + self._is_open
