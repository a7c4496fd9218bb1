"""Ranks files that changed since the snapshot, so that a query is as fresh as grep.

The same score as tantivy gives, counted here: a changed file's words, against how often they stand
in the whole tree. A file is read and counted when it has changed, not when a question comes: the
counts are kept, and only what is new is added to them. They are let go as soon as the ranked index
has all files, or nobody has asked for a while.

Counts stand in lots (see `word_counts`). New files are a lot of their own, and a lot is joined with
the one before it when that is not twice as large. So there are few lots, and a count is moved only
a few times. A file that changes again gets a new number; when half the numbers are of files as they
were, they are given out anew.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np

from flashgrep import limits
from flashgrep.ranking.question import RankedQuestion, forms, prefixes
from flashgrep.ranking.ranking import path_weight
from flashgrep.ranking.scoring import (
    FORM_WEIGHT,
    INITIALS_WEIGHT,
    PREFIX_WEIGHT,
    WEIGHTS,
    WHOLE_WEIGHT,
    RankedFile,
    frequencies,
    rarity,
)
from flashgrep.ranking.word_counts import CountBlock, counted, joined, keys_of, lot

CountOf = Callable[[str, str], int]
"""In how many documents of the snapshot a word stands in a field."""
Term = tuple[str, str]
"""A field, and a word in it."""

_LONG: Final = ("body", "defs")


class Changed(NamedTuple):
    """A file that is not as the snapshot has it."""

    path: str
    identity: Hashable
    """Differs whenever the content may."""
    read: Callable[[], bytes]
    """Its text, as `decode.lines_of` gives it."""
    changed_ns: int = 0
    """When it was last changed, as far as its status says."""


class _CachedCounts(NamedTuple):
    """A file whose words are counted."""

    number: int
    identity: Hashable
    is_settled: bool


@dataclass(frozen=True)
class ChangedFiles:
    """The counts of the changed files at one moment; a later moment has another one."""

    lots: tuple[CountBlock, ...]
    paths: tuple[str, ...]
    """By number; some are of files as they were."""
    sizes: Any
    alive: Any
    """Which numbers stand for a file as it is."""

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
            RankedFile(self.paths[at], float(scores[at]) * path_weight(self.paths[at]))
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
        """Let all counts go."""
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
            text = file.read()[: limits.RANKED_OVERLAY_BYTES]
            counts.append((number, counted(file.path, text)))
            sizes.append(len(text))
            is_settled = read_ns - file.changed_ns > limits.COUNT_SETTLED_NS
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
        self._words = [(word, forms(word)[1:], prefixes(word)) for word in question.words]
        self._found = self._look_up()
        self._rarities: dict[Term, float] = {}

    def scores(self) -> Any:
        """By number of the file; those as they were have none."""
        found = np.zeros(len(self._overlay.paths))
        for word, its_forms, its_prefixes in self._words:
            for field, weight in WEIGHTS.items():
                found += weight * self._word(field, word, its_forms)
            for field in ("name", "path"):
                best = self._best([self._term((field, prefix)) for prefix in its_prefixes])
                found += PREFIX_WEIGHT * WEIGHTS[field] * best
        for word in self._question.compounds:
            found += WHOLE_WEIGHT * self._best([self._term(("whole", word))])
        for word in self._question.initials:
            for field, weight in INITIALS_WEIGHT.items():
                found += weight * self._best([self._term((field, word))])
        return found

    def _terms(self) -> set[Term]:
        found = {("whole", word) for word in self._question.compounds}
        found |= {(field, word) for word in self._question.initials for field in INITIALS_WEIGHT}
        for word, its_forms, its_prefixes in self._words:
            found |= {(field, form) for form in (word, *its_forms) for field in WEIGHTS}
            found |= {(field, prefix) for prefix in its_prefixes for field in ("name", "path")}
        return found

    def _look_up(self) -> dict[Term, tuple[Any, Any]]:
        """The files that hold a term, and how often each does; only terms that stand somewhere."""
        terms = sorted(self._terms())
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

    def _word(self, field: str, word: str, its_forms: tuple[str, ...]) -> Any:
        """The score of a word or its best form; a rare form counts no more than the word."""
        there = [form for form in its_forms if (field, form) in self._found]
        ceiling = self._rarity((field, word)) if there else 0.0
        others = [self._term((field, form), FORM_WEIGHT, ceiling) for form in there]
        return self._best([self._term((field, word)), *others])

    def _term(
        self, term: Term, weight: float = 1.0, ceiling: float | None = None
    ) -> tuple[Any, Any] | None:
        """The files that hold a term, and the score of each for it."""
        if term not in self._found:
            return None
        texts, counts = self._found[term]
        rare = self._rarity(term)
        if ceiling is not None:
            rare = min(rare, ceiling)
        lengths = self._lengths[texts] if term[0] in _LONG else 1.0
        return texts, weight * rare * frequencies(counts, lengths)

    def _best(self, terms: Iterable[tuple[Any, Any] | None]) -> Any:
        """For each file the best of several scores; 0 where there is none."""
        best = np.zeros(len(self._overlay.paths))
        for term in terms:
            if term is not None:
                texts, scores = term
                best[texts] = np.maximum(best[texts], scores)
        return best

    def _rarity(self, term: Term) -> float:
        known = self._rarities.get(term)
        if known is None:
            here = len(self._found[term][0]) if term in self._found else 0
            count = min(self._count_of(*term) + here, self._total)
            known = self._rarities[term] = rarity(self._total, count)
        return known
