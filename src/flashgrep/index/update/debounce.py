"""When the background thread works, and how it sleeps until then."""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from flashgrep import limits


class Debounce:
    """When changes are folded in: once they pause, or after a while at the latest."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._noted = self._attempted = self._retry_at = 0.0
        self._failures = 0
        self._swept = now()

    def changed(self) -> None:
        """Something happened just now."""
        self._noted = self._now()

    def attempted(self) -> None:
        """Changes were folded in, or that failed."""
        self._attempted = self._now()

    def succeeded(self) -> None:
        """The next failure is a first one."""
        self._failures = 0

    def failed(self) -> None:
        """Wait twice as long after each failure."""
        self._failures += 1
        self.put_off(min(2.0**self._failures, limits.FOLD_RETRY_SECONDS))

    def put_off(self, seconds: float) -> None:
        """Not before so many seconds have passed."""
        self._retry_at = self._now() + seconds

    def is_due(self) -> bool:
        """Whether it is time to fold in what is waiting."""
        now = self._now()
        is_quiet = now - self._noted > limits.FOLD_QUIET_SECONDS
        is_late = now > self._attempted + limits.FOLD_LATEST_SECONDS
        return now >= self._retry_at and (is_quiet or is_late)

    def pause(self) -> float:
        """How long to sleep while something is waiting, in seconds."""
        return max(limits.FOLD_TURN_SECONDS, self._retry_at - self._now())

    def swept(self) -> None:
        """Everything was looked at just now."""
        self._swept = self._now()

    def is_time_to_sweep(self) -> bool:
        """Whether everything should be looked at once more."""
        return self._now() - self._swept > limits.SWEEP_SECONDS


class Wakeup:
    """Wakes a thread that sleeps."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        self._closed = False
        self._owner: threading.Thread | None = None

    def belong_to_this_thread(self) -> None:
        """The one that sleeps: it does not wake itself."""
        self._owner = threading.current_thread()

    def ring(self) -> None:
        """End the sleep, or the next one; rung after it was closed, it is silent."""
        if not self._closed and threading.current_thread() is not self._owner:
            with suppress(BlockingIOError):  # a full pipe wakes as well as one byte
                os.write(self._write, b"!")

    def wait(self, seconds: float | None, fd: int | None = None) -> None:
        """Sleep until it rings, `fd` can be read, or the time is over; None is for ever."""
        poll = select.poll()
        poll.register(self._read, select.POLLIN)
        if fd is not None:
            poll.register(fd, select.POLLIN)
        ready = poll.poll(None if seconds is None else 1000 * seconds)
        if any(ready_fd == self._read for ready_fd, _ in ready):
            os.read(self._read, 4096)

    def close(self) -> None:
        """Called once nobody sleeps."""
        self._closed = True
        os.close(self._read)
        os.close(self._write)
