"""Frames that were made or changed to do harm: nobody dies of them, and nobody else sees any."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random

import pytest
from websockets.exceptions import ConnectionClosed

from flashgrep.errors import FlashgrepError
from flashgrep.notes.document.loading import NoteChange
from flashgrep.notes.home import Home
from flashgrep.notes.library import Library
from flashgrep.notes.store.catalogue import Catalogue
from flashgrep.notes.store.database import Database
from flashgrep.web import protocol
from flashgrep.web.protocol import FrameKind, Malformed, Presence, Present
from tests.notes.document.test_causality import random_history
from tests.notes.memory_journal import MemoryJournal
from tests.notes.test_mutants import mutant
from tests.web.served import Served

HEAVY = os.environ.get("FLASHGREP_HEAVY") == "1"
SEED = int(os.environ.get("FLASHGREP_SEED", "1"))
STRAIGHT = 1_000_000 if HEAVY else 5_000
BY_SOCKET = 20_000 if HEAVY else 200
A_NOTE = 250
"""Frames that one note has to bear."""

pytestmark = pytest.mark.timeout(7_200 if HEAVY else 600)


def hostile(chance: Random, number: int) -> Iterator[bytes]:
    """Frames without end: what peers say, changed; and plain noise."""
    updates = random_history(Random(number % 50), steps=12)[1]
    good = [
        *(protocol.update(update) for update in updates),
        *(protocol.lack(update) for update in updates),
        protocol.have(b"\1\5\7"),
        protocol.presence([Present(5, 1, b'{"name":"x"}'), Present(6, 2, b"null")]),
        b"\3",
    ]
    while True:
        match chance.randrange(10):
            case 0:
                yield chance.randbytes(chance.randrange(40))
            case 1:
                yield protocol.update(chance.randbytes(chance.randrange(40)))
            case 2 | 3:
                yield protocol.update(mutant(chance.choice(updates), chance))
            case 4:
                yield chance.choice(good)
            case _:
                yield mutant(chance.choice(good), chance)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    Home.create(tmp_path / "kb")
    opened = Database(tmp_path / "kb" / "notes.db")
    yield opened
    opened.close()


def test_frames_straight_into_the_notes(database: Database) -> None:
    chance = Random(SEED)
    counts = {"malformed": 0, "refused": 0, "taken": 0}
    for number in range(STRAIGHT // A_NOTE):
        # Another journal for each: one in memory copies all it has for every change.
        library, presence = Library(MemoryJournal(), Catalogue(database)), Presence()
        other = library.create(f"Other{number}.md", "not to change").id
        note = library.create(f"N{number}.md", "").id
        told: list[str] = []
        library.listen(partial(_note_down, told))
        attack = hostile(chance, number)
        for _ in range(A_NOTE):
            counts[_met(library, presence, note, next(attack))] += 1
        assert library.read(note).data == library.loaded(note).text.read().encode()
        before = library.read(note).text
        library._cache.drop(note)
        library.published.pop(note)
        assert library.read(note).text == before
        assert library.read(other).text == "not to change"
        assert set(told) <= {note}
        database.execute("DELETE FROM notes")
    assert min(counts.values()) > STRAIGHT // 20, counts


def _note_down(told: list[str], change: NoteChange) -> None:
    told.append(change.published.note)


def _met(library: Library, presence: Presence, note: str, frame: bytes) -> str:
    """What becomes of a frame, as a peer's connection handles it."""
    try:
        kind, data = protocol.parse(frame)
        if kind is FrameKind.PRESENCE:
            presence.take(presence.join("peer"), data)
        elif kind is FrameKind.HAVE:
            library.missing(note, data)
        elif kind in (FrameKind.LACK, FrameKind.UPDATE):
            library.receive(note, [data], "peer", origin=presence)
    except Malformed:
        return "malformed"
    except FlashgrepError:
        return "refused"
    return "taken"


def test_frames_through_the_websocket(server: Served) -> None:
    for path, text in {"Other.md": "not to change", "Same.md": ""}.items():
        server.post("/kb/notes", {"path": path, "text": text})
    chance = Random(SEED)
    attack = hostile(chance, 7)
    codes: set[int] = set()
    left = BY_SOCKET
    with server.live("Other.md") as other, server.live("Same.md") as same:
        other.sync()
        same.sync()
        while left > 0:
            with server.live("Same.md") as attacker:
                try:
                    for _ in range(min(left, 20)):
                        left -= 1
                        attacker.send(next(attack))
                    attacker.sync()
                except (ConnectionClosed, Malformed):
                    codes.add(attacker.closed())
        assert codes <= {1003, 1007, 4413}
        assert codes
        other.type("!")
        assert other.sync().text == server.text("Other.md") == "not to change!"
        same.type("still here")
        same.sync()
        same.until(lambda: same.text == server.text("Same.md"))
    assert server.server.process.poll() is None
    assert "Traceback" not in server.server.log.read_text(encoding="utf-8")
