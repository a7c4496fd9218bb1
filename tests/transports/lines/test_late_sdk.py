"""Before the SDK is there: what is answered without it, and what waits for it.

A server whose import of the SDK waits until the test lets it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from flashgrep.notes.home import Home
from tests.transports.clients import HANDSHAKE, PATIENCE_SECONDS, environment, request, tool_call

GATED = """
import pathlib, sys, time
gate = sys.argv.pop(1)

class Gate:
    def find_spec(self, name, path=None, target=None):
        if name in ("mcp", "mcp_types"):
            pathlib.Path(gate + ".asked").touch()
            while not pathlib.Path(gate).exists():
                time.sleep(0.01)

sys.meta_path.insert(0, Gate())
from flashgrep import cli
cli.main()
"""


class Gated:
    """A server on stdio, and the gate in front of the SDK."""

    def __init__(self, process: subprocess.Popen[bytes], gate: Path) -> None:
        self.process = process
        self._gate = gate

    def send(self, *messages: Any) -> None:
        assert self.process.stdin is not None
        for message in messages:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def receive(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the server has ended"
        return json.loads(line)

    def ask(self, method: str, number: Any, **params: Any) -> Any:
        self.send(request(method, number, **params))
        answer = self.receive()
        assert answer["id"] == number
        return answer

    @property
    def is_asked(self) -> bool:
        """Whether anything has needed the SDK."""
        return self._gate.with_name(f"{self._gate.name}.asked").exists()

    def open(self) -> None:
        self._gate.touch()


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@contextmanager
def gated(tmp_path: Path, *flags: str) -> Iterator[Gated]:
    work, gate = tmp_path / "work", tmp_path / "gate"
    work.mkdir(exist_ok=True)
    (work / "a.txt").write_text("needle\n", encoding="utf-8")
    command = [sys.executable, "-P", "-c", GATED, str(gate), "mcp", "--workdir", str(work), *flags]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(tmp_path)
    ) as process:
        server = Gated(process, gate)
        try:
            yield server
        finally:
            server.open()
            process.kill()


def shake(server: Gated) -> None:
    assert "result" in server.ask("initialize", "start", **HANDSHAKE)
    server.send({"jsonrpc": "2.0", "method": "notifications/initialized"})


GREP = {"name": "grep", "arguments": {"pattern": "needle"}}


@pytest.mark.parametrize("has_notes", [False, True])
def test_what_every_client_asks_is_answered_without_the_sdk(
    tmp_path: Path, has_notes: bool
) -> None:
    notes = Home.create(tmp_path / "kb").path if has_notes else None
    with gated(tmp_path, *(["--kb", str(notes)] if notes else [])) as server:
        shake(server)
        assert server.ask("ping", 1)["result"] == {}
        listed = server.ask("tools/list", 2)["result"]["tools"]
        assert "grep" in {tool["name"] for tool in listed}
        meta = {"progressToken": 7, "claudecode/toolUseId": "x"}
        for number, more in enumerate(({}, {"_meta": meta})):
            told = server.ask("tools/call", number, **GREP, **more)
            assert told["result"]["content"][0]["text"].startswith("a.txt")
        assert not server.is_asked


@pytest.mark.thorough
def test_what_needs_the_sdk_waits_for_it_and_nothing_waits_behind(tmp_path: Path) -> None:
    with gated(tmp_path, "--no-index") as server:
        shake(server)
        server.send(request("prompts/list", 1), request("resources/list", "1"))
        until(lambda: server.is_asked)
        assert server.ask("ping", 2)["result"] == {}
        assert "result" in server.ask("tools/call", 3, **GREP)
        server.send(request("initialize", 4, **HANDSHAKE), request("no/such", 5))
        server.send([request("ping", 6), request("prompts/list", 7), tool_call("stats", 8)])
        withdrawn = {"method": "notifications/cancelled", "params": {"requestId": 12}}
        server.send([request("ping", 13), request("prompts/list", 12)])
        server.send({"jsonrpc": "2.0", **withdrawn})
        assert server.receive() == [{"jsonrpc": "2.0", "id": 13, "result": {}}]
        written = {"file_path": str(tmp_path / "work" / "b.txt"), "content": "x"}
        write = {"name": "write", "arguments": written, "_meta": {"é": "is not plain"}}
        withdrawn = {"method": "notifications/cancelled", "params": {"requestId": 9}}
        server.send(request("tools/call", 9, **write), {"jsonrpc": "2.0", **withdrawn})
        assert server.ask("ping", 10)["result"] == {}
        server.open()
        told = [server.receive() for _ in range(5)]
        batch = next(answer for answer in told if isinstance(answer, list))
        assert {answer["id"] for answer in batch} == {6, 7, 8}
        by_id = {answer["id"]: answer for answer in told if isinstance(answer, dict)}
        assert by_id.keys() == {1, "1", 4, 5}
        missing = {"code": -32601, "message": "Method not found", "data": "prompts/list"}
        assert by_id[1]["error"] == missing
        assert by_id[4]["result"]["serverInfo"]["name"] == "flashgrep"
        assert server.ask("resources/list", 11)["error"]["code"] == -32601
        assert not (tmp_path / "work" / "b.txt").exists(), "it was withdrawn before it could run"


@pytest.mark.thorough
@pytest.mark.parametrize("is_signal", [False, True])
def test_a_server_whose_sdk_is_not_there_yet_can_end(tmp_path: Path, is_signal: bool) -> None:
    with gated(tmp_path, "--no-index") as server:
        shake(server)
        server.send(request("prompts/list", 1))
        until(lambda: server.is_asked)
        assert server.process.stdin is not None
        if is_signal:
            server.process.terminate()
        else:
            server.process.stdin.close()
            closed = {"code": -32000, "message": "Connection closed"}
            assert server.receive() == {"jsonrpc": "2.0", "id": 1, "error": closed}
        assert server.process.wait(PATIENCE_SECONDS) == 0


@pytest.mark.thorough
def test_a_protocol_without_handshake_waits_for_the_sdk_from_its_first_request(
    tmp_path: Path,
) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "modern", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    with gated(tmp_path, "--no-index") as server:
        server.send(request("tools/call", 1, **GREP, _meta=meta))
        until(lambda: server.is_asked)
        server.send(request("initialize", 2, **HANDSHAKE))
        server.open()
        told = {answer["id"]: answer for answer in (server.receive(), server.receive())}
        assert told[1]["result"]["content"][0]["text"].startswith("a.txt")
        assert told[2]["error"]["code"] == -32022
