"""What a query asks, and how well a file answers: words, their forms, scores.

    "loading an ELF executable"   words      loading elf executable
                                  forms      loading: load loads loaded loader …
                                  initials   lee le ee: "read copy update" is often `rcu`
                                  prefixes   load elf exec: directories and files abbreviate

Forms are made by rule from common English endings; those that occur nowhere cost nothing. Stemming
every word of the index instead halved tantivy's speed (28 for 55 MB/s on a sample). Neither moved
how many of our 30 questions were answered; forms are kept for words like "loading".
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final, NamedTuple

from flashgrep import limits
from flashgrep.ranking.path_kinds import asked_kinds, path_weight
from flashgrep.ranking.words import compounds, parts

_STOP_WORDS: Final = """
a an and are as at be been but by can did do does for from get had has have how i if in into
is it its me my of on or our show so that the their them then there these they this to us was
we were what when where which who why will with would you your
"""
STOP_WORDS: Final = frozenset(_STOP_WORDS.split())
_REQUEST_WORDS: Final = """
add adds added adding allow allows allowed also avoid avoids better bug change changes changed
correct correctly don during ensure fix fixed fixes fixing handle handles handled handling implement
implements improve improved improves introduce instead issue issues make makes making minor missing
more new no not only prevent prevents problem properly refactor remove removed removes removing
should simplify some support supported supports typo unnecessary update updated updates use used
uses using while without after before
"""
REQUEST_WORDS: Final = frozenset(_REQUEST_WORDS.split())
"""Words that say what is to be done, not where: "fix", "properly". They count half, for 0.009 of
NDCG@10 on the histories of docs/design.md. Not "rename", "enable" or "move": code does that too."""
_ENDINGS: Final = re.findall(
    r"\w+", "ations ation ators ator ments ment ions ion ers er ors or ings ing ies able ed es s"
)
_ADDED: Final = ["s", "es", "ing", "ed", "er", "ers", "e", "or", "ion", "ation", "ator"]
_SHORTEST_BASE: Final = 3
_SHORTEST_INFLECTED: Final = 4
_INITIALS: Final = (2, 3, 4)


class Clause(NamedTuple):
    """Words in a field of which the best counts."""

    field: str
    weight: float
    words: tuple[str, ...]
    is_inflected: bool = False
    """The others are forms of the first: they count less, and never as rarer than it."""


@dataclass(frozen=True)
class RankedQuestion:
    """The text of a query, read."""

    text: str

    @cached_property
    def all_words(self) -> tuple[str, ...]:
        """Every part of every word, in order."""
        return tuple(parts(self.text.encode("utf-8", "replace")))

    @cached_property
    def words(self) -> tuple[str, ...]:
        """What is looked for: no word twice, and no stop words unless there are no others."""
        distinct = dict.fromkeys(self.all_words)
        telling = [word for word in distinct if word not in STOP_WORDS]
        return tuple(telling or distinct)[: limits.QUERY_WORDS]

    @cached_property
    def telling_words(self) -> tuple[str, ...]:
        """The words that say where: no request words unless there are no others."""
        return tuple(word for word in self.words if word not in REQUEST_WORDS) or self.words

    @cached_property
    def compounds(self) -> tuple[str, ...]:
        """Identifiers of several parts, as a whole."""
        found = compounds(self.text.encode("utf-8", "replace"))
        return tuple(dict.fromkeys(found))[: limits.QUERY_WORDS]

    @cached_property
    def initials(self) -> tuple[str, ...]:
        """The first letters of neighbouring words, as names abbreviate them."""
        words = self.all_words[: limits.QUERY_WORDS]
        runs = (
            "".join(word[0] for word in words[at : at + count])
            for count in _INITIALS
            for at in range(len(words) - count + 1)
        )
        return tuple(run for run in dict.fromkeys(runs) if run.isalpha())

    @cached_property
    def _asked_kinds(self) -> frozenset[str]:
        return asked_kinds(frozenset(self.all_words))

    def path_weight(self, path: str) -> float:
        """What a file's relevance is multiplied by, for what its path says it is."""
        return path_weight(path, self._asked_kinds)

    @cached_property
    def clauses(self) -> tuple[Clause, ...]:
        """All that counts for a file, each once."""
        found = []
        for word in self.words:
            share = 1.0 if word in self.telling_words else REQUEST_WEIGHT
            found += [
                Clause(field, share * weight, forms(word), is_inflected=True)
                for field, weight in WEIGHTS.items()
            ]
            for field in ("name", "path"):
                weight = share * PREFIX_WEIGHT * WEIGHTS[field]
                found.append(Clause(field, weight, prefixes(word)))
        found += [Clause("whole", WHOLE_WEIGHT, (word,)) for word in self.compounds]
        for word in self.initials:
            found += [Clause(field, weight, (word,)) for field, weight in INITIALS_WEIGHT.items()]
        return tuple(found)


def forms(word: str) -> tuple[str, ...]:
    """The word itself, then what it may be inflected to; most of these exist in no language."""
    if len(word) < _SHORTEST_INFLECTED or not (word.isascii() and word.isalpha()):
        return (word,)
    found = dict.fromkeys([word])
    for base in _bases(word):
        found[base] = None
        stem = base.removesuffix("e")
        found.update(dict.fromkeys(stem + ending for ending in _ADDED))
    return tuple(found)


def _bases(word: str) -> list[str]:
    bases = [word]
    for ending in _ENDINGS:
        base = word.removesuffix(ending)
        if base == word or len(base) < _SHORTEST_BASE:
            continue
        if ending == "ies":
            bases.append(base + "y")
            continue
        bases += [base, base + "e"]
        if base[-1] == base[-2]:
            bases.append(base[:-1])  # "mapping" is of "map"
    return bases


@lru_cache(16_384)
def stem(word: str) -> str:
    """What the forms of a word have in common, as far as endings tell: "load" of "loading"."""
    if len(word) < _SHORTEST_INFLECTED or not (word.isascii() and word.isalpha()):
        return word
    return min((base.removesuffix("e") for base in _bases(word)), key=len)


def prefixes(word: str) -> tuple[str, ...]:
    """The beginnings of a word that could abbreviate it in a path."""
    return tuple(word[:end] for end in range(_SHORTEST_BASE, len(word)))


def any_form(word: str) -> str:
    """A regular expression for a word in any of its forms, inside longer words too."""
    return f"(?:{'|'.join(loose_patterns(word))})"


def loose_patterns(word: str) -> list[str]:
    """The same in parts; what each matches is one of `loose_forms`, or that between `_`."""
    bodies = map(re.escape, loose_forms(word))
    if len(word) > _SHORTEST_BASE:
        return list(bodies)
    return [rf"(?:\b|_){body}(?:\b|_)" for body in bodies]


def loose_forms(word: str) -> list[str]:
    """The beginnings that the forms of a word have, the shortest alone."""
    kept: list[str] = []
    for form in sorted(forms(word), key=len):
        if not any(form.startswith(shorter) for shorter in kept):
            kept.append(form)  # a form that begins with another finds nothing that one does not
    return kept


# ── scores ───────────────────────────────────────────────────────────────────────────────────────
# The score of a file for a question: BM25 per word and field, and what each field weighs.
#
# Weights were chosen on the same 30 questions about the Linux tree that they are measured with
# (right file among the first five; docs/design.md), so expect a little less elsewhere. Added one by
# one: text alone 21, paths 23, definitions 25, forms of words 25, headers after implementations 26,
# initials 27, prefixes 27; all together with the weights below 28. The few other values tried moved
# that by one at most.


WEIGHTS: Final = {"body": 1.0, "name": 1.0, "path": 0.5, "defs": 0.5}
WHOLE_WEIGHT: Final = 1.0
FORM_WEIGHT: Final = 0.8
REQUEST_WEIGHT: Final = 0.5
PREFIX_WEIGHT: Final = 0.5
INITIALS_WEIGHT: Final = {"name": 0.5, "path": 0.25, "body": 0.15, "defs": 0.08}

_SATURATION: Final = 1.2
_LENGTH: Final = 0.75


PIECE_BYTES: Final = 256 * 1024
"""In a larger file every so many bytes are a document, or its length would hide what is in it."""


class RankedFile(NamedTuple):
    """A file, as names of the tree, and how well it answers."""

    path: str
    score: float
    piece: int = 0
    """Which piece of a large file answers best."""


def rarity(documents: int, count: int) -> float:
    """The weight of a word that `count` of so many documents have, as in tantivy."""
    return math.log(1 + (documents - count + 0.5) / (count + 0.5))


def frequency(count: int, length: float) -> float:
    """What `count` times a word are worth in a text of `length` times the average length."""
    return float(frequencies(count, length))


def frequencies(counts: Any, lengths: Any) -> Any:
    """The same for arrays of counts and lengths."""
    return (_SATURATION + 1) * counts / (counts + _SATURATION * (1 - _LENGTH + _LENGTH * lengths))
