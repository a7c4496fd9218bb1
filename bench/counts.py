"""count with the index: how many lines of every file match."""

from __future__ import annotations

from functools import partial

from bench import ripgrep, speed
from bench.corpus import Corpus
from bench.effort import Effort
from bench.patterns import Pattern, few_patterns
from bench.report import Section
from bench.rivals import Rivals, indexed_rivals
from bench.speed import Row

LEAST = 1.0
LEAST_FREQUENT = 1 / 6
"""For a pattern so frequent that hardly a block can be left out."""
FREQUENT = 0.01

_MODE = "count"


def measure(corpus: Corpus, effort: Effort) -> Section:
    """Time every pattern, and compare its counts with a scan's."""
    rows = []
    lines = _total(ripgrep.run(corpus.root, _MODE, "^"))
    with indexed_rivals(corpus) as all_rivals:
        for pattern in few_patterns(effort.patterns):
            rows.append(_row(all_rivals, pattern, effort.rounds, lines))
            speed.told(rows[-1])
    text = [
        speed.described(corpus, effort.rounds, ripgrep.shown(_MODE)),
        f"The tree has {lines:,} lines. A pattern that matches more than {FREQUENT:.0%} of them "
        "may take six times as long as ripgrep; others may not take longer.",
    ]
    return speed.section("counts", "Indexed: count", text, rows, {})


def _row(all_rivals: Rivals, pattern: Pattern, rounds: int, lines: int) -> Row:
    asked = {"pattern": pattern.source, "output_mode": _MODE}
    rg = partial(all_rivals.ripgrep, _MODE, pattern.source)
    timed, is_same = all_rivals.timed(asked, rounds, rg=rg)
    found = _total(timed.answers["rg"])
    least = LEAST_FREQUENT if found > FREQUENT * lines else LEAST
    return Row(pattern, timed, f"{found:,} lines", is_same, least)


def _total(output: bytes) -> int:
    """The sum of ripgrep's counts."""
    return sum(int(line.rpartition(b":")[2]) for line in output.split(b"\n") if line)
