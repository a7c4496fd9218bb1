"""Random patterns and texts that are likely to meet, with every trap we know of."""

from __future__ import annotations

from hypothesis import strategies as st

from flashgrep.errors import InvalidPattern
from flashgrep.search.pattern import PatternSpec, check

_LETTERS = "abAB_1 é"
_ATOMS = [
    *_LETTERS,
    ".",
    "^",
    "$",
    r"\b",
    r"\B",
    r"\s",
    r"\S",
    r"\w",
    r"\W",
    r"\d",
    r"\n",
    r"\r",
    r"\A",
    r"\z",
    r"\.",
    r"\x61",
    r"\141",
    r"\pL",
    r"\PL",
    r"\p{Cs}",
    r"\x{d800}",
    r"[^\x00-\x7f]",
    r"\p{Greek}",
    r"\Qa.\E",
    "[ab]",
    "[^a]",
    "[^ab_]",
    "[[:alpha:]]",
    "[a-b]",
    r"[\s_]",
    "[]a]",
    "(?i)",
    "(?s)",
    "(?m)",
    "(?-m)",
    "(?i:a)",
    "(?m:^)",
    "(?-m:$)",
    "",
]
_QUANTIFIERS = ["", "", "", "", "*", "+", "?", "{2}", "{0,2}", "{1,}", "*?", "+?", "{", "{,2}"]
_QUANTIFIERS += ["{1,\N{SUPERSCRIPT TWO}}", "{2,\N{ARABIC-INDIC DIGIT THREE}}"]  # plain characters


def _joined(parts: list[tuple[str, str]]) -> str:
    return "".join(atom + quantifier for atom, quantifier in parts)


_simple = st.lists(
    st.tuples(st.sampled_from(_ATOMS), st.sampled_from(_QUANTIFIERS)), min_size=1, max_size=6
).map(_joined)


def _grouped(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.lists(inner, min_size=2, max_size=3).map("|".join),
        st.tuples(inner, st.sampled_from(_QUANTIFIERS)).map(lambda p: f"({p[0]}){p[1]}"),
        st.tuples(inner, st.sampled_from(_QUANTIFIERS)).map(lambda p: f"(?:{p[0]}){p[1]}"),
        st.lists(inner, min_size=2, max_size=3).map("".join),
    )


def _is_valid(spec: PatternSpec) -> bool:
    try:
        check(spec)
    except InvalidPattern:
        return False
    return True


def patterns(multiline: bool = False) -> st.SearchStrategy[PatternSpec]:
    """Patterns that RE2 accepts."""
    sources = st.recursive(_simple, _grouped, max_leaves=4)
    specs = st.builds(PatternSpec, sources, st.booleans(), st.just(multiline))
    return specs.filter(_is_valid)


_PIECES = [
    b"\n",
    b"\n",
    b"\r\n",
    b"\r",
    b"a",
    b"b",
    b"A",
    b"ab",
    b"_1",
    b" ",
    b"\t",
    b".",
    "é".encode(),
    "αβ".encode(),
    "ſ".encode(),
    b"\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\xed\x95\x9c",
    b"\xe0\x80\x80",
    b"\xf0\x8f\xbf\xbf",
    b"\xf4\x90\x80\x80",
    b"\xf4\x8f\xbf\xbf",
    b"\xed",
    b"\xa0",
    b"\x00",
]


def texts(max_size: int = 40) -> st.SearchStrategy[bytes]:
    """File contents: lines of all kinds, invalid UTF-8, every line end, perhaps no last one."""
    return st.lists(st.sampled_from(_PIECES), max_size=max_size).map(b"".join)
