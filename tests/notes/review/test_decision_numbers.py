"""The numbers of decisions: each belongs to one row for good, and tells nothing of the others."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashgrep.notes.home import Home
from flashgrep.notes.review.decision_numbers import DecisionNumbers
from flashgrep.notes.store.database import Database

MOST = 2**32
ROWS = st.integers(1, MOST)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Database]:
    home = Home.create(tmp_path_factory.mktemp("kb"))
    return home.opened


@pytest.fixture(scope="module")
def numbers(opened: Callable[[], Database]) -> DecisionNumbers:
    with closing(opened()) as database:
        return DecisionNumbers(database)


@given(ROWS)
def test_each_row_has_a_number_and_each_number_a_row(numbers: DecisionNumbers, row: int) -> None:
    assert 1 <= numbers.shown(row) <= MOST
    assert numbers.row(numbers.shown(row)) == row
    assert numbers.shown(numbers.row(row) or 0) == row


@pytest.mark.parametrize("number", [0, -1, MOST + 1, 2**62, -(2**62)])
def test_a_number_that_is_never_shown_has_no_row(numbers: DecisionNumbers, number: int) -> None:
    assert numbers.row(number) is None


def test_numbers_do_not_tell_how_many_decisions_there_were(numbers: DecisionNumbers) -> None:
    shown = [numbers.shown(row) for row in range(1, 1001)]
    assert len(set(shown)) == len(shown)
    rises = sum(one < other for one, other in pairwise(shown))
    assert 400 < rises < 600
    assert sum(number <= MOST // 2 for number in shown) in range(400, 600)


def test_numbers_hold_after_a_restart(
    opened: Callable[[], Database], numbers: DecisionNumbers
) -> None:
    with closing(opened()) as database:
        assert DecisionNumbers(database).shown(7) == numbers.shown(7)


def test_two_knowledge_bases_number_differently(tmp_path: Path, numbers: DecisionNumbers) -> None:
    with closing(Home.create(tmp_path / "other").opened()) as database:
        other = DecisionNumbers(database)
    assert [other.shown(row) for row in range(1, 9)] != [numbers.shown(row) for row in range(1, 9)]


def test_notes_open_where_there_is_no_room_for_the_key(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(Home.create(tmp_path / "full").opened()) as database:
        ((pages,),) = database.rows("PRAGMA page_count")
        database.execute(f"PRAGMA max_page_count = {pages}")
        with caplog.at_level(logging.WARNING):
            numbers = DecisionNumbers(database)
        assert numbers.row(numbers.shown(3)) == 3
    assert "other numbers after a restart" in caplog.text
