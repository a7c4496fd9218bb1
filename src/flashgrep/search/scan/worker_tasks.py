"""The workers that one search has at work, each with a task; and messages that need no walk."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Generic, TypeVar

from flashgrep import limits
from flashgrep.errors import Cancelled, IOFailure
from flashgrep.search.scan.fair_queue import WAIT_SECONDS, CancelFlag
from flashgrep.search.scan.pool import NoWorker, Pool, Worker
from flashgrep.system.child import ChildDied, readable

TURN_SECONDS: Final = 0.05
"""How often a search that waits looks whether its caller is still there."""
DIED: Final = ("died", None)
"""In place of an answer: the process ended, and the task has to be done again."""

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
    """Borrows workers, hands out tasks, and takes in what they answer."""

    def __init__(self, pool: Pool, cancelled: CancelFlag, is_short: bool = False) -> None:
        """`is_short` promises that no task takes long."""
        self._pool = pool
        self._is_short = is_short
        self._cancelled = cancelled
        self._jobs: dict[int, _Job[Task]] = {}
        self.overlong: list[Task] = []
        """Tasks that are known to take long; they wait for a worker apart."""

    def __bool__(self) -> bool:
        """Whether anybody is at work."""
        return bool(self._jobs)

    @property
    def tasks(self) -> list[Task]:
        """What is being worked on, and what waits to be because it takes long."""
        return [*(job.task for job in self._jobs.values()), *self.overlong]

    def worker(self) -> Worker | None:
        """One more worker; waits for it if there is none at work."""
        return self._borrowed(partial(self._pool.borrow, is_short=self._is_short))

    def send(self, worker: Worker, task: Task, message: Any, begin: Begin | None = None) -> bool:
        """Give a task to a worker; False where that has died, and is gone.

        `begin` tells of the search that the task is of, if the worker has to know.
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
            if job.worker.is_apart or job.seconds < limits.OVERLONG_SECONDS:
                continue
            if not self._pool.set_apart(job.worker) and self._pool.has_waiters:
                del self._jobs[out]
                self._pool.discard(job.worker)
                self.overlong.append(job.task)

    def release(self) -> Sequence[tuple[Task, Any]]:
        """Give the workers back, killing those lost in a long match; what the others answered."""
        is_urgent = bool(self._cancelled)
        deadline = time.monotonic() + (
            limits.CANCEL_SECONDS if is_urgent else limits.RETURN_SECONDS
        )
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
    """The answer to one message; the worker is killed where the caller withdraws."""
    return next(run_all(pool, [message], cancelled, begin, is_short))[1]


def run_all(
    pool: Pool,
    messages: Sequence[Any],
    cancelled: CancelFlag,
    begin: Begin | None = None,
    is_short: bool = False,
) -> Iterator[tuple[int, Any]]:
    """The answers to some messages, by as many workers as are to be had, as they come.

    Each comes with the number of its message. Whoever stops reading gives the workers back.
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
