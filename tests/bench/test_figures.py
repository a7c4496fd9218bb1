"""Figures say as much as was measured, and percentiles are values that occurred."""

from __future__ import annotations

import pytest
from bench.figures import MISSED, mark, milliseconds, percentile, times


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.00412, "4.1"), (0.0999, "99.9"), (0.1, "100"), (1.2346, "1235")]
)
def test_milliseconds(seconds: float, shown: str) -> None:
    assert milliseconds(seconds) == shown


@pytest.mark.parametrize(
    ("ratio", "shown"), [(0.4, "0.40 ×"), (9.994, "9.99 ×"), (12.34, "12.3 ×"), (1234.5, "1,234 ×")]
)
def test_times(ratio: float, shown: str) -> None:
    assert times(ratio) == shown


@pytest.mark.parametrize(
    ("values", "share", "value"),
    [
        ([3.0, 1.0, 2.0], 0.5, 2.0),
        ([float(n) for n in range(1, 101)], 0.99, 99.0),
        ([float(n) for n in range(1, 201)], 0.99, 198.0),
        ([7.0], 0.99, 7.0),
    ],
)
def test_percentile(values: list[float], share: float, value: float) -> None:
    assert percentile(values, share) == value


def test_a_missed_target_is_marked() -> None:
    assert (mark(True), mark(False)) == ("yes", MISSED)
