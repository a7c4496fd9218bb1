"""The first 250 matching lines in walk order with the index, against all of ripgrep's content."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from bench import ripgrep, speed
from bench.corpus import Corpus
from bench.effort import Effort
from bench.files import least
from bench.patterns import Pattern, few_patterns
from bench.report import Section
from bench.rivals import Rivals, indexed_rivals
from bench.speed import Row

LINES = 250
MEANS = {"some": 40.0, "many": 40.0, "most": 30.0}

_HEAD = "rg | head"


def measure(corpus: Corpus, effort: Effort) -> Section:
    """Time every pattern, and compare its page with a scan's."""
    rows = []
    with indexed_rivals(corpus) as all_rivals:
        for pattern in few_patterns(effort.patterns):
            rows.append(_row(all_rivals, pattern, effort.rounds))
            speed.told(rows[-1])
    text = [
        speed.described(corpus, effort.rounds, ripgrep.shown("content")),
        f"A page is our first {LINES} matching lines in walk order; `rg -n … | head -{LINES}`, in "
        "no order, is shown beside it without a target.",
    ]
    return speed.section("pages", "Indexed: a page of content", text, rows, MEANS, (_HEAD,))


def _row(all_rivals: Rivals, pattern: Pattern, rounds: int) -> Row:
    root, source = all_rivals.corpus.root, pattern.source
    asked: dict[str, Any] = {"pattern": source, "output_mode": "content", "head_limit": LINES}
    others: dict[str, Callable[[], Any]] = {
        "rg": partial(ripgrep.drain, root, "content", source),
        _HEAD: partial(ripgrep.first_lines, root, source, LINES),
    }
    timed, is_same = all_rivals.timed(asked, rounds, **others)
    each = least(pattern) if pattern.kind != "nolit" else None
    return Row(pattern, timed, _found(timed.answers["socket"]), is_same, each)


def _found(answer: str) -> str:
    """How many matches the page shows; a line without a colon is a separator or says there are
    none."""
    return f"{sum(':' in line for line in answer.splitlines()):,} lines"
