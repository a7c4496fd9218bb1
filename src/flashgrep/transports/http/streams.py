"""Websockets of uvicorn, with an end for peers that do not listen, and our code for large frames.

uvicorn reads ahead no further than one piece of a connection, and pings. What it lacks:

- A frame over the ceiling is closed with 1009, after which y-websocket comes again with the same
  frame, for ever. The connection is gone at once, too, and a peer that is still sending is told
  that by the operating system before it has read any close: so what comes is read and dropped.
- A close waits, without end, behind what a peer does not read; so does the one after a ping that
  nobody answered.
"""

from __future__ import annotations

import logging
from typing import Any, Final

from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import CloseCode
from websockets.server import ServerProtocol

from flashgrep import limits

TOO_LARGE: Final = 4413


class _Wire(ServerProtocol):
    def fail(self, code: int, reason: str = "") -> None:
        if code == CloseCode.MESSAGE_TOO_BIG:
            code, reason = TOO_LARGE, "too large"
        super().fail(code, reason)


class LiveSocket(WebSocketsSansIOProtocol):
    """One websocket connection."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        logger = logging.getLogger("uvicorn.error")
        self.conn = _Wire(max_size=limits.LIVE_MESSAGE_BYTES, logger=logger)
        self._is_deaf = False

    @property
    def is_leaving(self) -> bool:
        """Whether it was told to close, and has only to say that it heard."""
        return bool(self.close_sent)

    def data_received(self, data: bytes) -> None:
        if not self._is_deaf:
            super().data_received(data)

    def handle_parser_exception(self) -> None:
        self._is_deaf = True
        told = self.conn.close_sent
        event = {"type": "websocket.disconnect", "code": told.code if told else 1006}
        self.queue.put_nowait(event)  # type: ignore[arg-type]
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = True
        self.transport.write_eof()
        if self.read_paused:
            self.read_paused = False
            self.transport.resume_reading()
        self.close_timer = self.loop.call_later(limits.CLOSE_SECONDS, self.transport.abort)

    def keepalive_timeout(self) -> None:
        if self.read_paused:  # the answer may be behind what we do not read yet
            self.pong_timer = self.loop.call_later(limits.PING_SECONDS, self.keepalive_timeout)
            return
        self.loop.call_later(limits.CLOSE_SECONDS, self.transport.abort)
        super().keepalive_timeout()

    async def send(self, message: Any) -> None:
        if message["type"] == "websocket.send" and self.close_sent:
            raise ClientDisconnected  # uvicorn takes it for a defect of ours
        if message["type"] == "websocket.close" and self.handshake_complete:
            self.writable.set()
            self.loop.call_later(limits.CLOSE_SECONDS, self.transport.abort)
        await super().send(message)
