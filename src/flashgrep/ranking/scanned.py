"""Ranks what a scan found, if there is no ranked index, with the index's own score.

A scan tells on how many lines of which files a word occurs. That chooses the candidates, which are
read and counted like changed files, and scored by the same code. The scan also tells how many files
have a word, so a tree with no more candidates than that limit is ranked as the index ranks it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import PurePosixPath
from typing import Final

from flashgrep import limits
from flashgrep.ranking.changed_files import RANKED_OVERLAY_BYTES, Changed, OverlayRanking
from flashgrep.ranking.question import RankedFile, RankedQuestion, forms, frequency, rarity
from flashgrep.ranking.words import parts

CANDIDATE_BYTES: Final = 64 * limits.MIB
"""Text of candidates that is counted, 25 MB a second; others keep the order the scan gives."""

_NAME_WEIGHT: Final = 1.0
"""What a word in the path adds to a candidate, of its rarity."""

LinesByWord = Mapping[str, Mapping[str, int]]
"""For each word that was scanned for, on how many lines of which files it occurs."""


@dataclass(frozen=True)
class _ScanStatistics:
    """How many files that are not counted have a word."""

    by_word: Mapping[str, int]
    names: Mapping[tuple[str, str], int]
    most: int

    def count(self, field: str, word: str) -> int:
        if field in ("name", "path"):
            return self.names.get((field, word), 0)
        # As common as the commonest if nobody looked: too common is no harm, too rare is.
        return self.by_word.get(word, self.most)


def rank_scanned(
    question: RankedQuestion,
    lines: LinesByWord,
    sizes: Mapping[str, int],
    read: Callable[[str], bytes],
) -> list[RankedFile]:
    """The files that answer, best first; `sizes` has every file that was scanned."""
    rough = _rough_scores(question, lines, sizes)
    ordered = sorted(rough, key=lambda path: (-rough[path], path))[: limits.QUERY_FILES]
    chosen = list(_affordable(ordered, sizes))
    overlay = OverlayRanking().count(
        Changed(path=path, identity=None, read=partial(read, path)) for path in chosen
    )
    others = sizes.keys() - set(chosen)
    found = overlay.search(
        question,
        len(others),
        sum(sizes[path] for path in others),
        _statistics(question, lines, set(chosen), others).count,
    )
    found.sort(key=lambda file: (-file.score, file.path))
    least = found[-1].score if found else 1.0
    left = ordered[len(chosen) :]
    return found + [RankedFile(path, min(least, rough[path])) for path in left]


def _rough_scores(
    question: RankedQuestion, lines: LinesByWord, sizes: Mapping[str, int]
) -> dict[str, float]:
    """What the scan itself says about files with a word in their text or their path."""
    average = max(1.0, sum(sizes.values()) / max(1, len(sizes)))
    named = _named(question, sizes)
    found: dict[str, float] = {}
    for word in dict.fromkeys((*lines, *question.words)):
        on_lines = lines.get(word, {})
        weight = rarity(max(len(sizes), len(on_lines)), len(on_lines))
        for path in on_lines.keys() | named.get(word, set()):
            length = sizes.get(path, 0) / average
            score = frequency(on_lines.get(path, 0), length)
            score += _NAME_WEIGHT if path in named.get(word, ()) else 0.0
            found[path] = found.get(path, 0.0) + weight * score
    return {path: score * question.path_weight(path) for path, score in found.items()}


def _named(question: RankedQuestion, paths: Iterable[str]) -> dict[str, set[str]]:
    """For each word the files whose path has it, a form of it, or its beginning."""
    words: dict[str, set[str]] = {}
    for word in question.words:
        for form in forms(word):
            words.setdefault(form, set()).add(word)
        for end in range(3, len(word)):
            words.setdefault(word[:end], set()).add(word)
    found: dict[str, set[str]] = {}
    for path in paths:
        for part in _path_parts(path):
            for word in words.get(part, ()):
                found.setdefault(word, set()).add(path)
    return found


def _affordable(paths: Iterable[str], sizes: Mapping[str, int]) -> Iterable[str]:
    left = CANDIDATE_BYTES
    for path in paths:
        left -= min(sizes.get(path, 0), RANKED_OVERLAY_BYTES)
        if left < 0:
            return
        yield path


def _statistics(
    question: RankedQuestion, lines: LinesByWord, chosen: set[str], others: Iterable[str]
) -> _ScanStatistics:
    by_word: dict[str, int] = {}
    for word, on_lines in lines.items():
        count = len(on_lines.keys() - chosen)
        for form in forms(word):
            by_word.setdefault(form, count)
    terms = {(clause.field, word) for clause in question.clauses for word in clause.words}
    names: Counter[tuple[str, str]] = Counter()
    for path in others:
        directory, _, name = path.rpartition("/")
        own = parts(PurePosixPath(name).stem.encode("utf-8", "surrogateescape"))
        names.update({("name", part) for part in own if ("name", part) in terms})
        above = _directory_parts(directory)
        names.update({("path", part) for part in above if ("path", part) in terms})
    return _ScanStatistics(by_word, names, max(by_word.values(), default=0))


def _path_parts(path: str) -> set[str]:
    directory, _, name = path.rpartition("/")
    return {*_directory_parts(directory), *parts(name.encode("utf-8", "surrogateescape"))}


@lru_cache(1024)
def _directory_parts(directory: str) -> frozenset[str]:
    return frozenset(parts(directory.encode("utf-8", "surrogateescape")))
