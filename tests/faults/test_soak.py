"""A server that works for a long time keeps no more memory than one that worked for ten minutes."""

from __future__ import annotations

import os
import time
from pathlib import Path
from random import Random
from statistics import median

import pytest
from tests.faults.soak import Sample, Soak, slope
from tests.faults.soak_tree import SoakTree
from tests.faults.telling import tell
from tests.transports.clients import RawLines, serving

HEAVY = os.environ.get("FLASHGREP_HEAVY") == "1"
MINUTES = float(os.environ.get("FLASHGREP_SOAK_MINUTES", "30")) if HEAVY else 0.0
"""`FLASHGREP_SOAK_MINUTES=5 make faults` for a short one; less than 30 are only told."""
FILES, FLIPPED, LINES = (10_000, 1_535, 130) if HEAVY else (60, 20, 20)
STEPS = 12
WHOLE_MINUTES = 30.0
WARM_MINUTES = 10.0
MOST_A_MINUTE = 0.1
"""MiB of private memory, by least squares."""
MOST_IN_ALL = 1.1
"""Of the memory after the first minutes."""
LOOKS = 5
"""A look may meet a server at work, so beginning and end are medians of so many."""

pytestmark = [pytest.mark.fault, pytest.mark.timeout(7_200 if HEAVY else 600)]


@pytest.mark.thorough
def test_memory_does_not_grow_with_the_work_done(tmp_path: Path) -> None:
    """Edits, checkouts of another branch, greps and queries."""
    work = tmp_path / "work"
    work.mkdir()
    tree = SoakTree(work, Random(int(os.environ.get("FLASHGREP_SEED", "1"))))
    tree.grow(FILES, FLIPPED, LINES)
    tree.check_out("one")
    with (
        serving(work, home=tmp_path / "home", ports=False, is_warm=False) as server,
        RawLines(server.open_unix()) as client,
    ):
        client.connection.settimeout(600)
        while not client.ask("stats")["result"]["query_ready"]:
            time.sleep(0.05)  # however long it takes; the test as a whole has its limit
        soak = Soak(tree, client, server.process.pid)
        if not MINUTES:
            soak.calm_seconds = 0.0
            soak.sample(0.0)
            for turn in range(STEPS):
                soak.step(turn)
                if turn % 4 == 0:
                    soak.flip()
            soak.sample(1.0)
            assert all(soak.done[what] for what in ("edit", "checkout", "grep", "query"))
            return
        soak.run(MINUTES, told=_tell)
    tell(f"done: {dict(soak.done)}")
    _judge(soak.samples)


def _tell(sample: Sample) -> None:
    tell(f"{sample.minutes:5.1f} min  {sample.private:7.1f} MiB, {sample.anonymous:.1f} anonymous")


def _judge(samples: list[Sample]) -> None:
    warm = min(WARM_MINUTES, MINUTES / 3)
    later = [sample for sample in samples if sample.minutes >= warm]
    growth = slope(later, lambda sample: sample.private)
    begin, end = later[:LOOKS], later[-LOOKS:]
    share = median(each.private for each in end) / median(each.private for each in begin)
    tell(
        f"soak of {MINUTES:g} minutes: from minute {warm:g} on {growth:+.3f} MiB a minute of "
        f"private memory by least squares ({slope(later, lambda s: s.anonymous):+.3f} of it "
        f"anonymous), at the end {share:.3f} of then"
    )
    if MINUTES >= WHOLE_MINUTES:
        assert growth <= MOST_A_MINUTE
        assert share <= MOST_IN_ALL
