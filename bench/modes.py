"""count, content and a page before there is an index, for patterns with answers of sane size."""

from __future__ import annotations

from statistics import geometric_mean
from typing import Any

from bench import ripgrep
from bench.corpus import Corpus
from bench.effort import Effort
from bench.patterns import Pattern, few_patterns
from bench.report import Section, Table, code
from bench.rivals import Rivals, Times, rivals

CLASSES = ("absent", "rare", "some")
COUNTED = "most"
"""The class whose content would be gigabytes, and is only counted."""
PATTERNS_PER_CLASS = 3
PAGE_LINES = 250

_MOST_ROUNDS = 3
_MODES = ("count", "content", "page")

Pairs = set[tuple[str, str]]
Rows = dict[str, list[tuple[Pattern, Times]]]


def measure(corpus: Corpus, effort: Effort) -> Section:
    """Time the modes in a few rounds, and compare what they say."""
    rounds = min(effort.rounds, _MOST_ROUNDS)
    rows: Rows = {mode: [] for mode in _MODES}
    with rivals(corpus) as all_rivals:
        for pattern in _chosen(effort.patterns or PATTERNS_PER_CLASS):
            for mode, times in _time(all_rivals, pattern.source, rounds).items():
                rows[mode].append((pattern, times))
            ratios = "  ".join(f"{mode} {rows[mode][-1][1].ratio('socket'):.2f}" for mode in _MODES)
            print(f"  {ratios} × rg  {pattern.source}")
        for pattern in _common(effort.patterns):
            counted = _time_count(all_rivals, pattern.source, rounds)
            rows["count"].append((pattern, counted))
            print(f"  count {counted.ratio('socket'):.2f} × rg  {pattern.source}")
    return Section(
        "modes",
        "Before the index exists: count, content and a page",
        text=[
            f"On {corpus.name}, `--no-index`, warm, {rounds} rounds in turn, through the unix "
            f"socket. ripgrep: `{ripgrep.shown('count')}` and `{ripgrep.shown('content')}`, all "
            f"of it read. A page is our first {PAGE_LINES} matching lines in walk order against "
            f"all of ripgrep's content; `rg -n … | head -{PAGE_LINES}`, in no order, stands "
            "beside it.",
            *(f"{mode}: geometric mean {_mean(rows[mode]):.2f} × ripgrep." for mode in _MODES),
        ],
        tables=[_table(mode, rows[mode]) for mode in _MODES],
    )


def _chosen(count: int) -> list[Pattern]:
    return [row for row in few_patterns(min(count, PATTERNS_PER_CLASS)) if row.kind in CLASSES]


def _common(count: int | None) -> list[Pattern]:
    return [row for row in few_patterns(count) if row.kind == COUNTED]


def _time(all_rivals: Rivals, pattern: str, rounds: int) -> dict[str, Times]:
    content, page = Times(), Times()
    asked: dict[str, Any] = {"pattern": pattern, "output_mode": "content"}
    for _ in range(rounds):
        content.run("rg", lambda: all_rivals.ripgrep("content", pattern))
        content.run("socket", lambda: all_rivals.socket(asked))
        page.run("socket", lambda: all_rivals.socket(asked | {"head_limit": PAGE_LINES}))
        page.run(
            "rg | head", lambda: ripgrep.first_lines(all_rivals.corpus.root, pattern, PAGE_LINES)
        )
    # The page's rival is the run of ripgrep just made: all of its content.
    page.seconds["rg"], page.answers["rg"] = content.seconds["rg"], content.answers["rg"]
    count = _time_count(all_rivals, pattern, rounds)
    return {"count": count, "content": content, "page": page}


def _time_count(all_rivals: Rivals, pattern: str, rounds: int) -> Times:
    count = Times()
    for _ in range(rounds):
        count.run("rg", lambda: all_rivals.ripgrep("count", pattern))
        count.run("socket", lambda: all_rivals.socket({"pattern": pattern, "output_mode": "count"}))
    return count


def _mean(rows: list[tuple[Pattern, Times]]) -> float:
    return geometric_mean([times.ratio("socket") for _, times in rows])


def _table(mode: str, rows: list[tuple[Pattern, Times]]) -> Table:
    names = ["rg", "socket", *(["rg | head"] if mode == "page" else [])]
    lines = []
    for pattern, times in rows:
        figures = [f"{times.median(name) * 1000:.0f}" for name in names]
        ratio = f"{times.ratio('socket'):.2f}"
        lines.append([pattern.kind, code(pattern.source), *figures, ratio, _same(mode, times)])
    columns = ["class", "pattern", *(name.replace("|", "\\|") for name in names)]
    return Table(mode, [*columns, "socket ÷ rg", "same"], lines)


def _same(mode: str, times: Times) -> str:
    """Whether each pair of path and number (of lines, or of the line) is on both sides."""
    theirs = _pairs(times.answers["rg"].decode("utf-8", "surrogateescape"))
    ours = _pairs(times.answers["socket"])
    different = ours - theirs if mode == "page" else ours ^ theirs
    return f"{len(different)} differ" if different else f"yes ({len(ours):,})"


def _pairs(text: str) -> Pairs:
    """The `path:number` that begins each line; other lines (none found, binary) are no pairs."""
    pairs = set()
    for line in text.split("\n"):
        path, _, rest = line.removeprefix("./").partition(":")
        number = rest.partition(":")[0]
        if number.isdecimal():
            pairs.add((path, number))
    return pairs
