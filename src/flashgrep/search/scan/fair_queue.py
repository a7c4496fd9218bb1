"""A queue for scarce places, shared fairly between connections.

The connection that has used least lately comes first, so a client that searches now and then does
not wait for one that keeps everything busy. What was used decays by half every few seconds.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final, Protocol

from flashgrep.errors import Cancelled

ON_BEHALF: Final[ContextVar[str]] = ContextVar("flashgrep_on_behalf", default="")
"""The connection that the running call came from."""

_HALF_LIFE_SECONDS: Final = 5.0
_LITTLE_SECONDS: Final = 0.5
"""A connection that has used no more than this lately, and holds no place, may have a spare one."""
_REMEMBERED: Final = 1_000
_AT_LEAST_SECONDS: Final = 0.1
"""The least that a held place counts for, however short the time so far."""
WAIT_SECONDS: Final = 1.0
"""How often a waiting call checks whether its time is over."""


class CancelFlag(Protocol):
    """Whether the caller has cancelled."""

    def __bool__(self) -> bool: ...


@contextmanager
def waking(cancelled: CancelFlag, event: threading.Event) -> Iterator[None]:
    """In this block a cancel sets an event, if the flag supports that."""
    wakes = getattr(cancelled, "wakes", None)
    if wakes is None:
        yield
        return
    with wakes(event):
        yield


@dataclass(eq=False)
class Slot:
    """A place that is held, or waited for."""

    share: str
    is_short: bool = False
    since: float = field(default_factory=time.monotonic)
    called: threading.Event = field(default_factory=threading.Event)


class FairQueue:
    """A number of places, and some spare ones for connections that use them little."""

    def __init__(self, places: int, spare: int = 0) -> None:
        self._places = places
        self._spare = spare
        self._held: set[Slot] = set()
        self._waiting: list[Slot] = []
        self._used: dict[str, tuple[float, float]] = {}
        """Seconds that each share had used, and when that was."""
        self._lock = threading.Lock()

    @property
    def has_waiters(self) -> bool:
        return bool(self._waiting)

    def take(
        self,
        wait_seconds: float,
        cancelled: CancelFlag = False,
        is_short: bool = False,
        share: str | None = None,
    ) -> Slot | None:
        """A place, or None where none is free; waits in line for at most `wait_seconds`.

        A call that is cancelled while it waits gets None at once. Spare places are for what
        `is_short`.
        """
        turn = Slot(ON_BEHALF.get() if share is None else share, is_short)
        with self._lock:
            if not self._waiting and self._has_room(turn):
                turn.since = time.monotonic()
                self._held.add(turn)
                return turn
            self._waiting.append(turn)
            self._call()
        if wait_seconds > 0:
            with waking(cancelled, turn.called):
                turn.called.wait(wait_seconds)
        with self._lock:
            if turn in self._held:
                return turn
            self._waiting.remove(turn)
        return None

    def give_back(self, turn: Slot, used: float | None = None) -> None:
        """Free a place; the connection that has used least lately is next.

        What counts is the processor time `used`, where it is known, or how long the turn was.
        """
        with self._lock:
            self._held.discard(turn)
            now = time.monotonic()
            used = now - turn.since if used is None else used
            self._used[turn.share] = (self._recent(turn.share, now) + used, now)
            if len(self._used) > _REMEMBERED:
                self._forget(now)
            self._call()

    @contextmanager
    def turn(self, cancelled: CancelFlag) -> Iterator[None]:
        """Hold a place in this block; `Cancelled` is raised where the caller cancels first."""
        taken = self.take(WAIT_SECONDS, cancelled)
        while taken is None:
            if cancelled:
                raise Cancelled("The search was cancelled")
            taken = self.take(WAIT_SECONDS, cancelled)
        try:
            yield
        finally:
            self.give_back(taken)

    # ── with the lock held ──────────────────────────────────────────────────────────────────────

    def _call(self) -> None:
        now = time.monotonic()
        for turn in sorted(self._waiting, key=lambda turn: self._now_used(turn.share, now)):
            if self._has_room(turn):
                self._waiting.remove(turn)
                turn.since = now
                self._held.add(turn)
                turn.called.set()

    def _has_room(self, turn: Slot) -> bool:
        if len(self._held) < self._places:
            return True
        if not turn.is_short or len(self._held) >= self._places + self._spare:
            return False
        holds = any(held.share == turn.share for held in self._held)
        return not holds and self._recent(turn.share, time.monotonic()) < _LITTLE_SECONDS

    def _now_used(self, share: str, now: float) -> float:
        held = (now - turn.since for turn in self._held if turn.share == share)
        return self._recent(share, now) + sum(_AT_LEAST_SECONDS + seconds for seconds in held)

    def _recent(self, share: str, now: float) -> float:
        used, at = self._used.get(share, (0.0, now))
        return float(used * 0.5 ** ((now - at) / _HALF_LIFE_SECONDS))

    def _forget(self, now: float) -> None:
        kept = sorted(self._used, key=lambda share: self._recent(share, now))[_REMEMBERED // 2 :]
        self._used = {share: self._used[share] for share in kept}


HERE: Final = FairQueue(len(os.sched_getaffinity(0)))
"""Matching in the server's own threads, which share one interpreter: more than a few at once only
make each other, and all else, slower."""
