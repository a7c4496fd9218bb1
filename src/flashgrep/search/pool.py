"""The worker processes, one per core, shared by all searches of a server.

A search borrows workers, gives each a slice at a time, and gives them back between slices when
another search waits. A worker that does not come back after a cancel is killed; the next search
starts a new one.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from flashgrep.errors import IOFailure
from flashgrep.search.worker import read_message, write_message

_MOST = 8
_REMEMBERED = 4
_GOODBYE_SECONDS = 1.0
_LOOK_MILLISECONDS = 100


class WorkerDied(Exception):
    """A worker ended in the middle of its work."""


class NoWorker(IOFailure):
    """The operating system gives no further process: a limit, or no memory."""


class Worker:
    """One process that works for the server, as the server sees it."""

    def __init__(
        self, module: str = "flashgrep.search.worker", inherited: tuple[int, ...] = ()
    ) -> None:
        # -P: the current directory is the user's workspace and must not shadow our modules.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-X", "utf8", "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            close_fds=True,
            pass_fds=inherited,
            cwd="/",
            umask=0o077,  # what they write is ours: tantivy makes its files by the umask alone
        )
        assert self._process.stdin is not None  # noqa: S101
        assert self._process.stdout is not None  # noqa: S101
        self._in = self._process.stdin.fileno()
        self.out = self._process.stdout.fileno()
        self._begun: list[int] = []

    def begin(self, number: int, request: tuple[Any, ...]) -> None:
        """Tell the process of a search, unless it knows; it forgets the oldest it knows."""
        if number in self._begun:
            return
        if len(self._begun) >= _REMEMBERED:
            self.send(("end", self._begun.pop(0)))
        self.send(("begin", number, request))
        self._begun.append(number)

    def send(self, message: Any) -> None:
        try:
            write_message(self._in, message)
        except OSError as error:
            raise WorkerDied from error

    def receive(self) -> Any:
        answer = read_message(self.out)
        if answer is None:
            raise WorkerDied
        return answer

    def receive_unless(self, stopped: Callable[[], bool]) -> Any:
        """The next answer, or None once `stopped` says so."""
        poll = select.poll()
        poll.register(self.out, select.POLLIN)
        while not poll.poll(_LOOK_MILLISECONDS):
            if stopped():
                return None
        return self.receive()

    def ending(self) -> str:
        """How a process ended that is known to have died."""
        try:
            status = self._process.wait(_GOODBYE_SECONDS)
        except subprocess.TimeoutExpired:
            return "closed its pipe"
        if status >= 0:
            return f"ended with status {status}"
        return f"was ended by {signal.Signals(-status).name}"

    def stop(self, kill: bool = False) -> None:
        """End the process and wait for it."""
        process = self._process
        if kill:
            process.kill()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()
        try:
            process.wait(_GOODBYE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class Pool:
    """Hands out workers, in the order searches ask."""

    def __init__(self, size: int | None = None) -> None:
        self.size = size or min(len(os.sched_getaffinity(0)), _MOST)
        self._idle: list[Worker] = []
        self._alive = 0
        self._waiting: deque[threading.Event] = deque()
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
        return bool(self._waiting)

    def borrow(self, wait_seconds: float) -> Worker | None:
        """A worker, or None where all are busy; waits in line for at most `wait_seconds`."""
        turn = threading.Event()
        with self._lock:
            if self._idle and not self._waiting:
                return self._idle.pop()
            may_start = self._alive < self.size and not self._closed
            if may_start:
                self._alive += 1
            elif wait_seconds <= 0:
                return None
            else:
                self._waiting.append(turn)
        if may_start:
            return self._started()
        turn.wait(wait_seconds)
        return self._after_waiting(turn)

    def _after_waiting(self, turn: threading.Event) -> Worker | None:
        with self._lock:
            if turn in self._waiting:
                self._waiting.remove(turn)
            if self._idle:
                return self._idle.pop()
            if self._alive >= self.size or self._closed:
                return None
            self._alive += 1
        return self._started()

    def _started(self) -> Worker:
        """A new worker, which is counted already."""
        try:
            return Worker()
        except BaseException as error:
            with self._lock:
                self._alive -= 1
                self._call_next()
            if isinstance(error, OSError):
                raise NoWorker(
                    f"No search process could be started: {error.strerror or error}. Search again "
                    "in a moment; if it stays so, raise the limit of processes or open files"
                ) from error
            raise

    def give_back(self, worker: Worker) -> None:
        """Take a worker that is idle again."""
        with self._lock:
            if not self._closed:
                self._idle.append(worker)
                self._call_next()
                return
            self._alive -= 1
        worker.stop()

    def discard(self, worker: Worker) -> None:
        """Kill a worker that is stuck or dead."""
        worker.stop(kill=True)
        with self._lock:
            self._alive -= 1
            self._call_next()

    def _call_next(self) -> None:
        if self._waiting:
            self._waiting.popleft().set()

    def close(self) -> None:
        """End every idle worker; those at work end when they come back."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            self._alive -= len(idle)
        for worker in idle:
            worker.stop()
