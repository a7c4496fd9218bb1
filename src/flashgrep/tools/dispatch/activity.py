"""What a server was asked lately, and by whom, for its status page; in memory only.

For each call it keeps the tool's name, the client, the time and whether it succeeded, never
arguments or contents; the name of a tool that does not exist is the client's own text, so it is not
kept either. The newest calls replace the oldest.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from flashgrep import limits
from flashgrep.system.clock import milliseconds

if TYPE_CHECKING:
    from flashgrep.tools.dispatch.caller import Caller

UNKNOWN_TOOL: Final = "(unknown)"


class RecentCall(NamedTuple):
    """A call that has ended."""

    tool: str
    client: str
    transport: str
    seconds: float
    is_ok: bool
    time: int
    """When it ended, in milliseconds since 1970."""


class Activity:
    """The newest calls on all transports, and the connections that are open."""

    def __init__(self) -> None:
        self._calls: deque[RecentCall] = deque(maxlen=limits.RECENT_CALLS)
        self._connected: set[Caller] = set()
        self.since = time.monotonic()

    def record(self, tool: str, caller: Caller, begun: float, is_ok: bool) -> None:
        """Note a call that has ended; `begun` is a time of `time.perf_counter`."""
        seconds = time.perf_counter() - begun
        now = caller.saw_call()
        row = (tool, caller.author, caller.transport, seconds, is_ok, now)
        self._calls.append(RecentCall._make(row))

    def newest(self) -> list[RecentCall]:
        """The calls, the newest first."""
        return list(self._calls)[::-1]

    @contextmanager
    def connected(self, caller: Caller) -> Iterator[None]:
        """Count a connection as open for the block; on the server's event loop."""
        caller.since = milliseconds()
        self._connected.add(caller)
        try:
            yield
        finally:
            self._connected.discard(caller)

    def present(self) -> list[Caller]:
        """The callers of connections that are open; those that came first at the front."""
        return sorted(self._connected, key=lambda caller: caller.since)
