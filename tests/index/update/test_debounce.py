"""Changes are folded in once they pause, at the latest after a while, and not too soon again."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest

from flashgrep.index.update import rescan, tree_state
from flashgrep.index.update.tree_state import Debounce, Wakeup


class Clock:
    """A time that stands still unless a test moves it."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_changes_wait_until_they_pause() -> None:
    clock = Clock()
    pace = Debounce(clock)
    pace.attempted()
    pace.changed()
    clock.now += tree_state.FOLD_QUIET_SECONDS / 2
    assert not pace.is_due()
    pace.changed()
    clock.now += tree_state.FOLD_QUIET_SECONDS * 0.9
    assert not pace.is_due()
    clock.now += tree_state.FOLD_QUIET_SECONDS * 0.2
    assert pace.is_due()


def test_changes_that_never_pause_do_not_wait_for_ever() -> None:
    clock = Clock()
    pace = Debounce(clock)
    pace.attempted()
    pace.changed()
    steps = 0
    while not pace.is_due():
        clock.now += tree_state.FOLD_QUIET_SECONDS / 2
        pace.changed()
        steps += 1
        assert steps < 10_000
    assert clock.now - 1_000 > rescan.FOLD_LATEST_SECONDS


def test_each_failure_makes_the_pause_longer_up_to_a_limit_and_a_success_ends_that() -> None:
    clock = Clock()
    pace = Debounce(clock)
    pauses = []
    for _ in range(12):
        pace.failed()
        assert not pace.is_due()
        pauses.append(pace.pause())
        clock.now += pauses[-1] + 0.001
        assert pace.is_due()
    assert pauses == sorted(pauses)
    assert pauses[0] < pauses[1]
    assert pauses[-1] == tree_state.FOLD_RETRY_SECONDS
    pace.succeeded()
    pace.failed()
    assert pace.pause() == pauses[0]


def test_everything_is_looked_at_after_a_while_and_then_not_at_once_again() -> None:
    clock = Clock()
    pace = Debounce(clock)
    assert not pace.is_time_to_sweep()
    clock.now += tree_state.SWEEP_SECONDS + 1
    assert pace.is_time_to_sweep()
    pace.swept()
    assert not pace.is_time_to_sweep()


@pytest.fixture
def bell() -> Iterator[Wakeup]:
    made = Wakeup()
    yield made
    made.close()


def test_a_bell_wakes_and_rung_before_keeps_awake_once(bell: Wakeup) -> None:
    sleeper = threading.Thread(target=bell.wait, args=(None,))
    sleeper.start()
    bell.ring()
    sleeper.join(30)
    assert not sleeper.is_alive()
    for _ in range(100_000):  # more than a pipe holds
        bell.ring()
    bell.wait(None)
    bell.wait(0.0)


def test_what_can_be_read_wakes_too(bell: Wakeup) -> None:
    read, write = os.pipe()
    os.write(write, b"!")
    bell.wait(None, read)
    assert os.read(read, 9) == b"!"  # left for whoever it is for
    os.close(read)
    os.close(write)


def test_a_closed_bell_is_silent() -> None:
    bell = Wakeup()
    bell.close()
    bell.ring()
