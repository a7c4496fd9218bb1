"""Times as people give them."""

from __future__ import annotations

import pytest

from flashgrep.errors import InvalidParams
from flashgrep.system.clock import moment, written

NOW = 1_700_000_000_000  # 2023-11-14T22:13:20Z

GIVEN = [
    ("30s", NOW - 30_000),
    ("5m", NOW - 300_000),
    ("2h", NOW - 7_200_000),
    ("7d", NOW - 604_800_000),
    ("1w", NOW - 604_800_000),
    ("1700000000000", NOW),
    ("2023-11-14T22:13:20Z", NOW),
    ("2023-11-14T22:13:20", NOW),
    ("2023-11-14", NOW - 80_000_000),
]


@pytest.mark.parametrize(("text", "time"), GIVEN)
def test_a_time_is_an_age_a_date_or_milliseconds(text: str, time: int) -> None:
    assert moment("older_than", text, NOW) == time


@pytest.mark.parametrize("text", ["", "soon", "7", "-7d", "٧d", "2023-13-01", "9" * 30])
def test_anything_else_is_refused_by_name(text: str) -> None:
    with pytest.raises(InvalidParams, match="older_than"):
        moment("older_than", text, NOW)


def test_a_time_is_told_in_utc_and_one_no_calendar_has_as_it_is() -> None:
    assert written(NOW) == "2023-11-14T22:13:20+00:00"
    assert written(2**60) == str(2**60)
