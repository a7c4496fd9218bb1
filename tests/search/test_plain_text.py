"""A pattern that is spelled as the text it finds is understood as any other, sooner."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from flashgrep.search.pattern import PatternSpec, is_predictable, matching_lines, needs_care
from flashgrep.search.syntax import (
    Char,
    is_plain_text,
    literal_alternatives,
    literal_prefix,
    needs_newline,
    required_literals,
    tree_of,
)

PLAIN = [chr(code) for code in range(0x80) if is_plain_text(chr(code))]
TEXTS = st.text(st.sampled_from(PLAIN), min_size=1, max_size=40)


def test_characters_are_plain_that_stand_for_themselves() -> None:
    assert set("azAZ09_ -/,;") <= set(PLAIN)
    assert not set("\\^$.|?*+()[]{}\n\0\x7f") & set(PLAIN)
    every = [bytes([code]) for code in range(0x80) if code != 0x0A]
    for character in PLAIN:
        assert tree_of(character) == Char(character)
        found = matching_lines(PatternSpec(character), b"\n".join(every))
        assert [every[at] for at in found] == [character.encode()]


@settings(deadline=None)
@given(text=TEXTS)
def test_what_is_known_of_a_plain_text_is_what_the_parser_knows(text: str) -> None:
    parsed = f"(?:{text})"  # the same, for the parser
    assert is_plain_text(text)
    assert not is_plain_text(parsed)
    for known in (tree_of, required_literals, literal_prefix, literal_alternatives, needs_newline):
        assert known(text) == known(parsed), known
    for asked in (is_predictable, needs_care):
        assert asked(PatternSpec(text)) == asked(PatternSpec(parsed)), asked
