"""Who wrote which character: known by client and clock, durable, and not for peers to change."""

from __future__ import annotations

import os
from itertools import count
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from pycrdt import Doc, Map

from flashgrep.notes.access.roles import Author
from flashgrep.notes.document.anchors import AUTHORS, Authorship
from flashgrep.notes.document.note import Amendment, Note, is_same
from flashgrep.notes.document.order import Run
from flashgrep.notes.document.text import TextSplice
from flashgrep.notes.document.updates import Name, Update, encode, parse
from flashgrep.notes.store.journal import Record
from tests.notes.desk import MINUTE, Desk, Peer

CASES = 5_000 if os.environ.get("FLASHGREP_HEAVY") == "1" else 40


def writers(desk: Desk, note: str) -> list[str | None]:
    """Of each character of the text."""
    length = len(desk.library.read(note).text)
    return [writer.name if writer else None for _, writer in desk.library.writers(note, 0, length)]


def type_at(desk: Desk, peer: Peer, place: int, text: str, author: str) -> None:
    peer.text.splice([TextSplice(place, place, text)])
    desk.library.receive(peer.note, peer.take(), author, origin=peer)
    peer.doc.apply_update(desk.library.missing(peer.note, peer.doc.get_state()))
    peer.take()


def entries(peer: Peer) -> dict[str, Any]:
    return peer.doc.get(AUTHORS, type=Map).to_py() or {}


def test_each_character_is_its_writers(desk: Desk) -> None:
    note = desk.library.create("a.md", "server😀", "maker").id
    ann, bob = Peer(desk.library, note), Peer(desk.library, note)
    type_at(desk, ann, 3, "ä日", "ann")
    type_at(desk, bob, 0, "b😀", "bob")
    desk.library.amend(note, lambda *_: Amendment([TextSplice(1, 1, "x")]), "robot")
    desk.library.amend(note, lambda *_: Amendment([TextSplice(0, 0, "y")]), "maker")
    text = desk.library.read(note).text
    assert text == "ybx😀serä日ver😀"
    expected = ["maker", "bob", "robot", "bob", *["maker"] * 3, *["ann"] * 2, *["maker"] * 4]
    assert writers(desk, note) == expected


def test_the_authors_outlive_restarts_snapshots_and_the_records_before_them(desk: Desk) -> None:
    note = desk.library.create("a.md", "one ", "maker").id
    type_at(desk, Peer(desk.library, note), 4, "two", "ann")
    expected = [*["maker"] * 4, *["ann"] * 3]
    for _ in range(3):
        desk.time += 20 * MINUTE
        desk.library.compact(note)
        desk.reopen()
        assert writers(desk, note) == expected
        desk.library.amend(note, lambda *_: Amendment([TextSplice(0, 0, "x")]), "robot")
        expected.insert(0, "robot")
    assert desk.journal.read_good(note, 0) == []
    assert writers(desk, note) == expected


def test_an_editor_that_goes_on_typing_adds_no_entry(desk: Desk) -> None:
    note = desk.library.create("a.md", "", "maker").id
    peer = Peer(desk.library, note)
    for _ in range(20):
        type_at(desk, peer, 0, "x", "ann")
    assert len(entries(peer)) == 1
    assert [change.origin is peer for change in desk.told[1:]] == [False, *[True] * 19]


def test_a_client_that_another_person_uses_writes_for_that_person_from_then_on(desk: Desk) -> None:
    note = desk.library.create("a.md").id
    peer = Peer(desk.library, note)
    type_at(desk, peer, 0, "ann", "ann")
    type_at(desk, peer, 3, "bob", "bob")
    type_at(desk, peer, 6, "ann", "ann")
    assert writers(desk, note) == [*["ann"] * 3, *["bob"] * 3, *["ann"] * 3]


@settings(max_examples=CASES)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 8), st.sampled_from("abc"))))
def test_runs_that_others_wrote_are_theirs_and_all_else_is_whose_it_was(
    given_runs: list[tuple[int, int, str]],
) -> None:
    doc: Doc[Any] = Doc()
    stored = doc.get(AUTHORS, type=Map)
    keys = (Name(1, clock) for clock in count())
    authorship = Authorship(stored)
    authorship.add(Author("maker"), {7: 2}, next(keys))
    authorship.add(Author("ann"), {7: 9}, next(keys))
    expected = [None, None, *["maker"] * 7, *["ann"] * 31]
    begins, written, taken = {2, 9}, [], set[int]()
    for clock, units, name in given_runs:
        places = set(range(clock, clock + units))
        if taken & places:
            continue
        taken |= places
        written.append((Run(7, clock, units), Author(name)))
        if not begins & places:
            expected[clock : clock + units] = [name] * units
    authorship.ascribe(written, lambda: next(keys))
    authorship.add(Author("bob"), {7: 40}, next(keys))
    for each in (authorship, Authorship(stored)):
        found = [each.author_of(Name(7, clock)) for clock in range(41)]
        assert [one.name if one else None for one in found] == [*expected, "bob"]


def test_nobody_knows_who_wrote_what_came_without_a_name(desk: Desk) -> None:
    note = desk.library.create("a.md", "old").id
    assert writers(desk, note) == [None, None, None]


def test_a_peer_cannot_change_who_wrote_what(desk: Desk) -> None:
    note = desk.library.create("a.md", "maker", "maker").id
    peer = Peer(desk.library, note)
    type_at(desk, peer, 5, "ann", "ann")
    before = entries(peer)
    forged = peer.doc.get(AUTHORS, type=Map)
    for key in before:
        forged[key] = ["victim", peer.doc.client_id, 0]
    forged["1.1"] = ["victim", peer.doc.client_id, 1]
    desk.library.receive(note, peer.take(), "ann", origin=peer)
    assert desk.told[-1].origin is None
    peer.hear(desk.told[-1].update)
    assert entries(peer) == before
    desk.reopen()
    assert writers(desk, note) == [*["maker"] * 5, *["ann"] * 3]


def test_nonsense_in_the_map_of_authors_is_skipped(desk: Desk) -> None:
    """As a peer of an older version could have left it."""
    note = desk.library.create("a.md", "abc", "maker").id
    live = desk.library.loaded(note)
    for number, entry in enumerate(([], [1], ["x", 1], ["x", "a", "b"], {"a": 1}, "x", 7)):
        live._authors[f"bad{number}"] = entry
    desk.library.amend(note, lambda *_: Amendment([TextSplice(0, 0, "x")]), "robot")
    desk.reopen()
    assert writers(desk, note) == ["robot", *["maker"] * 3]


def test_a_note_that_lost_its_authors_is_not_the_same(desk: Desk) -> None:
    """So that no snapshot loses them."""
    note = Note("n")
    note.amend(Amendment([TextSplice(0, 0, "text")]), "ann")
    update = parse(note.whole())
    (client,) = update.structs
    whole, less = (
        Note.load("n", None, [Record("n", 1, encode(one), note.state(), "", 0)])
        for one in (update, Update(update.structs, [(client, 0, 1)]))
    )
    assert less.text.read() == note.text.read()
    assert is_same(whole, note)
    assert not is_same(less, note)
