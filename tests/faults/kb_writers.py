"""Writers on a served knowledge base that outlive their server, and know what was acknowledged.

An agent's edit is acknowledged by its answer. What a peer typed is acknowledged when the server,
asked after it, has answered: it works off frames in their order. What came from another is
acknowledged too, since only what is durable is told on.

A word is written once by one writer. Peers put theirs on lines of their own; agents put theirs in
place of a slot, which leaves `{--slot--}{++word++}`.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any, Final

from tests.transports.clients import HANDSHAKE, RawLines, request, tool_call
from tests.web.live import Live
from tests.web.served import TOKEN, Served
from websockets.exceptions import WebSocketException

from flashgrep.notes.document.text import SharedText, TextSplice
from flashgrep.web import protocol

NOTES: Final = ("Shared.md", "Folder/Other.md")
WORD: Final = re.compile(r"(?:agent|peer)\d\.\d+;")
SLOTS: Final = 300
AGENTS: Final = ("agent1", "agent2")
PEERS: Final = ("peer1", "peer2", "peer3")
_CUT_OFF: Final = (OSError, EOFError, WebSocketException, json.JSONDecodeError)


def text_at_start() -> str:
    """A line for each edit that the note's agent may make."""
    return "# Ünïcode 😀\n" + "".join(f"slot {number}.\n" for number in range(SLOTS))


class Typist(Live):
    """A peer that types and deletes anywhere, and asks whether it has arrived."""

    def splice(self, splice: TextSplice) -> None:
        before = self.doc.get_state()
        SharedText(self._text).splice([splice])
        self.send(protocol.update(self.doc.get_update(before)))

    def confirm(self) -> None:
        """Ask the server what we lack: the answer comes after all that we sent is durable."""
        self.is_synced = False
        self.sync()


class Writer:
    """What was said of one's words, and of words of others that came by."""

    def __init__(self, name: str, note: str, chance: Random) -> None:
        self.name = name
        self.note = note
        self.chance = chance
        self.there: set[str] = set()
        self.unsure: set[str] = set()
        """Words that were about to be deleted."""
        self.gone: set[str] = set()
        self._count = 0

    def word(self) -> str:
        self._count += 1
        return f"{self.name}.{self._count};"

    def own(self) -> set[str]:
        """Words of one's own that were acknowledged, deleted since or not."""
        return {word for word in self.there | self.gone if word.startswith(self.name)}

    def write(self, server: Served, killed: threading.Event) -> None:
        """Work until the server is killed; if it breaks off before, that is an error."""
        try:
            self._work(server)
        except _CUT_OFF:
            if not killed.is_set():
                raise

    def _work(self, server: Served) -> None:
        raise NotImplementedError


class Agent(Writer):
    """Edits over the unix socket; what was not answered is asked again after the restart."""

    def __init__(self, name: str, note: str, chance: Random) -> None:
        super().__init__(name, note, chance)
        self._asked: tuple[str, str] | None = None
        self._slots = [f"slot {number}." for number in range(SLOTS)]
        chance.shuffle(self._slots)
        self.repeated = 0

    def _work(self, server: Served) -> None:
        with RawLines(server.server.open_unix()) as lines:
            client = {"name": self.name, "version": "1"}
            _answer(lines, request("initialize", **{**HANDSHAKE, "clientInfo": client}))
            lines.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
            self._call(lines, "read")
            self.repeated += self._asked is not None
            while self._asked or self._slots:
                self._asked = self._asked or (self._slots.pop(), self.word())
                old, new = self._asked
                self._call(lines, "edit", old_string=old, new_string=new)
                self.there.add(new)
                self._asked = None

    def _call(self, lines: RawLines, tool: str, **arguments: str) -> None:
        call = tool_call(tool, file_path=f"kb://{self.note}", **arguments)
        result = _answer(lines, call)
        assert not result.get("isError"), result


def _answer(lines: RawLines, message: dict[str, Any]) -> dict[str, Any]:
    lines.send(message)
    if (answer := lines.receive()) is None:
        raise EOFError
    result: dict[str, Any] = answer["result"]
    return result


class Peer(Writer):
    """Types into a document that it keeps, and deletes some of its words again."""

    def __init__(self, name: str, note: str, chance: Random) -> None:
        super().__init__(name, note, chance)
        self._kept = b""
        self._typed: set[str] = set()
        self._deleting: set[str] = set()
        self._deletable: set[str] = set()

    def _work(self, server: Served) -> None:
        with self._opened(server) as live:
            while True:
                for _ in range(self.chance.randint(1, 4)):
                    self._change(live)
                self._confirm(live)

    def catch_up(self, server: Served) -> str:
        """Have all that is on the server, and it all of ours; gives the text."""
        with self._opened(server) as live:
            self._confirm(live)
            return live.text

    @contextmanager
    def _opened(self, server: Served) -> Iterator[Typist]:
        """A connection with what is kept, which is kept again when it breaks."""
        with Typist.opened(server.url(self.note, token=TOKEN)) as live:
            assert isinstance(live, Typist)
            if self._kept:
                live.doc.apply_update(self._kept)
            try:
                live.sync()
                yield live
            finally:
                self._kept = live.doc.get_update()
                self.there |= set(WORD.findall(live.text)) - self._typed

    def _change(self, live: Typist) -> None:
        text = live.text
        own = [word for word in WORD.findall(text) if word in self._deletable]
        if own and self.chance.random() < 0.2:
            word = self.chance.choice(own)
            self._deletable.remove(word)
            self.unsure.add(word)
            self._deleting.add(word)
            at = text.index(word)
            live.splice(TextSplice(at, at + len(word) + 1))
        else:
            word = self.word()
            self._typed.add(word)
            at = self.chance.choice([found.end() for found in re.finditer("\n", text)])
            live.splice(TextSplice(at, at, word + "\n"))

    def _confirm(self, live: Typist) -> None:
        live.confirm()
        self.there |= self._typed
        self._deletable |= self._typed
        self.gone |= self._deleting
        self._typed, self._deleting = set(), set()


def writers(seed: str) -> tuple[list[Agent], list[Peer]]:
    """Two agents and three peers; both notes have writers of both kinds."""
    places = {"agent1": 0, "agent2": 1, "peer1": 0, "peer2": 0, "peer3": 1}
    made = {name: (name, NOTES[at], Random(f"{seed}.{name}")) for name, at in places.items()}
    return [Agent(*made[name]) for name in AGENTS], [Peer(*made[name]) for name in PEERS]
