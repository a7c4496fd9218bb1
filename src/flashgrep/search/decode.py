r"""The bytes of a file as RE2 gets them: lines of valid UTF-8.

- UTF-16 and UTF-32 with a byte order mark are decoded; a UTF-8 mark is dropped.
- `\r\n` becomes `\n`, and so does a `\r` at the very end: a line's own end is never text.
- A last line without `\n` gets one, so that a region always holds whole lines.

A large file is read in windows cut at line ends. A line longer than a window is copied to an
unlinked private file and mapped from there: memory stays bounded, and the user's own file is
never mapped, because truncating a mapped file kills the process that reads it.
"""

from __future__ import annotations

import codecs
import mmap
import os
import tempfile
from collections.abc import Callable, Generator, Iterator
from functools import cache
from typing import IO, Any, Final

from re2 import _re2

from flashgrep import limits
from flashgrep.search.pattern import UNANCHORED
from flashgrep.workspace.text import byte_order_mark

Region = tuple[Any, int, int]
"""A buffer and the part of it that holds whole lines."""

Read = Callable[[memoryview], int]
"""Fills a buffer with what comes next; 0 at the end."""

MARK_BYTES: Final = frozenset({0xFF, 0xFE, 0x00, 0xEF})
"""First bytes a byte order mark can begin with."""


def decoded(data: bytes) -> bytes:
    """A whole file as UTF-8 without a byte order mark, line ends as they are."""
    mark, encoding = byte_order_mark(data)
    text = data[len(mark) :] if mark else data
    return (
        text if encoding == "utf-8" else text.decode(encoding, "replace").encode("utf-8", "replace")
    )


def text_of(data: bytes) -> bytes:
    """A whole file's text as UTF-8 with `\\n` line ends; none is added where there was none."""
    text = _without_returns(decoded(data))
    return text[:-1] + b"\n" if text.endswith(b"\r") else text


def lines_of(data: bytes) -> bytes:
    """A whole file's text as whole lines."""
    text = text_of(data)
    return text + b"\n" if text and not text.endswith(b"\n") else text


def windows(fd: int, scratch: bytearray | None = None) -> Iterator[Region]:
    """A file of any size as regions of whole lines, in order, with bounded memory.

    `scratch` is a buffer of two windows to be used again: fresh memory costs more than a read.
    """
    read = _reader(fd)
    buffer = bytearray(2 * limits.WINDOW_BYTES) if scratch is None else scratch
    view = memoryview(buffer)
    carried = 0
    while count := read(view[carried : carried + limits.WINDOW_BYTES]):
        end = carried + count
        cut = buffer.rfind(b"\n", carried, end) + 1
        if cut:
            yield _region(buffer, cut)
        elif end >= limits.WINDOW_BYTES:
            _require_substance(fd)
            rest = yield from _long_line(view[:end], read)
            last = rest.rfind(b"\n") + 1
            if last:
                yield _region(rest, last)
            carried = len(rest) - last
            view[:carried] = rest[last:]
            continue
        carried = end - cut
        view[:carried] = bytes(view[cut:end])
    if carried:
        last_line = bytes(view[:carried]) + b"\n"
        yield _region(last_line, len(last_line))


def _region(buffer: bytes | bytearray, end: int) -> Region:
    if buffer.find(b"\r", 0, end) < 0:
        return buffer, 0, end
    lines = bytes(memoryview(buffer)[:end]).replace(b"\r\n", b"\n")
    return lines, 0, len(lines)


def _without_returns(text: bytes) -> bytes:
    return text.replace(b"\r\n", b"\n") if b"\r" in text else text


class TooSparse(Exception):
    """A line with so large a hole in it that scanning it would take hours."""


def _require_substance(fd: int) -> None:
    status = os.fstat(fd)
    if status.st_size - status.st_blocks * 512 > limits.HOLE_BYTES:
        raise TooSparse


def _long_line(begun: memoryview, read: Read) -> Generator[Region, None, bytes]:
    """Spool one line that fills a window, yield it mapped, and give back what follows it."""
    rest = b""
    piece = bytearray(limits.WINDOW_BYTES)
    with tempfile.TemporaryFile(prefix="flashgrep-") as spool:
        spool.write(begun)
        while count := read(memoryview(piece)):
            cut = piece.find(b"\n", 0, count)
            _write_sparsely(spool, memoryview(piece)[: cut if cut >= 0 else count])
            if cut >= 0:
                rest = bytes(memoryview(piece)[cut + 1 : count])
                break
        length = _end_line(spool)
        with mmap.mmap(spool.fileno(), length, access=mmap.ACCESS_READ) as mapped:
            yield mapped, 0, length
    return rest


def _write_sparsely(spool: IO[bytes], piece: memoryview) -> None:
    """A hole in the file stays a hole: a terabyte of nothing must not fill the disk."""
    if piece and piece[0] == 0 and piece.tobytes() == bytes(len(piece)):
        spool.seek(len(piece), os.SEEK_CUR)
    else:
        spool.write(piece)


def _end_line(spool: IO[bytes]) -> int:
    spool.truncate()  # a hole at the end counts
    spool.seek(-1, os.SEEK_END)
    if spool.read(1) == b"\r":
        spool.seek(-1, os.SEEK_END)
        spool.truncate()
    spool.seek(0, os.SEEK_END)
    spool.write(b"\n")
    spool.flush()
    return spool.tell()


def _reader(fd: int) -> Read:
    """A function that reads the next bytes of a file as UTF-8 text into a buffer."""
    os.lseek(fd, 0, os.SEEK_SET)
    head = os.read(fd, 4)
    mark, encoding = byte_order_mark(head)
    raw = _bounded(fd, len(mark))
    return raw if encoding == "utf-8" else _decoding(raw, encoding)


def _decoding(raw: Read, encoding: str) -> Read:
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    waiting = b""
    data = bytearray(limits.WINDOW_BYTES)

    def read(into: memoryview) -> int:
        nonlocal waiting
        count = -1
        while not waiting and count != 0:
            count = raw(memoryview(data))
            text = decoder.decode(bytes(data[:count]), count == 0)
            waiting = text.encode("utf-8", "replace")
        size = min(len(into), len(waiting))
        into[:size] = waiting[:size]
        waiting = waiting[size:]
        return size

    return read


def _bounded(fd: int, skipped: int) -> Read:
    """Reads up to the size the file has now: one that grows as it is read must end some time.

    Files of /proc say 0 and hold more; they get one window's worth.
    """
    left = (os.fstat(fd).st_size or limits.WINDOW_BYTES) - skipped
    os.lseek(fd, skipped, os.SEEK_SET)

    def read(into: memoryview) -> int:
        nonlocal left
        count = os.readv(fd, (into[:left],)) if left > 0 else 0
        left -= count
        return count

    return read


# ── bytes that RE2 takes for characters ──────────────────────────────────────────────────────────
# Hides from RE2 the bytes that it takes for characters and that are none.
#
# The definition says that a byte which is not valid UTF-8 matches no character. RE2 is more
# generous where it would have to look twice: for `.`, `[^a]`, `\W` and the like it takes
#
#     ED A0..BF xx        surrogates, which only UTF-16 has
#     E0 80..9F xx        U+0000 to U+07FF in three bytes instead of one or two
#     F0 80..8F xx xx     U+0000 to U+FFFF in four bytes instead of less
#     F4 90..BF xx xx     numbers above U+10FFFF
#
# So the first byte of each of these is replaced by FF, which nothing matches, and what follows it
# are bytes that match nothing by themselves. Nothing moves, and what is shown stays the same: each
# of the bytes is a U+FFFD either way.
#
# Text rarely holds one of the four first bytes, and that is seen at memory speed (48 µs a
# megabyte). Where it does, in Hangul, Thai or emoji, the first few are looked at; where they are
# many, decoding it strictly shows whether all is valid, and what cannot be decoded is searched. A
# pattern that names all its characters, such as a word, is not affected by any of this.


HIDDEN: Final = 0xFF
_SEQUENCES: Final = ((0xED, 0xA0, 0xBF), (0xE0, 0x80, 0x9F), (0xF0, 0x80, 0x8F), (0xF4, 0x90, 0xBF))
_FEW: Final = 32  # first bytes looked at one by one
_STEP: Final = 1 << 20  # bytes looked at in one go, so that memory stays bounded


def searchable(buffer: Any, start: int, end: int) -> Any:
    """A buffer for RE2 with the same bytes in that part, but for those that are hidden.

    It is the same one where there is nothing to hide; a mapped one is copied to a file, since it
    may be larger than memory.
    """
    if not _holds_sequences(buffer, start, end):
        return buffer
    if isinstance(buffer, mmap.mmap):
        return _mapped_copy(buffer, end)
    copy = bytearray(memoryview(buffer)[:end])
    hide(copy, start, end)
    return copy


def searchable_text(text: bytes) -> bytes:
    """The same of a whole text."""
    found = searchable(text, 0, len(text))
    return found if found is text else bytes(found)


def hide(buffer: Any, start: int, end: int) -> None:
    """Hide them in a buffer of ours."""
    for at in range(start, end, _STEP):
        stop = min(at + _STEP + 1, end)
        if _holds_sequences(buffer, at, stop):
            _hide_all(buffer, at, stop)


def _holds_sequences(buffer: Any, start: int, end: int) -> bool:
    is_certain = True
    for lead, low, high in _SEQUENCES:
        verdict = _holds_one(buffer, start, end, bytes((lead,)), low, high)
        if verdict:
            return True
        is_certain &= verdict is not None
    return not is_certain and _holds_any(buffer, start, end)


def _holds_one(buffer: Any, start: int, end: int, lead: bytes, low: int, high: int) -> bool | None:
    """Whether a first byte precedes one of those; None where it is too common to say."""
    at = start - 1
    for _ in range(_FEW):
        at = buffer.find(lead, at + 1, end)
        if at < 0 or at + 1 >= end:
            return False
        if low <= buffer[at + 1] <= high:
            return True
    return None


def _holds_any(buffer: Any, start: int, end: int) -> bool:
    for at in range(start, end, _STEP):
        stop = min(at + _STEP + 1, end)  # a sequence may begin with the last byte of a step
        if not _is_valid(buffer, at, stop):
            found: int = _sequences().Match(UNANCHORED, buffer, at, stop)[0][0]
            if found >= 0:
                return True
    return False


def _is_valid(buffer: Any, start: int, end: int) -> bool:
    """Whether a stretch is UTF-8 for certain; where it cuts a character, that is not."""
    try:
        bytes(memoryview(buffer)[start:end]).decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


@cache
def _sequences() -> Any:
    options = _re2.RE2.Options()
    options.encoding = _re2.RE2.Options.Encoding.LATIN1
    options.never_capture = True
    ranges = "|".join(rf"\x{lead:02x}[\x{low:02x}-\x{high:02x}]" for lead, low, high in _SEQUENCES)
    return _re2.RE2(ranges.encode("ascii"), options)


def _hide_all(buffer: Any, start: int, end: int) -> None:
    import numpy as np  # only here: a process that searches is small

    octets = np.frombuffer(buffer, np.uint8, end - start, start)
    leads, following = octets[:-1], octets[1:]
    for lead, low, high in _SEQUENCES:
        leads[(leads == lead) & (following >= low) & (following <= high)] = HIDDEN


def _mapped_copy(buffer: mmap.mmap, end: int) -> mmap.mmap:
    with tempfile.TemporaryFile(prefix="flashgrep-") as spool:
        for at in range(0, end, _STEP):
            spool.write(buffer[at : min(at + _STEP, end)])
        spool.flush()
        copy = mmap.mmap(spool.fileno(), end)
    hide(copy, 0, end)
    return copy
