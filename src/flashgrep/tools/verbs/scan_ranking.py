"""Ranks files by searching for each word: for a query where there is no ranked index.

Slower than the index, and the same kind of score: how often a word stands in a file, against in how
many files it does, and how large the file is.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from flashgrep import limits
from flashgrep.errors import FlashgrepError
from flashgrep.ranking.question import RankedQuestion, any_form
from flashgrep.ranking.ranking import path_weight
from flashgrep.ranking.scoring import RankedFile, frequency, rarity
from flashgrep.ranking.words import parts
from flashgrep.search.pattern import PatternSpec
from flashgrep.search.result import SearchQuestion

if TYPE_CHECKING:
    from flashgrep.tools.dispatch.toolbox import Call
    from flashgrep.workspace.scope import Place

_NAME_WEIGHT = 1.0
"""What a word in the path adds, of its rarity."""


def rank_by_scanning(
    call: Call, question: RankedQuestion, place: Place, filters: tuple[tuple[str, ...], ...]
) -> tuple[list[RankedFile], list[tuple[str, str]]]:
    """The files that hold a word of the question, best first; and what could not be searched."""
    counts: dict[str, dict[str, int]] = {}
    skipped: dict[str, str] = {}
    for word in (*question.compounds, *question.words)[: limits.SCANNED_WORDS]:
        pattern = PatternSpec(any_form(word), case_insensitive=True)
        asked = SearchQuestion(pattern, "lines", filters)
        result = call.services.search.search(place, asked, call.cancelled, call.report)
        counts[word] = {file.path: file.count for file in result.files()}
        skipped.update(result.skipped)
    return _ranked(call, place, counts), sorted(skipped.items())


def _ranked(call: Call, place: Place, counts: dict[str, dict[str, int]]) -> list[RankedFile]:
    paths = set().union(*counts.values()) if counts else set()
    total = len(paths)
    rarities = {word: rarity(total, len(files)) for word, files in counts.items()}
    rough = {path: _score(path, counts, rarities, 1.0) for path in paths}
    first = sorted(rough, key=lambda path: (-rough[path], path))[: limits.SCANNED_FILES]
    sizes = {path: _size(call, place, path) for path in first}
    average = max(1.0, sum(sizes.values()) / max(1, len(sizes)))
    for path, size in sizes.items():
        rough[path] = _score(path, counts, rarities, size / average)
    ordered = sorted(rough, key=lambda path: (path not in sizes, -rough[path], path))
    return [RankedFile(path, rough[path]) for path in ordered[: limits.QUERY_FILES]]


def _score(
    path: str, counts: dict[str, dict[str, int]], rarities: dict[str, float], length: float
) -> float:
    names: Sequence[str] = parts(path.encode("utf-8", "surrogateescape"))
    score = 0.0
    for word, files in counts.items():
        named = any(len(name) > 2 and word.startswith(name) for name in names)
        score += rarities[word] * (frequency(files.get(path, 0), length) + _NAME_WEIGHT * named)
    return score * path_weight(path)


def _size(call: Call, place: Place, path: str) -> int:
    scope = call.services.scope
    try:
        fd, status = scope.open_regular(scope.follow(place.path + b"/" + os.fsencode(path)))
    except FlashgrepError:
        return 0
    os.close(fd)
    return status.st_size
