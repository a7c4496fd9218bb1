"""What was measured, as tables: printed at once, and joined into `docs/benchmarks.md`.

Each part of a run is a `Section`. It is kept as JSON below `.bench/`, so that measuring one part
again renews its tables and leaves the others as they were, each with its own date.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench import chart, ripgrep
from bench.corpus import SCRATCH
from bench.figures import mark

PAGE = Path("docs/benchmarks.md")
CHART = PAGE.with_suffix(".svg")

_KEPT = SCRATCH / "results"
_BAR_CELLS = 8  # per unit of ratio
_COLUMN_LINES = 6
_EIGHTHS = " ▁▂▃▄▅▆▇█"


@dataclass(frozen=True)
class Table:
    """Rows under a heading; figures are already text."""

    title: str
    columns: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class Target:
    """What was asked for beside what was measured."""

    what: str
    bound: str
    figure: str
    met: bool


@dataclass
class Section:
    """One part of a run."""

    name: str
    title: str
    text: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    chart: list[str] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)
    speedups: list[tuple[str, float]] = field(default_factory=list)
    """Bars of the page's chart: a class, and how many times ripgrep's speed."""
    measured: str = field(default_factory=lambda: f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC")

    @property
    def command(self) -> str:
        return f"python -m bench --only {self.name}"


def keep(section: Section) -> None:
    """Store a section for the page."""
    _KEPT.mkdir(parents=True, exist_ok=True)
    text = json.dumps(asdict(section), indent=1)
    (_KEPT / f"{section.name}.json").write_text(text, encoding="utf-8")


def write_page(names: list[str]) -> None:
    """Write the page from every section that was ever kept, in this order of names."""
    files = [_KEPT / f"{name}.json" for name in names]
    sections = [_load(file) for file in files if file.exists()]
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(sections), encoding="utf-8")
    drawn = [(section.title, section.speedups) for section in sections if section.speedups]
    CHART.write_text(chart.svg(drawn), encoding="utf-8")
    print(f"wrote {PAGE} and {CHART}")


def _load(file: Path) -> Section:
    raw: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    tables = [Table(**table) for table in raw.pop("tables")]
    targets = [Target(**target) for target in raw.pop("targets")]
    speedups = [(label, value) for label, value in raw.pop("speedups", ())]
    return Section(**raw, tables=tables, targets=targets, speedups=speedups)


def page(sections: list[Section]) -> str:
    """The whole page in Markdown; the chart is a file beside it."""
    rows = [
        [target.what, target.bound, target.figure, mark(target.met)]
        for section in sections
        for target in section.targets
    ]
    parts = [
        "# Benchmarks",
        "Written by `make bench`; nothing here is edited by hand. Times are medians in "
        "milliseconds unless a column says otherwise; ripgrep runs in turn with ours, in the same "
        "minutes, on the same machine. A figure that misses its target stays, "
        "and says so.",
        "\n".join(f"- {line}" for line in machine()),
        f"![Times ripgrep's speed, by class of pattern]({CHART.name})",
        "## Targets",
        f"{sum(target[-1] == 'yes' for target in rows)} of {len(rows)} met.",
        _markdown(Table("", ["what", "asked", "measured", "met"], rows)),
    ]
    parts += [render(section) for section in sections]
    return "\n\n".join(parts) + "\n"


def render(section: Section) -> str:
    """One section in Markdown."""
    parts = [f"## {section.title}", f"`{section.command}`, {section.measured}"]
    parts += section.text
    if section.chart:
        parts.append("\n".join(["```text", *section.chart, "```"]))
    for table in section.tables:
        parts.append((f"### {table.title}\n\n" if table.title else "") + _markdown(table))
    return "\n\n".join(parts)


def _markdown(table: Table) -> str:
    rule = ["---"] * len(table.columns)
    lines = [table.columns, rule, *table.rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def code(text: str) -> str:
    """Text as a code span that may be in a table."""
    return "`" + text.replace("|", "\\|") + "`"


def bars(ratios: list[tuple[str, float]]) -> list[str]:
    """A chart of ratios; the mark is ripgrep's speed."""
    width = max((len(name) for name, _ in ratios), default=0)
    lines = []
    for name, ratio in ratios:
        bar = list("█" * max(1, round(ratio * _BAR_CELLS)))
        bar += [" "] * (_BAR_CELLS - len(bar))
        bar[_BAR_CELLS - 1] = "│"
        lines.append(f"{name:<{width}}  {''.join(bar)} {ratio:.2f}")
    return [*lines, f"{'':<{width}}  {'':<{_BAR_CELLS - 1}}↑ ripgrep = 1.00"]


def columns(values: list[float], unit: str) -> list[str]:
    """A chart of values in a row, from 0 on; each is a column, eighths of a line high."""
    top = max(values, default=0.0) or 1.0
    eighths = [round(value / top * _COLUMN_LINES * 8) for value in values]
    width = len(f"{top:.0f} {unit}")
    lines = []
    for line in range(_COLUMN_LINES, 0, -1):
        label = f"{top * line / _COLUMN_LINES:.0f} {unit}" if line % 2 == 0 else ""
        cells = (_EIGHTHS[min(8, max(0, high - (line - 1) * 8))] for high in eighths)
        lines.append(f"{label:>{width}} │{''.join(cells)}".rstrip())
    ticks = "".join(f"{number:<10}" for number in range(0, len(values), 10))
    return [*lines, f"{'0':>{width}} └{'─' * len(values)}", f"{'':>{width}}  {ticks}".rstrip()]


def machine() -> list[str]:
    """What the figures were measured on."""
    cores = len(os.sched_getaffinity(0))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return [
        f"{cores} cores ({_processor()}), {memory:.0f} GiB of memory",
        f"Linux {platform.release()}, Python {sys.version.split()[0]}",
        f"{ripgrep.version()}; flashgrep {version('flashgrep')}, "
        f"google-re2 {version('google-re2')}, mcp {version('mcp')}",
        f"page written {datetime.now(UTC):%Y-%m-%d}",
    ]


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
