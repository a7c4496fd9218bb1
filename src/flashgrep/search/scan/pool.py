"""The worker processes, one per core, shared by all searches of a server.

A search borrows workers, gives each a slice at a time, and gives them back between slices when
another search waits. A worker that does not come back after a cancel is killed; the next search
starts a new one. So is one whose slice takes far longer than a slice should, unless there is room
to let it go on apart from the others.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import Any, Final

from flashgrep import limits
from flashgrep.errors import IOFailure
from flashgrep.search.scan.fair_queue import CancelFlag, FairQueue, Slot
from flashgrep.system.child import Child

_MODULE: Final = "flashgrep.search.scan.worker"
_MOST = 8
_REMEMBERED = 4
_NICE: Final = 3
"""How far a process gives way to others that works for what may take long…"""
_NICEST: Final = 7
"""…and one for what has turned out to."""


class NoWorker(IOFailure):
    """The operating system gives no further process: a limit, or no memory."""


class Worker(Child):
    """A search process, and what the pool knows of it."""

    def __init__(self, module: str = _MODULE) -> None:
        super().__init__(module)
        self._begun: list[int] = []
        self.turn = Slot("")
        """Its place among those that work."""
        self.is_short = True
        """Whether it works for what is sure to be short: it has never given way to others."""
        self.is_apart = False
        """Whether it takes long, and works beside the others."""
        self.lent = 0.0
        """Its processor time when it was borrowed."""

    def begin(self, number: int, request: tuple[Any, ...]) -> None:
        """Tell the process of a search, unless it knows; it forgets the oldest it knows."""
        if number in self._begun:
            return
        if len(self._begun) >= _REMEMBERED:
            self.send(("end", self._begun.pop(0)))
        self.send(("begin", number, request))
        self._begun.append(number)


class Pool:
    """Hands out workers, those that use them little first.

    One that is lost in a long match is set apart, where it is in nobody's way: a few may be.
    """

    def __init__(self, size: int | None = None, module: str = _MODULE) -> None:
        self.size = size or min(len(os.sched_getaffinity(0)), _MOST)
        self._module = module
        self._turns = FairQueue(self.size, limits.SPARE_WORKERS)
        self._apart = FairQueue(self.size)
        self._idle: list[Worker] = []
        self._lock = threading.Lock()
        self._closed = False
        self._numbers = 0

    def number(self) -> int:
        """A number for a new search."""
        with self._lock:
            self._numbers += 1
            return self._numbers

    @property
    def has_waiters(self) -> bool:
        return self._turns.has_waiters

    def borrow(
        self, wait_seconds: float, cancelled: CancelFlag = False, is_short: bool = False
    ) -> Worker | None:
        """A worker, or None where all are busy; waits in line for at most `wait_seconds`.

        One that is spare is kept for what `is_short`: no slice of it takes long.
        """
        return self._working(self._turns, wait_seconds, cancelled, is_short)

    def borrow_apart(self, wait_seconds: float, cancelled: CancelFlag = False) -> Worker | None:
        """A worker for what is known to take long."""
        worker = self._working(self._apart, wait_seconds, cancelled)
        if worker is not None:
            self._go_apart(worker)
        return worker

    def set_apart(self, worker: Worker) -> bool:
        """Let one that takes long be none of those that others wait for; False where too many do.

        Such a one has to be killed, and its work done by one that is borrowed for that.
        """
        if worker.is_apart:
            return True
        turn = self._apart.take(0, share=worker.turn.share)
        if turn is None:
            return False
        self._turns.give_back(worker.turn, worker.seconds() - worker.lent)
        worker.turn = turn
        self._go_apart(worker)
        return True

    @staticmethod
    def _go_apart(worker: Worker) -> None:
        worker.is_apart = True
        _give_way(worker, _NICEST)

    def _working(
        self, turns: FairQueue, wait_seconds: float, cancelled: CancelFlag, is_short: bool = False
    ) -> Worker | None:
        if self._closed:
            return None
        turn = turns.take(wait_seconds, cancelled, is_short)
        if turn is None:
            return None
        try:
            with self._lock:
                same = [worker for worker in self._idle if worker.is_short == is_short]
                worker = same[-1] if same else None
                if worker is not None:
                    self._idle.remove(worker)
            worker = worker or self._new(is_short)
        except BaseException:
            turns.give_back(turn)
            raise
        worker.turn = turn
        worker.lent = worker.seconds()
        return worker

    def _new(self, is_short: bool) -> Worker:
        """Start one; what may take long gives way to the server itself, and to what is short."""
        with self._lock:
            others = [worker for worker in self._idle if worker.is_short != is_short]
            extra = others[: max(0, len(others) - limits.SPARE_WORKERS)]
            self._idle = [worker for worker in self._idle if worker not in extra]
        for worker in extra:  # so many are no longer needed
            worker.stop()
        worker = self._started()
        worker.is_short = is_short
        if not is_short:
            _give_way(worker, _NICE)
        return worker

    def _started(self) -> Worker:
        try:
            return Worker(self._module)
        except OSError as error:
            raise NoWorker(
                f"No search process could be started: {error.strerror or error}. Search again "
                "in a moment; if it stays so, raise the limit of processes or open files"
            ) from error

    def give_back(self, worker: Worker) -> None:
        """Take a worker that is idle again; one that was set apart ends: it gives way to all."""
        with self._lock:
            is_kept = not self._closed and not worker.is_apart
            if is_kept:
                self._idle.append(worker)
        used = worker.seconds() - worker.lent
        if not is_kept:
            worker.stop(kill=worker.is_apart)
        self._free(worker, used)

    def discard(self, worker: Worker) -> None:
        """Kill a worker that is stuck or dead."""
        used = worker.seconds() - worker.lent
        worker.stop(kill=True)
        self._free(worker, used)

    def _free(self, worker: Worker, used: float) -> None:
        (self._apart if worker.is_apart else self._turns).give_back(worker.turn, max(0.0, used))

    def close(self) -> None:
        """End every idle worker; those at work end when they come back."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.stop()


def _give_way(worker: Worker, nice: int) -> None:
    with suppress(OSError):  # it has just ended, or gives way already
        os.setpriority(os.PRIO_PROCESS, worker.pid, nice)
