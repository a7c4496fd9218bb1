"""How other files speak for a file: the tests named after it, and the code around it.

Tests say in the words of a question what code says in its own: `test_asgi.py` has "does not include
the query", `asgi.py` a slice. They are rarely what is asked for, so their path demotes them, but
how well they answer counts for the file they are named after. And a question is often about a
directory: another file beside several good ones is likelier than one that answers alone.

    upload.c   its own score
               + 0.2 × the best of test_upload.py, upload_test.go, UploadTest.java, …
               + 0.3 × the mean of the three best beside it that are code

Scores are those before the path's factor, and that of the file itself is applied to the sum. All is
taken from the ranked list, so the index, changed files and a scan give the same.

Gained on the histories of eleven repositories (docs/design.md), NDCG@10 / in the first five: tests
0.006 / 0.009, directories 0.010 / 0.019, both 0.014 / 0.018. Headers as witnesses for their
implementations, and any other file of the same name, lost up to 0.005; so did counting how many of
the best files mention a file's name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from flashgrep.ranking.path_kinds import path_kinds, subject_of
from flashgrep.ranking.question import RankedFile, RankedQuestion

WITNESSES: Final = 200
"""How many of the best files are looked at; those after them stay in place."""

_TESTED: Final = 0.2
_AROUND: Final = 0.3
_AROUND_FILES: Final = 3
_NO_CODE: Final = frozenset({"data", "prose", "tests", "built", "samples", "beside"})


class _Witness(NamedTuple):
    """A file, its score without the factor of its path, and what the path says."""

    file: RankedFile
    weight: float
    score: float
    directory: str
    subject: str
    is_test: bool
    is_code: bool


def supported(question: RankedQuestion, files: Sequence[RankedFile]) -> list[RankedFile]:
    """The same files with what others say for them; the first of them best first."""
    witnesses = [_witness(question, file) for file in files[:WITNESSES]]
    tests: dict[str, float] = {}
    around: dict[str, list[float]] = {}
    for one in witnesses:
        if one.is_test:
            tests[one.subject] = max(one.score, tests.get(one.subject, 0.0))
        if one.is_code:
            around.setdefault(one.directory, []).append(one.score)
    best = {
        directory: sorted(scores, reverse=True)[: _AROUND_FILES + 1]
        for directory, scores in around.items()
    }
    found = []
    for one in witnesses:
        tested = 0.0 if one.is_test else tests.get(one.subject, 0.0)
        beside = _beside(one, best.get(one.directory, []))
        score = one.score + _TESTED * tested + _AROUND * beside
        found.append(one.file._replace(score=score * one.weight))
    found.sort(key=lambda file: (-file.score, file.path))
    return [*found, *files[WITNESSES:]]


def _witness(question: RankedQuestion, file: RankedFile) -> _Witness:
    directory, _, name = file.path.rpartition("/")
    kinds = path_kinds(file.path)
    weight = question.path_weight(file.path)
    return _Witness(
        file=file,
        weight=weight,
        score=file.score / weight,
        directory=directory,
        subject=subject_of(name),
        is_test="tests" in kinds and not kinds & {"data", "prose"},
        is_code=not kinds & _NO_CODE,
    )


def _beside(one: _Witness, best: list[float]) -> float:
    """The mean of the best scores in its directory, without its own; missing ones are nothing."""
    total = sum(best[:_AROUND_FILES])
    if one.is_code and one.score in best[:_AROUND_FILES]:
        total = sum(best) - one.score
    return total / _AROUND_FILES
