"""The rooms of notes: who is in one, and what becomes of those who came too late to be told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from flashgrep.notes.access.roles import Role
from flashgrep.notes.access.tokens import Tokens
from flashgrep.notes.home import Home
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.web.peer import Peer
from flashgrep.web.protocol import Close
from flashgrep.web.rooms import Rooms
from tests.scarcity import no_more_threads

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Person(Peer):
    """Somebody in a room, let in by a token."""

    note, path, epoch, token = "n", "N.md", "e", "t"

    def __init__(self, tokens: Tokens, secret: str) -> None:
        self._tokens, self._secret = tokens, secret
        self.heard: list[bytes] = []
        self.closed: Close | None = None
        self.is_closed = anyio.Event()

    def offer(self, frame: bytes) -> None:
        self.heard.append(frame)

    def close(self, code: Close, reason: str = "") -> None:
        self.closed = code
        self.is_closed.set()

    def recheck(self) -> None:
        if self._tokens.principal(self._secret) is None:
            self.close(Close.UNAUTHENTICATED)


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    Home.create(tmp_path / "kb")
    opened = KnowledgeBase(tmp_path / "kb")
    yield opened
    opened.close()


async def test_one_whose_token_was_taken_back_on_the_way_in_is_closed(kb: KnowledgeBase) -> None:
    tokens = Tokens(kb.home.path)
    secret = tokens.make("x", Role.READ)
    rooms, stays, goes = Rooms(tokens), Person(tokens, secret), Person(tokens, secret)
    with rooms.entered(stays):
        tokens.revoke("x")
        with rooms.entered(goes):
            assert (stays.closed, goes.closed) == (None, Close.UNAUTHENTICATED)
            assert rooms.count == 2
    assert rooms.count == 0


async def test_tokens_are_watched_while_there_is_somebody(kb: KnowledgeBase) -> None:
    tokens = Tokens(kb.home.path)
    secret = tokens.make("x", Role.READ)
    rooms = Rooms(tokens)
    for _ in range(2):  # those who come after a room was empty are looked after too
        assert not tokens._watching._listeners
        with rooms.entered(Person(tokens, secret)), rooms.entered(Person(tokens, secret)):
            assert len(tokens._watching._listeners) == 1
    assert not tokens._watching._listeners
    with rooms.entered(person := Person(tokens, secret)):
        tokens.revoke("x")
        with anyio.fail_after(120):
            await person.is_closed.wait()
    assert person.closed is Close.UNAUTHENTICATED


async def test_what_is_told_in_a_room_is_heard_by_all_but_one(kb: KnowledgeBase) -> None:
    tokens = Tokens(kb.home.path)
    secret = tokens.make("x", Role.READ)
    rooms, one, two = Rooms(tokens), Person(tokens, secret), Person(tokens, secret)
    with rooms.entered(one) as room, rooms.entered(two):
        room.tell(b"frame", besides=one)
    assert (one.heard, two.heard) == ([], [b"frame"])


async def test_a_watch_that_could_not_begin_begins_with_the_next_who_comes(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = Tokens(kb.home.path)
    rooms, person = Rooms(tokens), Person(tokens, tokens.make("x", Role.READ))
    with no_more_threads(monkeypatch), pytest.raises(RuntimeError), rooms.entered(person):
        pass
    assert rooms.count == 0
    with rooms.entered(person):
        tokens.revoke("x")
        with anyio.fail_after(120):
            await person.is_closed.wait()
