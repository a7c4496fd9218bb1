"""How often words stand in texts, kept in arrays: a number for each word and text.

A dictionary of words for each of 1,500 files takes 100 MB in small pieces, which the allocator does
not give back. Here a word in a field is a 64-bit key, made from its bytes for a whole text at once,
and a text is three columns of its distinct words: key, number of the text, count. That is about as
many bytes as the text has, in a few large blocks.

Two words may share a key, once in many billions; a file then scores a little too high.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from flashgrep.ranking.format import text_fields
from flashgrep.ranking.words import LONGEST_COMPOUND, LONGEST_PART, lowered

Keys = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int32]
Counts = npt.NDArray[np.uint16]

FIELDS: Final = ("body", "defs", "whole", "name", "path")
_PIECE_BYTES: Final = 16 * 1024
"""Of a text, what is looked at in one go: so large are the tables of powers."""
_SPACE: Final = 32
_MOST: Final = 0xFFFF

# Random, so that nobody can write a file whose words have the keys of others.
_FACTOR: Final = secrets.randbits(64) | 1
_FIELD_STEP: Final = secrets.randbits(64) | 1
_WORD_BITS: Final = (1 << 64) - 1


def _powers(factor: int) -> Keys:
    found = np.full(_PIECE_BYTES + 1, factor, np.uint64)
    found[0] = 1
    return np.cumprod(found, dtype=np.uint64)


_POWERS: Final = _powers(_FACTOR)
_INVERSES: Final = _powers(pow(_FACTOR, -1, 1 << 64))


@dataclass(frozen=True)
class WordCounts:
    """The distinct words of one text, sorted by key, and how often each stands there."""

    keys: Keys
    counts: Counts


def counted(path: str, text: bytes) -> WordCounts:
    """Count the words of a file in each field that the ranked index has."""
    found = []
    for field, value in text_fields(path, text).items():
        if field == "whole":
            words, longest = " ".join(value.lower().split()).encode(), LONGEST_COMPOUND
        else:
            words, longest = lowered(value.encode()), LONGEST_PART
        found.append(_keys(words, longest) + _step(field))
    keys, counts = np.unique(np.concatenate(found), return_counts=True)
    return WordCounts(keys, np.minimum(counts, _MOST).astype(np.uint16))


def keys_of(terms: Sequence[tuple[str, str]]) -> Keys:
    """The keys of some words, each in a field; no word has a space in it."""
    places: dict[str, int] = {}
    for _, word in terms:
        places.setdefault(word, len(places))
    words = _keys(" ".join(places).encode("utf-8", "replace"), _PIECE_BYTES)
    steps = np.array([_step(field) for field, _ in terms], np.uint64)
    return words[[places[word] for _, word in terms]] + steps


def _step(field: str) -> np.uint64:
    return np.uint64(FIELDS.index(field) * _FIELD_STEP & _WORD_BITS)


def _keys(text: bytes, longest: int) -> Keys:
    """The key of each word between spaces, in order; none of words that are too long."""
    if len(text) <= _PIECE_BYTES:
        return _piece_keys(text, longest)
    parts = [_piece_keys(piece, longest) for piece in _pieces(text)]
    return np.concatenate([np.zeros(0, np.uint64), *parts])


def _pieces(text: bytes) -> Iterator[bytes]:
    """A text cut at spaces; where there are none for so long, nothing is a word."""
    at = 0
    while at < len(text):
        end = at + _PIECE_BYTES
        if end < len(text):
            end = text.rfind(b" ", at, end)
            if end <= at:
                at = text.find(b" ", at + 1)
                if at < 0:
                    return
                continue
        yield text[at:end]
        at = end


def _piece_keys(text: bytes, longest: int) -> Keys:
    """A word's key is the sum of its bytes, each times a power of the factor by its place.

    That sum is had from the sums up to each place of the text; all is modulo 2**64.
    """
    letters = np.frombuffer(text, np.uint8)
    inside = np.zeros(len(letters) + 2, bool)
    np.not_equal(letters, _SPACE, out=inside[1:-1])
    edges = np.flatnonzero(inside[1:] != inside[:-1])
    starts, ends = edges[::2], edges[1::2]
    sums = np.zeros(len(letters) + 1, np.uint64)
    np.cumsum(letters * _POWERS[: len(letters)], out=sums[1:])
    keys: Keys = (sums[ends] - sums[starts]) * _INVERSES[starts]
    is_word = ends - starts <= longest
    return keys if is_word.all() else keys[is_word]


@dataclass(frozen=True)
class CountBlock:
    """The words of some texts, sorted by key."""

    keys: Keys
    texts: Numbers
    counts: Counts

    def __len__(self) -> int:
        return len(self.keys)

    def find(self, keys: Keys) -> Iterator[tuple[int, Numbers, Counts]]:
        """For each key that is there: its place among those asked for, the texts, the counts."""
        firsts = np.searchsorted(self.keys, keys)
        pasts = np.searchsorted(self.keys, keys, "right")
        for at in np.flatnonzero(pasts > firsts).tolist():
            there = slice(firsts[at], pasts[at])
            yield at, self.texts[there], self.counts[there]

    def renumbered(self, numbers: Any) -> CountBlock:
        """The lot with other numbers for its texts, without those whose number is negative."""
        texts = numbers[self.texts]
        kept = texts >= 0
        return CountBlock(self.keys[kept], texts[kept], self.counts[kept])


def lot(texts: Iterable[tuple[int, WordCounts]]) -> CountBlock:
    """Put texts together."""
    return joined(
        [
            CountBlock(one.keys, np.full(len(one.keys), number, np.int32), one.counts)
            for number, one in texts
        ]
    )


def joined(lots: Sequence[CountBlock]) -> CountBlock:
    """Make one lot of several."""
    keys = np.concatenate([np.zeros(0, np.uint64), *(each.keys for each in lots)])
    order = np.argsort(keys, kind="stable")
    return CountBlock(
        keys[order],
        np.concatenate([np.zeros(0, np.int32), *(each.texts for each in lots)])[order],
        np.concatenate([np.zeros(0, np.uint16), *(each.counts for each in lots)])[order],
    )
