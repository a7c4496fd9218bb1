"""A rate limit: a burst is free, more has to wait."""

from __future__ import annotations

from flashgrep.web.peer import RateLimit


def test_a_burst_is_free_and_what_is_beyond_it_waits_until_the_share_has_filled_up() -> None:
    now = [100.0]
    limit = RateLimit(10, 30, lambda: now[0])
    assert limit.take(30) == 0
    assert limit.take(5) == 0.5
    now[0] += 0.5
    assert limit.take(0) == 0
    now[0] += 1_000
    assert limit.take(30) == 0
    assert limit.take(10) == 1
