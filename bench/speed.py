"""grep with the index beside ripgrep, in one output mode: tables, targets, bars of a chart.

A class has a least speed-up for each of its patterns, or for their geometric mean. Whatever is
below stays on the page with a mark.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import geometric_mean

from bench.corpus import Corpus
from bench.figures import mark, milliseconds, times
from bench.patterns import CLASSES, Pattern
from bench.report import Section, Table, Target, code
from bench.rivals import Times

OURS = ("socket", "in process")


@dataclass(frozen=True)
class Row:
    """One pattern: how long everyone took, what was found, and what was asked for."""

    pattern: Pattern
    times: Times
    found: str
    is_same: bool
    """Whether the answer is byte for byte the one a scan of the disk gives."""
    least: float | None = None
    """The speed-up asked of this pattern by itself."""

    @property
    def speedup(self) -> float:
        return self.times.speedup("socket")

    @property
    def is_met(self) -> bool:
        return self.least is None or self.speedup >= self.least


def section(
    name: str,
    title: str,
    text: list[str],
    rows: list[Row],
    means: Mapping[str, float],
    beside: tuple[str, ...] = (),
) -> Section:
    """A mode's section; `means` are the geometric means asked for, `beside` further columns."""
    by_class = {kind: [row for row in rows if row.pattern.kind == kind] for kind in CLASSES}
    present = {kind: own for kind, own in by_class.items() if own}
    different = [row.pattern.source for row in rows if not row.is_same]
    return Section(
        name,
        title,
        text=[*text, _same(different, len(rows))],
        tables=[_classes(present, means), _patterns(rows, beside)],
        targets=[
            _target(title, kind, own, means.get(kind))
            for kind, own in present.items()
            if _asked(own, means.get(kind))
        ],
        speedups=[(kind, _mean(own, "socket")) for kind, own in present.items()],
    )


def described(corpus: Corpus, rounds: int, command: str) -> str:
    """How the figures of a section came about."""
    return (
        f"On {corpus.name}, with the index, warm, {rounds} rounds in turn. ripgrep: `{command}`, "
        "all of it read. Ours through the unix socket by the SDK's client (protocol included), "
        "and by the same call in process. Faster is a larger figure; below 1 × ripgrep is faster."
    )


def told(row: Row) -> None:
    """Print one pattern as it is done."""
    asked = "" if row.is_met else "  MISSED"
    same = "" if row.is_same else "  DIFFERS FROM A SCAN"
    print(f"  {row.pattern.kind:7} {times(row.speedup):>9}  {row.pattern.source}{asked}{same}")


def _same(different: list[str], count: int) -> str:
    if not different:
        return f"All {count} answers are byte for byte those of `--no-index`."
    return f"**Answers that differ from those of `--no-index`: {', '.join(map(code, different))}**"


def _mean(rows: list[Row], name: str) -> float:
    return geometric_mean([row.times.speedup(name) for row in rows])


def _is_met(rows: list[Row], mean: float | None) -> bool:
    return all(row.is_met for row in rows) and (mean is None or _mean(rows, "socket") >= mean)


def _asked(rows: list[Row], mean: float | None) -> str:
    if mean is not None:
        return f"at least {mean:g} × in the mean"
    each = sorted({row.least for row in rows if row.least is not None}, reverse=True)
    words = " or ".join("1/6 ×" if least < 0.5 else f"{least:g} ×" for least in each)
    return f"at least {words} each" if each else ""


def _classes(present: dict[str, list[Row]], means: Mapping[str, float]) -> Table:
    rows = []
    for kind, own in present.items():
        asked = _asked(own, means.get(kind))
        rows.append(
            [
                kind,
                str(len(own)),
                times(_mean(own, "socket")),
                times(min(row.speedup for row in own)),
                times(_mean(own, "in process")),
                asked,
                mark(_is_met(own, means.get(kind))) if asked else "",
            ]
        )
    columns = ["class", "patterns", "rg ÷ socket, mean", "worst", "rg ÷ in process, mean"]
    return Table("By class", [*columns, "asked", "met"], rows)


def _patterns(rows: list[Row], beside: tuple[str, ...]) -> Table:
    names = ("rg", *OURS, *beside)
    lines = [
        [
            row.pattern.kind,
            code(row.pattern.source),
            row.found,
            *(milliseconds(row.times.median(name)) for name in names),
            *(times(row.times.speedup(name)) for name in OURS),
            "" if row.least is None else mark(row.is_met),
        ]
        for row in rows
    ]
    shown = [name.replace("|", "\\|") for name in names]
    columns = ["class", "pattern", "found", *shown, *(f"rg ÷ {name}" for name in OURS), "met"]
    return Table("Every pattern", columns, lines)


def _target(title: str, kind: str, rows: list[Row], mean: float | None) -> Target:
    asked = _asked(rows, mean)
    worst = min(rows, key=lambda row: row.speedup / (row.least or 1.0))
    figure = times(_mean(rows, "socket")) if mean is not None else f"worst {times(worst.speedup)}"
    return Target(f"{title}: {kind}", asked, figure, _is_met(rows, mean))
