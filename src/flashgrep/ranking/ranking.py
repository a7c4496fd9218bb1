"""Ranks the files of a snapshot: BM25 over the fields of `format`, weighted by path.

Each word of the question counts in the text, among the names defined there, in the file's name and
in its directories. A form of a word ("load" for "loading") counts a little less than the word and
never as rarer than it. Initials and beginnings of words count in names, where people abbreviate.
"""

from __future__ import annotations

import logging
import os
import shutil
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from flashgrep import limits
from flashgrep.ranking.changed_files import NOTHING, ChangedFiles
from flashgrep.ranking.format import (
    VIEW_PREFIX,
    Checked,
    DamagedRanking,
    key_number,
    open_as_one,
    schema,
)
from flashgrep.ranking.question import (
    FORM_WEIGHT,
    Clause,
    RankedFile,
    RankedQuestion,
    rarity,
)
from flashgrep.system.atomic import make_private
from flashgrep.system.child import run_jobs
from flashgrep.system.idle import IdleRelease

RANKING_IDLE_SECONDS: Final = 30.0
"""An open ranked index wakes up twice a second; this long after the last query it is closed."""

if TYPE_CHECKING:
    import tantivy

log = logging.getLogger(__name__)


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

    def __init__(
        self, root: str, keys: Sequence[str], checked: Checked | None = None, owner: str = ""
    ) -> None:
        """Open and check the indexes of the segments `keys`; `DamagedRanking` where one is off."""
        checked = checked or Checked(root)
        self._root = root
        self._owner = owner
        self._parts = [(os.path.join(root, key), checked.manifest(key)) for key in keys]
        self._keys = {key_number(key): key for key in keys}
        self.keys = frozenset(keys)
        self._schema = schema()
        self._lock = threading.Lock()
        self._searcher: tantivy.Searcher | None = None
        self._rest = IdleRelease(self._let_go, RANKING_IDLE_SECONDS)
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
            alive = [(hit, name_of(self._keys[hit.segment], hit.file)) for hit in hits]
            named = [(hit, name) for hit, name in alive if name is not None]
            found = _files(question, named, keeps)
            if len(hits) < wanted or len(found) >= limit:
                return found[:limit]
            if len(named) < limit:
                wanted += max(wanted - len(named), limit)
            elif len(found) >= limit // _ENOUGH:
                return found
            else:
                wanted *= _FURTHER

    def count(self, field: str, word: str) -> int:
        """How many documents have a word in a field."""
        return self._open().doc_freq(field, word) if self.documents else 0

    def close(self) -> None:
        """Let the files go."""
        self._rest.close()
        self._let_go()

    # ── the query ───────────────────────────────────────────────────────────────────────────────

    def _query(self, searcher: tantivy.Searcher, question: RankedQuestion) -> tantivy.Query:
        import tantivy

        queries = [self._clause(searcher, clause) for clause in question.clauses]
        should = tantivy.Occur.Should
        return tantivy.Query.boolean_query([(should, each) for each in queries if each is not None])

    def _clause(self, searcher: tantivy.Searcher, clause: Clause) -> Any:
        import tantivy

        counts = {word: searcher.doc_freq(clause.field, word) for word in clause.words}
        rarities = {word: rarity(self.documents, count) for word, count in counts.items() if count}
        scales = dict.fromkeys(rarities, clause.weight)
        if clause.is_inflected and rarities:
            word = clause.words[0]
            ceiling = rarities.get(word, min(rarities.values()))
            for form, value in rarities.items():
                scales[form] *= (1.0 if form == word else FORM_WEIGHT) * min(1.0, ceiling / value)
        terms = [self._term(clause.field, word, scale) for word, scale in scales.items()]
        if len(terms) <= 1:
            return terms[0] if terms else None
        return tantivy.Query.disjunction_max_query(terms)

    def _term(self, field: str, word: str, weight: float) -> tantivy.Query:
        import tantivy

        option = "basic" if field == "whole" else "freq"
        term = tantivy.Query.term_query(self._schema, field, word, option)
        return tantivy.Query.boost_query(term, weight)

    # ── opening and resting ─────────────────────────────────────────────────────────────────────

    def _open(self) -> tantivy.Searcher:
        self._rest.used()
        with self._lock:
            if self._searcher is None:
                self._searcher = open_as_one(self._root, self._parts, self._owner)
            return self._searcher

    def _let_go(self) -> None:
        with self._lock:
            self._searcher = None


class _Hit(NamedTuple):
    """A document that answers."""

    score: float
    segment: int
    file: int
    piece: int


def _files(
    question: RankedQuestion, named: list[tuple[_Hit, str]], keeps: Keeps
) -> list[RankedFile]:
    """The files of some documents, best first: a file scores as the best of its documents."""
    best: dict[str, RankedFile] = {}
    for hit, name in named:  # the best document of a file comes first
        if name not in best and keeps(name):
            best[name] = RankedFile(name, hit.score * question.path_weight(name), hit.piece)
    return sorted(best.values(), key=lambda file: (-file.score, file.path))


def _hits(searcher: tantivy.Searcher, query: tantivy.Query, limit: int) -> list[_Hit]:
    """The best documents, best first."""
    try:
        hits = searcher.search(query, limit, count=False).hits
        addresses = [address for _, address in hits]
        segments = searcher.fast_field_values("segment", addresses)
        files = searcher.fast_field_values("file", addresses)
        pieces = searcher.fast_field_values("piece", addresses)
    except (ValueError, OSError) as error:
        raise DamagedRanking(str(error)) from None
    return [
        _Hit(
            score=float(score),
            segment=int(segment or 0),
            file=int(file or 0),
            piece=int(piece or 0),
        )
        for (score, _), segment, file, piece in zip(hits, segments, files, pieces, strict=True)
    ]


# ── the ranked tree ──────────────────────────────────────────────────────────────────────────────
# The ranked index of a workspace: in step with the segments, and searched with what changed since.
# `update` brings the directory in step with a snapshot's segments, in other processes; `search`
# answers from it and from changed files.


_MODULE: Final = "flashgrep.index.update.rank_writer"
_ATTEMPTS: Final = 2
_MOST: Final = 2

Stopped = Callable[[], bool]


class RankedTree:
    """The ranked index of one workspace, in one directory of the state."""

    def __init__(
        self,
        root: str,
        owner: str = "",
        is_left_over: Callable[[str], bool] = lambda name: True,
    ) -> None:
        """`owner` is in the names of what is not whole yet; others may keep their rankings here.

        `is_left_over` tells of something here that we do not use whether nobody does.
        """
        self._root = root
        self._owner = owner
        self._is_left_over = is_left_over
        self.current: Ranking | None = None
        """What is searched; None if nothing is ranked."""
        self._checked = Checked(root)
        self._is_tidy = False
        """Whether what an earlier process left unfinished is removed."""
        self._lock = threading.Lock()

    # ── keeping in step ─────────────────────────────────────────────────────────────────────────

    def update(self, segments: Mapping[str, str], stopped: Stopped = lambda: False) -> bool:
        """Rank these segments (key: path of the segment file) and no others; True when all are.

        Only the one process that may write the index calls this.
        """
        make_private(self._root)
        missing = [key for key in segments if not self._is_sound(key)]
        wanted = {key: segments[key] for key in missing}
        done = _write(self._root, self._owner, wanted, stopped)
        if done:
            self.open(segments)
            self._drop_all_but(segments)
        return done

    def open(self, keys: Iterable[str]) -> bool:
        """Search these segments from now on; False, and no change, where one is not ranked yet."""
        wanted = list(keys)
        try:
            ranking = Ranking(self._root, wanted, self._checked, self._owner)
        except DamagedRanking as error:
            log.info("the ranked index is not complete: %s", error)
            return False
        self._checked.keep(wanted)
        with self._lock:
            before, self.current = self.current, ranking
        if before is not None:
            before.close()
        return True

    def close(self) -> None:
        """Close the files; searches answer None from now on."""
        if (ranking := self.current) is not None:
            self._close(ranking)

    def _close(self, ranking: Ranking) -> bool:
        """Let one go, if it still is the one that is searched."""
        with self._lock:
            is_current = self.current is ranking
            if is_current:
                self.current = None
        if is_current:
            ranking.close()
        return is_current

    @property
    def is_there(self) -> bool:
        """Whether an earlier server has ranked something."""
        return os.path.isdir(self._root)

    @property
    def keys(self) -> frozenset[str]:
        """The segments that are ranked; files of others have to be given as changed."""
        ranking = self.current
        return frozenset() if ranking is None else ranking.keys

    def _is_sound(self, key: str) -> bool:
        try:
            self._checked.manifest(key)
        except DamagedRanking:
            return False
        return True

    def _drop_all_but(self, keys: Iterable[str]) -> None:
        for name in set(os.listdir(self._root)) - set(keys):
            is_view = name.startswith(VIEW_PREFIX)
            if not (is_view and self._is_tidy) and self._is_left_over(name):
                shutil.rmtree(os.path.join(self._root, name), ignore_errors=True)
        self._is_tidy = True

    # ── searching ───────────────────────────────────────────────────────────────────────────────

    def search(
        self,
        text: str,
        name_of: NameOf,
        overlay: ChangedFiles = NOTHING,
        keys: frozenset[str] | None = None,
        keeps: Keeps = lambda path: True,
    ) -> list[RankedFile] | None:
        """The files that answer, best first; None where nothing can be said: scan then.

        `overlay` has the files that changed; `keeps` chooses among all. `keys` are the segments
        that the caller takes for ranked; others may be by now.
        """
        ranking = self.current
        if ranking is None or (keys is not None and keys != ranking.keys):
            return None
        try:
            return _answer(ranking, RankedQuestion(text), name_of, overlay, keeps)
        except DamagedRanking as error:
            if self._close(ranking):
                log.warning("the ranked index is damaged and is written again: %s", error)
                self._checked.keep(())  # its files look as they did, and are not
            # Else another has taken its place, and its files are gone.
            return None


def _answer(
    ranking: Ranking, question: RankedQuestion, name_of: NameOf, overlay: ChangedFiles, keeps: Keeps
) -> list[RankedFile]:
    found = ranking.search(question, name_of, limits.QUERY_FILES, keeps)
    if not overlay.files:
        return found
    newer = overlay.search(question, ranking.documents, ranking.text_bytes, ranking.count)
    kept = [file for file in found if not overlay.holds(file.path)]
    kept += [file for file in newer if keeps(file.path)]
    ordered = sorted(kept, key=lambda file: (-file.score, file.path))
    return ordered[: limits.QUERY_FILES]


def _write(root: str, owner: str, segments: Mapping[str, str], stopped: Stopped) -> bool:
    """Write the ranked indexes of these segments in processes, one a core; False where one fails.

    The largest first: with one of them last, all but one core would wait for it.
    """
    left = sorted(segments, key=lambda key: os.path.getsize(segments[key]), reverse=True)
    most = min(len(os.sched_getaffinity(0)), _MOST)
    for _ in range(_ATTEMPTS):
        failed = []
        messages = [(segments[key], root, key, owner) for key in left]
        for number, (kind, body) in run_jobs(_MODULE, messages, most, stopped):
            if kind != "written":
                log.warning("ranking a segment failed: %s", body)
                failed.append(left[number])
        if stopped():
            return False
        left = failed
    return not left
