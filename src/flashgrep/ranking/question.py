"""What a query asks: the words of its text, and the other forms they may stand in.

    "loading an ELF executable"   words      loading elf executable
                                  forms      loading: load loads loaded loader …
                                  initials   lee le ee: "read copy update" is often `rcu`
                                  prefixes   load elf exec: directories and files abbreviate

Forms are made by rule from common English endings; those that stand nowhere cost nothing. Stemming
every word of the index instead halved tantivy's speed (28 for 55 MB/s on a sample). Neither moved
how many of our 30 questions were answered; forms are kept for words like "loading".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from flashgrep import limits
from flashgrep.ranking.words import compounds, parts

STOP_WORDS: Final = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "been",
        "but",
        "by",
        "can",
        "did",
        "do",
        "does",
        "for",
        "from",
        "get",
        "had",
        "has",
        "have",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "me",
        "my",
        "of",
        "on",
        "or",
        "our",
        "show",
        "so",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "to",
        "us",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "who",
        "why",
        "will",
        "with",
        "would",
        "you",
        "your",
    ]
)
_ENDINGS: Final = [
    "ations",
    "ation",
    "ators",
    "ator",
    "ments",
    "ment",
    "ions",
    "ion",
    "ers",
    "er",
    "ors",
    "or",
    "ings",
    "ing",
    "ies",
    "able",
    "ed",
    "es",
    "s",
]
_ADDED: Final = ["s", "es", "ing", "ed", "er", "ers", "e", "or", "ion", "ation", "ator"]
_SHORTEST_BASE: Final = 3
_SHORTEST_INFLECTED: Final = 4
_INITIALS: Final = (2, 3, 4)


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
        """What is looked for: no word twice, and none that stands everywhere unless all do."""
        distinct = dict.fromkeys(self.all_words)
        telling = [word for word in distinct if word not in STOP_WORDS]
        return tuple(telling or distinct)[: limits.QUERY_WORDS]

    @cached_property
    def compounds(self) -> tuple[str, ...]:
        """Identifiers of several parts, as a whole."""
        found = compounds(self.text.encode("utf-8", "replace"))
        return tuple(dict.fromkeys(found))[: limits.QUERY_WORDS]

    @cached_property
    def initials(self) -> tuple[str, ...]:
        """The first letters of words that stand together, as names abbreviate them."""
        words = self.all_words[: limits.QUERY_WORDS]
        runs = (
            "".join(word[0] for word in words[at : at + count])
            for count in _INITIALS
            for at in range(len(words) - count + 1)
        )
        return tuple(run for run in dict.fromkeys(runs) if run.isalpha())


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


def prefixes(word: str) -> tuple[str, ...]:
    """The beginnings of a word that could stand for it in a path."""
    return tuple(word[:end] for end in range(_SHORTEST_BASE, len(word)))


def any_form(word: str) -> str:
    """A regular expression for a word in any of its forms, inside longer words too."""
    kept: list[str] = []
    for form in sorted(forms(word), key=len):
        if not any(form.startswith(shorter) for shorter in kept):
            kept.append(form)  # a form that begins with another finds nothing that one does not
    bodies = "|".join(re.escape(form) for form in kept)
    return rf"(?:\b|_)(?:{bodies})(?:\b|_)" if len(word) <= _SHORTEST_BASE else f"(?:{bodies})"
