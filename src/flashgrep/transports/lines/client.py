"""The client of a line connection: JSON-RPC, one object per line, one call at a time.

The other end may be another version, or not flashgrep at all: whatever comes back counts as a
result, a failure, or the end of the connection.
"""

from __future__ import annotations

import itertools
import json
import math
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from flashgrep.errors import RemoteFailure
from flashgrep.transports.lines.messages import READ_CHUNK_BYTES


class ConnectionEnded(Exception):
    """The other end hung up, or sent something unasked; the reason."""


class NotJsonRpc(ConnectionEnded):
    """What came back is not JSON-RPC, or not the answer to the call."""


class NotSent(ConnectionEnded):
    """The other end had stopped reading: the call did not reach it."""


class LineClient:
    """Calls over a connected socket. Several threads may use it."""

    def __init__(
        self,
        connection: socket.socket,
        seconds: float = math.inf,
        ceiling: int | None = None,
        when_silent: Callable[[], None] | None = None,
    ) -> None:
        """Answers are awaited for so many `seconds`, and have at most `ceiling` bytes.

        `when_silent` is called instead of a `TimeoutError`, and raises to give up.
        """
        self.socket = connection
        self._seconds = seconds
        self._ceiling = ceiling
        self._when_silent = when_silent
        self._numbers = itertools.count()
        self._read = bytearray()
        self._turn = threading.Lock()

    @property
    def is_drained(self) -> bool:
        """Whether nothing was read after the last answer."""
        return not self._read

    def close(self) -> None:
        """Hang up."""
        self.socket.close()

    def hang_up(self) -> None:
        """End the connection while another thread waits for an answer, which then fails."""
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)

    def is_alive(self) -> bool:
        """Whether the other end has not hung up; asked while no answer is awaited."""
        try:
            return self.socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) != b""
        except BlockingIOError:
            return True
        except OSError:
            return False

    def call(
        self,
        method: str,
        params: Mapping[str, Any],
        heard: Callable[[Mapping[str, Any]], None] = lambda told: None,
        seconds: float | None = None,
    ) -> Any:
        """Call, and wait for the answer; `heard` gets the notifications before it.

        A failure is a `RemoteFailure`; without an answer it is a `ConnectionEnded` or a
        `TimeoutError`. `seconds` limits only this call.
        """
        when_silent = self._when_silent if seconds is None else None
        limit = self._seconds if seconds is None else seconds
        deadline = time.monotonic() + limit
        number = next(self._numbers)
        request = {"jsonrpc": "2.0", "id": number, "method": method, "params": dict(params)}
        with self._turn:
            timeout = self.socket.gettimeout()
            try:
                self._limit(deadline)
                self._send(json.dumps(request).encode("ascii") + b"\n")
                while (answer := self._answer(heard, deadline, when_silent)) is None:
                    deadline = time.monotonic() + limit
                self.socket.settimeout(timeout)
            except TimeoutError:
                raise
            except OSError as error:
                raise ConnectionEnded(f"closed the connection ({error})") from error
        if answer["id"] != number:
            raise NotJsonRpc("answers another call")
        return _result(answer)

    def _send(self, line: bytes) -> None:
        try:
            self.socket.sendall(line)
        except BrokenPipeError as error:  # a part of a line is not a call
            raise NotSent(f"closed the connection ({error})") from error

    def _answer(
        self,
        heard: Callable[[Mapping[str, Any]], None],
        deadline: float,
        when_silent: Callable[[], None] | None,
    ) -> dict[str, Any] | None:
        """The answer; None to wait once more."""
        try:
            while "id" not in (told := _object(self._line(deadline))):
                if not isinstance(told.get("params"), dict):
                    raise NotJsonRpc("sends something that is not JSON-RPC")
                heard(told["params"])
        except TimeoutError:
            if when_silent is None:
                raise
            when_silent()
            return None
        return told

    def _line(self, deadline: float) -> bytes:
        """The next line; one deadline for all of it, however it is spread."""
        searched = 0
        while (end := self._read.find(b"\n", searched)) < 0:
            searched = len(self._read)
            self._require_room(searched)
            self._limit(deadline)
            piece = self.socket.recv(READ_CHUNK_BYTES)
            if not piece:
                raise ConnectionEnded("closed the connection")
            self._read += piece
        self._require_room(len(self._read))
        line = bytes(self._read[: end + 1])
        del self._read[: end + 1]
        return line

    def _limit(self, deadline: float) -> None:
        """Let the next operation of the socket wait until the deadline."""
        if deadline < math.inf:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self.socket.settimeout(left)

    def _require_room(self, size: int) -> None:
        if self._ceiling is not None and size > self._ceiling:
            raise ConnectionEnded("says more than it was asked")


def _object(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise NotJsonRpc("sends something that is not JSON-RPC")
    return value


def _result(answer: Mapping[str, Any]) -> Any:
    failure = answer.get("error")
    try:
        if failure is None:
            return answer["result"]
        message, number, data = failure["message"], failure.get("code"), failure.get("data")
    except (TypeError, KeyError, AttributeError):
        raise NotJsonRpc("sends something that is not JSON-RPC") from None
    details = dict(data) if isinstance(data, dict) else {}
    code = details.pop("code", "")
    raise RemoteFailure(str(message), str(code), details, number if isinstance(number, int) else 0)
