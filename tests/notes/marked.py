"""Random notes with marks, recorded and typed, and with every trap we know of."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from flashgrep.notes.suggestions.pending import Recorded
from flashgrep.notes.suggestions.plan import SuggestionPlan, after_plan

TOKENS = ["{++", "++}", "{--", "--}", "{~~", "~>", "~~}", "{>>", "<<}", "{==", "==}"]
LETTERS = ["a", "b", "ab", " ", "x y", "\n", "\n\n", "é", "😀", "日本", "\u2028", "\t", "0"]
TRAPS = [
    *["{", "}", "+", "-", "~", "`", "``", "```", "\n```\n", "\n~~~\n", "    ", "- ", "> ", "# "],
    *["$$", "<!--", "-->", "---\n", "\\", "|", "@@", '{"author":"Ann"}@@', '{"a":1}@@', '"'],
    *["'", "\u2019", "\u201c", "{}", "{+", "+}", "{-", "-}", "[[a]]", "%%"],
]
AUTHORS = ["ann", "bob"]


@dataclass(frozen=True)
class Note:
    """A text and its records."""

    text: str
    records: tuple[Recorded, ...]


def texts(*alphabets: list[str], most: int = 24) -> st.SearchStrategy[str]:
    """Texts of the pieces given."""
    pieces = [piece for alphabet in alphabets for piece in alphabet]
    return st.lists(st.sampled_from(pieces), max_size=most).map("".join)


anything = st.one_of(texts(LETTERS, TRAPS, TOKENS), st.text(max_size=40))
"""Any text a peer might send."""

tame = texts(LETTERS, TRAPS, most=8)
"""Text without whole delimiters; two of them side by side may still make one."""

plain = texts(LETTERS, most=8)


@st.composite
def notes(draw: st.DrawFn, between: st.SearchStrategy[str] = tame, most: int = 4) -> Note:
    """A note as edits and typing leave it: text, here and there a suggestion with its record."""
    pieces: list[str] = []
    records: list[Recorded] = []
    length = 0

    def put(piece: str) -> tuple[int, int]:
        nonlocal length
        pieces.append(piece)
        length += len(piece)
        return length - len(piece), length

    for number in range(draw(st.integers(0, most))):
        put(draw(between))
        old, new = draw(tame), draw(tame)
        form = draw(
            st.sampled_from(["both", "both", "both", "old", "new", "substitution", "typed"])
        )
        spans = []
        if form in ("both", "old"):
            spans.append(put("{--" + old + "--}"))
        if form == "both" and draw(st.integers(0, 9)) == 0:
            put(draw(st.sampled_from(["typed", "{>>why<<}", "{++"])))
        if form in ("both", "new"):
            spans.append(put("{++" + new + "++}"))
        if form == "substitution":
            spans.append(put("{~~" + old + "~>" + new + "~~}"))
        if form == "typed":
            put(draw(st.sampled_from(["{++a++}", "{--a--}", "{>>a<<}", "{==a==}", "{~~a~>b~~}"])))
        else:
            author = draw(st.sampled_from(AUTHORS))
            records.append(Recorded(f"s{number}", author, tuple(spans)))
    put(draw(between))
    return Note("".join(pieces), tuple(records))


@st.composite
def edits(draw: st.DrawFn, view: str) -> tuple[str, str]:
    """An old string, mostly one that stands in the view, and a new one."""
    start = draw(st.integers(0, len(view)))
    end = draw(st.integers(start, min(len(view), start + 12)))
    old = view[start:end] if draw(st.integers(0, 9)) else draw(plain)
    kept = draw(st.sampled_from([old, "", old[:2]]))
    return old, draw(st.sampled_from([kept + draw(tame), draw(tame), ""]))


# ── notes written by hand ───────────────────────────────────────────────────────────────────────

OWNERS = {"⟦": "ann", "⟪": "bob"}
_BRACKET = re.compile(r"[⟦⟪](?:[a-z]:)?|[⟧⟫]")


def note_of(source: str) -> Note:
    """A note written in brackets: `⟦…⟧` are the marks of a record of Ann's, `⟪…⟫` of one of Bob's.

    A letter and a colon behind the bracket name the record where there are several, as in
    `⟦b:{--x--}⟧`.
    """
    spans: dict[tuple[str, str], list[tuple[int, int]]] = {}
    text, at, begun = "", 0, ("", "", 0)
    for bracket in _BRACKET.finditer(source):
        text += source[at : bracket.start()]
        at = bracket.end()
        if bracket[0][0] in OWNERS:
            author = OWNERS[bracket[0][0]]
            begun = (bracket[0][1:].rstrip(":") or author[0], author, len(text))
        else:
            spans.setdefault(begun[:2], []).append((begun[2], len(text)))
    records = [Recorded(name, author, tuple(s)) for (name, author), s in spans.items()]
    return Note(text + source[at:], tuple(records))


def carried_out(note: Note, plan: SuggestionPlan, prefix: str = "n") -> Note:
    """The note after a plan, with ids given to new records."""
    records = after_plan(note.records, plan)
    named = [replace(record, id=record.id or f"{prefix}{at}") for at, record in enumerate(records)]
    return Note(plan.text, tuple(named))
