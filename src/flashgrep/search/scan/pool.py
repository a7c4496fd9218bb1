"""The worker processes, one per core, shared by all searches of a server.

A search borrows workers, gives each a slice at a time, and gives them back between slices when
another search waits. A worker that does not come back after a cancel is killed; the next search
starts a new one. So is one whose slice takes far longer than a slice should, unless there is room
to let it continue apart from the others.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Generic, TypeVar

from flashgrep import limits
from flashgrep.errors import Cancelled, IOFailure
from flashgrep.search.scan.fair_queue import WAIT_SECONDS, CancelFlag, FairQueue, Slot
from flashgrep.system.child import Child, ChildDied, readable

SPARE_WORKERS: Final = 1
"""Workers beyond one per core, for connections that have searched little lately."""

RETURN_SECONDS: Final = 0.15
"""The same where the search has found enough, and nothing waits for the processor."""

OVERLONG_SECONDS: Final = 0.25
"""Processor time that a worker may need for one slice: far more than `SLICE_SECONDS`. One that
needs more is stuck in a long match: it continues apart from the others if there is room; if not, it
is killed, and the slice is redone when there is."""

CANCEL_SECONDS: Final = 0.08
"""A worker that has not come back this long after a cancel is killed; a new one takes its place."""

_MODULE: Final = "flashgrep.search.scan.worker"
_MOST = 8
_REMEMBERED = 4
_NICE: Final = 3
"""How far a process gives way to others that works for what may take long…"""
_NICEST: Final = 7
"""…and one for what has turned out to."""


class NoWorker(IOFailure):
    """The operating system grants no further process, because of a limit or lack of memory."""


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
        """Describe a search to the process, unless it knows it; the oldest it knows is dropped."""
        if number in self._begun:
            return
        if len(self._begun) >= _REMEMBERED:
            self.send(("end", self._begun.pop(0)))
        self.send(("begin", number, request))
        self._begun.append(number)


class Pool:
    """Lends workers, first to the connections that use them least.

    One that is stuck in a long match is set apart, where it delays no others; a few may be.
    """

    def __init__(self, size: int | None = None, module: str = _MODULE) -> None:
        self.size = size or min(len(os.sched_getaffinity(0)), _MOST)
        self._module = module
        self._turns = FairQueue(self.size, SPARE_WORKERS)
        self._apart = FairQueue(self.size)
        self._idle: list[Worker] = []
        self._lock = threading.Lock()
        self._closed = False

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
        """Move a worker that takes long out of the queue others wait in; False where too many are.

        Then it has to be killed, and its work done by a worker borrowed for that.
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
            extra = others[: max(0, len(others) - SPARE_WORKERS)]
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
        """Take back an idle worker; one that was set apart has a low priority, and ends."""
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


# ── the tasks of one search ──────────────────────────────────────────────────────────────────────
# The workers that one search has at work, each with a task; and messages that need no walk.


TURN_SECONDS: Final = 0.05
"""How often a search that waits looks whether its caller is still there."""
DIED: Final = ("died", None)
"""Instead of an answer: the process ended, and the task must be done again."""

Task = TypeVar("Task")
Begin = tuple[int, tuple[Any, ...]]
"""The number of a search, and its request."""


@dataclass
class _Job(Generic[Task]):
    worker: Worker
    task: Task
    begun: float
    """The processor time of the worker at the task's begin."""

    @property
    def seconds(self) -> float:
        """The processor time of the task so far."""
        return self.worker.seconds() - self.begun


class WorkerTasks(Generic[Task]):
    """Borrows workers, hands out tasks, and collects the answers."""

    def __init__(self, pool: Pool, cancelled: CancelFlag, is_short: bool = False) -> None:
        """`is_short` promises that no task takes long."""
        self._pool = pool
        self._is_short = is_short
        self._cancelled = cancelled
        self._jobs: dict[int, _Job[Task]] = {}
        self.overlong: list[Task] = []
        """Tasks that are known to take long; they wait for a worker apart."""

    def __bool__(self) -> bool:
        """Whether any worker is busy."""
        return bool(self._jobs)

    @property
    def tasks(self) -> list[Task]:
        """What is being worked on, and what waits to be because it takes long."""
        return [*(job.task for job in self._jobs.values()), *self.overlong]

    def worker(self) -> Worker | None:
        """One more worker; waits for it if none is busy."""
        return self._borrowed(partial(self._pool.borrow, is_short=self._is_short))

    def send(self, worker: Worker, task: Task, message: Any, begin: Begin | None = None) -> bool:
        """Give a task to a worker; False where that has died, and is gone.

        `begin` describes the search of the task, if the worker has to know it.
        """
        try:
            if begin is not None:
                worker.begin(*begin)
            worker.send(message)
        except ChildDied:
            self._pool.discard(worker)
            return False
        self._jobs[worker.out] = _Job(worker, task, worker.seconds())
        return True

    def worker_apart(self) -> Worker | None:
        """A worker for the first of the tasks that take long."""
        return self._borrowed(self._pool.borrow_apart) if self.overlong else None

    def _borrowed(self, borrow: Any) -> Worker | None:
        try:
            found: Worker | None = borrow(0 if self._jobs else WAIT_SECONDS, self._cancelled)
        except NoWorker:
            if self._jobs:  # it takes longer, but goes on with those it has
                return None
            raise
        return found

    def collect(self, seconds: float = TURN_SECONDS) -> list[tuple[Task, Any]]:
        """The tasks that were done within a while, each with its answer."""
        if not self._jobs:
            return []
        done: list[tuple[Task, Any]] = []
        for out in readable(self._jobs, seconds):
            job = self._jobs.pop(out)
            try:
                answer = job.worker.receive()
                self._pool.give_back(job.worker)
            except ChildDied:
                answer = DIED
                self._pool.discard(job.worker)
            done.append((job.task, answer))
        self._set_apart()
        return done

    def _set_apart(self) -> None:
        """Look for workers that are lost in something long."""
        for out, job in list(self._jobs.items()):
            if job.worker.is_apart or job.seconds < OVERLONG_SECONDS:
                continue
            if not self._pool.set_apart(job.worker) and self._pool.has_waiters:
                del self._jobs[out]
                self._pool.discard(job.worker)
                self.overlong.append(job.task)

    def release(self) -> Sequence[tuple[Task, Any]]:
        """Give the workers back, killing those lost in a long match; what the others answered."""
        if not self._jobs:
            return []
        is_urgent = bool(self._cancelled)
        deadline = time.monotonic() + (CANCEL_SECONDS if is_urgent else RETURN_SECONDS)
        done: list[tuple[Task, Any]] = []
        for out, job in list(self._jobs.items()):
            if is_urgent and job.seconds > limits.SLICE_SECONDS:
                del self._jobs[out]
                self._pool.discard(job.worker)
                done.append((job.task, DIED))
        while self._jobs and (wait := deadline - time.monotonic()) > 0:
            done += self.collect(wait)
        for job in self._jobs.values():
            self._pool.discard(job.worker)
            done.append((job.task, DIED))
        self._jobs.clear()
        return done


def run_one(
    pool: Pool,
    message: Any,
    cancelled: CancelFlag,
    begin: Begin | None = None,
    is_short: bool = False,
) -> Any:
    """The answer to one message; the worker is killed where the caller cancels."""
    return next(run_all(pool, [message], cancelled, begin, is_short))[1]


def run_all(
    pool: Pool,
    messages: Sequence[Any],
    cancelled: CancelFlag,
    begin: Begin | None = None,
    is_short: bool = False,
) -> Iterator[tuple[int, Any]]:
    """The answers to some messages, by as many workers as are to be had, as they come.

    Each comes with the number of its message. A caller that stops reading gives the workers back.
    """
    crew, waiting, deaths = (
        WorkerTasks[int](pool, cancelled, is_short),
        list(range(len(messages)))[::-1],
        0,
    )
    try:
        while waiting or crew.tasks:
            if cancelled:
                raise Cancelled("The search was cancelled")
            while crew.overlong and (worker := crew.worker_apart()):
                task = crew.overlong.pop(0)
                if not crew.send(worker, task, messages[task], begin):
                    waiting.append(task)
            while waiting and (not crew or not pool.has_waiters) and (worker := crew.worker()):
                if crew.send(worker, waiting[-1], messages[waiting[-1]], begin):
                    waiting.pop()
            for task, answer in crew.collect():
                if answer is DIED:
                    deaths += 1
                    if deaths > 2 * pool.size:
                        raise IOFailure("The search process died; is there enough memory?")
                    waiting.append(task)
                elif answer[0] == "failed":
                    raise IOFailure(str(answer[1]))
                else:
                    yield task, answer
    finally:
        crew.release()
