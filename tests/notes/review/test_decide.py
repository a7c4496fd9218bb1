"""A decision deletes delimiters and refused text, nothing else, and can be undone."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashgrep.errors import Conflict
from flashgrep.notes.document.text import TextSplice
from flashgrep.notes.markup import critic
from flashgrep.notes.markup.critic import MarkKind
from flashgrep.notes.review.decide import (
    Cut,
    Decision,
    MakesMark,
    _decision,
    accept_as,
    decide,
    undo,
)
from flashgrep.notes.review.verdict import Action
from tests.notes.marked import Note, anything, note_of, notes

CASES = 100_000 if os.environ.get("FLASHGREP_HEAVY") == "1" else 80

DECISIONS = [
    ("see ⟦{--old--}⟧⟦{++new++}⟧!", "see new!", "see old!"),
    ("see ⟦{--old --}⟧!", "see !", "see old !"),
    ("see⟦{++ new++}⟧!", "see new!", "see!"),
    ("see ⟦{~~old~>new~~}⟧!", "see new!", "see old!"),
    # other marks stay as they are
    ("⟦{--a--}⟧⟦{++b++}⟧{>>why<<}{--c--}", "b{>>why<<}{--c--}", "a{>>why<<}{--c--}"),
    ("⟦{--a--}⟧⟦{++b++}⟧⟪{--c--}⟫⟪{++d++}⟫", "b{--c--}{++d++}", "a{--c--}{++d++}"),
    # what people typed into and between the marks stays
    ("⟦{--a--}⟧ typed ⟦{++b++}⟧", " typed b", "a typed "),
    ("⟦{--a--}x--}⟧⟦{++b++}⟧", "b", "a--}x"),
    # metadata goes
    ('⟦{--{"a":"A"}@@x--}⟧⟦{++{"a":"A"}@@y++}⟧', "y", "x"),
    # in code too
    ("`⟦{--a--}⟧⟦{++b++}⟧`", "`b`", "`a`"),
]


def decide_all(text: str, recorded: Iterable[critic.Span], action: Action) -> Decision:
    """Decide every suggestion of a text, recorded or typed; comments and highlights stay."""
    marks = critic.read(text, recorded).marks
    return _decision(text, [mark for mark in marks if mark.kind in critic.SUGGESTIONS], action)


@pytest.mark.parametrize(("source", "accepted", "rejected"), DECISIONS)
def test_a_decision_leaves_what_it_should(source: str, accepted: str, rejected: str) -> None:
    note = note_of(source)
    spans = note.records[0].spans
    assert decide(note.text, spans, Action.ACCEPT).text == accepted
    assert decide(note.text, spans, Action.REJECT).text == rejected


def test_a_decision_only_deletes() -> None:
    note = note_of("see ⟦{--old--}⟧⟦{++new++}⟧!")
    decision = decide(note.text, note.records[0].spans, Action.ACCEPT)
    assert decision.splices == (TextSplice(4, 16), TextSplice(19, 22))
    assert decision.cuts == (Cut(4, "{--old--}{++"), Cut(7, "++}"))
    assert decision.marks == (((0, 0), (0, 9)), ((0, 9), (1, 3)))


@pytest.mark.parametrize(
    ("source", "action", "made"),
    [
        ("see ⟦{--x--}⟧⟦{++{++}⟧>> words <<} end", Action.ACCEPT, "{>>"),
        ("see ⟦{++{++}⟧++ words ++} end", Action.ACCEPT, "{++"),
        ("see {-⟦{++x++}⟧- words --} end", Action.REJECT, "{--"),
        ("see {++ words +⟦{--x--}⟧+} end", Action.ACCEPT, "++}"),
        ("see ⟦{--a--}⟧⟦{++{++}⟧⟪{--x--}⟫++ words ++} end", Action.ACCEPT, ""),
        # no mark comes of it: in code, or without the other delimiter
        ("see `⟦{++{++}⟧>> words <<}` end", Action.ACCEPT, ""),
        ("see ⟦{++{++}⟧>> words end", Action.ACCEPT, ""),
        # a mark that somebody typed inside is one as it is
        ("see ⟦{++a {++b++} c++}⟧ end", Action.ACCEPT, ""),
        ("see ⟦{--x--}⟧⟦{++{++}⟧>> words <<} end", Action.REJECT, ""),
    ],
)
def test_no_decision_makes_a_mark_of_texts_that_were_apart(
    source: str, action: Action, made: str
) -> None:
    note = note_of(source)
    spans = note.records[0].spans
    others = [span for one in note.records[1:] for span in one.spans]
    if not made:
        assert decide(note.text, spans, action, others).cuts
        return
    with pytest.raises(Conflict, match=f"join separate texts into {re.escape(made)}"):
        decide(note.text, spans, action, others)


@pytest.mark.parametrize(
    ("source", "wanted"),
    [("a {⟦{--x--}⟧++ keep ++} b", ""), ("x {⟦{++++ a++}⟧++} y", "++ a")],
)
def test_no_text_that_is_accepted_makes_one_either(source: str, wanted: str) -> None:
    note = note_of(source)
    with pytest.raises(Conflict, match="a mark that nobody made"):
        accept_as(note.text, note.records[0].spans, wanted, [])


def test_a_suggestion_that_was_edited_away_is_told() -> None:
    with pytest.raises(Conflict, match="marks of this suggestion are gone"):
        decide("old", [(0, 9)], Action.ACCEPT)


@pytest.mark.parametrize(
    ("action", "left"),
    [(Action.ACCEPT, "{--a{--}{++b++}c--}d"), (Action.REJECT, "{--a{--}{++b++}c--}")],
)
def test_what_stands_in_somebody_elses_mark_is_not_decided(action: Action, left: str) -> None:
    """Somebody erased delimiters, and two deletions reach into each other: the left one counts."""
    text = "{--a{--}{++b++}c--}{++d++}"
    bob, ann = [(0, 8), (8, 15)], [(4, 19), (19, 26)]
    assert decide(text, ann, action, bob).text == left
    with pytest.raises(Conflict, match="marks of this suggestion are gone"):
        decide(text, ann[:1], action, bob)


def test_what_is_left_of_a_suggestion_is_decided() -> None:
    """Somebody deleted the insertion by hand; its record still names it."""
    assert decide("a {--b--} c", [(2, 9), (9, 16)], Action.ACCEPT).text == "a  c"


def test_an_undone_decision_stands_around_what_was_typed_since() -> None:
    note = note_of("see ⟦{--old--}⟧⟦{++new++}⟧!")
    decision = decide(note.text, note.records[0].spans, Action.ACCEPT)
    cuts = [Cut(4, decision.cuts[0].removed), Cut(10, decision.cuts[1].removed)]
    restored = undo("see newest!", cuts, decision.marks)
    assert restored.text == "see {--old--}{++newest++}!"
    assert [restored.text[a:b] for a, b in restored.spans] == ["{--old--}", "{++newest++}"]


@pytest.mark.parametrize("places", [(7, 4), (4, 99), (-1, 2)])
def test_an_undo_that_no_longer_fits_is_refused(places: tuple[int, int]) -> None:
    note = note_of("see ⟦{--old--}⟧⟦{++new++}⟧!")
    decision = decide(note.text, note.records[0].spans, Action.ACCEPT)
    cuts = [Cut(at, cut.removed) for at, cut in zip(places, decision.cuts, strict=True)]
    with pytest.raises(Conflict, match="changed too much"):
        undo(decision.text, cuts, decision.marks)


# ── any note ────────────────────────────────────────────────────────────────────────────────────


def spans_of(note: Note) -> list[tuple[int, int]]:
    return [span for record in note.records for span in record.spans]


@settings(max_examples=CASES, deadline=None)
@given(note=st.one_of(notes(), notes(between=anything)))
def test_accepting_all_gives_the_accepted_view_and_rejecting_all_the_base_view(note: Note) -> None:
    reading = critic.read(note.text, spans_of(note))
    others = [mark for mark in reading.marks if mark.kind not in critic.SUGGESTIONS]
    for action, view in ((Action.ACCEPT, reading.accepted), (Action.REJECT, reading.base)):
        decision = decide_all(note.text, spans_of(note), action)
        shown = decision.text
        for mark in reversed(others):  # these stay; a view shows them without their delimiters
            gone = sum(max(0, min(s.end, mark.start) - s.start) for s in decision.splices)
            start, end = mark.start - gone, mark.end - gone
            kept = note.text[mark.body : mark.end - 3] if mark.kind is MarkKind.HIGHLIGHT else ""
            assert shown[start:end] == note.text[mark.start : mark.end]
            shown = shown[:start] + kept + shown[end:]
        assert shown == view.text


@settings(max_examples=CASES, deadline=None)
@given(data=st.data(), note=notes(between=anything), action=st.sampled_from(list(Action)))
def test_a_decision_undone_gives_the_text_back(
    data: st.DataObject, note: Note, action: Action
) -> None:
    if not note.records:
        return
    record = data.draw(st.sampled_from(note.records))
    try:
        decision = decide(note.text, record.spans, action)
    except MakesMark:
        return
    restored = undo(decision.text, decision.cuts, decision.marks)
    assert restored.text == note.text
    assert restored.spans == tuple(sorted(record.spans))
    everything = decide_all(note.text, spans_of(note), action)
    assert undo(everything.text, everything.cuts, everything.marks).text == note.text


@settings(max_examples=CASES, deadline=None)
@given(data=st.data(), note=notes(between=st.just(" x ")), action=st.sampled_from(list(Action)))
def test_suggestions_can_be_decided_in_any_order(
    data: st.DataObject, note: Note, action: Action
) -> None:
    """One after the other is all at once, where every mark has its record."""
    recorded = {span for record in note.records for span in record.spans}
    if any(mark.span not in recorded for mark in critic.read(note.text, recorded).marks):
        return
    text = note.text
    waiting = {record.id: record.spans for record in note.records}
    for name in data.draw(st.permutations(sorted(waiting))):
        try:
            decision = decide(text, waiting.pop(name), action)
        except MakesMark:
            return
        for other, spans in waiting.items():
            waiting[other] = tuple(
                (a - moved(decision.splices, a), b - moved(decision.splices, a)) for a, b in spans
            )
        text = decision.text
    assert text == decide_all(note.text, recorded, action).text


def moved(splices: tuple[TextSplice, ...], place: int) -> int:
    return sum(splice.end - splice.start for splice in splices if splice.end <= place)
