"""A real `flashgrep mcp` to be killed, starved and overfed, spoken to in plain lines."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.transports.clients import FLASHGREP, HANDSHAKE, environment, request, tool_call
from tests.warm import Warm

_HEAVY = os.environ.get("FLASHGREP_HEAVY") == "1"


class Victim:
    """A running server; `send` and `receive` are messages, `call` is a tool's text."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        assert process.stdin is not None
        assert process.stdout is not None
        self._sink, self._source = process.stdin, process.stdout

    def send(self, message: dict[str, Any]) -> None:
        self._sink.write(json.dumps(message).encode() + b"\n")
        self._sink.flush()

    def receive(self) -> Any:
        """The next answer; None when the server is dead."""
        line = self._source.readline()
        return json.loads(line) if line.endswith(b"\n") else None

    def start(self) -> None:
        self.send(request("initialize", 0, **HANDSHAKE))
        assert "result" in self.receive()
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, tool: str, /, **arguments: Any) -> tuple[str, str | None]:
        """The text of an answer, and its code if it is a refusal."""
        self.send(tool_call(tool, 1, **arguments))
        result = self.receive()["result"]
        code = result.get("_meta", {}).get("flashgrep/error")
        return result["content"][0].get("text", ""), code

    def text(self, tool: str, /, **arguments: Any) -> str:
        """The text of a call that must succeed."""
        text, code = self.call(tool, **arguments)
        assert code is None, f"{code}: {text[:500]}"
        return text

    def close(self) -> None:
        self.process.kill()
        with suppress(BrokenPipeError):
            self._sink.close()


@contextmanager
def victim(
    top: Path,
    flags: Sequence[str] = (),
    prefix: Sequence[str] = (),
    cache: Path | None = None,
) -> Iterator[Victim]:
    """A server on `top/ws` with its state in `top/state`; it is gone after the block.

    With `cache` its state is where it would be by itself, in that directory.
    """
    own = ["--workdir", str(top / "ws")]
    own += ["--state-dir", str(top / "state")] if cache is None else []
    home = {} if cache is None else {"XDG_CACHE_HOME": str(cache)}
    # Memory that is shared with the process it was forked from would be counted wrong.
    start = subprocess.Popen if prefix or _HEAVY else Warm
    with start(
        [*prefix, *FLASHGREP, "mcp", *own, *flags],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(top) | home,
    ) as process:
        made = Victim(process)
        try:
            made.start()
            yield made
        finally:
            made.close()
