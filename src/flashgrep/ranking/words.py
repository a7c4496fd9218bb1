"""The words of source text, as the ranked index counts them.

    struct HTTPServer *kmem_cache_alloc(…)
    parts      struct http server kmem cache alloc
    compounds  httpserver kmem_cache_alloc

A *word* is a run of ASCII letters, digits, `_`, and bytes above 127. It is cut into *parts* at `_`,
where camelCase turns (before an upper-case letter after a lower-case one or a digit, and before
the last upper-case letter of a run that a lower-case letter follows), and at what Unicode calls
neither letter nor digit. A word that `_` or a turn cuts is a *compound* and counts as a whole too.
All in lower case.

`parts` and `compounds` say this plainly and are what a query's text goes through. The index is fed
by `spaced`, which does the former to megabytes at once; tantivy's own regular expression tokenizer
did 9 MB/s on two cores, its simple one 55. Compounds count only where they are defined: to count
each use took the index as long as all parts did, and no question was answered better.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from flashgrep.search.pattern import NO_MATCH, UNANCHORED, compiled

LONGEST_PART: Final = 40
"""Bytes; longer ones are no words: digests, encoded data."""
LONGEST_COMPOUND: Final = 80

_WORD: Final = re.compile(rb"[A-Za-z0-9_\x80-\xff]+")
_TURN: Final = re.compile(rb"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_+")
_LETTERS: Final = re.compile(r"[^\W_]+")

_SHORT: Final = 1024
"""Of a shorter text a regular expression is done before numpy has begun."""
_UPPER: Final = 1
_LOWER: Final = 2
_DIGIT: Final = 4


def parts(text: bytes) -> list[str]:
    """Every part of every word, in order, in lower case."""
    return tokens(_TURN.sub(b" ", text))


def compounds(text: bytes) -> list[str]:
    """Every compound as a whole, in order, in lower case."""
    return [
        word.decode("utf-8", "replace").lower()
        for word in _WORD.findall(text)
        if _TURN.search(word.strip(b"_")) and len(word) <= LONGEST_COMPOUND
    ]


def tokens(text: bytes) -> list[str]:
    """The parts in a text where nothing else is a letter or digit, as `spaced` gives it."""
    found = lowered(text)
    if found.isascii():
        return [part for part in found.decode("ascii").split() if len(part) <= LONGEST_PART]
    return [part.decode() for part in found.split(b" ") if len(part) <= LONGEST_PART]


def lowered(text: bytes) -> bytes:
    """The parts of a text that `spaced` gives, long ones too: in lower case, between spaces."""
    if text.isascii():
        return text.translate(_LOWERED)
    return " ".join(_LETTERS.findall(text.decode("utf-8", "replace").lower())).encode()


def spaced(text: bytes) -> bytes:
    """The text with a separator between its parts.

    In the case of the text: the index lowers it, and drops what is too long.
    """
    if len(text) < _SHORT:
        return _TURN.sub(b" ", text)
    import numpy as np  # here, not above: a server that answers no query starts without

    turns = _turns(np.frombuffer(text.translate(_KINDS), np.uint8))
    parted = text.replace(b"_", b" ")
    if not len(turns):
        return parted
    return np.insert(np.frombuffer(parted, np.uint8), turns, 32).tobytes()


def _turns(kinds: Any) -> Any:
    """Where a part begins in the middle of a camelCase word."""
    import numpy as np

    upper = kinds == _UPPER
    cut = np.zeros(len(kinds), bool)
    np.logical_and(upper[1:], kinds[:-1] > _UPPER, out=cut[1:])  # a lower-case letter or a digit
    cut[1:-1] |= upper[:-2] & upper[1:-1] & (kinds[2:] == _LOWER)
    return np.flatnonzero(cut)


def _table() -> bytes:
    kinds = bytearray(256)
    for kind, letters in (
        (_UPPER, string.ascii_uppercase),
        (_LOWER, string.ascii_lowercase),
        (_DIGIT, string.digits),
    ):
        for letter in letters:
            kinds[ord(letter)] = kind
    return bytes(kinds)


_KINDS: Final = _table()
_LOWERED: Final = bytes(
    ord(chr(byte).lower()) if chr(byte).isalnum() and byte < 128 else 32 for byte in range(256)
)


# ── landmarks ────────────────────────────────────────────────────────────────────────────────────
# Lines that look like definitions: a guess by shape, one rule for all languages.
#
# A line counts that
# - begins at the margin, or with a word such as `public`, and names something before a `(`;
# - has a word such as `def` or `class` before the name;
# - defines a macro with parameters.
# A line with `;` is a declaration or a call and does not count. This reads 50 to 100 MB a second,
# where tree-sitter parses about 3: `symbols` has the exact answer for the few files asked about.


Landmark = tuple[int, bytes]
"""Where its line begins, and the name."""

_MODIFIERS: Final = (
    r"(?:(?:pub(?:\([a-z]+\))?|public|private|protected|internal|static|final|abstract|async"
    r"|export|default|virtual|override|sealed|partial|unsafe|extern|const|inline|typedef)[ \t]+)"
)
_HEAD: Final = r"[A-Za-z_$][A-Za-z0-9_ \t*&<>,:.~$?\[\]]*\("
_ANYWHERE: Final = r"(?:def|func|fn|fun|function|class|interface|trait|module|namespace|impl|sub)"
_AT_MARGIN: Final = r"(?:struct|enum|union|record|type)"  # C declares variables by them, indented
_NAMED: Final = (
    rf"(?:[ \t]*{_MODIFIERS}*{_ANYWHERE}|{_MODIFIERS}*{_AT_MARGIN})[ \t]+(?:\([^()\n]*\)[ \t]*)?"
)
_MACRO: Final = r"[ \t]*#[ \t]*define[ \t]+[A-Za-z_][A-Za-z0-9_]*\("
_LINE: Final = rf"(?:{_NAMED}[A-Za-z_$]|{_HEAD}|[ \t]+{_MODIFIERS}+{_HEAD}|{_MACRO})"
"""The begin of such a line, as far as a regular expression can say; without a newline."""
_BY_KEYWORD: Final = re.compile(_NAMED.encode() + rb"([\w$]+(?:(?:\.|::)[\w$]+)*)")
_FOLLOWED: Final = re.compile(
    rb"[ \t]*(?:[{(:<=|,\[]|\Z|\\|/[/*]|(?:extends|implements|for|where|with|final|is)\b)"
)
_ALIAS: Final = re.compile(rb"(?:export[ \t]+)?type[ \t]")
_TRAILING_NAME: Final = re.compile(rb"[\w$]+\Z")
_NOT_DEFINING: Final = frozenset(
    b"if for while switch return else elif elsif case throw new goto delete using import from in "
    b"not and or print echo do await yield raise assert typedef sizeof catch except with when "
    b"until unless foreach lock typeof instanceof puts require include export".split()
)


@cache
def _at_start() -> Any:
    return compiled(f"^{_LINE}").Match


@cache
def _after_newline() -> Any:
    # RE2 looks for the newline by memchr; `(?m)^` it would ask for at every byte.
    return compiled(rf"\n{_LINE}").Match


def landmarks(buffer: Any, start: int, end: int) -> Iterator[Landmark]:
    """The landmarks among whole lines of a buffer that has `find` and slices to bytes."""
    match, newline = _after_newline(), buffer.find
    begin, stop, line_end = _first_head(buffer, start, end)
    while True:
        if begin != NO_MATCH:
            line_end = newline(b"\n", stop, end)
            name = _name(buffer, begin, stop, end if line_end < 0 else line_end)
            if name:
                yield begin, name
        if line_end < 0:
            return
        begin, stop = match(UNANCHORED, buffer, line_end, end)[0]
        if begin == NO_MATCH:
            return
        begin += 1


def _first_head(buffer: Any, start: int, end: int) -> tuple[int, int, int]:
    """What the first line begins with, if it looks like a definition, and where it ends."""
    line_end = buffer.find(b"\n", start, end)
    with memoryview(buffer) as whole, whole[start : end if line_end < 0 else line_end] as line:
        begin, stop = _at_start()(UNANCHORED, line, 0, len(line))[0]
    return (NO_MATCH if begin == NO_MATCH else start), start + stop, line_end


def _name(buffer: Any, begin: int, stop: int, line_end: int) -> bytes:
    head = bytes(buffer[begin:stop])
    is_called = head.endswith(b"(")
    if is_called and head.lstrip().startswith(b"#"):
        return head[:-1].split()[-1]
    if buffer.find(b";", stop, line_end) >= 0:
        return b""
    if not is_called:
        line = bytes(buffer[begin:line_end])
        keyword = _BY_KEYWORD.match(line)
        if keyword and (_FOLLOWED.match(line, keyword.end()) or _ALIAS.match(line)):
            return keyword[1]
        # `struct x *f(…)` is a function, `struct x y = {` a variable.
        head = line.partition(b"(")[0] + b"(" if b"(" in line else b""
    return _before_parenthesis(head)


def _before_parenthesis(head: bytes) -> bytes:
    words = head[:-1].split()
    if len(words) < 2 or words[0] in _NOT_DEFINING or words[-1] in _NOT_DEFINING:
        return b""
    found = _TRAILING_NAME.search(words[-1])
    return b"" if found is None else found[0]
