"""query on anyone's code: questions from the history of the repositories that a user names."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from time import perf_counter
from typing import NamedTuple

from bench.corpus import SCRATCH, Corpus
from bench.effort import Effort
from bench.figures import milliseconds
from bench.history_questions import (
    COMMITS,
    SEED,
    History,
    HistoryQuestion,
    check_out,
    questions_of,
)
from bench.kept import wait_for
from bench.report import Section, Table, Target, code
from bench.served import Client, connected, serving

FIRST = 5
LISTED = 10
LEAST_NDCG = 0.68
LEAST_FIRST = 0.78
NO_PATHS = (
    "history measures query on repositories that you name: give the paths of their clones, as in "
    "`python -m bench --only history ../one ../two`; each needs a few hundred commits"
)


class Grade(NamedTuple):
    """How well a list answers a question."""

    ndcg: float
    reciprocal: float
    is_first: float
    """1 where a right file is among the first five."""


def grade(listed: Sequence[str], right: Collection[str]) -> Grade:
    """Every right file is worth the same, and less the further down it stands."""
    gains = [float(path in right) for path in listed[:LISTED]]
    best = sum(1 / math.log2(place + 2) for place in range(min(LISTED, len(right))))
    found = sum(gain / math.log2(place + 2) for place, gain in enumerate(gains))
    first = next((place for place, gain in enumerate(gains) if gain), None)
    return Grade(
        ndcg=found / best,
        reciprocal=0.0 if first is None else 1 / (first + 1),
        is_first=float(any(gains[:FIRST])),
    )


def measure(_corpus: Corpus, effort: Effort) -> Section:
    """Ask the questions of every repository on its own tree."""
    if not effort.paths:
        raise SystemExit(NO_PATHS)
    histories = [questions_of(Path(path)) for path in effort.paths]
    empty = [str(one.repository) for one in histories if not one.questions]
    if empty:
        raise SystemExit(
            f"{', '.join(empty)}: no commit of the last {COMMITS} has a subject of four words and "
            "changes one to three source files; name another repository"
        )
    return _section([_asked(history) for history in histories])


@dataclass(frozen=True)
class _Asked:
    """A history and how its questions were answered, one by one."""

    history: History
    grades: list[Grade]
    seconds: list[float]
    without: list[Grade]
    """The grades without what commits say."""


def _asked(history: History) -> _Asked:
    SCRATCH.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="history-", dir=SCRATCH) as directory:
        tree = Path(directory, "tree").resolve()
        check_out(history, tree)
        with serving(tree) as server, connected(server) as client:
            wait_for(server, "query_ready")
            answers = [_ask(client, question) for question in history.questions]
            os.rename(tree / ".git", Path(directory, "repository"))
            without = [_ask(client, question)[0] for question in history.questions]
    grades, seconds = ([*each] for each in zip(*answers, strict=True))
    return _Asked(history, grades, seconds, without)


def _ask(client: Client, question: HistoryQuestion) -> tuple[Grade, float]:
    begin = perf_counter()
    answer = client.call("query", {"text": question.text, "limit": LISTED})
    seconds = perf_counter() - begin
    listed = [result["file_path"] for result in json.loads(answer)["results"]]
    return grade(listed, question.files), seconds


def _section(asked: list[_Asked]) -> Section:
    rows = [
        [
            code(_name(one.history.repository)),
            code(one.history.commit[:12]),
            f"{len(one.grades)} of {one.history.made}",
            *_means(one.grades),
            *_means(one.without),
            milliseconds(median(one.seconds)),
        ]
        for one in asked
    ]
    every = [grade for one in asked for grade in one.grades]
    without = [grade for one in asked for grade in one.without]
    ndcg, first = fmean(one.ndcg for one in every), fmean(one.is_first for one in every)
    rows.append(["all", "", str(len(every)), *_means(every), *_means(without), ""])
    figures = ["NDCG@10", "MRR", f"in first {FIRST}"]
    columns = ["repository", "tree", "questions", *figures]
    columns += [*(f"{name}, no commits" for name in figures), "p50 ms"]
    return Section(
        "history",
        "query on histories",
        text=[
            "Questions are the subjects of later commits without numbers, paths and file names; "
            "right are the source files that the commit changed; the tree that is searched is a "
            f"clone, {COMMITS} commits older than the newest, and asked a second time without its "
            f"repository. Drawn with seed {SEED}."
        ],
        tables=[Table("", columns, rows)],
        targets=[
            _target("query on histories, NDCG@10", LEAST_NDCG, ndcg),
            _target(f"query on histories, in the first {FIRST}", LEAST_FIRST, first),
        ],
    )


def _target(what: str, least: float, figure: float) -> Target:
    return Target(what, f"at least {least:.2f}", f"{figure:.3f}", figure >= least)


def _name(repository: Path) -> str:
    path = repository.resolve()
    return path.parent.name if path.name in ("repo", ".git") else path.name


def _means(grades: Sequence[Grade]) -> list[str]:
    return [
        f"{fmean(values):.3f}"
        for values in zip(*grades, strict=True)  # NDCG@10, MRR, in the first five
    ]
