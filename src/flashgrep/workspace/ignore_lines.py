"""The lines of a `.gitignore`, read and spelled for RE2 as git reads them.

Git matches bytes, so the expressions are meant for RE2's Latin-1 mode, and for subjects that hold
no NUL. Git's reading has corners, kept here on purpose. A path pattern's literal beginning is
compared and cut off before the rest is matched, so `a**/b` means `a` and then `**/b`. A pattern
ends at a NUL. One that ends in a backslash, or in an open bracket, matches nothing: such a line
is left out, alone.
"""

from __future__ import annotations

import string
from collections.abc import Iterable
from dataclasses import dataclass

_BOM = b"\xef\xbb\xbf"
_SPECIAL = b"*?[\\"
_ONE = r"[^/\x00]"
MANY = r"[^/\x00]*"
"""Any run of bytes inside one component."""

_CROSSING = r"[^\x00]*"
DIRECTORIES = r"(?:[^\x00]*/)?"
"""Any number of directories, with their slashes."""
_EVERY_BYTE = frozenset(range(1, 256)) - {ord("/")}


def _bytes_of(text: str) -> frozenset[int]:
    return frozenset(text.encode())


_PRINTED = frozenset(range(0x20, 0x7F))
_SPACES = _bytes_of(" \t\n\r")  # git's own table: no vertical tab, no form feed
_CLASSES: dict[bytes, frozenset[int]] = {
    b"alnum": _bytes_of(string.ascii_letters + string.digits),
    b"alpha": _bytes_of(string.ascii_letters),
    b"blank": _bytes_of(" \t"),
    b"cntrl": frozenset(range(1, 0x20)) | {0x7F},
    b"digit": _bytes_of(string.digits),
    b"graph": _PRINTED - _SPACES,
    b"lower": _bytes_of(string.ascii_lowercase),
    b"print": _PRINTED,
    b"punct": _bytes_of(string.punctuation),
    b"space": _SPACES,
    b"upper": _bytes_of(string.ascii_uppercase),
    b"xdigit": _bytes_of(string.hexdigits),
}


class _NeverMatches(Exception):
    """A line git accepts but that can match no path."""


@dataclass(frozen=True, slots=True)
class IgnoreLine:
    """One rule: what it matches, in RE2's spelling, and what it says about it."""

    number: int
    negated: bool
    directory_only: bool
    on_name: bool
    """Matched on the entry's name at any depth; otherwise on the path from the rule file."""
    depth: int | None
    """How many components a path needs to match; None when `**` leaves it open."""
    source: str


def parse_lines(data: bytes) -> list[IgnoreLine]:
    """Read a rule file; lines that can match nothing are left out."""
    lines: list[IgnoreLine] = []
    for number, text in _rule_texts(data):
        try:
            lines.append(_line(number, text))
        except _NeverMatches:
            continue
    return lines


def _rule_texts(data: bytes) -> Iterable[tuple[int, bytes]]:
    """The patterns of a rule file with their line numbers, as git cuts them."""
    for number, line in enumerate(data.removeprefix(_BOM).split(b"\n"), 1):
        if line and not line.startswith(b"#"):
            text = line.removesuffix(b"\r").partition(b"\0")[0]
            yield number, _without_trailing_spaces(text)


def _without_trailing_spaces(text: bytes) -> bytes:
    kept = text.rstrip(b" ")
    if kept == text:
        return text
    backslashes = len(kept) - len(kept.rstrip(b"\\"))
    return kept + b" " if backslashes % 2 else kept


def _line(number: int, text: bytes) -> IgnoreLine:
    negated = text.startswith(b"!")
    text = text[negated:]
    directory_only = text.endswith(b"/")
    text = text[: len(text) - directory_only]
    if text in (b"", b"/"):
        raise _NeverMatches
    on_name, depth, source = _spelled(text)
    return IgnoreLine(
        number=number,
        negated=negated,
        directory_only=directory_only,
        on_name=on_name,
        depth=depth,
        source=source,
    )


def _spelled(text: bytes) -> tuple[bool, int | None, str]:
    """Whether a pattern is matched on names, the depth it needs, and its expression."""
    if b"/" not in text:
        return True, 1, _Translator(text, paths=False).translated()
    text = text.removeprefix(b"/")
    cut = next((at for at, byte in enumerate(text) if byte in _SPECIAL), len(text))
    translator = _Translator(text[cut:], paths=True)
    source = "".join(map(_literal, text[:cut])) + translator.translated()
    rest = source.removeprefix(DIRECTORIES)
    if rest != source and translator.slashes == 0 and translator.crossings == 1:
        return True, 1, rest
    slashes = text[:cut].count(b"/") + translator.slashes
    return False, None if translator.crossings else slashes + 1, source


def _literal(byte: int) -> str:
    plain = byte == ord("/") or (byte < 128 and chr(byte).isalnum())
    return chr(byte) if plain else f"\\x{byte:02x}"


class _Translator:
    """Spell one wildcard pattern for RE2, byte by byte as git's own matcher reads it."""

    def __init__(self, text: bytes, *, paths: bool) -> None:
        self.text = text
        self.paths = paths
        self.at = 0
        self.slashes = 0
        self.crossings = 0

    def translated(self) -> str:
        out: list[str] = []
        while self.at < len(self.text):
            piece = self._piece()
            if not (out and piece == out[-1] and piece in (MANY, DIRECTORIES)):
                out.append(piece)
        return "".join(out)

    def _piece(self) -> str:
        byte = self._next()
        if byte == ord("*"):
            return self._stars()
        if byte == ord("?"):
            return _ONE
        if byte == ord("["):
            return _class_source(self._class())
        if byte == ord("\\"):
            byte = self._next()
        self.slashes += byte == ord("/")
        return _literal(byte)

    def _next(self) -> int:
        if self.at == len(self.text):
            raise _NeverMatches
        self.at += 1
        return self.text[self.at - 1]

    def _stars(self) -> str:
        start = self.at - 1
        while self.text[self.at : self.at + 1] == b"*":
            self.at += 1
        alone = self.paths and self.at - start > 1 and self.text[start - 1 : start] in (b"", b"/")
        rest = self.text[self.at : self.at + 2]
        if not alone or not (rest[:1] in (b"", b"/") or rest == b"\\/"):
            return MANY
        self.crossings += 1
        if rest[:1] != b"/":
            return _CROSSING
        self.at += 1
        return DIRECTORIES

    def _class(self) -> frozenset[int]:
        negated = self.text[self.at : self.at + 1] in (b"!", b"^")
        self.at += negated
        members: set[int] = set()
        previous: int | None = None
        byte = self._next()
        while True:
            previous = self._member(byte, previous, members)
            byte = self._next()
            if byte == ord("]"):
                return frozenset(_EVERY_BYTE - members if negated else _EVERY_BYTE & members)

    def _member(self, byte: int, previous: int | None, members: set[int]) -> int | None:
        """Add what one member matches; return the byte a range may start from."""
        following = self.text[self.at : self.at + 1]
        if byte == ord("-") and previous is not None and following not in (b"", b"]"):
            last = self._next()
            last = self._next() if last == ord("\\") else last
            members.update(range(previous, last + 1))
            return None
        if byte == ord("[") and following == b":":
            return self._posix_class(members)
        if byte == ord("\\"):
            byte = self._next()
        members.add(byte)
        return byte

    def _posix_class(self, members: set[int]) -> int | None:
        end = self.text.find(b"]", self.at + 1)
        if end < 0:
            raise _NeverMatches
        name = self.text[self.at + 1 : end]
        if not name.endswith(b":"):  # `[[:a]` is a plain set that holds a bracket
            members.add(ord("["))
            return ord("[")
        if name[:-1] not in _CLASSES:
            raise _NeverMatches
        members.update(_CLASSES[name[:-1]])
        self.at = end + 1
        return None


def _class_source(members: frozenset[int]) -> str:
    if not members:
        raise _NeverMatches
    ranges: list[list[int]] = []
    for byte in sorted(members):
        if ranges and ranges[-1][1] == byte - 1:
            ranges[-1][1] = byte
        else:
            ranges.append([byte, byte])
    return "[" + "".join(f"\\x{low:02x}-\\x{high:02x}" for low, high in ranges) + "]"
