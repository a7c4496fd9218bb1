"""Ranks files that changed since the snapshot, so that a query is as fresh as grep.

The same score as tantivy gives, counted here: a changed file's words, against how often they stand
in the whole tree. The counts of a file are kept until it changes again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from flashgrep import limits
from flashgrep.index.path_weights import path_weight
from flashgrep.index.question import RankedQuestion, forms, prefixes
from flashgrep.index.rank_writer import text_fields
from flashgrep.index.scoring import (
    FORM_WEIGHT,
    INITIALS_WEIGHT,
    PREFIX_WEIGHT,
    WEIGHTS,
    WHOLE_WEIGHT,
    RankedFile,
    frequency,
    rarity,
)
from flashgrep.index.words import tokens

CountOf = Callable[[str, str], int]
"""In how many documents of the snapshot a word stands in a field."""


class Changed(NamedTuple):
    """A file that is not as the snapshot has it."""

    path: str
    identity: Hashable
    """Differs whenever the content may."""
    read: Callable[[], bytes]
    """Its text, as `haystack.lines_of` gives it."""


@dataclass(frozen=True)
class _Counts:
    identity: Hashable
    size: int
    fields: dict[str, Counter[str]]


class OverlayRanking:
    """The word counts of changed files."""

    def __init__(self) -> None:
        self._counted: dict[str, _Counts] = {}

    def search(
        self,
        question: RankedQuestion,
        changed: Iterable[Changed],
        documents: int,
        text_bytes: int,
        count_of: CountOf,
    ) -> list[RankedFile]:
        """Those of the changed files that answer, best first."""
        held = {file.path: self._counts(file) for file in changed}
        self._counted = held
        total = documents + len(held)
        average = (text_bytes + sum(counts.size for counts in held.values())) / max(total, 1)
        scorer = _Scorer(question, list(held.values()), total, average, count_of)
        found = [
            RankedFile(path, scorer.score(counts) * path_weight(path))
            for path, counts in held.items()
        ]
        return sorted((file for file in found if file.score > 0), key=lambda file: -file.score)

    def _counts(self, file: Changed) -> _Counts:
        known = self._counted.get(file.path)
        if known is not None and known.identity == file.identity:
            return known
        text = file.read()[: limits.RANKED_OVERLAY_BYTES]
        found = text_fields(file.path, text)
        fields = {
            name: Counter(value.lower().split() if name == "whole" else tokens(value.encode()))
            for name, value in found.items()
        }
        return _Counts(file.identity, len(text), fields)


class _Scorer:
    """Scores files for one question."""

    def __init__(
        self,
        question: RankedQuestion,
        held: list[_Counts],
        total: int,
        average: float,
        count_of: CountOf,
    ) -> None:
        self._question = question
        self._held = held
        self._total = total
        self._average = max(average, 1.0)
        self._count_of = count_of
        self._rarities: dict[tuple[str, str], float] = {}
        self._words = [
            (word, frozenset(forms(word)) - {word}, frozenset(prefixes(word)))
            for word in question.words
        ]

    def score(self, file: _Counts) -> float:
        found = 0.0
        for word, its_forms, its_prefixes in self._words:
            for field, weight in WEIGHTS.items():
                found += weight * self._word(file, field, word, its_forms)
            for field in ("name", "path"):
                there = its_prefixes & file.fields[field].keys()
                best = max((self._term(file, field, prefix) for prefix in there), default=0.0)
                found += PREFIX_WEIGHT * WEIGHTS[field] * best
        for word in self._question.compounds:
            found += WHOLE_WEIGHT * self._term(file, "whole", word)
        for word in self._question.initials:
            found += sum(w * self._term(file, field, word) for field, w in INITIALS_WEIGHT.items())
        return found

    def _word(self, file: _Counts, field: str, word: str, its_forms: frozenset[str]) -> float:
        others = (
            FORM_WEIGHT * self._term(file, field, form, self._rarity(field, word))
            for form in its_forms & file.fields[field].keys()
        )
        return max(self._term(file, field, word), max(others, default=0.0))

    def _term(self, file: _Counts, field: str, word: str, ceiling: float | None = None) -> float:
        count = file.fields[field][word]
        if not count:
            return 0.0
        weight = self._rarity(field, word)
        if ceiling is not None:
            weight = min(weight, ceiling)
        is_long = field in ("body", "defs")
        length = file.size / self._average if is_long else 1.0
        return weight * frequency(count, length)

    def _rarity(self, field: str, word: str) -> float:
        known = self._rarities.get((field, word))
        if known is None:
            here = sum(1 for file in self._held if word in file.fields[field])
            count = min(self._count_of(field, word) + here, self._total)
            known = self._rarities[field, word] = rarity(self._total, count)
        return known
