"""files_with_matches with the index: the whole list of files, newest first."""

from __future__ import annotations

from functools import partial

from bench import ripgrep, speed
from bench.agreeing import files_of
from bench.corpus import Corpus
from bench.effort import Effort
from bench.patterns import Pattern, few_patterns
from bench.report import Section
from bench.rivals import Rivals, indexed_rivals
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
    rg = partial(all_rivals.ripgrep, _MODE, pattern.source)
    timed, is_same = all_rivals.timed(asked, rounds, rg=rg)
    found = f"{len(files_of(timed.answers['socket'])):,}"
    return Row(pattern, timed, found, is_same, least(pattern))
