"""Small files read one after the other and matched together: one call into RE2 for a megabyte.

Each file's text ends in `\\n`, so no match reaches from one into the next. What is rare is done
late, for files that match only: telling text from binary data, counting, asking the age.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any, Final

from flashgrep import limits
from flashgrep.search.decode import MARK_BYTES, decoded, hide
from flashgrep.search.match_count import Counter
from flashgrep.search.pattern import bytes_here
from flashgrep.search.result import FoundFile
from flashgrep.workspace.text import byte_order_mark, is_text

BATCH_BYTES: Final = 256 * limits.KIB
"""Small files are matched together once this much is read: one call into RE2, data in cache."""

_NEWLINE = 0x0A

Entry = tuple[str, str, int, int, int, bool]
"""Path of the directory, name, its descriptor, start, end, and whether a mark announced text."""


class FileBatch:
    """A buffer of files waiting to be matched.

    This is the loop's hottest place: 80,000 calls for the Linux tree, so an entry is a bare tuple.
    """

    def __init__(self, counter: Counter, room: int = limits.WINDOW_BYTES) -> None:
        self._counter = counter
        self._buffer = bytearray(room + BATCH_BYTES)
        self._view = memoryview(self._buffer)
        self._entries: list[Entry] = []
        self._starts: list[int] = []
        self._fill = 0
        self._full = min(BATCH_BYTES, bytes_here(counter.spec))

    @property
    def is_full(self) -> bool:
        return self._fill >= self._full

    def read(self, fd: int, prefix: str, name: str, directory: int) -> bool:
        """Take an open file in; False where it is too large to be one of many."""
        start, buffer = self._fill, self._buffer
        count = os.readv(fd, (self._view[start:],))
        end = start + count
        if end >= len(buffer):
            return False
        announced = False
        if count:
            if buffer[start] in MARK_BYTES:
                end, announced = self._without_mark(start, end)
                if end >= len(buffer):
                    return False
            if end > start and buffer[end - 1] != _NEWLINE:
                buffer[end] = _NEWLINE
                end += 1
        self._entries.append((prefix, name, directory, start, end, announced))
        self._starts.append(start)
        self._fill = end
        return True

    def _without_mark(self, start: int, end: int) -> tuple[int, bool]:
        """Drop a byte order mark, decoding what it announces: the new end, and if there was one."""
        data = bytes(self._view[start:end])
        if not byte_order_mark(data)[0]:
            return end, False
        if not is_text(data[: limits.SNIFF_BYTES]):  # a mark and an odd byte: too short to announce
            return start, False
        text = decoded(data)
        end = start + len(text)
        if end < len(self._buffer):
            self._view[start:end] = text
        return end, True

    def flush(self) -> list[FoundFile]:
        """Match the files read so far, and start over."""
        found: list[FoundFile] = []
        if self._fill:
            if self._counter.needs_care:
                hide(self._buffer, 0, self._fill)
            if self._buffer.find(b"\r", 0, self._fill) < 0:
                self._match_together(found)
            else:
                self._match_each(found)
        self.clear()
        return found

    def clear(self) -> None:
        """Drop the files read so far."""
        self._entries.clear()
        self._starts.clear()
        self._fill = 0

    def _match_together(self, found: list[FoundFile]) -> None:
        for at, value in matched(self._counter, self._buffer, self._starts, self._fill):
            self._take(found, self._entries[at], value)

    def _match_each(self, found: list[FoundFile]) -> None:
        """Files with carriage returns are matched as copies without them, each on its own."""
        buffer = self._buffer
        for entry in self._entries:
            start, end = entry[3], entry[4]
            if buffer.find(b"\r", start, end) < 0:
                value = self._counter.in_lines(buffer, start, end)
            else:
                text = bytes(self._view[start:end]).replace(b"\r\n", b"\n")
                value = self._counter.in_lines(text, 0, len(text))
            self._take(found, entry, value)

    def _take(self, found: list[FoundFile], entry: Entry, value: int) -> None:
        prefix, name, directory, start, end, announced = entry
        if not value:
            return
        head = self._view[start : min(end, start + limits.SNIFF_BYTES)]
        if announced or is_text(bytes(head)):
            when = modified(name, directory) if self._counter.counting == "files" else 0
            found.append(FoundFile(prefix + name, value, when))


def matched(
    counter: Counter, buffer: Any, starts: Sequence[int], end: int
) -> Iterator[tuple[int, int]]:
    """Which of some texts match: its number in the row, and its count.

    They follow each other, each of whole lines, from `starts` up to `end`.
    """
    total, dense = 0, counter.dense()
    for at, count in (
        _one_by_one(counter, buffer, starts, end)
        if dense is None
        else enumerate(dense.counts(buffer, 0, end, starts))
    ):
        if count:
            total += count
            yield at, count
    counter.weigh(total, end)


def _one_by_one(
    counter: Counter, buffer: Any, starts: Sequence[int], end: int
) -> Iterator[tuple[int, int]]:
    at = 0
    find, in_lines, only_files = counter.find, counter.in_lines, counter.counting == "files"
    while (first := find(buffer, at, end)[0]) >= 0:
        number = bisect_right(starts, first)
        at = starts[number] if number < len(starts) else end
        yield number - 1, 1 if only_files else in_lines(buffer, starts[number - 1], at)


def modified(name: str, directory: int) -> int:
    """When a file was last changed, in nanoseconds; 0 if it has just gone."""
    try:
        return os.stat(name, dir_fd=directory).st_mtime_ns
    except OSError:
        return 0
