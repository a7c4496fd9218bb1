"""A call whose time is over says so, with what it has found where that can be told."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import pytest

from flashgrep.errors import Cancelled
from flashgrep.tools.dispatch.call import Cancellation
from tests.index.twins import wait_for
from tests.tools.workshop import Workshop, workshop, workshop_with_notes

T = TypeVar("T")
HEAVY = "[aA].{880}[zZ]"
LETTERS = bytes(97 + number % 16 for number in range(256))
LINE = random.Random(7).randbytes(16_000_000).translate(LETTERS)
"""One line without order, from a to p: RE2 takes half a minute or more."""
STOPPED = "stopped after 1 seconds (--call-seconds)"
SOON = 0.2
STOPPED_SOON = "stopped after 0.2 seconds (--call-seconds)"


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Workshop]:
    with workshop(tmp_path, call_seconds=1, no_index=True) as made:
        made.file("long.txt", LINE)
        yield made


@pytest.fixture
def brief(tmp_path: Path) -> Iterator[Workshop]:
    """Where nothing is to be found, less time will do."""
    with workshop(tmp_path, call_seconds=SOON, no_index=True) as made:
        made.file("long.txt", LINE)
        yield made


def matching() -> bytes:
    return b"A" + b"x" * 880 + b"Z\n"


def found_in_time(ask: Callable[[], T]) -> T:
    """Ask until something is found: on a busy machine a second may be over before a worker runs."""
    found: list[T] = []

    def asked() -> bool:
        with suppress(Cancelled, AssertionError):
            found.append(ask())
        return bool(found)

    wait_for(asked, lambda: "each search was stopped before it found anything")
    return found[0]


@pytest.mark.thorough
def test_a_search_that_found_something_tells_it_and_that_it_is_not_all(shop: Workshop) -> None:
    shop.file("short.txt", matching())
    answer = found_in_time(lambda: shop.text("grep", pattern=HEAVY, output_mode="count"))
    text, last = answer.rsplit("\n", 1)
    assert text == "short.txt:1"
    assert last.startswith(f"(incomplete: {STOPPED}, ")
    assert "narrow it with path" in last


def test_a_direct_method_tells_it_too(shop: Workshop) -> None:
    shop.file("short.txt", matching())
    data = found_in_time(lambda: shop.direct("grep", pattern=HEAVY))
    assert data["paths"] == ["short.txt"]
    assert STOPPED in data["notes"][0]


def test_a_search_that_found_nothing_fails_and_says_what_to_do(brief: Workshop) -> None:
    text = brief.refused("grep", "cancelled", pattern=HEAVY)
    assert text.startswith(f"grep was {STOPPED_SOON}")
    assert "Narrow it with path" in text


def test_tools_that_cannot_say_what_they_miss_fail(brief: Workshop) -> None:
    brief.file("short.txt", matching())
    assert STOPPED_SOON in brief.error("query", "cancelled", text=HEAVY, mode="regex")["message"]


@pytest.mark.thorough
def test_a_search_of_the_index_ends_as_well(tmp_path: Path) -> None:
    with workshop(tmp_path, call_seconds=SOON) as shop:
        shop.file("long.txt", LINE[:3_000_000])
        shop.application.start_index()
        index = shop.application.services.index
        wait_for(lambda: index.status().grep_ready, lambda: f"not ready: {index.status()}")
        assert STOPPED_SOON in shop.refused("grep", "cancelled", pattern=HEAVY)
        assert shop.application.services.search.pool._apart._held == set()


@pytest.mark.thorough
def test_a_search_of_notes_ends_as_well(tmp_path: Path) -> None:
    with workshop_with_notes(tmp_path, call_seconds=1, no_index=True) as shop:
        shop.note("Long.md", LINE[:4_000_000].decode())
        shop.note("Short.md", matching().decode())
        assert STOPPED in shop.refused("grep", "cancelled", pattern=HEAVY, path="kb://")
        found = shop.text("grep", pattern=HEAVY, path="kb://Short.md", output_mode="content")
        assert found.startswith("kb://Short.md:1:AxX"[:16])


def test_an_edit_at_millions_of_places_ends_and_writes_nothing(tmp_path: Path) -> None:
    with workshop(tmp_path, call_seconds=SOON, no_index=True) as shop:
        file = shop.file("a", "\u2019" * 3_000_000)
        shop.text("read", path="a")
        arguments = {"path": "a", "old_string": "'", "new_string": "x", "replace_all": True}
        assert STOPPED_SOON in shop.refused("edit", "cancelled", **arguments)
        assert file.read_text() == "\u2019" * 3_000_000


def test_a_limit_of_zero_is_none() -> None:
    cancelled = Cancellation(0)
    assert not cancelled
    cancelled = Cancellation(1)
    while not cancelled:
        time.sleep(0.01)
    assert cancelled.has_expired
    cancelled.set()
    assert not cancelled.has_expired
    assert cancelled
