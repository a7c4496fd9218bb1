"""Direct JSON-RPC methods on a server's unix socket, for what is asked and not timed."""

from __future__ import annotations

import json
import socket
from typing import Any

from bench.served import Server


def ask(server: Server, method: str, params: dict[str, Any] | None = None) -> Any:
    """The result of one method, over a new connection."""
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(server.socket)
        connection.sendall(json.dumps(message).encode() + b"\n")
        with connection.makefile("rb") as lines:
            answer = json.loads(lines.readline())
    if "result" not in answer:
        raise RuntimeError(f"{method}: {answer.get('error')}")
    return answer["result"]
