"""files_with_matches with the index: the whole list of files, newest first."""

from __future__ import annotations

from bench import ripgrep, speed
from bench.agreeing import files_of
from bench.corpus import Corpus
from bench.effort import Effort
from bench.patterns import Pattern, few_patterns
from bench.report import Section
from bench.rivals import Rivals, Times, indexed_rivals
from bench.speed import Row

MEANS = {"some": 40.0, "many": 10.0, "most": 4.0}

_MODE = "files_with_matches"
_EACH = {"absent": 80.0, "rare": 80.0, "nolit": 0.9}
_FOLDED = 40.0


def measure(corpus: Corpus, effort: Effort) -> Section:
    """Time every pattern, and compare its answer with a scan's."""
    rows = []
    with indexed_rivals(corpus) as all_rivals:
        for pattern in few_patterns(effort.patterns):
            rows.append(_row(all_rivals, pattern, effort.rounds))
            speed.told(rows[-1])
    text = [speed.described(corpus, effort.rounds, ripgrep.shown(_MODE))]
    return speed.section("files", "Indexed: files_with_matches", text, rows, MEANS)


def least(pattern: Pattern) -> float | None:
    """What is asked of a pattern of a class that has no mean."""
    each = _EACH.get(pattern.kind)
    return _FOLDED if each and each > _FOLDED and pattern.folds_case else each


def _row(all_rivals: Rivals, pattern: Pattern, rounds: int) -> Row:
    asked = {"pattern": pattern.source, "output_mode": _MODE}
    expected = all_rivals.scanned(asked)
    all_rivals.socket(asked)  # unmeasured, as is the next: this table is about a warm server
    all_rivals.in_process(asked)
    timed = Times()
    for _ in range(rounds):
        timed.run("rg", lambda: all_rivals.ripgrep(_MODE, pattern.source))
        timed.run("socket", lambda: all_rivals.socket(asked))
        timed.run("in process", lambda: all_rivals.in_process(asked))
    answer = timed.answers["socket"]
    found = f"{len(files_of(answer)):,}"
    return Row(pattern, timed, found, answer == expected, least(pattern))
