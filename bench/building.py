"""Building the index of a tree that has none: time, memory, size; and what is kept for the rest."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from time import perf_counter

from bench.corpus import Corpus
from bench.effort import Effort
from bench.figures import mark
from bench.kept import state_of, wait_for
from bench.memory import Held, Watch
from bench.report import Section, Table, Target
from bench.served import serving
from bench.texts import text_files

LEAST_SPEED = 15e6
MEMORY_BOUND = 1e9
SIZE_BOUND = 1.5

_SAMPLE_SECONDS = 0.2
_BLOCK_BYTES = 512


@dataclass(frozen=True)
class _Built:
    text_bytes: int
    grep_seconds: float
    query_seconds: float
    """After grep was ready."""
    grep_peak: Held
    """Until grep was ready."""
    query_peak: Held
    """From then on."""
    state_bytes: int

    @cached_property
    def speed(self) -> float:
        return self.text_bytes / self.grep_seconds

    @cached_property
    def peak(self) -> int:
        return max(self.grep_peak.shared, self.query_peak.shared)

    @cached_property
    def size(self) -> float:
        return self.state_bytes / self.text_bytes


def measure(corpus: Corpus, effort: Effort) -> Section:
    """Build once, from nothing."""
    built = _build(corpus)
    targets = _targets(built)
    rows = [[target.what, target.figure, target.bound, mark(target.met)] for target in targets]
    return Section(
        "building",
        "Building the index",
        text=[
            f"Of {corpus.name}: {built.text_bytes / 1e6:,.0f} MB of text. Seconds count from the "
            "start of `serve`, in which nothing is asked meanwhile but `index`. Memory is that of "
            f"all processes together, sampled every {_SAMPLE_SECONDS:g} s (`Pss`): at most "
            f"{_megabytes(built.grep_peak)} until grep is ready, {_megabytes(built.query_peak)} "
            f"from then on. State is what the directory takes on disk, "
            f"{built.state_bytes / 1e6:,.0f} MB."
        ],
        tables=[Table("", ["what", "measured", "asked", "met"], rows)],
        targets=targets,
    )


def _build(corpus: Corpus) -> _Built:
    text_bytes = sum(text_files(corpus).values())
    state = state_of(corpus)
    shutil.rmtree(state)
    begin = perf_counter()
    with serving(corpus.root, state=state_of(corpus)) as server:
        with Watch(server, _SAMPLE_SECONDS) as grep_watch:
            wait_for(server, "grep_ready")
            grep_ready = perf_counter()
            print(f"  grep ready after {grep_ready - begin:.1f} s")
        with Watch(server, _SAMPLE_SECONDS) as query_watch:
            wait_for(server, "query_ready")
            query_ready = perf_counter()
            print(f"  query ready {query_ready - grep_ready:.1f} s later")
        size = _size(state)
    return _Built(
        text_bytes,
        grep_ready - begin,
        query_ready - grep_ready,
        grep_watch.peak,
        query_watch.peak,
        size,
    )


def _megabytes(held: Held) -> str:
    return f"{held.shared / 1e6:,.0f} MB ({held.anonymous / 1e6:,.0f} MB anonymous)"


def _targets(built: _Built) -> list[Target]:
    return [
        Target(
            "build: text a second until grep is ready",
            f"at least {LEAST_SPEED / 1e6:.0f} MB",
            f"{built.speed / 1e6:.1f} MB ({built.grep_seconds:.1f} s)",
            built.speed >= LEAST_SPEED,
        ),
        Target(
            "build: query ready after grep",
            f"at most the same time again, {built.grep_seconds:.1f} s",
            f"{built.query_seconds:.1f} s",
            built.query_seconds <= built.grep_seconds,
        ),
        Target(
            "build: memory of all processes",
            f"at most {MEMORY_BOUND / 1e6:,.0f} MB",
            f"{built.peak / 1e6:,.0f} MB",
            built.peak <= MEMORY_BOUND,
        ),
        Target(
            "build: whole state ÷ text",
            f"at most {SIZE_BOUND}",
            f"{built.size:.2f}",
            built.size <= SIZE_BOUND,
        ),
    ]


def _size(directory: Path) -> int:
    """What a directory takes on disk."""
    files = (path for path in directory.rglob("*") if path.is_file())
    return sum(path.stat().st_blocks * _BLOCK_BYTES for path in files)
