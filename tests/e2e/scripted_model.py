"""A model on loopback that plays a list of tool calls, and the real Claude Code that asks it.

    with Model([("mcp__flashgrep__grep", {"pattern": "x"})]) as model:
        claude = ClaudeCode(program, home, workdir, {"flashgrep": {"command": …, "args": […]}})
        claude.run(model)
    model.tools     the tools named in the first request
    model.results   what each call came back with, as the model was shown it

The model speaks just enough of the messages API: a stream with one text or one tool call.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

Call = tuple[str, dict[str, Any]]

_SECONDS = 120


class Model:
    """Plays calls one after the other, then says it is done."""

    def __init__(self, calls: Sequence[Call]) -> None:
        self._calls = list(calls)
        self._played = 0
        self.asked: list[dict[str, Any]] = []
        """The requests that had tools, in order."""
        self._httpd = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._httpd.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._httpd.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._httpd.shutdown()
        self._httpd.server_close()

    @property
    def tools(self) -> list[str]:
        """The tools that the first request named."""
        return [tool["name"] for tool in self.asked[0]["tools"]]

    @property
    def results(self) -> list[str]:
        """The text of each call's result, in the order of the calls."""
        blocks = [
            block
            for message in self.asked[-1]["messages"]
            for block in (message["content"] if isinstance(message["content"], list) else ())
            if block["type"] == "tool_result"
        ]
        return [_text(block["content"]) for block in blocks]

    def answer(self, asked: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """The id of the message and the one block in it that answer a request."""
        if not asked.get("tools"):
            return "msg_aside", {"type": "text", "text": "{}"}
        self.asked.append(asked)
        message = f"msg_{len(self.asked)}"
        if self._played == len(self._calls):
            return message, {"type": "text", "text": "done"}
        name, arguments = self._calls[self._played]
        self._played += 1
        block = {"type": "tool_use", "id": f"toolu_{self._played}", "name": name}
        return message, block | {"input": arguments}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        model = self

        class Handler(BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                self._send("application/json", b"")

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                if not self.path.startswith("/v1/messages") or "count_tokens" in self.path:
                    self._send("application/json", b'{"input_tokens":1}')
                    return
                message, block = model.answer(body)
                self._send("text/event-stream", _stream(message, body["model"], block))

            def _send(self, kind: str, data: bytes) -> None:
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_request(self, code: object = "-", size: object = "-") -> None:
                """Nothing to stderr."""

        return Handler


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(block.get("text", "") for block in content)


def _stream(message: str, model: str, block: dict[str, Any]) -> bytes:
    return b"".join(
        f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
        for event in _events(message, model, block)
    )


def _events(message: str, model: str, block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    is_call = block["type"] == "tool_use"
    usage = {"input_tokens": 1, "output_tokens": 1}
    begun = {"id": message, "type": "message", "role": "assistant", "model": model, "content": []}
    yield {"type": "message_start", "message": begun | {"stop_reason": None, "usage": usage}}
    empty: dict[str, Any] = {"input": {}} if is_call else {"text": ""}
    yield {"type": "content_block_start", "index": 0, "content_block": block | empty}
    if is_call:
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    else:
        delta = {"type": "text_delta", "text": block["text"]}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    stop = {"stop_reason": "tool_use" if is_call else "end_turn", "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 1}}
    yield {"type": "message_stop"}


@dataclass(frozen=True)
class ClaudeCode:
    """The program, in a home of its own, with these MCP servers and no others."""

    program: str
    home: Path
    workdir: Path
    servers: Mapping[str, Any]

    def run(self, model: Model) -> str:
        """Ask the model once, until it is done; what Claude Code has logged meanwhile."""
        config, log = self.home / "mcp.json", self.home / "claude.log"
        config.write_text(json.dumps({"mcpServers": self.servers}), encoding="utf-8")
        command = [self.program, "-p", "go", "--strict-mcp-config", "--mcp-config", str(config)]
        allowed = ",".join(f"mcp__{name}" for name in self.servers)
        subprocess.run(
            [*command, "--allowedTools", allowed, "--debug-file", str(log)],
            cwd=self.workdir,
            env=self._environment(model),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            timeout=_SECONDS,
            check=True,
        )
        return log.read_text(encoding="utf-8") if log.exists() else ""

    def _environment(self, model: Model) -> dict[str, str]:
        nowhere = "http://127.0.0.1:9"
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": "none",
            # As with the real model: tools are named when they are looked for, unless they ask.
            "ENABLE_TOOL_SEARCH": "true",
            # The first request waits until the servers are connected, as a person's would.
            "MCP_CONNECTION_NONBLOCKING": "0",
            "MCP_CONNECT_TIMEOUT_MS": "60000",
            "MCP_TIMEOUT": "60000",
            # Nothing leaves this machine.
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "HTTPS_PROXY": nowhere,
            "HTTP_PROXY": nowhere,
            "NO_PROXY": "127.0.0.1,localhost",
        }
