"""Places are given out by connection: who has used least of late is next."""

from __future__ import annotations

import threading

import pytest

from flashgrep.errors import Cancelled
from flashgrep.search.scan.fair_queue import FairQueue, Slot
from flashgrep.tools.dispatch.call import Cancellation

PATIENCE_SECONDS = 120.0


class Queue:
    """Some who wait for a turn, each in a thread, and the order in which they got it."""

    def __init__(self, turns: FairQueue) -> None:
        self._turns = turns
        self._threads: list[threading.Thread] = []
        self.served: list[str] = []

    def join(self, share: str) -> None:
        """Let one more wait; gives back when it stands in line."""
        before = len(self._turns._waiting)
        thread = threading.Thread(target=self._wait, args=(share,))
        self._threads.append(thread)
        thread.start()
        while len(self._turns._waiting) == before:
            assert thread.is_alive()

    def _wait(self, share: str) -> None:
        turn = self._turns.take(PATIENCE_SECONDS, share=share)
        assert turn is not None
        self.served.append(share)
        self._turns.give_back(turn, 1.0)

    def end(self) -> None:
        for thread in self._threads:
            thread.join()


def taken(turns: FairQueue, share: str, is_short: bool = False) -> Slot:
    turn = turns.take(0, is_short=is_short, share=share)
    assert turn is not None
    return turn


def test_a_connection_that_used_little_comes_before_one_that_used_much() -> None:
    turns = FairQueue(1)
    turns.give_back(taken(turns, "busy"), 10.0)
    held = taken(turns, "other")
    queue = Queue(turns)
    for share in ("busy", "busy", "busy", "quiet"):
        queue.join(share)
    turns.give_back(held)
    queue.end()
    assert queue.served == ["quiet", "busy", "busy", "busy"]


def test_connections_that_ask_alike_are_served_in_turns() -> None:
    turns = FairQueue(1)
    held = taken(turns, "other")
    queue = Queue(turns)
    for share in ("a", "a", "a", "b", "b", "b"):
        queue.join(share)
    turns.give_back(held)
    queue.end()
    assert sorted(queue.served[:2]) == sorted(queue.served[2:4]) == ["a", "b"]


def test_a_spare_place_is_for_what_is_short_and_of_one_who_uses_little() -> None:
    turns = FairQueue(1, spare=1)
    held = taken(turns, "busy")
    assert turns.take(0, share="quiet") is None
    assert turns.take(0, is_short=True, share="busy") is None
    spare = taken(turns, "quiet", is_short=True)
    turns.give_back(spare, 10.0)
    assert turns.take(0, is_short=True, share="quiet") is None
    turns.give_back(held)


def test_a_spare_place_is_given_at_once_though_others_wait_for_another() -> None:
    turns = FairQueue(1, spare=1)
    held = taken(turns, "busy")
    queue = Queue(turns)
    queue.join("other")
    spare = taken(turns, "quiet", is_short=True)
    turns.give_back(held)
    turns.give_back(spare)
    queue.end()


def test_without_spare_places_what_is_short_waits_too() -> None:
    turns = FairQueue(1)
    held = taken(turns, "busy")
    assert turns.take(0, is_short=True, share="quiet") is None
    turns.give_back(held)


def test_one_who_is_cancelled_leaves_the_line_at_once() -> None:
    turns, cancelled = FairQueue(1), Cancellation()
    held = taken(turns, "busy")
    failures: list[BaseException] = []

    def wait() -> None:
        try:
            with turns.turn(cancelled):
                pass
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    while not turns.has_waiters:
        assert thread.is_alive()
    cancelled.set()
    thread.join(PATIENCE_SECONDS)
    assert [type(error) for error in failures] == [Cancelled]
    assert not turns.has_waiters
    turns.give_back(held)


def test_what_was_used_is_forgotten_of_those_who_used_little(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turns = FairQueue(1)
    for number in range(3_000):
        turns.give_back(taken(turns, f"c{number}"), float(number))
    assert len(turns._used) <= 1_001
    assert "c2999" in turns._used
