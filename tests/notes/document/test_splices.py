"""Changes of a text: put together, checked, and found between two texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashgrep import limits
from flashgrep.errors import InvalidParams, TooLarge
from flashgrep.notes.document.text import (
    TextSplice,
    between,
    check_characters,
    check_size,
    ordered,
    repairs,
    spliced,
    with_lf,
)
from tests.notes.texts import any_texts, texts


@pytest.mark.parametrize(
    ("text", "splices", "expected"),
    [
        ("", [], ""),
        ("abc", [TextSplice(1, 2, "X")], "aXc"),
        ("abc", [TextSplice(3, 3, "!"), TextSplice(0, 0, "!")], "!abc!"),
        # two changes at one place: the one that takes nothing away comes first
        ("abc", [TextSplice(1, 2, "Y"), TextSplice(1, 1, "X")], "aXYc"),
        ("a😀c", [TextSplice(1, 2, "")], "ac"),
    ],
)
def test_splices_are_made_from_left_to_right(
    text: str, splices: list[TextSplice], expected: str
) -> None:
    assert spliced(text, ordered(text, splices)) == expected


@pytest.mark.parametrize(
    "splices",
    [
        [TextSplice(0, 2), TextSplice(1, 3)],
        [TextSplice(2, 1)],
        [TextSplice(-1, 1)],
        [TextSplice(0, 4)],
    ],
)
def test_splices_that_overlap_or_leave_the_text_are_refused(splices: list[TextSplice]) -> None:
    with pytest.raises(InvalidParams, match="3 characters"):
        ordered("abc", splices)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("ab\ud83d", "character 2 is half of a surrogate pair"),
        ("\ud83d\ude00", "character 0 is half"),
        ("a\0", "U\\+0000"),
        ("a\r\nb", "LF alone"),
    ],
)
def test_what_a_note_cannot_hold_is_refused_by_name(text: str, told: str) -> None:
    with pytest.raises(InvalidParams, match=told):
        check_characters(text)


@pytest.mark.parametrize("text", ["a\u2028b", "\ufeffa", "😀", "e\u0301", "\x1b"])
def test_odd_but_whole_characters_are_kept(text: str) -> None:
    check_characters(text)


def test_a_note_has_a_largest_size_in_bytes() -> None:
    check_size("é" * (limits.NOTE_BYTES // 2))
    with pytest.raises(TooLarge, match=str(limits.NOTE_BYTES)):
        check_size("é" * (limits.NOTE_BYTES // 2) + "x")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain\n", "plain\n"),
        ("a\r\nb\rc\n", "a\nb\nc\n"),
        ("\r\r\n\r", "\n\n\n"),
        ("a\0b", "a\ufffdb"),
    ],
)
def test_a_text_from_a_peer_is_repaired(text: str, expected: str) -> None:
    assert spliced(text, repairs(text)) == expected
    assert with_lf(text).replace("\0", "\ufffd") == expected


@given(any_texts, any_texts)
def test_what_lies_between_two_texts_turns_one_into_the_other(old: str, new: str) -> None:
    assert spliced(old, ordered(old, between(old, new))) == new


@given(st.lists(texts, max_size=8), st.integers(0, 7), texts)
def test_a_changed_line_leaves_the_others_alone(lines: list[str], at: int, line: str) -> None:
    lines = [part.replace("\n", "").replace("\u2028", "") for part in lines]
    changed = [*lines[:at], line.replace("\n", "").replace("\u2028", ""), *lines[at + 1 :]]
    old, new = "\n".join(lines), "\n".join(changed)
    assert len(between(old, new)) <= 1


def test_a_long_change_is_one_replacement() -> None:
    old = "".join(f"{number}\n" for number in range(5_000))
    new = "".join(f"{number + 10_000}\n" for number in range(5_000))
    (only,) = between(old, new)
    assert spliced(old, [only]) == new
