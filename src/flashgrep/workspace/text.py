r"""A file as text without loss: what is shown, and how an edit of it becomes an edit of bytes.

`text` is what view shows and edits match: no BOM, and one `\r` dropped before each `\n`. A lone
`\r` is a character like any other. Bytes that are no valid UTF-8 stand in `text` as the
surrogates U+DC80–U+DCFF (one a byte), so nothing is lost; `display` turns them into U+FFFD for
answers. No argument can hold a surrogate, so a U+FFFD in an edit's string matches a real U+FFFD
and never a broken byte: an agent that copied one from an answer is told so instead.

An edit is a list of spans of `text`. Bytes outside the spans are copied, never decoded and
encoded again as a whole; decoding and encoding a piece is the identity for every encoding here:

    utf-8                 surrogateescape covers what is invalid: legacy bytes, broken sequences
    utf-16-le, utf-16-be  with a BOM; lone surrogates pass; an odd last byte is kept, not shown
    utf-32-le, utf-32-be  with a BOM; one with impossible characters is read as UTF-16 or bytes
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

Edit = tuple[int, int, str]
"""A span of the shown text and what takes its place."""

_BOMS: Final = (  # UTF-32 first: its little-endian BOM begins with UTF-16's
    (codecs.BOM_UTF32_LE, "utf-32-le", 4),
    (codecs.BOM_UTF32_BE, "utf-32-be", 4),
    (codecs.BOM_UTF8, "utf-8", 1),
    (codecs.BOM_UTF16_LE, "utf-16-le", 2),
    (codecs.BOM_UTF16_BE, "utf-16-be", 2),
)
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_LF: Final = re.compile("\r?\n")


def byte_order_mark(head: bytes) -> tuple[bytes, str]:
    """The BOM a file begins with (maybe empty) and the encoding that follows from it."""
    for mark, encoding, _ in _BOMS:
        if head.startswith(mark):
            return mark, encoding
    return b"", "utf-8"


def display(text: str) -> str:
    """The text as answers may hold it: U+FFFD where bytes were invalid, as grep shows them."""
    if not _SURROGATE.search(text):
        return text
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    except UnicodeEncodeError:  # lone surrogates of UTF-16
        return _SURROGATE.sub("\ufffd", text)


def normalised(text: str) -> str:
    r"""A text with line ends as `TextFile.text` has them: `\r\n` becomes `\n`."""
    return text.replace("\r\n", "\n")


@dataclass(frozen=True)
class TextFile:
    """The bytes of a file and its text, tied together."""

    data: bytes
    encoding: str
    mark: bytes
    tail: bytes
    raw: str

    @cached_property
    def text(self) -> str:
        """The text as shown and matched."""
        return normalised(self.raw)

    @property
    def is_valid(self) -> bool:
        """Whether every byte belongs to a character of the encoding."""
        return not self.tail and not _SURROGATE.search(self.raw)

    @cached_property
    def _carriage_returns(self) -> list[int]:
        """Positions in `text` of the line ends that are `\\r\\n` in the file."""
        if "\r\n" not in self.raw:
            return []
        ends = (found.start() for found in re.finditer("\r\n", self.raw))
        return [end - dropped for dropped, end in enumerate(ends)]

    @cached_property
    def _newline(self) -> str | None:
        """The file's line end; None where it has both kinds, empty where it has none."""
        dropped = len(self._carriage_returns)
        total = self.text.count("\n")
        if not total:
            return ""
        return {0: "\n", total: "\r\n"}.get(dropped)

    def splice(self, edits: Sequence[Edit]) -> bytes:
        """The file's bytes with each span replaced; everything outside the spans is identical.

        What a replacement has in common with the text it replaces, at its beginning and end, is
        not touched either: in a file of mixed line ends those lines keep theirs.
        """
        pieces = [self.mark]
        at = 0
        for edit in sorted(edits):
            start, end, replacement = self._trimmed(*edit)
            first, last = self._raw_position(start), self._raw_position(end)
            if first < at:
                raise ValueError("spans overlap")
            pieces.append(self._encode(self.raw[at:first]))
            pieces.append(self._encode(self._with_line_ends(start, end, replacement)))
            at = last
        pieces.append(self._encode(self.raw[at:]))
        pieces.append(self.tail)
        return b"".join(pieces)

    def _trimmed(self, start: int, end: int, replacement: str) -> Edit:
        if self._newline == "":
            return start, end, replacement  # no line end to follow: the caller's own stand
        old, new = self.text[start:end], normalised(replacement)
        head = common_prefix(old, new)
        tail = common_prefix(old[head:][::-1], new[head:][::-1])
        return start + head, end - tail, new[head : len(new) - tail]

    def _raw_position(self, position: int) -> int:
        """Where a position of `text` lies in `raw`; a line end is one unit, its `\\r` included."""
        return position + bisect_left(self._carriage_returns, position)

    def _with_line_ends(self, start: int, end: int, replacement: str) -> str:
        if "\n" not in replacement or self._newline in ("\n", ""):
            return replacement
        if self._newline == "\r\n":
            return replacement.replace("\n", "\r\n")
        return self._mixed(start, end, replacement)

    def _mixed(self, start: int, end: int, replacement: str) -> str:
        """Line ends in turn as in the replaced span, then as the neighbouring line has them."""
        replaced = self.raw[self._raw_position(start) : self._raw_position(end)]
        ends = _LF.findall(replaced)
        neighbour = self._neighbour(start, end)
        lines = replacement.split("\n")
        joined = [lines[0]]
        for at, line in enumerate(lines[1:]):
            joined += (ends[at] if at < len(ends) else neighbour, line)
        return "".join(joined)

    def _neighbour(self, start: int, end: int) -> str:
        following = self.text.find("\n", end)
        position = following if following >= 0 else self.text.rfind("\n", 0, start)
        at = bisect_left(self._carriage_returns, position)
        crlf = self._carriage_returns[at : at + 1] == [position]
        return "\r\n" if crlf else "\n"

    def _encode(self, text: str) -> bytes:
        errors = "surrogateescape" if self.encoding == "utf-8" else "surrogatepass"
        return text.encode(self.encoding, errors)


def decode(data: bytes) -> TextFile:
    """Read bytes as text without loss; every sequence of bytes is some text."""
    for mark, encoding, unit in _BOMS:
        if encoding != "utf-8" and data.startswith(mark):
            decoded = _wide(data, mark, encoding, unit)
            if decoded is not None:
                return decoded
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    raw = data[len(mark) :].decode("utf-8", "surrogateescape")
    return TextFile(data=data, encoding="utf-8", mark=mark, tail=b"", raw=raw)


def _wide(data: bytes, mark: bytes, encoding: str, unit: int) -> TextFile | None:
    end = len(data) - (len(data) - len(mark)) % unit
    try:
        raw = data[len(mark) : end].decode(encoding, "surrogatepass")
    except UnicodeDecodeError:
        return None
    return TextFile(data=data, encoding=encoding, mark=mark, tail=data[end:], raw=raw)


def common_prefix(one: str, other: str) -> int:
    """How many characters two texts share at their beginning, by halving: slices compare in C."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
