"""The character budget of an answer."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from flashgrep.tools.dispatch.call import FOOTER_CHARS, Budget

LINES = st.lists(st.integers(0, 60).map(lambda size: "x" * size), max_size=20)
CHARS = st.one_of(st.just(0), st.integers(1, FOOTER_CHARS + 300))


@given(CHARS, LINES, LINES, st.text("y", max_size=40))
def test_many_lines_are_taken_as_they_would_be_one_by_one(
    chars: int, before: list[str], lines: list[str], after: str
) -> None:
    at_once, singly = Budget(chars), Budget(chars)
    for line in before:
        assert at_once.take(line) == singly.take(line)
    taken = 0
    while taken < len(lines) and singly.take(lines[taken]):
        taken += 1
    given_lines = list(lines)
    assert at_once.take_first(lines) == taken
    assert at_once.take(after) == singly.take(after)
    assert (at_once.lines, at_once.room) == (singly.lines, singly.room)
    assert lines == given_lines  # which are the caller's
