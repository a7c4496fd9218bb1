"""Places for what stays open: free ones for all, then by share, and writers before readers."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial

import pytest

from flashgrep.transports.access import ConnectionSlot, ConnectionSlots, NoPlace


class House:
    """Places, and those who came; `in_` tells who is still in."""

    def __init__(self, most: int, share: int) -> None:
        self._places = ConnectionSlots(most, share)
        self._ends: list[tuple[str, ConnectionSlot, ExitStack]] = []

    def come(self, who: str, count: int = 1) -> int:
        """As many of a token come; one whose name begins with w may write. How many got in."""
        for number in range(count):
            ends = ExitStack()
            try:
                place = ends.enter_context(self._places.taken(who, who.startswith("w")))
            except NoPlace:
                return number
            self._ends.append((who, place, ends))
        return count

    def go(self, who: str) -> None:
        """One of a token leaves."""
        found = next(one for one in self._ends if one[0] == who)
        found[2].close()
        self._ends.remove(found)

    def in_(self, who: str) -> list[bool]:
        return [not place.is_lost for name, place, _ in self._ends if name == who]


def test_a_token_may_hold_its_share_and_what_it_gives_back_is_free() -> None:
    house = House(10, 4)
    assert house.come("reader", 9) == 4
    assert house.come("writer", 9) == 4
    house.go("reader")
    assert house.come("reader", 9) == 1


# Who is there, who comes, and how many of them get in.
COMING = [
    ({"r1": 6}, "r2", 3),  # until both have as many
    ({"r1": 3, "r2": 3}, "r3", 2),
    ({"r1": 1, "r2": 1, "r3": 1, "r4": 1, "r5": 1, "r6": 1}, "r7", 0),
    ({"r1": 6}, "w1", 6),
    ({"r1": 3, "w1": 3}, "w2", 3),
    ({"w1": 6}, "w2", 3),
    ({"w1": 6}, "r1", 0),
    ({"w1": 3, "r1": 3}, "r2", 1),
]


@pytest.mark.parametrize(("there", "who", "count"), COMING)
def test_a_full_house_makes_room_by_share_and_for_writers(
    there: dict[str, int], who: str, count: int
) -> None:
    house = House(6, 6)
    for name, places in there.items():
        assert house.come(name, places) == places
    assert house.come(who, 6) == count
    assert sum(sum(house.in_(name)) for name in (*there, who)) == 6


def test_the_connection_that_came_last_gives_up_and_is_told_once() -> None:
    places = ConnectionSlots(3, 3)
    told: list[int] = []
    with ExitStack() as ends:
        for number in range(3):
            place = ends.enter_context(places.taken("r", False))
            place.when_lost(partial(told.append, number))
        late = ends.enter_context(places.taken("other", False))
        assert (told, late.is_lost) == ([2], False)
        place.when_lost(lambda: told.append(9))  # one that asks when it is lost already
        assert told == [2, 9]
    with ExitStack() as ends:  # all were given back, once each
        for _ in range(3):
            ends.enter_context(places.taken("r", False))


def test_nobody_takes_turns() -> None:
    """One that lost its place and comes again does not get it from who has it now."""
    house = House(4, 4)
    house.come("r1", 4)
    assert house.come("r2", 4) == 2
    assert house.in_("r1") == [True, True, False, False]
    assert house.come("r1") == 0
    assert house.come("r2") == 0
