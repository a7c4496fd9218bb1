"""Ranks files that changed since the snapshot, so that a query is as fresh as grep.

The same score as tantivy's, computed here: a changed file's words, against how often they occur in
the whole tree. A file is read and counted when it has changed, not when a question comes: the
counts are kept, and only new ones are added. They are dropped as soon as the ranked index has all
files, or after a while without questions.

Counts are kept in blocks (see `CountBlock`). New files are one block, and a block is joined with
the one before it when that is not twice as large. So there are few blocks, and a count is moved
only a few times. A file that changes again gets a new number; when half the numbers are stale, all
are renumbered.
"""

from __future__ import annotations

import math
import secrets
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flashgrep import limits
from flashgrep.ranking.format import text_fields
from flashgrep.ranking.question import (
    FORM_WEIGHT,
    Clause,
    RankedFile,
    RankedQuestion,
    frequencies,
    rarity,
)
from flashgrep.ranking.words import LONGEST_COMPOUND, LONGEST_PART, lowered

RANKED_OVERLAY_BYTES: Final = 1 * limits.MIB
"""How much of a changed file is read to rank it until the index has it."""

COUNT_SETTLED_NS: Final = 100_000_000
"""A changed file that is read sooner after its change than this, in nanoseconds, is counted once
more: until then it can change again and have the same times, which move in steps of 10 ms."""

CountOf = Callable[[str, str], int]
"""How many documents of the snapshot have a word in a field."""
Term = tuple[str, str]
"""A field, and a word in it."""

_LONG: Final = ("body", "defs")


class Changed(NamedTuple):
    """A file that differs from the snapshot."""

    path: str
    identity: Hashable
    """Differs whenever the content may."""
    read: Callable[[], bytes]
    """Its text, as `decode.lines_of` gives it."""
    changed_ns: int = 0
    """When it was last changed, as far as its status says."""
    size: int = 0


class _CachedCounts(NamedTuple):
    """A file with its words counted."""

    number: int
    identity: Hashable
    is_settled: bool


@dataclass(frozen=True)
class ChangedFiles:
    """The counts of the changed files at one moment; a later moment has its own."""

    lots: tuple[CountBlock, ...]
    paths: tuple[str, ...]
    """By number; some are of files as they were."""
    sizes: Any
    alive: Any
    """Which numbers belong to a file in its present state."""

    @property
    def files(self) -> int:
        return int(np.count_nonzero(self.alive))

    @property
    def words(self) -> int:
        """Counts that are held; each takes 14 bytes."""
        return sum(map(len, self.lots))

    def search(
        self, question: RankedQuestion, documents: int, text_bytes: int, count_of: CountOf
    ) -> list[RankedFile]:
        """Those of the changed files that answer, best first."""
        total = documents + self.files
        average = (text_bytes + int(self.sizes[self.alive].sum())) / max(total, 1)
        scores = _Scorer(self, question, total, max(average, 1.0), count_of).scores()
        found = [
            RankedFile(self.paths[at], float(scores[at]) * question.path_weight(self.paths[at]))
            for at in np.flatnonzero(scores > 0).tolist()
        ]
        return sorted(found, key=lambda file: -file.score)

    def holds(self, path: str) -> bool:
        """Whether a file is among those that changed."""
        return path in self._held_paths

    @cached_property
    def _held_paths(self) -> frozenset[str]:
        return frozenset(self.paths[at] for at in np.flatnonzero(self.alive).tolist())


NOTHING: Final = ChangedFiles(
    lots=(), paths=(), sizes=np.zeros(0, np.int64), alive=np.zeros(0, bool)
)


class OverlayRanking:
    """Keeps the word counts of changed files in step with the files."""

    def __init__(self) -> None:
        self._held: dict[str, _CachedCounts] = {}
        self._now = NOTHING
        # Questions that come together wait for one of them to count, instead of all counting.
        self._lock = threading.Lock()

    @property
    def words(self) -> int:
        """Counts that are held now."""
        return self._now.words

    def count(self, changed: Iterable[Changed]) -> ChangedFiles:
        """The counts of these files and of no others; what is held of them is not read again."""
        with self._lock:
            wanted = {file.path: file for file in changed}
            fresh = [file for file in wanted.values() if not self._is_held(file)]
            gone = [path for path in self._held if path not in wanted]
            if fresh or gone:
                self._update(fresh, gone)
            return self._now

    def clear(self) -> None:
        """Drop all counts."""
        with self._lock:
            self._held, self._now = {}, NOTHING

    def _is_held(self, file: Changed) -> bool:
        held = self._held.get(file.path)
        return held is not None and held.is_settled and held.identity == file.identity

    def _update(self, fresh: list[Changed], gone: list[str]) -> None:
        before = self._now
        alive = np.append(before.alive, np.ones(len(fresh), bool))
        for path in (*gone, *(file.path for file in fresh)):
            held = self._held.pop(path, None)
            if held is not None:
                alive[held.number] = False
        sizes, counts = [], []
        for number, file in enumerate(fresh, len(before.paths)):
            read_ns = time.time_ns()
            text = file.read()[:RANKED_OVERLAY_BYTES]
            counts.append((number, counted(file.path, text)))
            sizes.append(len(text))
            is_settled = read_ns - file.changed_ns > COUNT_SETTLED_NS
            self._held[file.path] = _CachedCounts(number, file.identity, is_settled)
        lots = [*before.lots, lot(counts)] if fresh else list(before.lots)
        while len(lots) > 1 and len(lots[-2]) < 2 * len(lots[-1]):
            lots[-2:] = [joined(lots[-2:])]
        self._now = ChangedFiles(
            lots=tuple(lots),
            paths=(*before.paths, *(file.path for file in fresh)),
            sizes=np.append(before.sizes, np.array(sizes, np.int64)),
            alive=alive,
        )
        if 2 * len(self._held) < len(alive):
            self._renumber()

    def _renumber(self) -> None:
        """Forget the files as they were."""
        before = self._now
        kept = np.flatnonzero(before.alive)
        numbers = np.full(len(before.paths), -1, np.int32)
        numbers[kept] = np.arange(len(kept))
        lots = [each.renumbered(numbers) for each in before.lots]
        self._now = ChangedFiles(
            lots=(joined(lots),) if len(kept) else (),
            paths=tuple(before.paths[at] for at in kept.tolist()),
            sizes=before.sizes[kept],
            alive=np.ones(len(kept), bool),
        )
        self._held = {
            path: held._replace(number=int(numbers[held.number]))
            for path, held in self._held.items()
        }


class _Scorer:
    """Scores all changed files for one question."""

    def __init__(
        self,
        overlay: ChangedFiles,
        question: RankedQuestion,
        total: int,
        average: float,
        count_of: CountOf,
    ) -> None:
        self._overlay = overlay
        self._question = question
        self._total = total
        self._lengths = overlay.sizes / average
        self._count_of = count_of
        self._found = self._look_up()
        self._rarities: dict[Term, float] = {}

    def scores(self) -> Any:
        """By number of the file; those as they were have none."""
        found = np.zeros(len(self._overlay.paths))
        for clause in self._question.clauses:
            best = np.zeros(len(found))
            for texts, scores in self._scored(clause):
                best[texts] = np.maximum(best[texts], scores)
            found += clause.weight * best
        return found

    def _look_up(self) -> dict[Term, tuple[Any, Any]]:
        """The files that hold a term, and how often each does; only terms that occur."""
        clauses = self._question.clauses
        terms = sorted({(clause.field, word) for clause in clauses for word in clause.words})
        parts: dict[Term, list[tuple[Any, Any]]] = {}
        keys = keys_of(terms)
        for each in self._overlay.lots:
            for at, texts, counts in each.find(keys):
                here = self._overlay.alive[texts]
                if here.any():
                    parts.setdefault(terms[at], []).append((texts[here], counts[here]))
        return {
            term: (
                np.concatenate([texts for texts, _ in found]),
                np.concatenate([counts for _, counts in found]),
            )
            for term, found in parts.items()
        }

    def _scored(self, clause: Clause) -> Iterator[tuple[Any, Any]]:
        """For each word of a clause the files that hold it, and the score of each."""
        field, words = clause.field, clause.words
        there = [word for word in words if (field, word) in self._found]
        ceiling = self._rarity((field, words[0])) if clause.is_inflected and there else math.inf
        for word in there:
            texts, counts = self._found[field, word]
            weight = FORM_WEIGHT if clause.is_inflected and word != words[0] else 1.0
            lengths = self._lengths[texts] if field in _LONG else 1.0
            rare = min(self._rarity((field, word)), ceiling)
            yield texts, weight * rare * frequencies(counts, lengths)

    def _rarity(self, term: Term) -> float:
        known = self._rarities.get(term)
        if known is None:
            here = len(self._found[term][0]) if term in self._found else 0
            count = min(self._count_of(*term) + here, self._total)
            known = self._rarities[term] = rarity(self._total, count)
        return known


# ── word counts ──────────────────────────────────────────────────────────────────────────────────
# How often words occur in texts, kept in arrays: a number for each word and text.
#
# A dictionary of words for each of 1,500 files takes 100 MB in small pieces, which the allocator
# does not give back. Here a word in a field is a 64-bit key, made from its bytes for a whole text
# at once, and a text is three columns of its distinct words: key, number of the text, count. That
# is about as many bytes as the text has, in a few large blocks.
#
# Two words may share a key, once in many billions; a file then scores a little too high.


Keys = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int32]
Counts = npt.NDArray[np.uint16]

FIELDS: Final = ("body", "defs", "whole", "name", "path")
_PIECE_BYTES: Final = 16 * 1024
"""How much of a text is processed in one go: the size of the tables of powers."""
_SPACE: Final = 32
_MOST: Final = 0xFFFF

# Random, so that no one can write a file whose words have the keys of others.
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
    """The distinct words of one text, sorted by key, and how often each occurs."""

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
        """The block with other numbers for its texts, without those whose number is negative."""
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
    """Make one block of several."""
    keys = np.concatenate([np.zeros(0, np.uint64), *(each.keys for each in lots)])
    order = np.argsort(keys, kind="stable")
    return CountBlock(
        keys[order],
        np.concatenate([np.zeros(0, np.int32), *(each.texts for each in lots)])[order],
        np.concatenate([np.zeros(0, np.uint16), *(each.counts for each in lots)])[order],
    )
