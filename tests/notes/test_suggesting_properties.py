"""Whatever a note holds: a suggestion changes the accepted view as asked, the base view never."""

from __future__ import annotations

import os

from hypothesis import given, settings
from hypothesis import strategies as st

from flashgrep.errors import FlashgrepError
from flashgrep.notes.document.text import spliced
from flashgrep.notes.markup import critic
from flashgrep.notes.suggestions.pending import digest
from flashgrep.notes.suggestions.plan import Edit, SuggestionPlan, suggest
from tests.notes.marked import Note, anything, carried_out, edits, notes, tame

CASES = 100_000 if os.environ.get("FLASHGREP_HEAVY") == "1" else 100


def expected(view: str, old: str, new: str, replace_all: bool) -> str | None:
    """The plain definition: the accepted view after an exact edit, if that is possible."""
    if old not in view:
        return None
    return view.replace(old, new) if replace_all else view.replace(old, new, 1)


@settings(max_examples=CASES, deadline=None)
@given(data=st.data(), note=notes(), replace_all=st.booleans())
def test_a_suggestion_changes_the_accepted_view_as_asked_and_the_base_view_never(
    data: st.DataObject, note: Note, replace_all: bool
) -> None:
    spans = [span for record in note.records for span in record.spans]
    before = critic.read(note.text, spans)
    old, new = data.draw(edits(before.accepted.text))
    try:
        edit = Edit(old, new, replace_all)
        plan = suggest(note.text, note.records, edit, "ann", "N.md")
    except FlashgrepError:
        return
    after_note = carried_out(note, plan)
    check_plan(note, plan, after_note)
    after_spans = [span for record in after_note.records for span in record.spans]
    after = critic.read(plan.text, after_spans)
    assert after.base.text == before.base.text
    if plan.is_repeated:
        assert plan.text == note.text
    elif old in before.accepted.text and not has_repeated(note, old, new):
        assert after.accepted.text == expected(before.accepted.text, old, new, replace_all)
    again = suggest(plan.text, after_note.records, edit, "ann", "N.md") if plan.made else plan
    assert again.text == plan.text


def has_repeated(note: Note, old: str, new: str) -> bool:
    return any(
        "{--" + old + "--}{++" + new + "++}" in note.text or record.asked == digest(old, new)
        for record in note.records
    )


def check_plan(note: Note, plan: SuggestionPlan, after: Note) -> None:
    assert spliced(note.text, plan.splices) == plan.text
    for splice, following in zip(plan.splices, plan.splices[1:], strict=False):
        assert splice.end <= following.start
    held = [span for record in (*plan.made, *plan.changed) for span in record.spans]
    assert all(critic.held(plan.text, span) for span in held)
    ids = [record.id for record in after.records]
    assert len(set(ids)) == len(ids)
    for record in note.records:  # nobody else's suggestion is touched
        if record.author != "ann":
            mine = next(other for other in after.records if other.id == record.id)
            assert [plan.text[a:b] for a, b in mine.spans] == [
                note.text[a:b] for a, b in record.spans
            ]


@settings(max_examples=CASES, deadline=None)
@given(data=st.data(), text=anything)
def test_a_suggestion_in_a_note_without_any_deletes_nothing(data: st.DataObject, text: str) -> None:
    view = critic.read(text).accepted.text
    old, new = data.draw(edits(view))
    try:
        plan = suggest(text, (), Edit(old, new), "ann", "N.md")
    except FlashgrepError:
        return
    assert all(splice.start == splice.end for splice in plan.splices)
    if view.count(old):
        tail = "{++" + new + "++}" if new else ""
        assert "{--" + old + "--}" + tail in plan.text


@settings(max_examples=CASES, deadline=None)
@given(data=st.data(), text=tame, steps=st.integers(2, 5))
def test_a_chain_of_edits_leaves_the_base_view_and_the_last_wish(
    data: st.DataObject, text: str, steps: int
) -> None:
    """Two authors in turn, each on what the other left."""
    note = Note(text, ())
    base = critic.read(text).base.text
    for number in range(steps):
        author = data.draw(st.sampled_from(["ann", "bob"]))
        spans = [span for record in note.records for span in record.spans]
        view = critic.read(note.text, spans).accepted.text
        old, new = data.draw(edits(view))
        try:
            plan = suggest(note.text, note.records, Edit(old, new), author, "N.md")
        except FlashgrepError:
            continue
        note = carried_out(note, plan, f"n{number}.")
        spans = [span for record in note.records for span in record.spans]
        after = critic.read(note.text, spans)
        assert after.base.text == base
        assert sorted(spans) == [mark.span for mark in after.marks if mark.is_recorded]
