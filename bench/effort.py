"""How much a run measures: all of it for the page, a little for a trial or a test."""

from __future__ import annotations

from dataclasses import dataclass

ROUNDS = 9
MINUTES = 60.0


@dataclass(frozen=True)
class Effort:
    """The sizes of a run; the defaults are those of the page."""

    rounds: int = ROUNDS
    patterns: int | None = None
    """Patterns of each class; None for all."""
    edits: int = 1_000
    """Files changed before "after so many edits" is measured."""
    changes: int = 200
    """Single changes, each followed at once by a grep."""
    symbols: int = 30
    small_files: int = 1_000
    reads: int = 300
    notes: int = 10_000
    many_notes: int = 50_000
    """Shorter ones, of which only the first grep after a start is measured."""
    rest_seconds: float = 35.0
    """Before a server counts as idle; the ranked index closes half a minute after a query."""
    idle_seconds: float = 10.0
    minutes: float = MINUTES
    """How long the server is kept at work by `soak`…"""
    soak_files: int = 10_000
    """…on so many files."""
    paths: tuple[str, ...] = ()
    """Repositories whose history asks the questions."""
