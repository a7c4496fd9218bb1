"""Asks the owner of a knowledge base on its socket: one connection, one question at a time."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from flashgrep import limits
from flashgrep.kb.home import SOCKET
from flashgrep.kb.ownership import NoOwner, OwnerGone, Refused
from flashgrep.transports.unixsocket import reach_at


class OwnerClient:
    """A connection to the owner. May be used by several threads."""

    def __init__(self, home: Path) -> None:
        """Connect, or `NoOwner`."""
        self.home = home
        path = home / SOCKET
        try:
            self._socket = reach_at(path, limits.JOIN_SECONDS)
        except OSError as error:
            raise NoOwner(f"nobody answers on {path} ({error.strerror or error})") from None
        self._socket.settimeout(None)
        self._lines = self._socket.makefile("rb")
        self._turn = threading.Lock()

    def close(self) -> None:
        """Hang up."""
        self._lines.close()
        self._socket.close()

    def hang_up(self) -> None:
        """End the connection while another thread waits for an answer, which then fails."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def is_alive(self) -> bool:
        """Whether the owner has not hung up; asked while no answer is awaited."""
        try:
            return self._socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) != b""
        except BlockingIOError:
            return True
        except OSError:
            return False

    def call(
        self,
        method: str,
        params: Mapping[str, Any],
        heard: Callable[[Mapping[str, Any]], None] = lambda told: None,
    ) -> Any:
        """Ask, and wait for the answer; `heard` is given what the owner tells before it."""
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": dict(params)}
        with self._turn:
            try:
                self._socket.sendall(json.dumps(request).encode("ascii") + b"\n")
                while "id" not in (answer := json.loads(self._lines.readline())):
                    heard(answer["params"])
            except (OSError, ValueError) as error:
                raise OwnerGone(
                    f"the process that owns {self.home} ended before it answered {method}, which "
                    "may be done or not; look, and ask again"
                ) from error
        failure = answer.get("error")
        if failure is not None:
            data = dict(failure.get("data") or {})
            raise Refused(failure["message"], str(data.pop("code", "")), data)
        return answer["result"]
