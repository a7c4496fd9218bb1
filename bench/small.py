"""Small trees: every grep is to take no longer than ripgrep, which needs a few milliseconds."""

from __future__ import annotations

from pathlib import Path
from statistics import geometric_mean
from typing import Any

from bench import ripgrep
from bench.copies import small_copy
from bench.corpus import Corpus
from bench.effort import Effort
from bench.figures import MISSED, milliseconds, times
from bench.kept import indexed
from bench.line_client import LineClient, line_client
from bench.pages import LINES
from bench.patterns import Pattern, few_patterns
from bench.report import Section, Table, Target, code
from bench.rivals import Times
from bench.served import UNBOUNDED, Client, connected

LEAST = 1.0
MEAN = 3.0

_MODES: dict[str, tuple[str, dict[str, Any]]] = {
    "files": ("files_with_matches", {}),
    "page": ("content", {"head_limit": LINES}),
    "count": ("count", {}),
}

Measured = dict[tuple[str, str], Times]
"""By pattern and mode."""


def measure(corpus: Corpus, effort: Effort) -> Section:
    """Every pattern in every mode, on a part of the corpus and on this project."""
    trees = [small_copy(corpus, effort.small_files)]
    own = Path.cwd()
    if (own / "src" / "flashgrep").is_dir() and own != corpus.root:
        trees.append(Corpus(own, "this project's own tree"))
    patterns = few_patterns(effort.patterns)
    measured = {tree.name: _measure(tree, patterns, effort.rounds) for tree in trees}
    return Section(
        "small",
        "A small repository",
        text=[
            f"With the index, warm, through the unix socket by a plain client, {effort.rounds} "
            f"rounds in turn. A page is the first {LINES} lines, against all of ripgrep's content. "
            "Each cell: ripgrep's time, ours, how many times faster ours is, and the same for the "
            "SDK's client."
        ],
        tables=[_table(name, patterns, found) for name, found in measured.items()],
        targets=[
            target(name, found) for name, found in measured.items() for target in (_each, _mean)
        ],
    )


def _measure(tree: Corpus, patterns: list[Pattern], rounds: int) -> Measured:
    found: Measured = {}
    with (
        indexed(tree, *UNBOUNDED) as server,
        line_client(server) as line,
        connected(server) as client,
    ):
        for pattern in patterns:
            for mode in _MODES:
                timed = _time(line, client, tree, pattern.source, mode, rounds)
                found[pattern.source, mode] = timed
    speeds = [timed.speedup("line") for timed in found.values()]
    print(f"  {tree.name}: mean {times(geometric_mean(speeds))}, worst {times(min(speeds))}")
    return found


def _time(
    line: LineClient, client: Client, tree: Corpus, source: str, mode: str, rounds: int
) -> Times:
    output_mode, more = _MODES[mode]
    asked = {"pattern": source, "output_mode": output_mode, **more}
    client.call("grep", asked)
    timed = Times()
    for _ in range(rounds):
        timed.run("rg", lambda: ripgrep.drain(tree.root, output_mode, source))
        timed.run("line", lambda: line.call("grep", asked))
        timed.run("sdk", lambda: client.call("grep", asked))
    return timed


def _table(name: str, patterns: list[Pattern], found: Measured) -> Table:
    rows = []
    for pattern in patterns:
        cells = []
        for mode in _MODES:
            timed = found[pattern.source, mode]
            speed = timed.speedup("line")
            figures = [milliseconds(timed.median(who)) for who in ("rg", "line")]
            missed = "" if speed >= LEAST else f" {MISSED}"
            by_sdk = times(timed.speedup("sdk"))
            cells.append(f"{figures[0]}, {figures[1]}: {times(speed)}{missed} ({by_sdk})")
        rows.append([pattern.kind, code(pattern.source), *cells])
    return Table(name, ["class", "pattern", *_MODES], rows)


def _each(name: str, found: Measured) -> Target:
    speeds = [timed.speedup("line") for timed in found.values()]
    slower = sum(speed < LEAST for speed in speeds)
    worst = f"worst {times(min(speeds))}"
    figure = worst if not slower else f"{slower} of {len(speeds)} slower, {worst}"
    return Target(f"{name}: every grep", "no slower than rg", figure, not slower)


def _mean(name: str, found: Measured) -> Target:
    mean, by_sdk = (
        geometric_mean([timed.speedup(who) for timed in found.values()]) for who in ("line", "sdk")
    )
    figure = f"{times(mean)}, SDK {times(by_sdk)}"
    return Target(f"{name}: mean", f"at least {MEAN:g} ×", figure, mean >= MEAN)
