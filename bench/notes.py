"""A knowledge base of generated notes: starting, searching beside ripgrep, reading, editing."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from time import perf_counter
from typing import Any

from bench import ripgrep
from bench.corpus import Corpus
from bench.effort import Effort
from bench.figures import MISSED, milliseconds, percentile, times
from bench.memory import Held, Watch
from bench.pages import LINES
from bench.patterns import Pattern
from bench.report import Section, Table, Target, code
from bench.rivals import Times
from bench.stdio import Session, started
from bench.vault import NOTE_BYTES, Vault, generated, title

FIRST_GREP_SECONDS = 3.0
CALL_SECONDS = 0.010
WAIT_SECONDS = 0.050
MOST_TIMES = 3.0
SHORT_BYTES = 2_000
MANY_FIRST_GREP_SECONDS = 2.0
MEMORY_BYTES = 400e6
PATTERNS = [
    Pattern("absent", "zzzzqqqqxxxx"),
    Pattern("absent", r"nosuchword\w+here"),
    Pattern("rare", "keelhaul"),
    Pattern("rare", "(?i)KEELHAUL"),
    Pattern("some", r"harbour\w+"),
    Pattern("many", "Quarterly review"),
    Pattern("many", r"^- \[ \] \w+"),
    Pattern("most", r"the \w+ing"),
    Pattern("nolit", r"[a-z]+\d\d\d"),
    Pattern("nolit", r"\w+ly$"),
]

_MODES: dict[str, tuple[str, dict[str, Any]]] = {
    "files": ("files_with_matches", {}),
    "page": ("content", {"head_limit": LINES}),
    "count": ("count", {}),
}


@dataclass
class _Measured:
    """All figures, in seconds and bytes."""

    starts: list[float] = field(default_factory=list)
    first_greps: list[float] = field(default_factory=list)
    many_starts: list[float] = field(default_factory=list)
    """The same two of many short notes."""
    many_first_greps: list[float] = field(default_factory=list)
    early: list[float] = field(default_factory=list)
    greps: dict[tuple[str, str], Times] = field(default_factory=dict)
    reads: list[float] = field(default_factory=list)
    first_edits: list[float] = field(default_factory=list)
    """Before which a version of the note is kept, to go back to."""
    edits: list[float] = field(default_factory=list)
    held: Held = field(default_factory=Held)

    @property
    def ratios(self) -> list[float]:
        return [timed.ratio("notes") for timed in self.greps.values()]


def measure(corpus: Corpus, effort: Effort) -> Section:
    """Start often; then ask one server everything. The corpus is not looked at."""
    found = _Measured()
    patterns = _few(effort.patterns)
    with generated(effort.notes) as vault:
        for _ in range(effort.rounds):
            _start(vault, found.starts, found.first_greps)
        with started(*_flags(vault)) as session, Watch(session.server) as watch:
            session.begin()
            _hurry(session, vault, found, effort.reads)
            for pattern in patterns:
                for mode in _MODES:
                    key = (pattern.source, mode)
                    found.greps[key] = _grep(session, vault, *key, effort.rounds)
            _work(session, vault, found, effort.reads)
        found.held = watch.peak
    with generated(effort.many_notes, SHORT_BYTES) as vault:
        for _ in range(effort.rounds):
            _start(vault, found.many_starts, found.many_first_greps)
    return _section(effort, patterns, found)


def _few(count: int | None) -> list[Pattern]:
    kinds = dict.fromkeys(pattern.kind for pattern in PATTERNS)
    by_class = [[row for row in PATTERNS if row.kind == kind] for kind in kinds]
    return [row for own in by_class for row in own[:count]]


def _flags(vault: Vault) -> list[str]:
    return ["--no-workspace", "--kb", str(vault.kb), "--max-output-chars", "0"]


def _start(vault: Vault, starts: list[float], first_greps: list[float]) -> None:
    begin = perf_counter()
    with started(*_flags(vault)) as session:
        session.begin()
        starts.append(perf_counter() - begin)
        session.call("grep", pattern="keelhaul")
        first_greps.append(perf_counter() - begin)


def _hurry(session: Session, vault: Vault, found: _Measured, count: int) -> None:
    """Read while texts and links are read in the background; the first call loads the tool."""
    session.call("read", file_path=vault.paths[-1])
    for turn in range(count):
        path = vault.paths[turn * 7919 % len(vault.paths)]
        found.early.append(session.timed("read", file_path=path))


def _grep(session: Session, vault: Vault, source: str, mode: str, rounds: int) -> Times:
    output_mode, more = _MODES[mode]
    asked = {"pattern": source, "output_mode": output_mode, **more}
    session.call("grep", **asked)
    timed = Times()
    for _ in range(rounds):
        timed.run("rg", lambda: ripgrep.drain(vault.exported, output_mode, source))
        timed.run("notes", lambda: session.call("grep", **asked))
    return timed


def _work(session: Session, vault: Vault, found: _Measured, count: int) -> None:
    """Read a note, suggest another title for it, then another one, and so on."""
    for number in range(min(count, len(vault.paths))):
        path = vault.paths[number]
        found.reads.append(session.timed("read", file_path=path))
        old = f"# {title(number)}"
        asked = {"file_path": path, "old_string": old, "new_string": f"{old}, seen"}
        found.first_edits.append(session.timed("edit", **asked))
        asked |= {"old_string": "seen", "new_string": "seen again"}
        found.edits.append(session.timed("edit", **asked))


# ── the page ────────────────────────────────────────────────────────────────────────────────────


def _section(effort: Effort, patterns: list[Pattern], found: _Measured) -> Section:
    return Section(
        "notes",
        "A knowledge base",
        text=[
            f"{effort.notes:,} generated notes of {NOTE_BYTES / 1000:.0f} KB, `flashgrep mcp "
            f"--no-workspace --kb`, asked through its pipes; {effort.rounds} rounds. ripgrep "
            "searches the exported folder. A page is the first "
            f"{LINES} lines, against all of ripgrep's content. Each cell: ripgrep's time, ours, "
            "and how many times ripgrep's ours is."
        ],
        tables=[
            Table("", ["what", "p50", "p99", "worst", "calls"], _calls(effort, found)),
            Table("grep", ["class", "pattern", *_MODES], _rows(patterns, found)),
        ],
        targets=_targets(effort, found),
    )


def _calls(effort: Effort, found: _Measured) -> list[list[str]]:
    many = f"{effort.many_notes:,} notes of {SHORT_BYTES / 1000:.0f} KB: start to"
    rows = {
        "start to `initialize`": found.starts,
        "start to the first grep's answer": found.first_greps,
        "`read` right after the start": found.early,
        "`read`": found.reads,
        "`edit`, the first of a note": found.first_edits,
        "`edit`": found.edits,
        f"{many} `initialize`": found.many_starts,
        f"{many} the first grep's answer": found.many_first_greps,
    }
    return [
        [
            what,
            *map(milliseconds, (median(spent), percentile(spent, 0.99), max(spent))),
            str(len(spent)),
        ]
        for what, spent in rows.items()
    ]


def _rows(patterns: list[Pattern], found: _Measured) -> list[list[str]]:
    rows = []
    for pattern in patterns:
        cells = []
        for mode in _MODES:
            timed = found.greps[pattern.source, mode]
            ratio = timed.ratio("notes")
            missed = "" if ratio <= MOST_TIMES else f" {MISSED}"
            both = ", ".join(milliseconds(timed.median(who)) for who in ("rg", "notes"))
            cells.append(f"{both}: {times(ratio)}{missed}")
        rows.append([pattern.kind, code(pattern.source), *cells])
    return rows


def _targets(effort: Effort, found: _Measured) -> list[Target]:
    bounds = {
        "start to the first grep's answer": (median(found.first_greps), FIRST_GREP_SECONDS),
        "worst read right after the start": (max(found.early), WAIT_SECONDS),
        "read, p50": (median(found.reads), CALL_SECONDS),
        "first edit of a note, p50": (median(found.first_edits), CALL_SECONDS),
        "edit, p50": (median(found.edits), CALL_SECONDS),
    }
    of = f"{effort.notes:,} notes"
    targets = [
        Target(
            f"{of}: {what}",
            f"at most {bound * 1000:.0f} ms",
            f"{milliseconds(figure)} ms",
            figure <= bound,
        )
        for what, (figure, bound) in bounds.items()
    ]
    first = median(found.many_first_greps)
    targets.append(
        Target(
            f"{effort.many_notes:,} notes of {SHORT_BYTES / 1000:.0f} KB: start to the first "
            "grep's answer",
            f"at most {MANY_FIRST_GREP_SECONDS * 1000:.0f} ms",
            f"{milliseconds(first)} ms",
            first <= MANY_FIRST_GREP_SECONDS,
        )
    )
    worst, private = max(found.ratios), found.held.private
    return [
        *targets,
        Target(
            f"{of}: grep, every pattern",
            f"at most {MOST_TIMES:.0f} × rg's time",
            f"worst {times(worst)}",
            worst <= MOST_TIMES,
        ),
        Target(
            f"{of}: private memory",
            f"at most {MEMORY_BYTES / 1e6:.0f} MB",
            f"{private / 1e6:.0f} MB",
            private <= MEMORY_BYTES,
        ),
    ]
