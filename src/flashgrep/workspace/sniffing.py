"""What kind of bytes a file holds, by the MIME sniffing standard on its first 512 bytes.

The answers are those of Go's `http.DetectContentType`, its oddities included: a text that begins
with `BM` is a bitmap, and one with `LP` at byte 34 is a font. The one addition is UTF-32 with a
big-endian BOM, which the standard takes for noise and we take for text.
"""

from __future__ import annotations

import re
from typing import Final

from flashgrep import limits

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

# (pattern at the first byte, type), in the standard's order up to the one rule that is no pattern
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
    """An ftyp box whose brands name mp4: a rule with a length in it, so no pattern."""
    size = int.from_bytes(head[:4], "big")
    if len(head) < 12 or len(head) < size or size % 4 or head[4:8] != b"ftyp":
        return None
    brands = (at for at in range(8, size, 4) if at != 12)
    return "video/mp4" if any(head[at : at + 3] == b"mp4" for at in brands) else None
