"""All characters in order at once, as the engine has them one by one; it is the oracle."""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pycrdt import Doc, Map, Text

from flashgrep.notes.document.anchors import MANY, Anchors
from flashgrep.notes.document.note import Amendment, Note, NoteRecords
from flashgrep.notes.document.order import TextOrder, order_of
from flashgrep.notes.document.text import SharedText, TextSplice, ordered, spliced
from flashgrep.notes.document.updates import Name, clocks, parse
from tests.notes.slow_anchors import Anchors as SlowAnchors
from tests.notes.texts import splices_of, texts

HEAVY = os.environ.get("FLASHGREP_HEAVY") == "1"
CASES = 5_000 if HEAVY else 100


class Peers:
    """Some documents of one note, which hear of each other now and then."""

    def __init__(self, data: st.DataObject) -> None:
        self._data = data
        numbers = st.integers(1, 2**53 - 1)
        clients = data.draw(st.lists(numbers, min_size=1, max_size=4, unique=True))
        self.docs: list[Doc[Any]] = [Doc(client_id=client) for client in clients]
        self.texts = [doc.get("contents", type=Text) for doc in self.docs]

    def play(self, steps: int) -> None:
        for step in range(self._data.draw(st.integers(1, steps))):
            text = self._data.draw(st.sampled_from(self.texts))
            SharedText(text).splice(ordered(str(text), self._data.draw(splices_of(str(text)))))
            if self._data.draw(st.booleans()):
                text.doc.get("records", type=Map)[self._data.draw(st.sampled_from("ab"))] = [step]
            if self._data.draw(st.booleans()):
                other = self._data.draw(st.sampled_from(self.docs))
                other.apply_update(text.doc.get_update(other.get_state()))

    def meet(self) -> None:
        for doc in (*self.docs, *reversed(self.docs)):
            for other in self.docs:
                doc.apply_update(other.get_update(doc.get_state()))


def order(text: Text) -> TextOrder:
    found = order_of(parse(text.doc.get_update()), "contents", str(text))
    assert found is not None
    return found


@settings(max_examples=CASES)
@given(st.data())
def test_every_character_has_the_name_that_the_engine_gives_it(data: st.DataObject) -> None:
    peers = Peers(data)
    peers.play(12)
    peers.meet()
    text = peers.texts[0]
    known, state = order(text), clocks(text.doc.get_state())
    slow = SlowAnchors(text, state)
    names = [Name(*slow.at(index)) for index in range(len(str(text)))]
    assert [known.name(index) for index in range(-1, len(names) + 1)] == [None, *names, None]
    assert [known.find(name) for name in names] == list(range(len(names)))
    every = [Name(client, clock) for client, end in state.items() for clock in range(end + 2)]
    assert {known.find(name) for name in {*every} - {*names}} <= {None}
    for client in (0, 2**53):
        assert known.find(Name(client, 0)) is None


@pytest.mark.parametrize("seed", range(5_000 if HEAVY else 150))
def test_peers_that_type_at_the_same_places_have_one_order(seed: int) -> None:
    chance = Random(seed)
    docs: list[Doc[Any]] = [
        Doc(client_id=chance.randint(1, 2**53 - 1)) for _ in range(chance.randint(2, 5))
    ]
    texts = [doc.get("contents", type=Text) for doc in docs]
    for _ in range(chance.randint(1, 60)):
        text = chance.choice(texts)
        size = len(str(text))
        start = min(chance.randint(0, 6), size)
        if size and chance.random() < 0.3:
            SharedText(text).splice([TextSplice(start, min(start + chance.randint(0, 3), size))])
        else:
            SharedText(text).splice([TextSplice(start, start, chance.choice(["a", "bc", "😀"]))])
        if chance.random() < 0.2:
            other = chance.choice(docs)
            other.apply_update(text.doc.get_update(other.get_state()))
    for doc in docs[1:]:
        docs[0].apply_update(doc.get_update(docs[0].get_state()))
    slow = SlowAnchors(texts[0], clocks(docs[0].get_state()))
    known = order(texts[0])
    for index in range(len(str(texts[0]))):
        assert known.name(index) == Name(*slow.at(index))


def test_what_a_transaction_has_deleted_is_not_in_the_order_before_its_end() -> None:
    text = typed()
    with text.doc.transaction():
        SharedText(text).splice([TextSplice(1, 2), TextSplice(4, 6, "x😀"), TextSplice(7, 8)])
        known = order(text)
        assert known.text() == str(text) == "oe!x😀w"
        slow = SlowAnchors(text, clocks(text.doc.get_state()))
        assert [known.name(at) for at in range(6)] == [Name(*slow.at(at)) for at in range(6)]


@settings(max_examples=CASES)
@given(st.data())
def test_changes_made_at_once_are_those_made_one_by_one(data: st.DataObject) -> None:
    """The text, the names of what stays, and what every other peer sees."""
    peers = Peers(data)
    peers.play(6)
    peers.meet()
    text = peers.texts[0]
    before, known = str(text), order(text)
    changes = ordered(before, data.draw(splices_of(before)))
    slow = SlowAnchors(text, clocks(text.doc.get_state()))
    names = [slow.at(index) for index in range(len(before))]
    if len(peers.texts) > 1 and data.draw(st.booleans()):  # somebody types at the same time
        other = peers.texts[1]
        SharedText(other).splice(ordered(before, data.draw(splices_of(before))))
    with text.doc.transaction():
        peers.docs[0].get("records", type=Map)["x"] = [1]
        assert SharedText(text).splice(changes, known) == spliced(before, changes) == str(text)
    slow = SlowAnchors(text, clocks(text.doc.get_state()))
    gone = {at for change in changes for at in range(change.start, change.end)}
    kept = [slow.find(name) for at, name in enumerate(names) if at not in gone]
    assert kept == sorted(place for place in kept if place is not None)
    assert [slow.find(names[at]) for at in gone] == [None] * len(gone)
    SharedText(text).splice([TextSplice(0, 0, "and on")])
    peers.meet()
    assert {str(each) for each in peers.texts} == {str(text)}


@settings(max_examples=CASES)
@given(texts.filter(bool), st.data())
def test_runs_are_the_names_of_their_characters(content: str, data: st.DataObject) -> None:
    peers = Peers(data)
    peers.texts[0].insert(0, content)
    peers.play(6)
    peers.meet()
    text = peers.texts[0]
    known, shown = order(text), str(text)
    start = data.draw(st.integers(0, len(shown)))
    end = data.draw(st.integers(start, len(shown)))
    runs = known.runs(start, end)
    assert [
        Name(run.client, clock) for run in runs for clock in range(run.clock, run.clock + run.units)
    ] == [
        Name(first.client, first.clock + unit)
        for index in range(start, end)
        for first in [known.name(index)]
        if first
        for unit in range(len(shown[index].encode("utf-16-le")) // 2)
    ]
    assert not any(one.is_followed_by(two) for one, two in pairwise(runs))
    if shown:
        last = known.last_unit(len(shown) - 1)
        (run,) = known.runs(len(shown) - 1, len(shown))
        assert last == (run.client, run.clock + run.units - 1)
    assert known.last_unit(-1) is known.last_unit(len(shown)) is None


def test_a_long_text_of_emoji_is_looked_up_in_short_pieces() -> None:
    doc: Doc[Any] = Doc(client_id=7)
    text = doc.get("contents", type=Text)
    text += "😀a" * 5_000
    known = order(text)
    for index in (0, 1, 2, 1_023, 1_024, 1_025, 9_998, 9_999):
        assert known.name(index) == (7, index // 2 * 3 + (0 if index % 2 == 0 else 2))
    assert known.find(Name(7, 4)) is None  # half of a character
    assert known.runs(0, 10_000) == [(7, 0, 15_000)]


def typed() -> Text:
    doc: Doc[Text] = Doc(client_id=7)
    text = doc.get("contents", type=Text)
    text += "one two"
    text.insert(3, "!")
    return text


def test_there_is_no_order_of_another_text_than_the_engines() -> None:
    text = typed()
    assert order_of(parse(text.doc.get_update()), "contents", str(text) + "x") is None
    assert order_of(parse(text.doc.get_update()), "other", str(text)) is None


def test_there_is_no_order_where_something_is_put_beside_what_is_not_there() -> None:
    update = parse(typed().doc.get_update())
    first, *rest = update.structs[7]
    for nowhere in (Name(8, 0), Name(7, 99)):
        wrong = [first, *(replace(struct, left=nowhere) for struct in rest)]
        assert order_of(replace(update, structs={7: wrong}), "contents", "one! two") is None


def test_a_wrong_order_changes_nothing_but_is_noticed() -> None:
    """The engine is asked for each place instead."""
    text = typed()
    assert SharedText(text).splice([TextSplice(0, 3)], TextOrder([(7, 0, "other")])) == "! two"


@pytest.mark.parametrize("word", ["word", "wörd😀"])
def test_records_and_changes_of_many_are_as_those_of_few(
    monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    """A note with so many records that the order is worked out, and one that never does it."""

    def played(many: int) -> tuple[str, dict[str, NoteRecords], list[Any]]:
        monkeypatch.setattr("flashgrep.notes.document.anchors.MANY", many)
        monkeypatch.setattr("flashgrep.notes.document.note.MANY", many)
        note = Note("n")
        text = f"{word} " * 300
        note.amend(Amendment([TextSplice(0, 0, text)]), "maker")
        starts = range(0, len(text), len(word) + 1)
        marks = [(at, at + len(word)) for at in starts]
        note.amend(
            Amendment(
                [
                    splice
                    for start, end in marks
                    for splice in (TextSplice(start, start, "{--"), TextSplice(end, end, "--}😀"))
                ],
                {
                    f"s{number}": NoteRecords({"n": number}, ((start + 7 * number, end),))
                    for number, (start, _) in enumerate(marks)
                    for end in [start + 7 * number + len(word) + 6]
                },
            ),
            "robot",
        )
        note.amend(Amendment([TextSplice(0, 3), TextSplice(20, 30, "😀")]), "ann")
        again = Note("n")
        again._apply([note.whole()])
        assert again.records() == note.records()
        authors = again.authors([(0, 5), (40, 60), (0, 600)])
        return again.text.read(), again.records(), authors

    assert played(1) == played(10**9)


def test_many_names_of_a_text_are_asked_of_its_order() -> None:
    text = typed()
    state = clocks(text.doc.get_state())
    few, many = Anchors(text, state, "contents"), Anchors(text, state, "contents", MANY)
    assert (few._known is None, many._known is None) == (True, False)
    places = range(len(str(text)))
    assert [few.at(at) for at in places] == [many.at(at) for at in places]
    assert [few.find(few.at(at)) for at in places] == [many.find(few.at(at)) for at in places]
    assert few.runs(1, 6) == many.runs(1, 6)
    assert few.runs(3, 3) == many.runs(3, 3) == []
    for _ in range(MANY):
        few.at(0)
    assert few._known is not None
