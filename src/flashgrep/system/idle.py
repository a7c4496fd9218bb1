"""Releases something that has not been used for a while, and costs nothing otherwise.

Memory freed then goes back to the system. On its own glibc would keep it: of a thread's heap it
returns only the end.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable


class IdleRelease:
    """Calls `release` once, `seconds` after the last use; there is a thread only until then."""

    def __init__(self, release: Callable[[], None], seconds: float) -> None:
        self._release = release
        self._seconds = seconds
        self._used = 0.0
        self._is_waiting = False
        self._lock = threading.Lock()
        self._releasing = threading.Lock()
        self._closed = threading.Event()

    def used(self) -> None:
        """Start counting again."""
        with self._lock:
            self._used = time.monotonic()
            if self._is_waiting or self._closed.is_set():
                return
            self._is_waiting = True
        threading.Thread(target=self._wait, name="flashgrep-rest", daemon=True).start()

    def close(self) -> None:
        """Count no more; nothing is released after this."""
        with self._releasing:
            self._closed.set()

    def _wait(self) -> None:
        left = self._seconds
        while not self._closed.wait(left):
            with self._lock:
                left = self._used + self._seconds - time.monotonic()
                self._is_waiting = left > 0
            if left <= 0:
                with self._releasing:
                    if not self._closed.is_set():
                        self._release()
                        trim()
                return


def trim() -> None:
    """Give memory that is free back to the system: some milliseconds; only glibc can."""
    malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if malloc_trim is not None:
        malloc_trim(0)
