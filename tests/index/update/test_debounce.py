"""Changes are folded in once they pause, at the latest after a while, and not too soon again."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest

from flashgrep.index.update import rescan, tree_state
from flashgrep.index.update.tree_state import Debounce, Wakeup


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_changes_wait_until_they_pause() -> None:
    clock = Clock()
    debounce = Debounce(clock)
    debounce.attempted()
    debounce.changed()
    clock.now += tree_state.FOLD_QUIET_SECONDS / 2
    assert not debounce.is_due()
    debounce.changed()
    clock.now += tree_state.FOLD_QUIET_SECONDS * 0.9
    assert not debounce.is_due()
    clock.now += tree_state.FOLD_QUIET_SECONDS * 0.2
    assert debounce.is_due()


def test_changes_that_never_pause_do_not_wait_for_ever() -> None:
    clock = Clock()
    debounce = Debounce(clock)
    debounce.attempted()
    debounce.changed()
    steps = 0
    while not debounce.is_due():
        clock.now += tree_state.FOLD_QUIET_SECONDS / 2
        debounce.changed()
        steps += 1
        assert steps < 10_000
    assert clock.now - 1_000 > rescan.FOLD_LATEST_SECONDS


def test_each_failure_makes_the_pause_longer_up_to_a_limit_and_a_success_ends_that() -> None:
    clock = Clock()
    debounce = Debounce(clock)
    pauses = []
    for _ in range(12):
        debounce.failed()
        assert not debounce.is_due()
        pauses.append(debounce.pause())
        clock.now += pauses[-1] + 0.001
        assert debounce.is_due()
    assert pauses == sorted(pauses)
    assert pauses[0] < pauses[1]
    assert pauses[-1] == tree_state.FOLD_RETRY_SECONDS
    debounce.succeeded()
    debounce.failed()
    assert debounce.pause() == pauses[0]


def test_everything_is_looked_at_after_a_while_and_then_not_at_once_again() -> None:
    clock = Clock()
    debounce = Debounce(clock)
    assert not debounce.is_poll_due()
    clock.now += tree_state.POLL_SECONDS + 1
    assert debounce.is_poll_due()
    debounce.polled()
    assert not debounce.is_poll_due()


@pytest.fixture
def wakeup() -> Iterator[Wakeup]:
    made = Wakeup()
    yield made
    made.close()


def test_waking_ends_the_sleep_or_the_next_one(wakeup: Wakeup) -> None:
    sleeper = threading.Thread(target=wakeup.wait, args=(None,))
    sleeper.start()
    wakeup.wake()
    sleeper.join(120)
    assert not sleeper.is_alive()
    for _ in range(100_000):  # more than a pipe holds
        wakeup.wake()
    wakeup.wait(None)
    wakeup.wait(0.0)


def test_what_can_be_read_wakes_too(wakeup: Wakeup) -> None:
    read, write = os.pipe()
    os.write(write, b"!")
    wakeup.wait(None, read)
    assert os.read(read, 9) == b"!"  # left for its reader
    os.close(read)
    os.close(write)


def test_waking_after_closing_does_nothing() -> None:
    wakeup = Wakeup()
    wakeup.close()
    wakeup.wake()
