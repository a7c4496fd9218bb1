"""Lines over 2,000 characters, cut so that one minified line does not fill an answer.

The line may be a gigabyte long: only what is shown is decoded at once, the rest is counted in
pieces.
"""

from __future__ import annotations

import codecs
from typing import Any

from flashgrep import limits

_PIECE = 1 << 20
_WIDEST = 4  # bytes of the widest UTF-8 character


def context_line(buffer: Any, start: int, stop: int) -> str:
    """A line as view shows it: its first 2,000 characters."""
    most = limits.SHOWN_LINE_CHARS
    if stop - start <= most:
        return bytes(buffer[start:stop]).decode("utf-8", "replace")
    total = count_characters(buffer, start, stop)
    if total <= most:
        return bytes(buffer[start:stop]).decode("utf-8", "replace")
    head = bytes(buffer[start : start + (most + 1) * _WIDEST]).decode("utf-8", "replace")[:most]
    return f"{head}... [truncated, {total} chars total]"


def match_line(buffer: Any, start: int, stop: int, span: tuple[int, int]) -> str:
    """A matching line: if it is long, a window around its first match, with the column."""
    total = count_characters(buffer, start, stop)
    if total <= limits.SHOWN_LINE_CHARS:
        return bytes(buffer[start:stop]).decode("utf-8", "replace")
    first, last = span if span[0] >= 0 else (start, start)
    window = limits.MATCH_WINDOW_CHARS
    before = _tail(buffer, start, first, window)
    match = _head(buffer, first, last, window)
    after = _head(buffer, last, stop, window)
    column = count_characters(buffer, start, first) + 1
    return (
        ("..." if len(before) < column - 1 else "")
        + before
        + match
        + ("..." if len(match) < count_characters(buffer, first, last) else "")
        + after
        + ("..." if len(after) < count_characters(buffer, last, stop) else "")
        + f" [column {column}, {total} chars total]"
    )


def count_characters(buffer: Any, start: int, stop: int) -> int:
    """How many characters a stretch of UTF-8 shows, an invalid byte being one U+FFFD."""
    if stop - start <= _PIECE:
        return len(bytes(buffer[start:stop]).decode("utf-8", "replace"))
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    total = 0
    for at in range(start, stop, _PIECE):
        piece = bytes(buffer[at : min(at + _PIECE, stop)])
        total += len(decoder.decode(piece, at + _PIECE >= stop))
    return total


def _head(buffer: Any, start: int, stop: int, most: int) -> str:
    piece = bytes(buffer[start : min(stop, start + most * _WIDEST)])
    return piece.decode("utf-8", "replace")[:most]


def _tail(buffer: Any, start: int, stop: int, most: int) -> str:
    at = max(start, stop - most * _WIDEST)
    while at > start and 0x80 <= buffer[at] < 0xC0:
        at -= 1
    return bytes(buffer[at:stop]).decode("utf-8", "replace")[-most:] if stop > at else ""
