"""A page of 50 files or of 250 lines with the index, against all of ripgrep's answer.

Modification times are spread at random first, so that the newest files are anywhere. The
patterns are asked in turn, one after the other in each round: a server keeps the last few searches
of a connection for their next page, and here none is asked again before it is forgotten.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from statistics import geometric_mean
from typing import Any

from bench import ripgrep
from bench.corpus import Corpus
from bench.effort import Effort
from bench.figures import milliseconds, times
from bench.line_client import line_client
from bench.patterns import CLASSES, OUTSIDE, Pattern, few_patterns
from bench.report import Section, Table, Target, code
from bench.rivals import Rivals, Times, indexed_rivals

FILES = 50
LINES = 250
SEED = 15

_BEGIN = 1_600_000_000
_SPAN = 100_000_000
"""Seconds since the epoch: where times are spread."""

_MODES = {"files": ("files_with_matches", FILES), "lines": ("content", LINES)}
_SETS = {"patterns.tsv": None, "outside.tsv": OUTSIDE}


@dataclass(frozen=True)
class _Row:
    """One pattern in one mode."""

    mode: str
    patterns: str
    """The file that it is of."""
    pattern: Pattern
    asked: dict[str, Any]
    times: Times
    expected: str
    """What a scan answers."""

    @property
    def is_same(self) -> bool:
        return bool(self.times.answers["line"] == self.expected)


def measure(corpus: Corpus, effort: Effort) -> Section:
    """Time a page of every pattern by both clients, and compare it with a scan's."""
    spread_times(corpus.root)
    with indexed_rivals(corpus) as rivals, line_client(rivals.server) as line:
        rows = [
            _row(rivals, mode, name, pattern)
            for mode in _MODES
            for name, file in _SETS.items()
            for pattern in (few_patterns(effort.patterns, file) if file else _known(effort))
        ]
        for number in range(effort.rounds + 1):
            for row in rows:
                _time(row, rivals, partial(line.call, "grep"), is_counted=number > 0)
    different = [row.pattern.source for row in rows if not row.is_same]
    same = f"All {len(rows)} pages are byte for byte those of `--no-index`."
    if different:
        same = (
            f"**Pages that differ from those of `--no-index`: {', '.join(map(code, different))}**"
        )
    return Section(
        "file_pages",
        "Indexed: pages",
        text=[
            f"On {corpus.name}, with the index, warm, {effort.rounds} rounds in turn; modification "
            f"times spread at random first. The first {FILES} files, newest first, and the first "
            f"{LINES} matching lines, against all of ripgrep's list of files and of its lines. "
            "By a plain client, a line out and a line in, and by the SDK's. `outside.tsv` has "
            "patterns that nothing was tuned on.",
            same,
        ],
        tables=[_classes(rows), *(_patterns(rows, mode) for mode in _MODES)],
        targets=[*_targets(rows)],
    )


def _known(effort: Effort) -> list[Pattern]:
    return few_patterns(effort.patterns)


def spread_times(root: Path) -> None:
    """Give every file a time at random, the same ones in every run."""
    chance = Random(SEED)
    for path in sorted(_files(root)):
        when = _BEGIN * 10**9 + chance.randrange(_SPAN * 10**9)
        if os.lstat(path).st_mtime_ns != when:
            os.utime(path, ns=(when, when), follow_symlinks=False)


def _files(root: Path) -> Iterable[str]:
    for directory, directories, names in os.walk(root):
        if ".git" in directories:
            directories.remove(".git")
        for name in names:
            yield os.path.join(directory, name)


def _row(rivals: Rivals, mode: str, patterns: str, pattern: Pattern) -> _Row:
    output_mode, limit = _MODES[mode]
    asked = {"pattern": pattern.source, "output_mode": output_mode, "head_limit": limit}
    return _Row(
        mode=mode,
        patterns=patterns,
        pattern=pattern,
        asked=asked,
        times=Times(),
        expected=rivals.scanned(asked),
    )


def _time(row: _Row, rivals: Rivals, line: Callable[[Any], str], is_counted: bool) -> None:
    timed = row.times if is_counted else Times()
    output_mode = row.asked["output_mode"]
    if is_counted:
        rg = partial(ripgrep.drain, rivals.corpus.root, output_mode, row.pattern.source)
        timed.run("rg", rg)
    timed.run("line", lambda: line(row.asked))
    timed.run("sdk", lambda: rivals.socket(row.asked))


def _mean(rows: Sequence[_Row], name: str) -> float:
    return geometric_mean([row.times.speedup(name) for row in rows])


def _worst(rows: Sequence[_Row], name: str) -> float:
    return min(row.times.speedup(name) for row in rows)


def _classes(rows: Sequence[_Row]) -> Table:
    lines = []
    for mode in _MODES:
        for name in _SETS:
            for kind in ("all", *CLASSES):
                own = [row for row in rows if (row.mode, row.patterns) == (mode, name)]
                own = [row for row in own if kind in ("all", row.pattern.kind)]
                if own:
                    means = [times(_mean(own, who)) for who in ("line", "sdk")]
                    worst = [times(_worst(own, who)) for who in ("line", "sdk")]
                    lines.append([mode, name, kind, str(len(own)), *means, *worst])
    columns = ["page of", "patterns", "class", "count", "rg ÷ line, mean", "rg ÷ SDK, mean"]
    return Table("By class", [*columns, "rg ÷ line, worst", "rg ÷ SDK, worst"], lines)


def _patterns(rows: Sequence[_Row], mode: str) -> Table:
    lines = [
        [
            row.pattern.kind,
            code(row.pattern.source),
            *(milliseconds(row.times.median(name)) for name in ("rg", "line", "sdk")),
            times(row.times.speedup("line")),
            times(row.times.speedup("sdk")),
        ]
        for row in rows
        if row.mode == mode
    ]
    columns = ["class", "pattern", "rg", "line", "SDK", "rg ÷ line", "rg ÷ SDK"]
    return Table(f"A page of {mode}: every pattern", columns, lines)


def _targets(rows: Sequence[_Row]) -> Iterable[Target]:
    files = [row for row in rows if row.mode == "files"]
    for name in _SETS:
        own = [row for row in files if row.patterns == name]
        yield _target(f"Pages of files: {name}", own, _mean, 120.0, 80.0)
    literal = [row for row in files if row.pattern.kind != "nolit"]
    others = [row for row in files if row.pattern.kind == "nolit"]
    yield _target("Pages of files: any with a literal", literal, _worst, 40.0)
    yield _target("Pages of files: any without", others, _worst, 10.0)
    rare = [row for row in files if row.pattern.kind in ("absent", "rare")]
    yield _target("Pages of files: absent and rare, each", rare, _worst, 120.0, 90.0)
    lines = [row for row in rows if row.mode == "lines"]
    yield _target("Pages of lines", lines, _mean, 70.0, 60.0)


def _target(
    what: str,
    rows: Sequence[_Row],
    figure: Callable[[Sequence[_Row], str], float],
    line: float,
    sdk: float = 0.0,
) -> Target:
    if not rows:
        return Target(what, "", "not measured", True)
    measured = figure(rows, "line"), figure(rows, "sdk")
    bound = f"at least {line:g} ×" + (f", SDK {sdk:g} ×" if sdk else "")
    shown = f"{times(measured[0])}, SDK {times(measured[1])}"
    return Target(what, bound, shown, measured[0] >= line and measured[1] >= sdk)
