"""How fast a peer may send: a share that fills up again with time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Pace:
    """So many units a second, and at most `burst` of them saved up."""

    def __init__(self, rate: float, burst: float, now: Callable[[], float]) -> None:
        self._rate = rate
        self._burst = burst
        self._now = now
        self._left = burst
        self._at = now()

    def take(self, units: float) -> float:
        """Use up units; gives the seconds to wait until the next ones."""
        now = self._now()
        self._left = min(self._burst, self._left + (now - self._at) * self._rate) - units
        self._at = now
        return max(-self._left / self._rate, 0.0)


async def wait(*seconds: float) -> None:
    """Wait the longest of these times, if there is one."""
    if (longest := max(seconds)) > 0:
        await asyncio.sleep(longest)
