"""Ranks the files of a snapshot: BM25 over the fields of `format`, weighted by path.

Each word of the question counts in the text, among the names defined there, in the file's name and
in its directories. A form of a word ("load" for "loading") counts a little less than the word and
never as rarer than it. Initials and beginnings of words count in names, where people abbreviate.
"""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from flashgrep import limits
from flashgrep.ranking.format import Checked, DamagedRanking, key_number, open_as_one, schema
from flashgrep.ranking.question import RankedQuestion, forms, prefixes
from flashgrep.ranking.scoring import (
    FORM_WEIGHT,
    INITIALS_WEIGHT,
    PREFIX_WEIGHT,
    WEIGHTS,
    WHOLE_WEIGHT,
    RankedFile,
    rarity,
)
from flashgrep.system.idle import IdleRelease

if TYPE_CHECKING:
    import tantivy

log = logging.getLogger(__name__)


# ── weights of paths ─────────────────────────────────────────────────────────────────────────────
# How much a path counts: what is implemented stands before what is tested, declared or told.
#
# Mild on purpose. A test that answers far better than any implementation still comes first.


ASIDE: Final = 0.6
"""Tests, documentation, samples."""
DECLARING: Final = 0.75
"""Headers and stubs: the same words as the implementation, without the code."""

_ASIDE_DIRECTORY: Final = re.compile(
    r"(?:^|/)(?:tests?|testing|selftests?|testdata|specs?|documentation|docs?|samples?|examples?"
    r"|fixtures?|mocks?|benchmarks?)/",
    re.IGNORECASE,
)
_ASIDE_NAME: Final = re.compile(
    r"(?:^|[_.-])(?:self)?tests?[_.-]|[._-]spec\."
    r"|(?-i:[a-z](?:Tests?|Spec)\.)",
    re.IGNORECASE,
)
_DECLARING_NAME: Final = re.compile(r"\.(?:h|hh|hpp|hxx|pyi|d\.ts|d\.mts)$")


def path_weight(path: str) -> float:
    """What a file's relevance is multiplied by."""
    name = path.rpartition("/")[2]
    is_aside = _ASIDE_DIRECTORY.search(path) or _ASIDE_NAME.search(name)
    weight = ASIDE if is_aside else 1.0
    return weight * DECLARING if _DECLARING_NAME.search(name) else weight


# ── ranking ──────────────────────────────────────────────────────────────────────────────────────


_ENOUGH: Final = 10
_FURTHER: Final = 8

Keeps = Callable[[str], bool]
"""Whether a question asks for a path."""
NameOf = Callable[[str, int], str | None]
"""The path of a segment's file, or None where the snapshot holds it no more."""


class Ranking:
    """The ranked indexes of some segments, searched as one.

    tantivy keeps a thread per open index that looks at the disk twice a second. So the index is
    opened by the first search (8 ms) and let go when none came for a while.
    """

    def __init__(self, root: str, keys: Sequence[str], checked: Checked | None = None) -> None:
        """Open and check the indexes of the segments `keys`; `DamagedRanking` where one is off."""
        checked = checked or Checked(root)
        self._root = root
        self._parts = [(os.path.join(root, key), checked.manifest(key)) for key in keys]
        self._keys = {key_number(key): key for key in keys}
        self.keys = frozenset(keys)
        self._schema = schema()
        self._lock = threading.Lock()
        self._searcher: tantivy.Searcher | None = None
        self._rest = IdleRelease(self._let_go, limits.RANKING_IDLE_SECONDS)
        self.documents = sum(manifest.documents for _, manifest in self._parts)
        self.text_bytes = sum(manifest.text_bytes for _, manifest in self._parts)

    def search(
        self,
        question: RankedQuestion,
        name_of: NameOf,
        limit: int,
        keeps: Keeps = lambda path: True,
    ) -> list[RankedFile]:
        """The files that answer best, best first: about `limit`, or all there are.

        Documents of files that the snapshot lost do not count; where a filter leaves out most of
        the others, a tenth of `limit` will do.
        """
        if not self.documents or not question.words:
            return []
        searcher = self._open()
        query = self._query(searcher, question)
        wanted = limit
        while True:
            hits = _hits(searcher, query, wanted)
            alive = [(score, name_of(self._keys[segment], file)) for score, segment, file in hits]
            named = [(score, name) for score, name in alive if name is not None]
            found = _files(named, keeps)
            if len(hits) < wanted or len(found) >= limit:
                return found[:limit]
            if len(named) < limit:
                wanted += max(wanted - len(named), limit)
            elif len(found) >= limit // _ENOUGH:
                return found
            else:
                wanted *= _FURTHER

    def count(self, field: str, word: str) -> int:
        """In how many documents a word stands in a field."""
        return self._open().doc_freq(field, word) if self.documents else 0

    def close(self) -> None:
        """Let the files go."""
        self._rest.close()
        self._let_go()

    # ── the query ───────────────────────────────────────────────────────────────────────────────

    def _query(self, searcher: tantivy.Searcher, question: RankedQuestion) -> tantivy.Query:
        import tantivy

        words = [
            clause
            for word in question.words
            for clause in (
                *(self._word(searcher, field, word, weight) for field, weight in WEIGHTS.items()),
                *(self._prefix(searcher, field, word) for field in ("name", "path")),
            )
        ]
        whole = [self._term("whole", word, WHOLE_WEIGHT, "basic") for word in question.compounds]
        initials = [
            self._term(field, word, weight)
            for word in question.initials
            for field, weight in INITIALS_WEIGHT.items()
        ]
        clauses = [clause for clause in (*words, *whole, *initials) if clause is not None]
        should = tantivy.Occur.Should
        return tantivy.Query.boolean_query([(should, clause) for clause in clauses])

    def _word(self, searcher: tantivy.Searcher, field: str, word: str, weight: float) -> Any:
        """A word or its best form; a rare form must not count for more than the word."""
        counts = {form: searcher.doc_freq(field, form) for form in forms(word)}
        counts = {form: count for form, count in counts.items() if count}
        if not counts:
            return None
        rarities = {form: rarity(self.documents, count) for form, count in counts.items()}
        ceiling = rarities.get(word, min(rarities.values()))
        terms = [
            self._term(
                field,
                form,
                weight * (1.0 if form == word else FORM_WEIGHT) * min(1.0, ceiling / value),
            )
            for form, value in rarities.items()
        ]
        return _best(terms)

    def _prefix(self, searcher: tantivy.Searcher, field: str, word: str) -> Any:
        weight = PREFIX_WEIGHT * WEIGHTS[field]
        known = [prefix for prefix in prefixes(word) if searcher.doc_freq(field, prefix)]
        return _best([self._term(field, prefix, weight) for prefix in known])

    def _term(self, field: str, word: str, weight: float, option: str = "freq") -> tantivy.Query:
        import tantivy

        term = tantivy.Query.term_query(self._schema, field, word, option)
        return tantivy.Query.boost_query(term, weight)

    # ── opening and resting ─────────────────────────────────────────────────────────────────────

    def _open(self) -> tantivy.Searcher:
        self._rest.used()
        with self._lock:
            if self._searcher is None:
                self._searcher = open_as_one(self._root, self._parts)
            return self._searcher

    def _let_go(self) -> None:
        with self._lock:
            self._searcher = None


def _files(named: list[tuple[float, str]], keeps: Keeps) -> list[RankedFile]:
    """The files of some documents, best first: a file scores as the best of its documents."""
    best: dict[str, float] = {}
    for score, name in named:
        if name in best or keeps(name):
            best[name] = max(best.get(name, 0.0), score * path_weight(name))
    ordered = sorted(best.items(), key=lambda item: (-item[1], item[0]))
    return [RankedFile(*item) for item in ordered]


def _hits(
    searcher: tantivy.Searcher, query: tantivy.Query, limit: int
) -> list[tuple[float, int, int]]:
    """Score, segment and file of the best documents."""
    try:
        hits = searcher.search(query, limit, count=False).hits
        addresses = [address for _, address in hits]
        segments = searcher.fast_field_values("segment", addresses)
        files = searcher.fast_field_values("file", addresses)
    except (ValueError, OSError) as error:
        raise DamagedRanking(str(error)) from None
    return [
        (float(score), int(segment or 0), int(file or 0))
        for (score, _), segment, file in zip(hits, segments, files, strict=True)
    ]


def _best(queries: list[Any]) -> Any:
    import tantivy

    if len(queries) <= 1:
        return queries[0] if queries else None
    return tantivy.Query.disjunction_max_query(queries)
