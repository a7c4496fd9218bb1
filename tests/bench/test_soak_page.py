"""The hour of work on the page: its chart and what is asked of it."""

from __future__ import annotations

import socket
from pathlib import Path
from random import Random

import pytest
from bench.effort import Effort
from bench.report import columns, render
from bench.soak import section
from tests.faults.soak import MIB, Sample, Soak
from tests.faults.soak_tree import SoakTree
from tests.transports.clients import RawLines


def worked(tmp_path: Path, values: list[float]) -> Soak:
    """A soak with these megabytes, minute by minute."""
    own, other = socket.socketpair()
    with own, other, RawLines(own) as client:
        soak = Soak(SoakTree(tmp_path, Random(1), words=9), client, 0)
    soak.samples = [Sample(minute + 1.0, mb * 1e6 / MIB, 0.0) for minute, mb in enumerate(values)]
    return soak


@pytest.mark.parametrize(
    ("later", "is_flat", "is_small"),
    [
        ([150.0] * 50, True, True),
        ([150.0 + 0.09 * minute for minute in range(50)], True, True),
        ([150.0 + 0.2 * minute for minute in range(50)], False, True),
        ([201.0] * 50, True, False),
    ],
)
def test_growth_after_the_tenth_minute_and_the_most_are_judged(
    tmp_path: Path, later: list[float], is_flat: bool, is_small: bool
) -> None:
    rising = [15.0 * minute for minute in range(1, 10)]  # before it
    found = section(Effort(), worked(tmp_path, rising + later))
    assert [target.met for target in found.targets] == [is_flat, is_small]
    assert "█" in render(found)


def test_a_column_is_as_high_as_its_value() -> None:
    chart = columns([0.0, 3.0, 6.0], "MB")
    cells = [line.partition("│")[2].ljust(3) for line in chart[:6]]
    assert ["".join(column) for column in zip(*cells, strict=True)] == [
        "      ",
        "   ███",
        "██████",
    ]
    assert chart[0].startswith("6 MB")
    assert columns([], "MB")[-2] == "   0 └"
