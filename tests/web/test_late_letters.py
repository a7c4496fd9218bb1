"""Letters that the server has received reach the note, also where it moves or goes meanwhile."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator, MutableMapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from pycrdt import Doc, Text
from starlette.applications import Starlette

from flashgrep.notes.access.roles import Role
from flashgrep.notes.access.tokens import Tokens
from flashgrep.notes.document.note import CONTENTS
from flashgrep.notes.home import Home
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.notes.library import Library
from flashgrep.transports.access import ADMISSION, Entrance
from flashgrep.web import protocol
from flashgrep.web.events import Events
from flashgrep.web.protocol import Close
from flashgrep.web.rooms import Rooms, live_route

pytestmark = pytest.mark.anyio

PATIENCE_SECONDS = 120
PATH = "N.md"
LETTERS = "letters"


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    Home.create(tmp_path / "kb")
    made = KnowledgeBase(tmp_path / "kb")
    yield made
    made.close()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Editor:
    """A client of the websocket, as the server's ASGI side sees it."""

    def __init__(self, kb: KnowledgeBase, note: str) -> None:
        self.doc: Doc[Any] = Doc()
        self.doc.apply_update(kb.ask(lambda library: library.missing(note, self.doc.get_state())))
        self._text = self.doc.get(CONTENTS, type=Text)
        self._said: list[dict[str, Any]] = [{"type": "websocket.connect"}]
        self._more = asyncio.Event()
        self.is_heard = asyncio.Event()
        """The server has taken all that was said, and waits for more."""
        self.has_begun = asyncio.Event()
        self.is_closed = asyncio.Event()
        self.code = 0

    def type(self, letters: str) -> None:
        """One frame for each letter."""
        self.is_heard.clear()
        for letter in letters:
            before = self.doc.get_state()
            self._text += letter
            frame = protocol.update(self.doc.get_update(before))
            self._said.append({"type": "websocket.receive", "bytes": frame})
        self._more.set()

    async def receive(self) -> MutableMapping[str, Any]:
        if not self._said:
            self.is_heard.set()
        while not self._said:
            self._more.clear()
            await self._more.wait()
        return self._said.pop(0)

    async def send(self, event: MutableMapping[str, Any]) -> None:
        if event["type"] == "websocket.send":
            self.has_begun.set()
        elif event["type"] == "websocket.close":
            self.code = event["code"]
            self.is_closed.set()


@asynccontextmanager
async def editing(kb: KnowledgeBase, note: str) -> AsyncIterator[tuple[Editor, Tokens]]:
    """Somebody called ann at a note."""
    tokens = Tokens(kb.home.path)
    secret = tokens.make("ann", Role.WRITE)
    entrance, rooms = Entrance("server's", tokens), Rooms(tokens)
    app = Starlette(routes=[live_route(kb, rooms, entrance)])
    scope: dict[str, Any] = {
        "type": "websocket",
        "path": f"/kb/ws/{PATH}",
        "query_string": f"token={secret}".encode(),
        "headers": [],
        ADMISSION: entrance.admit(secret),
    }
    editor = Editor(kb, note)
    with anyio.fail_after(PATIENCE_SECONDS), Events(kb, tokens, rooms).listening():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(app, scope, editor.receive, editor.send)
            await editor.has_begun.wait()
            yield editor, tokens


def delete(library: Library) -> str:
    return library.delete(library.find(PATH).id).id


def move(library: Library) -> str:
    return library.catalogue.move(library.find(PATH).id, "Elsewhere/M.md").id


def move_and_delete(library: Library) -> str:
    with library.together():
        move(library)
        return library.delete(library.find("Elsewhere/M.md").id).id


@pytest.mark.parametrize("change", [delete, move, move_and_delete])
async def test_letters_received_before_a_note_goes_are_in_it(
    kb: KnowledgeBase, change: Callable[[Library], str]
) -> None:
    note = kb.ask(lambda library: library.create(PATH, "text ", "maker")).id
    async with editing(kb, note) as (editor, _):
        go_on = threading.Event()
        kb.submit(lambda _: go_on.wait(PATIENCE_SECONDS))
        changed = kb.submit(change)  # its turn comes before that of the letters
        editor.type(LETTERS)
        await editor.is_heard.wait()
        go_on.set()
        await editor.is_closed.wait()
    assert editor.code == Close.NO_NOTE
    assert changed.result() == note
    assert kb.read(note).text == "text " + LETTERS
    assert kb.ask(lambda library: library.head(note)).author == "ann"  # type: ignore[union-attr]


async def test_who_may_write_no_more_has_nothing_handed_over(kb: KnowledgeBase) -> None:
    note = kb.ask(lambda library: library.create(PATH, "text ", "maker")).id
    async with editing(kb, note) as (editor, tokens):
        go_on = threading.Event()
        kb.submit(lambda _: go_on.wait(PATIENCE_SECONDS))
        kb.submit(delete)
        editor.type(LETTERS)
        await editor.is_heard.wait()
        tokens.revoke("ann")
        go_on.set()
        await editor.is_closed.wait()
    assert kb.read(note).text == "text "
