"""A peer's pace: a burst is free, more takes its time."""

from __future__ import annotations

from flashgrep.web.peer import RateLimit


def test_a_burst_is_free_and_what_is_beyond_it_waits_until_the_share_has_filled_up() -> None:
    now = [100.0]
    pace = RateLimit(10, 30, lambda: now[0])
    assert pace.take(30) == 0
    assert pace.take(5) == 0.5
    now[0] += 0.5
    assert pace.take(0) == 0
    now[0] += 1_000
    assert pace.take(30) == 0
    assert pace.take(10) == 1
