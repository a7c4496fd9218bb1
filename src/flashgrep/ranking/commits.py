"""How commits speak for the files that they changed.

A subject says what was done in the words of a question, and the commit says where: "retry failed
uploads" changed `net/send.c`, which contains hardly any of these words. So files changed by commits
with subjects like a question are likelier to answer it.

    a commit's likeness    of the question's words, how much the subject has, by how rare each is
                           among the subjects; to the third power, so that half a question is little
    a file's share         the sum of that over its commits, each divided by the root of how many
                           files it changed, times the factor of its path; 1 for the best file

On the histories of eighteen repositories (docs/design.md) NDCG@10 / in the first five went from
0.664 / 0.790 to 0.693 / 0.828. Tried without gain: the texts of the messages beside the subjects,
the age of a commit, how often or how lately a file was changed, files that are changed together,
files that no word of the question is in.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from flashgrep.ranking.question import (
    REQUEST_WEIGHT,
    REQUEST_WORDS,
    STOP_WORDS,
    RankedFile,
    RankedQuestion,
    rarity,
    stem,
)
from flashgrep.ranking.words import parts

COMMITS: Final = 2_000
"""The newest ones that are read: with half as many NDCG is 0.002 less, with more the same."""
MOST_FILES: Final = 20
"""A commit that changed more files is about none of them."""

_WORTH: Final = 0.35
"""What the best file's commits are worth, as a share of the best score."""
_POWER: Final = 3
_SUBJECT_CHARS: Final = 400


class Commit(NamedTuple):
    """A commit's subject, and the files it changed, as named in the searched tree."""

    subject: str
    files: Sequence[str]
    changed: int
    """How many files it changed, elsewhere included."""


class CommitWords:
    """The subjects of a tree's commits, by their words."""

    def __init__(self, commits: Iterable[Commit]) -> None:
        self._commits: list[tuple[tuple[str, ...], float]] = []
        self._with: dict[str, list[int]] = defaultdict(list)
        known: dict[str, str] = {}
        for commit in commits:
            if not commit.files or commit.changed > MOST_FILES:
                continue
            for word in _words(commit.subject[:_SUBJECT_CHARS]):
                self._with[word].append(len(self._commits))
            files = tuple(known.setdefault(path, path) for path in commit.files)
            self._commits.append((files, 1 / math.sqrt(commit.changed)))

    def shares(self, question: RankedQuestion) -> dict[str, float]:
        """How much the commits say for each file that they say something for; 1 for the best."""
        found: dict[str, float] = defaultdict(float)
        for number, likeness in self._alike(question).items():
            files, worth = self._commits[number]
            for path in files:
                found[path] += worth * likeness**_POWER
        weighed = {path: value * question.path_weight(path) for path, value in found.items()}
        best = max(weighed.values(), default=0.0)
        return {path: value / best for path, value in weighed.items() if value}

    def _alike(self, question: RankedQuestion) -> dict[int, float]:
        """The commits that have a word of the question, and how much of the question they have."""
        whole = 0.0
        found: dict[int, float] = defaultdict(float)
        for word in dict.fromkeys(map(stem, question.words)):
            commits = self._with.get(word, ())
            value = rarity(len(self._commits), len(commits))
            value *= REQUEST_WEIGHT if word in _REQUEST_STEMS else 1.0
            whole += value
            for number in commits:
                found[number] += value
        return {number: value / whole for number, value in found.items()}


def heard(
    question: RankedQuestion, files: Sequence[RankedFile], commits: CommitWords | None
) -> list[RankedFile]:
    """The same files with what commits say for them, best first."""
    shares = commits.shares(question) if commits is not None and files else {}
    if not shares:
        return list(files)
    most = _WORTH * files[0].score
    with_them = [
        file._replace(score=file.score + most * shares.get(file.path, 0.0)) for file in files
    ]
    return sorted(with_them, key=lambda file: (-file.score, file.path))


def _words(subject: str) -> set[str]:
    words = parts(subject.encode("utf-8", "replace"))
    return {stem(word) for word in words if word not in STOP_WORDS}


_REQUEST_STEMS: Final = frozenset(map(stem, REQUEST_WORDS))
