"""Ids of events: read back by who made them, and telling nobody anything."""

from __future__ import annotations

import pytest

from flashgrep.web.events import EventIds


@pytest.mark.parametrize("number", [0, 1, 255, 256, 2**53, 2**64 - 1])
def test_an_id_is_read_back_and_is_another_one_each_time(number: int) -> None:
    ids = EventIds()
    made = [ids.made(number) for _ in range(20)]
    assert {ids.read(one) for one in made} == {number}
    assert len({one[part : part + 16] for one in made for part in (0, 16, 32)}) == 60


def test_what_is_no_id_of_this_start_is_known_for_one() -> None:
    ids = EventIds()
    made = ids.made(7)
    for at in range(len(made)):
        changed = made[:at] + ("1" if made[at] == "0" else "0") + made[at + 1 :]
        assert ids.read(changed) is None
    for text in ("", "7", "nonsense", made[:-1], made[:-2], made + "00", EventIds().made(7), "é"):
        assert ids.read(text) is None
