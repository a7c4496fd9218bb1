r"""Files as text: which bytes are text, what is shown of them, and how edits become bytes.

`text` is what view shows and edits match: no BOM, and one `\r` dropped before each `\n`. A lone
`\r` is a character like any other. Bytes that are not valid UTF-8 appear in `text` as the
surrogates U+DC80–U+DCFF (one per byte), so nothing is lost; `display` turns them into U+FFFD for
answers. No argument can hold a surrogate, so a U+FFFD in an edit's string matches a real U+FFFD and
never a broken byte: for an agent that copied one from an answer, the refusal says so.

An edit is a list of spans of `text`. Bytes outside the spans are copied, never decoded and
encoded again as a whole; decoding and encoding a piece is the identity for every encoding here:

    utf-8                 surrogateescape covers what is invalid: legacy bytes, broken sequences
    utf-16-le, utf-16-be  with a BOM; lone surrogates pass; an odd last byte is kept, not shown
    utf-32-le, utf-32-be  with a BOM; one with impossible characters is read as UTF-16 or bytes
"""

from __future__ import annotations

import codecs
import re
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from flashgrep import limits

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
    def _carriage_returns(self) -> array[int]:
        """Positions in `text` of the line ends that are `\\r\\n` in the file."""
        ends = (found.start() for found in re.finditer("\r\n", self.raw))
        return array("Q", (end - dropped for dropped, end in enumerate(ends)))

    @cached_property
    def _line_ends(self) -> array[int]:
        """Positions in `text` of all line ends."""
        return array("Q", (found.start() for found in re.finditer("\n", self.text)))

    @cached_property
    def _newline(self) -> str | None:
        """The file's line end; None where it has both kinds, empty where it has none."""
        dropped = self.raw.count("\r\n")
        total = self.text.count("\n")
        if not total:
            return ""
        return {0: "\n", total: "\r\n"}.get(dropped)

    def splice(self, edits: Iterable[Edit]) -> bytes:
        """The file's bytes with each span replaced; everything outside the spans is identical."""
        return b"".join(self.pieces(sorted(edits)))

    def pieces(self, edits: Iterable[Edit]) -> Iterator[bytes]:
        """The same piece by piece, for spans that come from the left: nothing is kept of them.

        What a replacement has in common with the text it replaces, at its beginning and end, is
        not touched either: in a file of mixed line ends those lines keep theirs.
        """
        yield self.mark
        at = 0
        for edit in edits:
            start, end, replacement = self._trimmed(*edit)
            first, last = self._raw_position(start), self._raw_position(end)
            if first < at:
                raise ValueError("spans overlap")
            yield self._encode(self.raw[at:first])
            yield self._encode(self._with_line_ends(start, end, replacement))
            at = last
        yield self._encode(self.raw[at:])
        yield self.tail

    def raw_strings(self, old: str, new: str) -> tuple[str, str] | None:
        """What `replaced` takes to do what `pieces` does for every occurrence of a string.

        None where that cannot be said so: line ends are mixed, and the strings have some; or `old`
        ends in a `\\r`, which is found in a line end too.
        """
        if self._newline == "":
            return old, new
        if "\r\n" in self.raw and old.endswith("\r"):
            return None
        if self._newline is None:
            return None if "\n" in old + new else (old, new)
        old, new = (each.replace("\n", self._newline) for each in (old, normalised(new)))
        return old, new

    def growth(self, old: str, new: str) -> int:
        """By how many bytes the file grows with each occurrence that `replaced` replaces."""
        return len(self._encode(new)) - len(self._encode(old))

    def replaced(self, old: str, new: str) -> bytes:
        """The file's bytes with all of a raw string replaced, at the speed of the interpreter."""
        return self.mark + self._encode(self.raw.replace(old, new)) + self.tail

    def _trimmed(self, start: int, end: int, replacement: str) -> Edit:
        if self._newline == "":
            return start, end, replacement  # no line end to follow: the caller's own stand
        old, new = self.text[start:end], normalised(replacement)
        head = common_prefix(old, new)
        tail = common_prefix(old[head:][::-1], new[head:][::-1])
        return start + head, end - tail, new[head : len(new) - tail]

    def _raw_position(self, position: int) -> int:
        """Where a position of `text` is in `raw`; a line end is one unit, its `\\r` included."""
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
        # By tables: a line may be as long as the file, and hold as many spans.
        ends, returns = self._line_ends, self._carriage_returns
        following = bisect_left(ends, end)
        nearest = following if following < len(ends) else bisect_left(ends, start) - 1
        if nearest < 0:
            return "\n"
        at = bisect_left(returns, ends[nearest])
        return "\r\n" if at < len(returns) and returns[at] == ends[nearest] else "\n"

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


# ── invalid UTF-8 ────────────────────────────────────────────────────────────────────────────────
# Bytes that are not valid UTF-8: which they are, and what they may have been meant to be.
#
# They are in a text the surrogates U+DC80–U+DCFF, one a byte (see `text`). Most such files
# were written in Windows-1252, which holds all of Latin-1 that is ever seen in text.


ODD: Final = re.compile("[\udc80-\udcff]")
_ENCODING: Final = "windows-1252"
REMEDY: Final = (
    "no edit can match them: edit text beside them, or convert the file first (iconv -f "
    "WINDOWS-1252 -t UTF-8)"
)


def described(character: str) -> str:
    """A byte by its number, and the character it is in Windows-1252."""
    byte = ord(character) - 0xDC00
    meant = _meant(character)
    is_seen = meant.isprintable() and meant != "\ufffd"
    return f"0x{byte:02X}" + (f" ({meant} in Windows-1252)" if is_seen else "")


def as_legacy(text: str) -> str:
    """The text if it had been written in Windows-1252 where it is not UTF-8."""
    return text.translate(_MEANT)


def _meant(character: str) -> str:
    return bytes([ord(character) - 0xDC00]).decode(_ENCODING, "replace")


REPLACED: Final = dict.fromkeys(range(0xDC80, 0xDD00), "\ufffd")
"""For `translate`: a text as answers show it."""
_MEANT: Final = {code: _meant(chr(code)) for code in range(0xDC80, 0xDD00)}


class OddLines:
    """Counts the lines of an answer that hold invalid bytes, which are shown as U+FFFD."""

    def __init__(self) -> None:
        self._first = ""
        self._lines = 0

    def see(self, number: int, text: str) -> None:
        """Look at a line that is shown."""
        found = ODD.search(text)
        if found is None:
            return
        self._first = self._first or f"byte {described(found[0])} at line {number}"
        self._lines += 1

    def note(self) -> str:
        """One line for the end of the answer; empty where all is text."""
        if not self._lines:
            return ""
        more = self._lines - 1
        others = f" and bytes of {more:,} more line{'s' if more > 1 else ''}" if more else ""
        return f"[Not valid UTF-8: {self._first}{others}. They are shown as \ufffd, and {REMEDY}.]"


# ── kinds of bytes ───────────────────────────────────────────────────────────────────────────────
# What kind of bytes a file holds, by the MIME sniffing standard on its first 512 bytes.
#
# The answers are those of Go's `http.DetectContentType`, its oddities included: a text that begins
# with `BM` is a bitmap, and one with `LP` at byte 34 is a font. The one addition is UTF-32 with a
# big-endian BOM, which the standard takes for noise and we take for text.


HTML: Final = "text/html; charset=utf-8"
PLAIN: Final = "text/plain; charset=utf-8"
UNKNOWN: Final = "application/octet-stream"

_TAGS = (
    b"<!DOCTYPE HTML,<HTML,<HEAD,<SCRIPT,<IFRAME,<H1,<DIV,<FONT,<TABLE,<A,<STYLE,<TITLE,<B,<BODY,"
    b"<BR,<P,<!--"
).split(b",")
_SPACE = rb"[\t\n\x0c\r ]*"
_TAG = re.compile(
    _SPACE + rb"(?:" + rb"|".join(map(re.escape, _TAGS)) + rb")[ >]", re.IGNORECASE | re.DOTALL
)
_XML = re.compile(_SPACE + rb"<\?xml")

# (pattern at the first byte, type), in the standard's order up to the one rule that is no regex
_BEFORE_MP4 = (
    (rb"%PDF-", "application/pdf"),
    (rb"%!PS-Adobe-", "application/postscript"),
    (rb"\xfe\xff..", "text/plain; charset=utf-16be"),
    (rb"\xff\xfe..", "text/plain; charset=utf-16le"),
    (rb"\xef\xbb\xbf.", PLAIN),
    (rb"\x00\x00[\x01\x02]\x00", "image/x-icon"),
    (rb"BM", "image/bmp"),
    (rb"GIF8[79]a", "image/gif"),
    (rb"RIFF....WEBPVP", "image/webp"),
    (rb"\x89PNG\r\n\x1a\n", "image/png"),
    (rb"\xff\xd8\xff", "image/jpeg"),
    (rb"FORM....AIFF", "audio/aiff"),
    (rb"ID3", "audio/mpeg"),
    (rb"OggS\x00", "application/ogg"),
    (rb"MThd\x00\x00\x00\x06", "audio/midi"),
    (rb"RIFF....AVI ", "video/avi"),
    (rb"RIFF....WAVE", "audio/wave"),
)
_AFTER_MP4 = (
    (rb"\x1a\x45\xdf\xa3", "video/webm"),
    (rb".{34}LP", "application/vnd.ms-fontobject"),
    (rb"\x00\x01\x00\x00", "font/ttf"),
    (rb"OTTO", "font/otf"),
    (rb"ttcf", "font/collection"),
    (rb"wOFF", "font/woff"),
    (rb"wOF2", "font/woff2"),
    (rb"\x1f\x8b\x08", "application/x-gzip"),
    (rb"PK\x03\x04", "application/zip"),
    (rb"Rar!\x1a\x07(?:\x00|\x01\x00)", "application/x-rar-compressed"),
    (rb"\x00asm", "application/wasm"),
)

_BINARY = bytes(b for b in range(0x20) if b not in b"\t\n\x0c\r\x1b")
_TEXT = bytes(b for b in range(0x100) if b not in _BINARY)
_FIRST = frozenset(b"%\xfe\xff\xef\x00BGR\x89FIOMR\x1atw\x1fP")
_TEXT_TYPES = frozenset(
    f"application/{name}" for name in ("json", "xml", "javascript", "x-yaml", "toml")
)
_IMAGES = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))


def _table(rows: tuple[tuple[bytes, str], ...]) -> tuple[re.Pattern[bytes], tuple[str, ...]]:
    joined = b"|".join(b"(" + pattern + b")" for pattern, _ in rows)
    return re.compile(joined, re.DOTALL), tuple(kind for _, kind in rows)


_EARLY, _LATE = _table(_BEFORE_MP4), _table(_AFTER_MP4)


def content_type(head: bytes) -> str:
    """The MIME type of a file that begins with `head`."""
    head = head[: limits.SNIFF_BYTES]
    if _TAG.match(head):
        return HTML
    if _XML.match(head):
        return "text/xml; charset=utf-8"
    signed = _look_up(_EARLY, head) or _mp4(head) or _look_up(_LATE, head)
    if signed:
        return signed
    return PLAIN if not head.translate(None, _TEXT) else UNKNOWN


def is_text(head: bytes) -> bool:
    """Whether a file that begins with `head` is text; an empty one is."""
    head = head[: limits.SNIFF_BYTES]
    if _is_unsigned(head):  # nearly every source file: no signature can apply
        return not head.translate(None, _TEXT)
    if head.startswith(b"\x00\x00\xfe\xff"):
        return True
    kind = content_type(head).partition(";")[0]
    return kind.startswith("text/") or kind in _TEXT_TYPES


def image_type(head: bytes, name: str) -> str | None:
    """The MIME type of an image that clients can show: by magic bytes, SVG by its extension."""
    kind = content_type(head)
    if kind in _IMAGES:
        return kind
    return "image/svg+xml" if name.lower().endswith(".svg") else None


def _is_unsigned(head: bytes) -> bool:
    """Whether no signature can match: `<` leads only to text types that may hold any byte."""
    return bool(
        head
        and head[0] not in _FIRST
        and head[34:36] != b"LP"
        and head[4:8] != b"ftyp"
        and not head.lstrip(b"\t\n\x0c\r ").startswith(b"<")
    )


def _look_up(table: tuple[re.Pattern[bytes], tuple[str, ...]], head: bytes) -> str | None:
    match = table[0].match(head)
    return table[1][match.lastindex - 1] if match and match.lastindex else None


def _mp4(head: bytes) -> str | None:
    """An ftyp box whose brands name mp4: a rule with a length in it, so not a pattern."""
    size = int.from_bytes(head[:4], "big")
    if len(head) < 12 or len(head) < size or size % 4 or head[4:8] != b"ftyp":
        return None
    brands = (at for at in range(8, size, 4) if at != 12)
    return "video/mp4" if any(head[at : at + 3] == b"mp4" for at in brands) else None
