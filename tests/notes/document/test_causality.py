"""What is ready and what waits: however the updates come, the note is what it is in order."""

from __future__ import annotations

import random

import pycrdt
import pytest
from pycrdt import Doc, Text

from flashgrep.notes.document.causality import is_empty, split
from flashgrep.notes.document.note import CONTENTS, Note
from flashgrep.notes.document.text import SharedText, TextSplice
from flashgrep.notes.document.updates import clocks, encode, parse


class Typist:
    """A client that keeps every update of its own."""

    def __init__(self, client: int) -> None:
        self.doc: Doc[Text] = Doc(client_id=client)
        self.text = SharedText(self.doc.get(CONTENTS, type=Text))
        self.updates: list[bytes] = []
        own = self.updates
        self._is_hearing = [False]
        hearing = self._is_hearing
        self._watch = self.doc.observe(
            lambda event: None if hearing[0] else own.append(event.update)
        )

    def type(self, *splices: TextSplice) -> None:
        self.text.splice(splices)

    def hear(self, other: Typist) -> None:
        self._is_hearing[0] = True
        self.doc.apply_update(other.doc.get_update(self.doc.get_state()))
        self._is_hearing[0] = False


def words(*words: str) -> list[bytes]:
    typist = Typist(5)
    for word in words:
        end = len(typist.text.read())
        typist.type(TextSplice(end, end, word))
    return typist.updates


ONE, TWO, THREE = words("one ", "two ", "three")
AFTER = {5: 13}


@pytest.mark.parametrize(
    ("have", "update", "ready", "rest"),
    [
        ({}, ONE, ONE, b"\0\0"),
        ({5: 4}, ONE, b"\0\0", b"\0\0"),
        ({5: 4}, TWO, TWO, b"\0\0"),
        ({5: 4}, THREE, b"\0\0", THREE),
        ({}, THREE, b"\0\0", THREE),
        # one that is half known is given whole: the engine takes the rest of it
        ({5: 2}, ONE, ONE, b"\0\0"),
        # two in one with a gap between
        ({}, pycrdt.merge_updates(ONE, THREE), ONE, THREE),
        ({5: 8}, pycrdt.merge_updates(ONE, THREE), THREE, b"\0\0"),
        (AFTER, pycrdt.merge_updates(ONE, THREE), b"\0\0", b"\0\0"),
        # deletions of what is partly there: client 5, clock 2, six units
        ({5: 4}, b"\0\x01\x05\x01\x02\x06", b"\0\x01\x05\x01\x02\x02", b"\0\x01\x05\x01\x04\x04"),
        ({}, b"\0\x01\x05\x01\x02\x06", b"\0\0", b"\0\x01\x05\x01\x02\x06"),
    ],
)
def test_an_update_is_split_by_what_is_there(
    have: dict[int, int], update: bytes, ready: bytes, rest: bytes
) -> None:
    part = split(parse(update), have)
    assert (encode(part.ready), encode(part.rest)) == (ready, rest)


def test_an_update_waits_for_what_another_client_typed() -> None:
    ann, bob = Typist(5), Typist(9)
    ann.type(TextSplice(0, 0, "ab"))
    bob.hear(ann)
    bob.type(TextSplice(1, 1, "x"))
    (update,) = bob.updates
    part = split(parse(update), {})
    assert is_empty(part.ready)
    assert encode(part.rest) == update
    assert part.clocks == {}
    assert encode(split(parse(update), {5: 2}).ready) == update


def test_clients_that_need_each_other_in_one_update_are_ready_together() -> None:
    ann, bob = Typist(5), Typist(9)
    for _ in range(4):
        ann.type(TextSplice(0, 0, "a"))
        bob.hear(ann)
        bob.type(TextSplice(1, 1, "b"))
        ann.hear(bob)
    part = split(parse(ann.doc.get_update()), {})
    assert is_empty(part.rest)
    assert part.clocks == {5: 4, 9: 4}


def test_an_update_after_a_gap_is_not_shown_before_it_is_durable() -> None:
    """The engine alone shows it, though it is in no state vector, no event and no snapshot."""
    typist = Typist(5)
    for splice in (TextSplice(0, 0, "base"), TextSplice(0, 0, "lost"), TextSplice(8, 8, "seen")):
        typist.type(splice)
    first, _, third = typist.updates
    engine: Doc[Text] = Doc()
    text = engine.get(CONTENTS, type=Text)
    engine.apply_update(first)
    engine.apply_update(third)
    assert (str(text), clocks(engine.get_state())) == ("baseseen", {5: 4})
    note = Note("n")
    note.receive([first, third])
    assert (note.text.read(), clocks(note.state())) == ("base", {5: 4})
    assert note.is_waiting


def random_history(chance: random.Random, steps: int = 40) -> tuple[str, list[bytes]]:
    """What three clients type that hear each other now and then, and the text in the end."""
    typists = [Typist(client) for client in (5, 9, 2**52)]
    for _ in range(steps):
        typist = chance.choice(typists)
        text = typist.text.read()
        start = chance.randint(0, len(text))
        end = min(len(text), start + chance.choice([0, 0, 0, 1, 3]))
        typist.type(TextSplice(start, end, chance.choice(["a", "é", "😀", "word\n", ""])))
        if chance.random() < 0.4:
            typist.hear(chance.choice(typists))
    for _ in range(2):
        for typist in typists:
            for other in typists:
                typist.hear(other)
    return typists[0].text.read(), [one for typist in typists for one in typist.updates]


@pytest.mark.parametrize("seed", range(60))
def test_updates_in_any_order_give_one_note(seed: int) -> None:
    """Shuffled, doubled, joined; the journal's records replayed give the same at every step."""
    chance = random.Random(seed)
    expected, updates = random_history(chance)
    updates += chance.sample(updates, len(updates) // 3)
    chance.shuffle(updates)
    note, copy = Note("n"), Note("n")
    while updates:
        batch = [updates.pop() for _ in range(min(len(updates), chance.choice([1, 1, 2, 5])))]
        if chance.random() < 0.3:
            batch = [pycrdt.merge_updates(*batch)]
        note.receive(batch)
        if new := note.take_new():
            copy._apply([new])
        assert copy.text.read() == note.text.read()
        assert clocks(copy.state()) == clocks(note.state())
    assert not note.is_waiting
    assert note.text.read() == expected
