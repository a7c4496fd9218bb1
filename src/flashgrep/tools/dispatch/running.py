"""Which calls run: some of each caller's, one of everybody's.

Every call that runs holds a thread, and may hold it for long. So the first call of a caller never
waits for those of others; further ones share a number of places, and whoever runs fewest is next.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import anyio

from flashgrep import limits


@dataclass(eq=False)
class _Waiting:
    key: str
    admitted: anyio.Event = field(default_factory=anyio.Event)


class _Place:
    """A block of code that holds a place; not made of a generator, which costs every call more."""

    __slots__ = ("_key", "_running")

    def __init__(self, running: Running, key: str) -> None:
        self._running = running
        self._key = key

    async def __aenter__(self) -> None:
        await self._running.enter(self._key)

    async def __aexit__(self, *_: object) -> None:
        self._running.end(self._key)


class Running:
    """The calls of a server that run, and those that wait. For one event loop."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._waiting: list[_Waiting] = []

    @cached_property
    def threads(self) -> anyio.CapacityLimiter:
        """The threads of the calls; made by the first one, because this loads asyncio."""
        return anyio.CapacityLimiter(limits.THREADS + limits.RUNNING_CALLERS)

    def place(self, key: str) -> _Place:
        """Hold a place for a call of the caller with this key; the wait for it can be cancelled."""
        return _Place(self, key)

    async def enter(self, key: str) -> None:
        """Take a place, which `end` gives back."""
        if self._waiting or not self._has_room(key):
            await self._wait(key)
        else:
            self._admit(key)

    async def _wait(self, key: str) -> None:
        waiting = _Waiting(key)
        self._waiting.append(waiting)
        self._call()
        try:
            await waiting.admitted.wait()
        except BaseException:
            if waiting in self._waiting:
                self._waiting.remove(waiting)
            else:
                self.end(key)
            raise

    def _has_room(self, key: str) -> bool:
        running = self._counts.get(key, 0)
        if running == 0:
            return len(self._counts) < limits.RUNNING_CALLERS
        further = sum(self._counts.values()) - len(self._counts)
        return running < limits.CALLS_AT_ONCE and further < limits.THREADS

    def _admit(self, key: str) -> None:
        self._counts[key] = self._counts.get(key, 0) + 1

    def end(self, key: str) -> None:
        """Give a place back."""
        self._counts[key] -= 1
        if not self._counts[key]:
            del self._counts[key]
        self._call()

    def _call(self) -> None:
        for waiting in sorted(self._waiting, key=lambda one: self._counts.get(one.key, 0)):
            if self._has_room(waiting.key):
                self._waiting.remove(waiting)
                self._admit(waiting.key)
                waiting.admitted.set()
