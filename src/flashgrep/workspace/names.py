r"""File names on the wire: any bytes in, printable text out, and back again without loss.

A name is bytes. Answers are UTF-8 text, one path a line, so what would break either is escaped:

    \\            a backslash
    \n \t \r      those controls
    \xNN          any other control byte, any byte that is not UTF-8, and each byte of a character
                  that could forge a line or turn text around (U+0085, U+2028, bidi controls …)

`shown_name` writes that form, `parse_name` reads it. A text that `shown_name` could not have
written is a plain name: a person who types `dir\name` for a file so called is understood too.
"""

from __future__ import annotations

import re
from typing import Final

_PLAIN: Final = re.compile(rb"[\x20-\x5b\x5d-\x7e]*")
_UNSAFE: Final = re.compile(
    "[\\x00-\\x1f\\x7f-\\x9f\\\\\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]"
)
_ESCAPE: Final = re.compile(r"\\(?:([\\ntr])|x([0-9a-f]{2}))")
_SHORT: Final = {"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_LONG: Final = {"\\": "\\", "n": "\n", "t": "\t", "r": "\r"}
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")


def shown_name(name: bytes) -> str:
    """The printable form of a name or path."""
    if _PLAIN.fullmatch(name):
        return name.decode("ascii")
    pieces = []
    for character in name.decode("utf-8", "surrogateescape"):
        if "\udc80" <= character <= "\udcff":
            pieces.append(f"\\x{ord(character) - 0xDC00:02x}")
        elif _UNSAFE.fullmatch(character):
            pieces.append(_escaped(character))
        else:
            pieces.append(character)
    return "".join(pieces)


def shown_path(path: str) -> str:
    """The printable form of a path that was read from a directory."""
    return path if _is_plain(path) else shown_name(path.encode("utf-8", "surrogateescape"))


def shown_paths(paths: list[str]) -> list[str]:
    """The printable forms of many: most lists have nothing to escape, and are long."""
    return paths if _is_plain("".join(paths)) else list(map(shown_path, paths))


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable() and "\\" not in text


def _escaped(character: str) -> str:
    short = _SHORT.get(character)
    return short or "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8"))


def parse_name(text: str) -> bytes | None:
    """The name that `shown_name` prints as `text`, or None where it prints none so."""
    if "\\" not in text:
        return text.encode("utf-8")
    raw = _ESCAPE.sub(_unescaped, text).encode("utf-8", "surrogateescape")
    return raw if shown_name(raw) == text else None


def _unescaped(match: re.Match[str]) -> str:
    if match[1]:
        return _LONG[match[1]]
    return bytes.fromhex(match[2]).decode("ascii", "surrogateescape")


def has_control(text: str) -> bool:
    """Whether a text holds raw control characters, which no path argument may."""
    return _CONTROL.search(text) is not None
