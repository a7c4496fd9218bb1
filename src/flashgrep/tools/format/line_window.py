"""Some lines of a file of any size, for a page that scrolls through it.

Lines are those of `view`: long ones are cut, what is not text is U+FFFD. Unlike `view`, which gives
a model a whole file, a window is small whatever the file's size, so --max-file-size is no bound.

Lines near the start are read without the rest of the file. For later ones the newlines before them
are counted, 1 GB in about 0.3 seconds, and the count of each piece is kept for the most recent
files: the next window of the same file is found at once.
"""

from __future__ import annotations

import codecs
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from flashgrep import limits
from flashgrep.errors import Cancelled, InvalidParams, IOFailure
from flashgrep.tools.format.numbered import LineStream, ShownLine
from flashgrep.tools.format.source import RACY_SECONDS, identity
from flashgrep.workspace.text import byte_order_mark, display

_PIECE: Final = 1 * limits.MIB
_COUNTED_BYTES: Final = 16 * limits.MIB
"""A file up to this size is read to its end to say how many lines it has (some 5 ms)."""
_REMEMBERED: Final = 16
"""Files whose counts are kept: 8 KB for a file of 1 GB."""

Stopped = Callable[[], bool]


@dataclass
class LineWindow:
    """The requested lines, as far as the file has them."""

    first: int
    lines: list[str]
    cut: list[list[int]] = field(default_factory=list)
    """Of lines that are cut: number, and characters in the whole line."""
    total: int | None = None
    """How many lines the file has; None where nobody has counted."""


@dataclass
class _Counts:
    """The number of newlines in each piece of a file, as far as it has been read."""

    ends: list[int] = field(default_factory=list)
    """Newlines up to the end of each piece."""
    is_whole: bool = False
    """Whether the last one is the last of the file."""
    ends_open: bool = False
    """Whether the file ends without a newline."""

    @property
    def total(self) -> int | None:
        if not self.is_whole:
            return None
        return (self.ends[-1] if self.ends else 0) + self.ends_open


class _Remembered:
    """The counts of the most recent files, keyed by what identifies their content."""

    def __init__(self) -> None:
        self._counts: OrderedDict[str, _Counts] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, status: os.stat_result) -> _Counts:
        """What is known of a file; a new one where it may have changed."""
        if time.time() - max(status.st_mtime, status.st_ctime) < RACY_SECONDS:
            return _Counts()
        key = identity(status)
        with self._lock:
            counts = self._counts.setdefault(key, _Counts())
            self._counts.move_to_end(key)
            while len(self._counts) > _REMEMBERED:
                self._counts.popitem(last=False)
            return counts


_known = _Remembered()


def line_window(
    fd: int, status: os.stat_result, head: bytes, first: int, last: int, stopped: Stopped
) -> LineWindow:
    """The lines `first` to `last` of an open text file; empty where it has fewer."""
    mark, encoding = byte_order_mark(head)
    if encoding == "utf-8":
        file = _Pieces(fd, status, stopped)
        start, number = file.before(first)
        skip = len(mark) if start == 0 else 0
        stream = LineStream(_decoded(file.chunks(start), encoding, skip), first - number, _CAP)
    else:
        # Newlines are not bytes there; such files are rarely large.
        pieces = _Pieces(fd, status, stopped).chunks(0)
        start, number = 0, 0
        stream = LineStream(_decoded(pieces, encoding, len(mark)), first, _CAP)
    window = LineWindow(first, [])
    for line in stream:
        window.lines.append(_shown(line))
        if line.length > limits.SHOWN_LINE_CHARS:
            window.cut.append([number + line.number, line.length])
        if number + line.number == last:
            break
    if encoding == "utf-8":
        window.total = file.total()
    elif status.st_size <= _COUNTED_BYTES:
        window.total = stream.total
    if not window.lines and first > 1:
        total = stream.total if window.total is None else window.total
        raise InvalidParams(f"start is {first}, past the end: the file has {total:,} lines")
    return window


_CAP: Final = limits.SHOWN_LINE_CHARS


def _shown(line: ShownLine) -> str:
    return display(line.text[: limits.SHOWN_LINE_CHARS])


def _decoded(pieces: Iterator[bytes], encoding: str, skip: int) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    for piece in pieces:
        text = decoder.decode(piece[skip:])
        skip = 0
        if text:
            yield text
    rest = decoder.decode(b"", final=True)
    if rest:
        yield rest


class _Pieces:
    """A file read in pieces, with their newlines counted."""

    def __init__(self, fd: int, status: os.stat_result, stopped: Stopped) -> None:
        self._fd = fd
        self._size = status.st_size
        self._counts = _known.of(status)
        self._stopped = stopped

    def before(self, first: int) -> tuple[int, int]:
        """The piece that holds the line before the first one wanted: where it begins, and how many
        newlines are before it."""
        wanted = first - 1
        while not self._counts.is_whole and (self._counts.ends or [0])[-1] < wanted:
            self._count_next()
        ends = self._counts.ends
        at = _first_reaching(ends, wanted)
        return at * _PIECE, ends[at - 1] if at else 0

    def _count_next(self) -> None:
        """Count one piece more. Several threads may do so at once, and find the same."""
        counts = self._counts
        ends = counts.ends
        number = len(ends)
        piece = self._read(number * _PIECE, _PIECE)
        if piece:
            end = (ends[number - 1] if number else 0) + _newlines(piece)
            if len(ends) == number:
                ends.append(end)
        if len(piece) < _PIECE:
            counts.ends_open = self._is_open(piece, number)
            counts.is_whole = True

    def _is_open(self, piece: bytes, number: int) -> bool:
        """Whether the file's last byte is not a newline."""
        if not piece and number:
            piece = self._read(number * _PIECE - 1, 1)
        return bool(piece) and not piece.endswith(b"\n")

    def chunks(self, start: int) -> Iterator[bytes]:
        """The bytes from a place on."""
        while piece := self._read(start, limits.CHUNK_BYTES):
            yield piece
            start += len(piece)

    def _read(self, start: int, left: int) -> bytes:
        if self._stopped():
            raise Cancelled("The call was cancelled")
        pieces = []
        while left > 0:
            try:
                piece = os.pread(self._fd, left, start)
            except OSError as error:
                raise IOFailure(f"the file cannot be read: {error.strerror or error}") from None
            if not piece:
                break
            pieces.append(piece)
            start, left = start + len(piece), left - len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def total(self) -> int | None:
        """How many lines there are, where that is known or found out soon."""
        while not self._counts.is_whole and self._size <= _COUNTED_BYTES:
            self._count_next()
        return self._counts.total


def _newlines(piece: bytes) -> int:
    """How many there are; three times as fast as `count` where lines are short."""
    return len(piece) - len(piece.replace(b"\n", b""))


def _first_reaching(ends: list[int], wanted: int) -> int:
    """The first piece up to whose end there are so many newlines."""
    low, high = 0, len(ends)
    while low < high:
        middle = (low + high) // 2
        if ends[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low
