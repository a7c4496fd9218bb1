"""Figures as tables show them."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

MISSED = "**missed**"


def milliseconds(seconds: float) -> str:
    """A time: a decimal where it says something."""
    value = seconds * 1000
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def times(ratio: float) -> str:
    """How many times; three figures are enough for anything that was measured."""
    if ratio >= 100:
        return f"{ratio:,.0f} ×"
    return f"{ratio:.1f} ×" if ratio >= 10 else f"{ratio:.2f} ×"


def mark(met: bool) -> str:
    """A plain word beside a figure that has a target."""
    return "yes" if met else MISSED


def percentile(values: Sequence[float], share: float) -> float:
    """The least value that this share of all does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, ceil(share * len(ordered)) - 1)]
