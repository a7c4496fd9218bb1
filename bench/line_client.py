"""The plainest client there is: a line out, a line in, on a server's unix socket."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bench.served import Server

_VERSION = "2025-06-18"


class LineClient:
    """An open connection after its handshake."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lines = connection.makefile("rb")
        self._number = 0
        client = {"name": "bench", "version": "1"}
        given = {"protocolVersion": _VERSION, "capabilities": {}, "clientInfo": client}
        self._ask("initialize", given)
        self._send({"method": "notifications/initialized"})

    def call(self, tool: str, arguments: dict[str, Any]) -> str:
        """The text of a call, refusals included."""
        result = self._ask("tools/call", {"name": tool, "arguments": arguments})
        return "".join(part["text"] for part in result["content"] if part["type"] == "text")

    def _ask(self, method: str, params: dict[str, Any]) -> Any:
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        answer = json.loads(self._lines.readline())
        if "result" not in answer:
            raise RuntimeError(f"{method}: {answer.get('error')}")
        return answer["result"]

    def _send(self, message: dict[str, Any]) -> None:
        self._connection.sendall(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


@contextmanager
def line_client(server: Server) -> Iterator[LineClient]:
    """A new client."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(server.socket)
        yield LineClient(connection)
