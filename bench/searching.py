"""grep before there is an index, pattern by pattern: time in three ways, and the same files."""

from __future__ import annotations

from statistics import geometric_mean

from bench import ripgrep
from bench.agreeing import Agreement, files_of
from bench.corpus import Corpus
from bench.effort import Effort
from bench.patterns import CLASSES, Pattern, few_patterns
from bench.report import Section, Table, Target, bars, code
from bench.rivals import Rivals, Times, rivals

MEAN_BOUND = 2.5
WORST_BOUND = 4.0

_MODE = "files_with_matches"
_IN_PROCESS_EVERY = 3  # a third of the rounds is enough: it is the socket that has the target

Row = tuple[Pattern, Times]


def measure(corpus: Corpus, effort: Effort) -> Section:
    """Time every pattern and compare every answer."""
    agreement = Agreement(corpus.root)
    measured: list[Row] = []
    patterns = few_patterns(effort.patterns)
    with rivals(corpus) as all_rivals:
        _time(all_rivals, patterns[0], 1)  # unmeasured: files come into memory, workers into being
        for pattern in patterns:
            times = _time(all_rivals, pattern, effort.rounds)
            agreement.compare(pattern.source, *_answers(times))
            measured.append((pattern, times))
            print(f"  {pattern.kind:7} {times.ratio('socket'):6.2f} × rg  {pattern.source}")
    return _section(corpus, effort.rounds, measured, agreement)


def _time(all_rivals: Rivals, pattern: Pattern, rounds: int) -> Times:
    times = Times()
    asked = {"pattern": pattern.source, "output_mode": _MODE}
    for turn in range(rounds):
        times.run("rg", lambda: all_rivals.ripgrep(_MODE, pattern.source))
        times.run("socket", lambda: all_rivals.socket(asked))
        if turn % _IN_PROCESS_EVERY == 0:
            times.run("in process", lambda: all_rivals.in_process(asked))
    return times


def _answers(times: Times) -> tuple[set[str], set[str]]:
    return ripgrep.paths(times.answers["rg"]), files_of(times.answers["socket"])


def _section(corpus: Corpus, rounds: int, measured: list[Row], agreement: Agreement) -> Section:
    ratios = [times.ratio("socket") for _, times in measured]
    mean, worst = geometric_mean(ratios), max(ratios)
    in_process = geometric_mean([times.ratio("in process") for _, times in measured])
    return Section(
        "searching",
        "Before the index exists: files_with_matches",
        text=[
            f"On {corpus.name}, `--no-index`, warm, {rounds} rounds in turn (in process every "
            f"{_IN_PROCESS_EVERY}rd). ripgrep: `{ripgrep.shown(_MODE)}`. Ours: the whole list, "
            "newest first, through the unix socket by the SDK's client (protocol included), and "
            "by the same call in process.",
            f"Geometric mean over all patterns: **{mean:.2f}** × ripgrep through the socket, "
            f"{in_process:.2f} × in process; worst pattern {worst:.2f} ×.",
            *agreement.summary(),
        ],
        chart=bars(_by_class(measured, "socket")),
        tables=[_classes(measured), _patterns(measured), *agreement.tables()],
        targets=[
            Target(
                "no index: grep, geometric mean",
                f"at most {MEAN_BOUND} × rg",
                f"{mean:.2f} ×",
                mean <= MEAN_BOUND,
            ),
            Target(
                "no index: grep, any pattern",
                f"at most {WORST_BOUND} × rg",
                f"{worst:.2f} ×",
                worst <= WORST_BOUND,
            ),
        ],
    )


def _by_class(measured: list[Row], name: str) -> list[tuple[str, float]]:
    means = []
    for kind in CLASSES:
        ratios = [times.ratio(name) for pattern, times in measured if pattern.kind == kind]
        if ratios:
            means.append((kind, geometric_mean(ratios)))
    return means


def _classes(measured: list[Row]) -> Table:
    rows = []
    for (kind, socket), (_, in_process) in zip(
        _by_class(measured, "socket"), _by_class(measured, "in process"), strict=True
    ):
        own = [times.ratio("socket") for pattern, times in measured if pattern.kind == kind]
        rows.append([kind, str(len(own)), f"{socket:.2f}", f"{max(own):.2f}", f"{in_process:.2f}"])
    columns = ["class", "patterns", "socket ÷ rg", "worst", "in process ÷ rg"]
    return Table("Ratio by class", columns, rows)


def _patterns(measured: list[Row]) -> Table:
    rows = []
    for pattern, times in measured:
        theirs, ours = _answers(times)
        rows.append(
            [
                pattern.kind,
                code(pattern.source),
                f"{len(ours):,}",
                *(f"{times.median(name) * 1000:.0f}" for name in ("rg", "socket", "in process")),
                f"{times.ratio('socket'):.2f}",
                f"{times.ratio('in process'):.2f}",
                "yes" if ours == theirs else f"{len(ours ^ theirs)} differ",
            ]
        )
    columns = ["class", "pattern", "files", "rg", "socket", "in process"]
    columns += ["socket ÷ rg", "in process ÷ rg", "same files"]
    return Table("Every pattern", columns, rows)
