"""Patterns made from the text they are to find: each character disguised in some way.

A random pattern meets a random text in a character or two, and an index asks for four in a row. So
a stretch of the text is taken, and spelled so that it still matches: in a set, a repetition, an
alternation, the other case.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from flashgrep.errors import InvalidPattern
from flashgrep.search.pattern import PatternSpec, check
from tests.search.strategies import patterns

WORDS = [
    b"kelvin",
    b"Mask",
    b"1.25.300",
    b"foo(bar)",
    b"aaaaaa",
    b"abababab",
    b"_suspend",
    b"x = y;",
    b"\t",
    b" ",
    b"\n",
    b"\n",
    b"\r\n",
    b"\r",
    b"\n\n",
    "\u212a".encode(),
    "ſtruct".encode(),
    "naïve".encode(),
    "日本語".encode(),
    b"\xff\xfe\xc3",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    "한".encode(),
    b"\x00",
]
Disguise = Callable[[str], str]


def texts(most: int = 12) -> st.SearchStrategy[bytes]:
    """File contents out of a few words, so that the same four bytes are in several places."""
    return st.lists(st.sampled_from(WORDS), max_size=most).map(b"".join)


def _quoted(character: str) -> str:
    return "\\" + character if character.isascii() and not character.isalnum() else character


def _as_set(character: str) -> str:
    return f"[{_quoted(character)}z9]" if character not in "\n\r" else _quoted(character)


_DISGUISES: list[Disguise] = [
    _quoted,
    _quoted,
    _quoted,
    _quoted,
    _as_set,
    lambda c: f"[^{'q' if c != 'q' else 'z'}]",
    lambda c: ".",
    lambda c: r"\w" if c.isascii() and (c.isalnum() or c == "_") else _quoted(c),
    lambda c: r"\d" if c in "0123456789" else _quoted(c),
    lambda c: r"\s" if c in " \t" else _quoted(c),
    lambda c: f"(?i:{_quoted(c.swapcase())})" if len(c.swapcase()) == 1 else _quoted(c),
    lambda c: f"{_quoted(c)}+",
    lambda c: f"{_quoted(c)}{{1,3}}",
    lambda c: f"(?:{_quoted(c)}|zz)",
    lambda c: f"(zz|{_quoted(c)})",
    lambda c: f"q?{_quoted(c)}",
    lambda c: f"q*{_quoted(c)}",
    lambda c: f"\\x{{{ord(c):x}}}",
    lambda c: f"\\Q{c}\\E" if c != "\\" else _quoted(c),
    lambda c: "[[:alpha:]]" if c.isascii() and c.isalpha() else _quoted(c),
    lambda c: f"({_quoted(c)})?.?",
    lambda c: f"(?i){_quoted(c)}",
]
_FRAMES = ["{}", "{}", "{}", "^{}", "{}$", "^{}$", r"\b{}", "({})", "zzzz|{}", "(?:{}|yyyy)",
           "(?m){}$", "(?:{})+", r"\A{}", r"{}\z", "(?-m:{})", "x*{}", "{}(?:|!!!!)"]  # fmt: skip


@st.composite
def _disguised(draw: Any, text: bytes) -> str:
    readable = text.decode("utf-8", "ignore")
    start = draw(st.integers(0, max(0, len(readable) - 1)))
    stretch = readable[start : start + draw(st.integers(1, 9))] or "a"
    parts = []
    for character in stretch:
        disguise: Disguise = draw(st.sampled_from(_DISGUISES))
        parts.append(disguise(character))
    source = "".join(parts)
    for _ in range(draw(st.integers(0, 2))):
        source = draw(st.sampled_from(_FRAMES)).format(source)
    return source


def _is_valid(spec: PatternSpec) -> bool:
    try:
        check(spec)
    except InvalidPattern:
        return False
    return True


@st.composite
def searches(draw: Any, multiline: bool) -> tuple[PatternSpec, list[bytes]]:
    """A pattern, and the contents of some files, one of which it was perhaps made from."""
    contents = draw(st.lists(texts(), min_size=1, max_size=5))
    made = st.sampled_from(contents).flatmap(_disguised)
    specs = st.builds(PatternSpec, made, st.booleans(), st.just(multiline)).filter(_is_valid)
    return draw(st.one_of(specs, specs, specs, patterns(multiline))), contents
