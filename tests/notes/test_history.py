"""Going back to a version: its suggestions are suggestions again."""

from __future__ import annotations

import sqlite3

from flashgrep.notes import history
from flashgrep.notes.document.note import Amendment
from flashgrep.notes.document.text import TextSplice
from flashgrep.notes.review import decide as deciding
from flashgrep.notes.review.verdict import Action
from flashgrep.notes.suggestions import pending as pending_suggestions
from flashgrep.notes.suggestions.pending import pending
from flashgrep.notes.suggestions.plan import Edit
from flashgrep.notes.suggestions.propose import propose_in
from tests.notes.desk import Desk, Peer


def held(desk: Desk, note: str) -> dict[str, tuple[str, str, str]]:
    """Each suggestion: its author, what it takes away and what it brings."""
    known = pending_suggestions.recorded(desk.library.records(note))
    read = pending(desk.library.read(note).text, known)
    return {one.id: (one.author, *read.change(one)) for one in known if read.extent(one)}


def suggested(desk: Desk) -> tuple[str, int, str]:
    """A note with a suggestion, kept as a version; its id, the version, the suggestion."""
    note = desk.library.create("N.md", "hé hello world\n").id
    (name,) = propose_in(desk.library, "N.md", Edit("world", "earth"), "ann").ids
    desk.library.compact(note)
    return note, desk.library.read(note).sequence, name


def decide(desk: Desk, note: str, name: str, action: Action) -> None:
    spans = desk.library.records(note)[name].spans

    def plan(text: str, _: object) -> Amendment:
        return Amendment(deciding.decide(text, spans, action).splices, {name: None})

    desk.library.amend(note, plan)


def test_a_decided_suggestion_is_pending_again_and_can_be_decided(desk: Desk) -> None:
    note, version, name = suggested(desk)
    decide(desk, note, name, Action.ACCEPT)
    assert held(desk, note) == {}
    history.restore(desk.library, note, version, "person")
    assert desk.library.read(note).text == "hé hello {--world--}{++earth++}\n"
    desk.reopen()
    assert held(desk, note) == {name: ("ann", "world", "earth")}
    decide(desk, note, name, Action.REJECT)
    assert desk.library.read(note).text == "hé hello world\n"


def test_a_suggestion_made_since_goes_with_its_marks(desk: Desk) -> None:
    note, version, name = suggested(desk)
    propose_in(desk.library, "N.md", Edit("hello", "bye"), "bob")
    history.restore(desk.library, note, version)
    assert held(desk, note) == {name: ("ann", "world", "earth")}
    assert set(desk.library.records(note)) == {name}


def test_one_that_was_changed_since_says_what_it_said(desk: Desk) -> None:
    note, version, name = suggested(desk)
    propose_in(desk.library, "N.md", Edit("earth", "mars"), "ann")
    desk.library.receive(note, [Peer(desk.library, note).type("more\n")], "person")
    history.restore(desk.library, note, version)
    assert held(desk, note) == {name: ("ann", "world", "earth")}


def test_one_whose_line_was_changed_on_both_sides_is_still_its_authors(desk: Desk) -> None:
    """It is where it was, and says what it said; its characters are others."""
    note, version, name = suggested(desk)
    before = held(desk, note)
    text = desk.library.read(note).text
    start, end = text.index("{--"), text.rindex("}") + 1
    other = "#" * start + text[start:end] + "#" * (len(text) - end)
    change = Amendment(
        [TextSplice(0, start, other[:start]), TextSplice(end, len(text), other[end:])]
    )
    desk.library.amend(note, lambda _, __: change, "ann")
    history.restore(desk.library, note, version, "ann")
    assert desk.library.read(note).text == text
    assert held(desk, note) == before
    assert name in before


def test_the_version_that_is_there_already_is_no_change(desk: Desk) -> None:
    note, version, _ = suggested(desk)
    before = desk.library.read(note)
    assert history.restore(desk.library, note, version).sequence == before.sequence


def test_a_quarantined_note_begins_anew_with_its_suggestions(desk: Desk) -> None:
    note, version, name = suggested(desk)
    desk.library.amend(note, lambda _, __: Amendment([TextSplice(0, 0, "x")]))
    desk.close()
    with sqlite3.connect(desk.home.database) as database:
        database.execute("UPDATE records SET content = x'00' WHERE note = ?", (note,))
    database.close()
    desk._open()
    history.restore(desk.library, note, version)
    assert held(desk, note) == {name: ("ann", "world", "earth")}
