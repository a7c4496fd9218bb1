"""The time of day as it is stored and sent."""

from __future__ import annotations

import time


def milliseconds() -> int:
    """The time now, in milliseconds since 1970."""
    return time.time_ns() // 1_000_000
