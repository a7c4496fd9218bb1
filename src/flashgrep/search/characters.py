r"""Hides from RE2 the bytes that it takes for characters and that are none.

The definition says that a byte which is not valid UTF-8 matches no character. RE2 is more generous
where it would have to look twice: for `.`, `[^a]`, `\W` and the like it takes

    ED A0..BF xx        surrogates, which only UTF-16 has
    E0 80..9F xx        U+0000 to U+07FF in three bytes instead of one or two
    F0 80..8F xx xx     U+0000 to U+FFFF in four bytes instead of less
    F4 90..BF xx xx     numbers above U+10FFFF

So the first byte of each of these is replaced by FF, which nothing matches, and what follows it
are bytes that match nothing by themselves. Nothing moves, and what is shown stays the same: each
of the bytes is a U+FFFD either way.

Text rarely holds one of the four first bytes, and that is seen at memory speed (48 µs a megabyte).
Where it does, in Hangul, Thai or emoji, the first few are looked at; where they are many, decoding
it strictly tells whether all is well, and what cannot be decoded is searched. A pattern that names
all its characters, such as a word, is not affected by any of this.
"""

from __future__ import annotations

import mmap
import tempfile
from functools import cache, lru_cache
from typing import Any, Final

from re2 import _re2

from flashgrep import limits
from flashgrep.search.pattern import UNANCHORED, PatternSpec
from flashgrep.search.syntax import (
    Alt,
    Cat,
    Node,
    NotUnderstood,
    Repeat,
    Unknown,
    parse,
)

HIDDEN: Final = 0xFF
_SEQUENCES: Final = ((0xED, 0xA0, 0xBF), (0xE0, 0x80, 0x9F), (0xF0, 0x80, 0x8F), (0xF4, 0x90, 0xBF))
_FEW: Final = 32  # first bytes looked at one by one
_STEP: Final = 1 << 20  # bytes looked at in one go, so that memory stays bounded


@lru_cache(limits.REMEMBERED_PATTERNS)
def needs_care(spec: PatternSpec) -> bool:
    """Whether a pattern can match what is no character: it has a part that may be many things."""
    try:
        return _is_open(parse(spec.source, spec.case_insensitive))
    except NotUnderstood:
        return True


def _is_open(node: Node) -> bool:
    if isinstance(node, Cat | Alt):
        return any(map(_is_open, node.parts))
    if isinstance(node, Repeat):
        return _is_open(node.part)
    return isinstance(node, Unknown)


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
    """Whether a first byte stands before one of those; None where it is too common to go on so."""
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
