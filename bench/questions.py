"""query: how long an answer takes, and whether the right file is among the first five."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

from bench.corpus import Corpus
from bench.effort import Effort
from bench.figures import milliseconds, percentile
from bench.kept import indexed
from bench.report import Section, Table, Target, code
from bench.served import Client, connected

FIRST = 5
LEAST_RIGHT = 28
P50_BOUND = 0.025

_FILE = Path(__file__).with_name("questions.tsv")


@dataclass(frozen=True)
class Question:
    """A question, and the file a person would open."""

    text: str
    file: str


def read_questions() -> list[Question]:
    """Every row of the question file."""
    lines = _FILE.read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return [Question(text, file) for text, file in rows]


@dataclass
class _Asked:
    question: Question
    place: int | None
    """Where the right file stood, from 1."""
    seconds: list[float]


def measure(corpus: Corpus, effort: Effort) -> Section:
    """Ask every question in each round."""
    with indexed(corpus) as server, connected(server) as client:
        first, _ = _ask(client, Question("a question to begin with", ""))
        asked = [_Asked(question, None, []) for question in read_questions()]
        for _ in range(effort.rounds):
            for one in asked:
                seconds, one.place = _ask(client, one.question)
                one.seconds.append(seconds)
    return _section(corpus, effort.rounds, asked, first)


def _ask(client: Client, question: Question) -> tuple[float, int | None]:
    begin = perf_counter()
    answer = client.call("query", {"text": question.text, "limit": FIRST})
    seconds = perf_counter() - begin
    paths = [result["file_path"] for result in json.loads(answer)["results"]]
    return seconds, paths.index(question.file) + 1 if question.file in paths else None


def _section(corpus: Corpus, rounds: int, asked: list[_Asked], first: float) -> Section:
    every = [seconds for one in asked for seconds in one.seconds]
    p50, p99 = median(every), percentile(every, 0.99)
    right = sum(one.place is not None for one in asked)
    rows = [
        [
            one.question.text,
            code(one.question.file),
            str(one.place) if one.place else "**not there**",
            milliseconds(median(one.seconds)),
        ]
        for one in asked
    ]
    return Section(
        "questions",
        "query",
        text=[
            f"On {corpus.name}, through the unix socket by the SDK's client, {rounds} rounds, the "
            f"first {FIRST} results. p50 {milliseconds(p50)} ms, p99 {milliseconds(p99)} ms, worst "
            f"{milliseconds(max(every))} ms; the very first question of a server "
            f"{milliseconds(first)} ms.",
            f"The file a person would open is among the first {FIRST} for **{right}** of "
            f"{len(asked)} questions.",
        ],
        tables=[Table("", ["question", "file", "place", "p50"], rows)],
        targets=[
            Target(
                "query, p50",
                f"at most {P50_BOUND * 1000:.0f} ms",
                f"{milliseconds(p50)} ms",
                p50 <= P50_BOUND,
            ),
            Target(
                f"query, right file in the first {FIRST}",
                f"at least {LEAST_RIGHT} of {len(asked)}",
                str(right),
                right >= LEAST_RIGHT,
            ),
        ],
    )
