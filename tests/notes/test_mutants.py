"""Updates that were changed on the way: refused or taken, but the note stays whole."""

from __future__ import annotations

import os
from random import Random

import pytest

from flashgrep.errors import FlashgrepError
from flashgrep.notes.document.note import Note, is_same
from flashgrep.notes.document.text import TextSplice
from flashgrep.notes.document.updates import Update, encode
from flashgrep.notes.store.journal import Record
from tests.notes.document.test_causality import Typist, random_history

HEAVY = os.environ.get("FLASHGREP_HEAVY") == "1"
SEED = int(os.environ.get("FLASHGREP_SEED", "1"))
MUTANTS = 1_000_000 if HEAVY else 600
MUTANTS_A_NOTE = 20

pytestmark = pytest.mark.timeout(7_200 if HEAVY else 600)


def mutant(update: bytes, chance: Random) -> bytes:
    """A byte changed, cut out, put in; an end cut off; a piece doubled."""
    data = bytearray(update)
    for _ in range(chance.choice([1, 1, 1, 2, 5])):
        at = chance.randrange(len(data) + 1)
        match chance.randrange(5):
            case 0 if at < len(data):
                data[at] ^= 1 << chance.randrange(8)
            case 1:
                data.insert(at, chance.randrange(256))
            case 2:
                del data[at:]
            case 3:
                del data[at : at + 1]
            case _:
                data[at:at] = data[: chance.randrange(len(data) + 1)]
    return bytes(data)


class Desk:
    """A note and its journal, which is all that is left when something is refused."""

    def __init__(self, updates: list[bytes]) -> None:
        self.records: list[Record] = []
        self.note = Note("n")
        self.take(updates)

    def take(self, updates: list[bytes]) -> bool:
        """Receive updates as the library does; gives whether they were taken."""
        try:
            self.note.receive(updates)
            new = self.note.take_new()
        except FlashgrepError:
            self.note = self.stored()
            return False
        if new:
            number = len(self.records) + 1
            self.records.append(Record("n", number, new, self.note.state(), "", 0))
        return True

    def stored(self) -> Note:
        return Note.load("n", None, self.records) if self.records else Note("n")


def met(note: Note) -> Note:
    """What a peer has that meets the note for the first time."""
    peer = Note("n")
    peer._apply([note.whole()])
    return peer


def test_a_mutant_is_refused_or_taken_whole() -> None:
    """A note that has taken a mutant is the same when it is loaded again, and to a new peer."""
    chance = Random(SEED)
    counts = {True: 0, False: 0}
    for number in range(MUTANTS // MUTANTS_A_NOTE):
        updates = random_history(Random(number % 50), steps=12)[1]
        desk = Desk(updates[: chance.randrange(len(updates))])
        for _ in range(MUTANTS_A_NOTE):
            counts[desk.take([mutant(chance.choice(updates), chance)])] += 1
            assert is_same(desk.note, desk.stored())
            assert is_same(desk.note, met(desk.note))
        desk.take(updates)
        assert is_same(desk.note, desk.stored())
    assert min(counts.values()) > MUTANTS // 10, counts


@pytest.mark.parametrize(
    ("at", "length", "is_taken"),
    [
        (0, 1, True),
        (1, 2, True),
        (3, 1, True),
        (0, 4, True),
        (1, 1, False),
        (2, 1, False),
        (0, 2, False),
        (2, 2, False),
        (2, 9, False),
    ],
)
def test_half_an_emoji_cannot_be_deleted(at: int, length: int, is_taken: bool) -> None:
    """A script may do that with Yjs; the engine would give a note to others that is not this."""
    typist = Typist(5)
    typist.type(TextSplice(0, 0, "a😀b"))
    desk = Desk(typist.updates)
    assert desk.take([encode(Update({}, [(5, at, length)]))]) is is_taken
    assert is_same(met(desk.note), desk.note)
    assert is_taken or desk.note.text.read() == "a😀b"


@pytest.mark.parametrize(
    ("struct", "is_taken"),
    [
        (b"\x84\x05\x00\x01x", True),  # behind `a`
        (b"\x84\x05\x01\x01x", False),  # behind the first half
        (b"\x84\x05\x02\x01x", True),
        (b"\x44\x05\x01\x01x", True),  # before the emoji
        (b"\x44\x05\x02\x01x", False),
        (b"\x44\x05\x03\x01x", True),
        (b"\xc4\x05\x01\x05\x02\x01x", False),
    ],
)
def test_nothing_is_put_between_the_halves_of_an_emoji(struct: bytes, is_taken: bool) -> None:
    typist = Typist(5)
    typist.type(TextSplice(0, 0, "a😀b"))
    desk = Desk([])
    desk.take(typist.updates)
    for note in (desk, Desk(typist.updates)):
        assert note.take([b"\x01\x01\x09\x00" + struct + b"\x00"]) is is_taken
        assert is_same(met(note.note), note.note)


def test_nothing_is_put_into_a_letter() -> None:
    """The engine says that in other words than it has for what it cannot decode."""
    letter = b"\x04\x01\x08contents\x01a"
    inside = b"\x04\x00\x05\x00\x01b"  # its parent is client 5's first letter
    desk = Desk([])
    assert not desk.take([b"\x01\x02\x05\x00" + letter + inside + b"\x00"])
    assert desk.take([b"\x01\x01\x05\x00" + letter + b"\x00"])
    assert desk.note.text.read() == "a"


def test_a_client_that_contradicts_itself_is_refused() -> None:
    """Its letters would stand in one place here, and in another for all who load the note."""
    desk = Desk([])
    root = b"\x04\x01\x08contents"
    for update, is_taken in (
        (b"\x01\x01\x03\x00" + root + b"\x01.\x00", True),
        (b"\x01\x01\x05\x00\x44\x03\x00\x05word\n\x00", True),  # before the dot
        (b"\x01\x01\x05\x02\x44\x03\x00\x05word\n\x00", True),  # the third letter on, again
        (b"\x01\x01\x05\x05\xc4\x05\x02\x05\x03\x05word\n\x00", False),
    ):
        assert desk.take([update]) is is_taken
        assert is_same(desk.note, desk.stored())
        assert is_same(desk.note, met(desk.note))
    assert desk.note.text.read() == "word\nd\n."


def test_nothing_is_put_behind_and_before_one_letter() -> None:
    desk = Desk([b"\x01\x01\x05\x00\x04\x01\x08contents\x02ab\x00"])
    assert not desk.take([b"\x01\x01\x09\x00\xc4\x05\x01\x05\x01\x01x\x00"])
    assert desk.take([b"\x01\x01\x09\x00\xc4\x05\x00\x05\x01\x01x\x00"])
    assert desk.note.text.read() == "axb"
