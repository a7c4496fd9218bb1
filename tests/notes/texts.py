"""Random texts that hurt: emoji, combining characters, scripts without case, line separators."""

from __future__ import annotations

from hypothesis import strategies as st

from flashgrep.notes.document.text import TextSplice

PIECES = (
    *"ab \n{}+-",
    "é",
    "e\u0301",
    "日本",
    "😀",
    "👩\u200d👩\u200d👧",
    "🇩🇪",
    "\u2028",
    "\ufeff",
    "\u05d0",
    "\U0010ffff",
)

texts = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)
any_texts = st.one_of(
    texts,
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), max_size=20),
)


@st.composite
def splices_of(draw: st.DrawFn, text: str) -> list[TextSplice]:
    """Splices of a text that do not overlap."""
    places = sorted(draw(st.lists(st.integers(0, len(text)), max_size=6)))
    pairs = zip(places[::2], places[1::2], strict=False)
    return [TextSplice(start, end, draw(any_texts)) for start, end in pairs]
