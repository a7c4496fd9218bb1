"""The words of source text, as the ranked index counts them.

    struct HTTPServer *kmem_cache_alloc(…)
    parts      struct http server kmem cache alloc
    compounds  httpserver kmem_cache_alloc

A *word* is a run of ASCII letters, digits, `_`, and bytes above 127. It is cut into *parts* at `_`,
where camelCase turns (before an upper-case letter behind a lower-case one or a digit, and before
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
from typing import Any, Final

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
    """The text with something between its parts that is no word.

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
