"""The parts of a run, in the order of the page."""

from __future__ import annotations

from collections.abc import Callable

from bench import (
    building,
    cold,
    counts,
    edits,
    extremes,
    file_pages,
    files,
    growth,
    history,
    idle,
    latency,
    modes,
    newcomer,
    notes,
    pages,
    questions,
    searching,
    small,
    soak,
    starting,
    symbols,
    visible,
    worktrees,
)
from bench.corpus import Corpus
from bench.effort import Effort
from bench.report import Section

PARTS: dict[str, Callable[[Corpus, Effort], Section]] = {
    "building": building.measure,  # first: it leaves the index that the others measure on
    "files": files.measure,
    "pages": pages.measure,
    "file_pages": file_pages.measure,
    "counts": counts.measure,
    "edits": edits.measure,
    "visible": visible.measure,
    "newcomer": newcomer.measure,
    "worktrees": worktrees.measure,
    "small": small.measure,
    "questions": questions.measure,
    "history": history.measure,
    "symbols": symbols.measure,
    "idle": idle.measure,
    "searching": searching.measure,
    "modes": modes.measure,
    "cold": cold.measure,
    "starting": starting.measure,
    "latency": latency.measure,
    "notes": notes.measure,
    "extremes": extremes.measure,
    "soak": soak.measure,
    "growth": growth.measure,
}
ON_REQUEST = ("cold", "growth", "history", "soak")
