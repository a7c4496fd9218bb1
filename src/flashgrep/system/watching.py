"""Listeners for what other processes may change: a thread checks while somebody wants to know.

Each check wakes the machine, so without a listener there is no thread.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Hashable, Sequence
from typing import Final

from flashgrep import limits
from flashgrep.errors import FlashgrepError

log = logging.getLogger(__name__)

_NOTHING: Final = ("nothing",)
"""The state of what cannot be trusted any more."""


class Watching:
    """Calls listeners, from its own thread, when a state has changed."""

    def __init__(self, state: Callable[[], Hashable], name: str, untrusted: str) -> None:
        """`untrusted` is logged, with the reason, when the state cannot be had."""
        self._look_at = state
        self._name = name
        self._untrusted = untrusted
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._listeners: list[Callable[[], None]] = []
        self._thread: threading.Thread | None = None

    def add(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call a listener after each change; gives the way to stop."""
        before = self._state(None)
        with self._lock:
            if self._thread is None:
                thread = threading.Thread(
                    target=self._run, args=(before,), name=self._name, daemon=True
                )
                thread.start()  # which may fail; it looks at nothing before the lock is free
                self._thread = thread
            self._listeners.append(listener)
        return lambda: self._remove(listener)

    def look(self) -> None:
        """Look now; in this process a change need not wait for the next look."""
        self._wake.set()

    def _remove(self, listener: Callable[[], None]) -> None:
        with self._lock:
            self._listeners.remove(listener)
        self._wake.set()

    def _run(self, before: Hashable) -> None:
        while True:
            self._wake.wait(limits.TOKEN_LOOK_SECONDS)
            self._wake.clear()
            with self._lock:
                if not self._listeners:
                    self._thread = None
                    return
                listeners = list(self._listeners)
            now = self._state(before)
            if now != before:
                before = now
                _notify(listeners)

    def _state(self, before: Hashable) -> Hashable:
        """What is valid; nothing at all where it cannot be trusted any more."""
        try:
            return self._look_at()
        except FlashgrepError as error:
            if before != _NOTHING:
                log.error("%s: %s", self._untrusted, error)
            return _NOTHING


def _notify(listeners: Sequence[Callable[[], None]]) -> None:
    for one in listeners:
        try:
            one()
        except Exception:
            log.exception("a listener failed")
