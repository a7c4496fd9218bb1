"""A peer that speaks y-websocket's protocol by hand, over a real websocket."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pycrdt import Doc, Text
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from flashgrep.notes.document.note import CONTENTS
from flashgrep.web import protocol
from flashgrep.web.protocol import FrameKind, Present

PATIENCE_SECONDS = 120


class Live:
    """One connection, and the document behind it."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.doc: Doc[Any] = Doc()
        self._text = self.doc.get(CONTENTS, type=Text)
        self.seen: dict[int, Present] = {}
        self.asked = 0
        """How often the server wanted to know what we have."""
        self.is_synced = False
        self.heard = 0
        """How many frames came."""

    @classmethod
    @contextmanager
    def opened(
        cls, url: str, headers: Mapping[str, str] | None = None, ahead: int = 16
    ) -> Iterator[Live]:
        """`ahead` is how many frames are read before they are asked for."""
        given = {name.replace("_", "-"): value for name, value in (headers or {}).items()}
        with connect(
            url,
            additional_headers=given,
            open_timeout=PATIENCE_SECONDS,
            close_timeout=1,
            max_size=None,
            max_queue=ahead,
            proxy=None,
        ) as socket:
            yield cls(socket)

    @property
    def text(self) -> str:
        return str(self._text)

    def sync(self) -> Live:
        """Ask for all there is, and wait for it."""
        self.is_synced = False
        self.send(protocol.have(self.doc.get_state()))
        self.until(lambda: self.is_synced and self.asked > 0)
        return self

    def send(self, frame: bytes | str) -> None:
        self.socket.send(frame)

    def type(self, text: str, is_sent: bool = True, after: str | None = None) -> bytes:
        """Put a text at the end, or after some words; gives the update."""
        before = self.doc.get_state()
        if after is None:
            self._text += text
        else:
            self._text.insert(self.text.index(after) + len(after), text)
        update = self.doc.get_update(before)
        if is_sent:
            self.send(protocol.update(update))
        return update

    def until(self, done: Callable[[], bool]) -> None:
        """Hear what comes until something is so."""
        while not done():
            self.hear()

    def hear(self) -> None:
        """Take one frame, as a provider does."""
        frame = self.socket.recv(timeout=PATIENCE_SECONDS)
        assert isinstance(frame, bytes)
        self.heard += 1
        kind, data = protocol.parse(frame)
        if kind is FrameKind.HAVE:
            self.asked += 1
            self.send(protocol.lack(self.doc.get_update(data)))
        elif kind in (FrameKind.LACK, FrameKind.UPDATE):
            self.doc.apply_update(data)
            self.is_synced = self.is_synced or kind is FrameKind.LACK
        elif kind is FrameKind.PRESENCE:
            for one in protocol.parse_presence(data):
                self.seen[one.client] = one

    def closed(self) -> int:
        """Hear until the server closes; gives the code."""
        try:
            while True:
                self.socket.recv(timeout=PATIENCE_SECONDS)
        except ConnectionClosed as end:
            return end.rcvd.code if end.rcvd else 0
