"""The time of day: as it is stored and sent, as people give it, and as they read it."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from typing import Final

from flashgrep.errors import InvalidParams


def milliseconds() -> int:
    """The time now, in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


# ── times as people give them ────────────────────────────────────────────────────────────────────
# Times as people give them, a date, milliseconds or an age such as 7d, and as they are shown.


_AGE: Final = re.compile(r"([0-9]{1,6})([smhdw])")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_MILLISECONDS: Final = re.compile(r"[0-9]{11,15}")


def moment(name: str, text: str, now: int) -> int:
    """The time that `text` gives, in milliseconds since 1970; ages are counted from `now`."""
    if age := _AGE.fullmatch(text):
        return now - int(age[1]) * _SECONDS[age[2]] * 1_000
    if _MILLISECONDS.fullmatch(text):
        return int(text)
    try:
        found = datetime.fromisoformat(text)
        return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1_000)
    except (ValueError, OverflowError):
        raise InvalidParams(
            f"{name} is {text[:40]!r}, not a time; give an age (30m, 12h, 7d, 2w), a date "
            "such as 2026-01-31, or milliseconds since 1970"
        ) from None


def utc(seconds: float) -> str:
    """A time since 1970 as answers about the index have it: in UTC, with a Z."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def written(time: int) -> str:
    """A time as it is shown, in UTC; one beyond the calendar as its number."""
    try:
        return datetime.fromtimestamp(time / 1_000, UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return str(time)
