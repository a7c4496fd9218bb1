"""Carries bytes between our standard streams and a server's socket.

The client sees what `flashgrep mcp` alone would show it: the same bytes, the same line discipline
(the server's own reader refuses what is broken or too long), an end within DRAIN_SECONDS of the end
of stdin. Each direction has a thread that writes before it reads more, so memory is bounded. A line
is passed on only when complete: it may take its time on stdio, but not on the server's socket.

When the server ends:
- before the client has sent anything, the caller of `run_proxy` serves on its own, unnoticed;
- later, every open request is answered with an error (-32000, `unavailable`) and the process ends
  with status 1. What was negotiated and which files were read is lost with the server, and a call
  may be half done: starting again is the client's decision.
"""

from __future__ import annotations

import itertools
import logging
import os
import select
import signal
import socket
import threading
from contextlib import suppress
from types import FrameType
from typing import Any

from flashgrep import limits
from flashgrep.system.atomic import write_all
from flashgrep.transports.lines import messages
from flashgrep.transports.lines.messages import (
    DRAIN_SECONDS,
    READ_CHUNK_BYTES,
    BadMessage,
    LineSplitter,
    decode,
    request_id_of,
)

log = logging.getLogger(__name__)

_HEAD = 1024
_DIED = "the flashgrep server ended before it answered; start flashgrep mcp again"


def run_proxy(connection: socket.socket, incoming: int = 0, outgoing: int = 1) -> int | None:
    """Serve the client on our streams through a server; the exit status.

    None where the server ended before a byte was passed on: the caller then serves by itself.
    """
    with connection, suppress(_Stopped, KeyboardInterrupt):
        signal.signal(signal.SIGTERM, _stop)
        if _is_dead_first(connection, incoming):
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            return None
        return _Pump(connection, incoming, outgoing).run()
    return 0


class _Stopped(Exception):
    """A signal asked us to end."""


def _stop(number: int, _: FrameType | None) -> None:
    log.info("stopping on %s", signal.Signals(number).name)
    raise _Stopped


def _is_dead_first(connection: socket.socket, incoming: int) -> bool:
    """Wait for the first byte of either side; whether the server has ended by then.

    Nothing has been passed on yet, so the client has lost nothing.
    """
    waiting = select.poll()
    waiting.register(connection, select.POLLIN)
    waiting.register(incoming, select.POLLIN)
    ready = [descriptor for descriptor, _ in waiting.poll()]
    if connection.fileno() not in ready:
        return False
    try:
        return not connection.recv(1, socket.MSG_PEEK)
    except ConnectionError:
        return True


class _Pump:
    def __init__(self, connection: socket.socket, incoming: int, outgoing: int) -> None:
        self._socket = connection
        self._in = incoming
        self._out = outgoing
        self._open = _OpenRequests()
        self._client_ended = threading.Event()
        self._server_ended = threading.Event()

    def run(self) -> int:
        threading.Thread(target=self._send, name="stdin", daemon=True).start()
        try:
            self._receive()
            if self._client_ended.is_set():
                return 0
            log.error("the server ended; %d requests were open", len(self._open.ids()))
            write_all(self._out, self._open.obituary())
        except BrokenPipeError:
            return 0  # the client is gone
        return 1

    # ── client to server ────────────────────────────────────────────────────────────────────────

    def _send(self) -> None:
        held = bytearray()
        try:
            while chunk := self._read():
                held += chunk
                whole = held.rfind(b"\n") + 1
                if len(held) > limits.MESSAGE_BYTES:
                    whole = len(held)  # too long for the server too, which says so
                if whole:
                    self._pass_on(bytes(held[:whole]))
                    del held[:whole]
            self._pass_on(bytes(held))
            self._client_ended.set()
            self._socket.shutdown(socket.SHUT_WR)
            self._server_ended.wait(DRAIN_SECONDS)
        except OSError as reason:
            log.debug("the server reads no more: %r", reason)
        # Wakes the other thread, whatever it waits for.
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def _read(self) -> bytes:
        try:
            return os.read(self._in, READ_CHUNK_BYTES)
        except OSError as reason:
            log.debug("stdin: %r", reason)
            return b""

    def _pass_on(self, data: bytes) -> None:
        self._open.asked(data)
        self._socket.sendall(data)

    # ── server to client ────────────────────────────────────────────────────────────────────────

    def _receive(self) -> None:
        try:
            while data := self._socket.recv(READ_CHUNK_BYTES):
                write_all(self._out, data)
                self._open.answered(data)
        except ConnectionError as reason:
            if isinstance(reason, BrokenPipeError):
                raise
            log.debug("the server is gone: %r", reason)
        finally:
            self._server_ended.set()


class _OpenRequests:
    """The requests sent but not answered, by the client's ids.

    Lines are parsed as they pass; any that the server refuses unread, or cannot have sent, are
    ignored.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[tuple[type, Any], int] = {}
        self._out = LineSplitter()
        self._back = LineSplitter()

    def asked(self, data: bytes) -> None:
        for message in itertools.chain.from_iterable(map(_messages, self._out.feed(data))):
            if message.get("method") == "notifications/cancelled":
                params = message.get("params")
                self._count(params.get("requestId") if isinstance(params, dict) else None, -1)
            elif "method" in message:
                self._count(message.get("id"), 1)

    def answered(self, data: bytes) -> None:
        for line in self._back.feed(data):
            # An answer of ours begins with its id: long ones are not read for it.
            first = self._back.dropped_id if line is None else request_id_of(line[:_HEAD], b"")
            if first is not None:
                self._count(first, -1)
                continue
            for message in _messages(line):
                if "method" not in message:
                    self._count(message.get("id"), -1)

    def ids(self) -> list[Any]:
        """The open ids; one used twice is listed twice."""
        with self._lock:
            return [key[1] for key, count in self._waiting.items() for _ in range(count)]

    def obituary(self) -> bytes:
        """The lines that report the end of the server to the client."""
        told = [
            messages.error(waiting, messages.SERVER_ERROR, _DIED, {"code": "unavailable"})
            for waiting in self.ids()
        ]
        # An answer that broke off must not spoil the next line.
        begun = b"\n" if self._back.begun else b""
        return begun + b"".join(messages.encode(answer) for answer in told)

    def _count(self, request_id: Any, step: int) -> None:
        if not isinstance(request_id, str | int):
            return
        key = (type(request_id), request_id)
        with self._lock:
            count = self._waiting.pop(key, 0) + step
            if count > 0:
                self._waiting[key] = count


def _messages(line: bytes | None) -> list[dict[str, Any]]:
    """The messages of a line; none in one that is refused anyway."""
    try:
        value = decode(line) if line else None
    except BadMessage:
        return []
    values = value if isinstance(value, list) else [value]
    return [message for message in values if isinstance(message, dict)]
