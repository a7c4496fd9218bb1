"""get_symbol of rare names: how long it takes, and whether every line that names them is there."""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass
from statistics import median
from time import perf_counter

from bench import ripgrep
from bench.corpus import Corpus
from bench.effort import Effort
from bench.figures import mark, milliseconds, percentile
from bench.kept import indexed
from bench.report import Section, Table, Target, code
from bench.served import UNBOUNDED, Client, connected

P50_BOUND = 0.050
RARE_LINES = 50

_SEED = 3
_SOURCES = (".c", ".h", ".py", ".rs", ".go", ".js", ".ts", ".java", ".cc", ".cpp")
_NAME = re.compile(rb"\b[A-Za-z_]\w{7,}\b")
_ATTEMPTS = 20

Line = tuple[str, int]


@dataclass
class _Name:
    name: str
    lines: set[Line]
    """Every line that names it, as ripgrep finds them."""
    seconds: list[float]
    definitions: int = 0
    missing: int = 0


def measure(corpus: Corpus, effort: Effort) -> Section:
    """Ask for each name in each round."""
    names = _rare_names(corpus, effort.symbols)
    with indexed(corpus, *UNBOUNDED) as server, connected(server) as client:
        client.call("get_symbol", {"symbol_name": "main"})  # the parser's process starts
        for _ in range(effort.rounds):
            for one in names:
                _ask(client, one)
    every = [seconds for one in names for seconds in one.seconds]
    missing = sum(one.missing for one in names)
    lines = sum(len(one.lines) for one in names)
    p50 = median(every)
    rows = [
        [
            code(one.name),
            str(len(one.lines)),
            str(one.definitions),
            milliseconds(median(one.seconds)),
            mark(not one.missing),
        ]
        for one in names
    ]
    return Section(
        "symbols",
        "get_symbol",
        text=[
            f"{len(names)} names drawn from the sources of {corpus.name} that stand on at most "
            f"{RARE_LINES} lines, through the unix socket by the SDK's client, {effort.rounds} "
            f"rounds: p50 {milliseconds(p50)} ms, p99 {milliseconds(percentile(every, 0.99))} ms. "
            r"Complete: each line ripgrep finds for `\bNAME\b` is in the answer."
        ],
        tables=[Table("", ["name", "lines", "definitions", "p50", "complete"], rows)],
        targets=[
            Target(
                "get_symbol of a rare name, p50",
                f"at most {P50_BOUND * 1000:.0f} ms",
                f"{milliseconds(p50)} ms",
                p50 <= P50_BOUND,
            ),
            Target(
                "get_symbol, lines that name the symbol",
                f"all {lines:,}",
                f"{lines - missing:,}",
                not missing,
            ),
        ],
    )


def _ask(client: Client, one: _Name) -> None:
    begin = perf_counter()
    answer = client.call("get_symbol", {"symbol_name": one.name})
    one.seconds.append(perf_counter() - begin)
    found = json.loads(answer)
    one.definitions = len(found["definitions"])
    told = [*found["definitions"], *found["references"]]
    one.missing = len(one.lines - {(row["file_path"], row["line"]) for row in told})


def _rare_names(corpus: Corpus, count: int) -> list[_Name]:
    """Names out of random source files: the same ones in every run."""
    rng = random.Random(_SEED)
    files = sorted(ripgrep.searched_files(corpus.root))
    sources = [name for name in files if name.endswith(_SOURCES)] or files
    found: dict[str, _Name] = {}
    for _ in range(count * _ATTEMPTS):
        if len(found) == count:
            break
        words = _NAME.findall((corpus.root / rng.choice(sources)).read_bytes())
        if words and (name := rng.choice(words).decode("ascii", "replace")) not in found:
            lines = _lines(corpus, name)
            if 0 < len(lines) <= RARE_LINES:
                found[name] = _Name(name, lines, [])
    return list(found.values())


def _lines(corpus: Corpus, name: str) -> set[Line]:
    output = ripgrep.run(corpus.root, "content", rf"\b{name}\b", "--no-unicode")
    lines = set()
    for line in output.decode("utf-8", "surrogateescape").split("\n"):
        path, _, rest = line.removeprefix("./").partition(":")
        number = rest.partition(":")[0]
        if number.isdecimal():
            lines.add((path, int(number)))
    return lines
