"""A client of `flashgrep mcp` that adds next to nothing to what it times: JSON on pipes."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from bench.served import FLASHGREP, Server, environment
from bench.starting import INITIALIZE


class Session:
    """A server that has just been started."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.server = Server(process.pid, "", "")
        self._process = process
        self._count = 1

    def begin(self) -> None:
        """Have `initialize` answered."""
        self._ask(INITIALIZE)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, tool: str, **arguments: Any) -> str:
        """The text of an answer; a refusal ends the run."""
        self._count += 1
        params = {"name": tool, "arguments": arguments}
        asked = {"jsonrpc": "2.0", "id": self._count, "method": "tools/call", "params": params}
        result = self._ask(asked)
        text: str = result["content"][0]["text"]
        if result.get("isError"):
            raise RuntimeError(f"{tool}: {text}")
        return text

    def timed(self, tool: str, **arguments: Any) -> float:
        """The seconds that a call takes."""
        begin = perf_counter()
        self.call(tool, **arguments)
        return perf_counter() - begin

    def _ask(self, message: dict[str, Any]) -> Any:
        self._send(message)
        assert self._process.stdout is not None
        for line in self._process.stdout:
            answer = json.loads(line)
            if answer.get("id") == message["id"]:
                return answer["result"]
        raise RuntimeError("the server ended")

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()


@contextmanager
def started(*flags: str) -> Iterator[Session]:
    """Start a server; it is gone afterwards."""
    with (
        tempfile.TemporaryDirectory(prefix="flashgrep-bench-") as state,
        subprocess.Popen(
            [FLASHGREP, "mcp", "--state-dir", state, *flags],
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process,
    ):
        try:
            yield Session(process)
        finally:
            process.kill()
