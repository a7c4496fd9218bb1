"""Hostile and broken input on every transport: the server lives, memory is bounded, others work."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any, Protocol

import pytest

from tests.transports.clients import (
    HANDSHAKE,
    PATIENCE_SECONDS,
    TINY,
    RawLines,
    Server,
    environment,
    request,
    serving,
    tool_call,
)
from tests.warm import Warm

HEAVY = os.environ.get("FLASHGREP_HEAVY") == "1"
FLOOD_BYTES = 200_000_000 if HEAVY else 12_000_000
ADDED_BYTES = 8 * 1024 * 1024
CHUNK = b"x" * 65536


class Peer(Protocol):
    """A client that sends any bytes; how big the server is."""

    def send(self, *lines: Any) -> None: ...
    def receive(self) -> Any: ...
    def resident(self) -> int: ...
    def raw(self, data: bytes) -> None: ...


class SocketPeer(RawLines):
    def __init__(self, server: Server, connection: socket.socket) -> None:
        super().__init__(connection)
        self._server = server

    def resident(self) -> int:
        return self._server.resident_bytes()

    def raw(self, data: bytes) -> None:
        self.connection.sendall(data)


class StdioPeer:
    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def send(self, *lines: Any) -> None:
        for line in lines:
            self.raw((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n")

    def raw(self, data: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(data)
        self._process.stdin.flush()

    def receive(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def resident(self) -> int:
        status = Path(f"/proc/{self._process.pid}/statm").read_text(encoding="ascii")
        return int(status.split()[1]) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def peer(kind: str, server: Server, tmp_path: Path) -> Iterator[Peer]:
    if kind != "stdio":
        with SocketPeer(
            server, server.open_tcp() if kind == "tcp" else server.open_unix()
        ) as client:
            yield client
        return
    with Warm[bytes](
        [*TINY, "mcp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(tmp_path),
    ) as process:
        yield StdioPeer(process)


def greet(client: Peer) -> None:
    """Any first answer: the server is up, and TCP's first line was a good one."""
    client.send(request("ping", 0))
    assert client.receive()["id"] == 0


def alive(client: Peer) -> None:
    client.send(request("ping", "alive"))
    assert client.receive()["id"] == "alive"


KINDS = pytest.mark.parametrize("kind", ["stdio", "tcp", "unix"])

NOISE: list[tuple[bytes, int]] = [
    (b"\xff\xfe\xfd", -32700),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\xff"}}', -32700),
    (b"[" * 1_000_000, -32600),
    (b'{"a":' * 1_000_000, -32600),
    (b"[" * 100 + b"]" * 100, -32600),
    (b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"ping"}', -32700),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping"', -32700),
    (b"\x00" * 1000, -32700),
    (b"[]", -32600),
    (b"1", -32600),
    (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
    (b"[" + b"1," * 101 + b"1]", -32600),
]


@KINDS
def test_noise_is_answered_and_the_connection_lives(
    kind: str, server: Server, tmp_path: Path
) -> None:
    with peer(kind, server, tmp_path) as client:
        greet(client)
        for line, code in NOISE:
            client.send(line)
            answer = client.receive()
            assert (answer["id"], answer["error"]["code"]) == (None, code), line[:60]
            alive(client)


@KINDS
def test_a_flood_in_one_line_is_refused_without_being_kept(
    kind: str, server: Server, tmp_path: Path
) -> None:
    with peer(kind, server, tmp_path) as client:
        greet(client)
        before = client.resident()
        for _ in range(FLOOD_BYTES // len(CHUNK)):
            client.raw(CHUNK)
        during = client.resident()
        client.raw(b"\n")
        answer = client.receive()
        assert answer["error"]["code"] == -32600
        assert answer["error"]["data"] == {"code": "too_large"}
        assert "4194304" in answer["error"]["message"]
        assert max(during, client.resident()) - before < ADDED_BYTES
        alive(client)


FRAMES = 100_000 if HEAVY else 2_000
SEEDS = [
    request("initialize", 1, **HANDSHAKE),
    request("tools/list", "two"),
    tool_call("echo", 3, text="a é 😀"),
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    [request("ping", 4), tool_call("missing", 5)],
]


def mutated(random: Random) -> bytes:
    """A message with a few bytes changed, cut out, doubled or put in; never with a newline."""
    line = bytearray(json.dumps(random.choice(SEEDS), ensure_ascii=random.random() < 0.5).encode())
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(line))
        change = random.randrange(4)
        if change == 0:
            line[at] = random.randrange(256)
        elif change == 1:
            del line[at : at + random.randint(1, 8)]
        elif change == 2:
            line[at:at] = line[at : at + random.randint(1, 8)]
        else:
            line[at:at] = random.choice([b"[", b"{", b'"', b"\\", b",", b"\xff", b"null", b"1e9"])
        if not line:
            break
    return bytes(line).replace(b"\n", b" ")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", ["tcp", "unix"])
def test_a_valid_request_is_answered_after_any_mutated_frame(kind: str, server: Server) -> None:
    random = Random(7)
    with SocketPeer(server, server.open_tcp() if kind == "tcp" else server.open_unix()) as client:
        client.start()
        for number in range(FRAMES // 10):
            client.send(*(mutated(random) for _ in range(10)))
            client.send(request("ping", f"after {number}"))
            while answer_id(client.receive()) != f"after {number}":
                pass


def answer_id(answer: Any) -> Any:
    assert answer is not None, "the connection was closed"
    return answer.get("id") if isinstance(answer, dict) else None


@KINDS
def test_half_a_message_hurts_nobody_else(kind: str, server: Server, tmp_path: Path) -> None:
    with peer(kind, server, tmp_path) as client, RawLines(server.open_unix()) as other:
        greet(client)
        client.raw(b'{"jsonrpc":"2.0","id":1,"met')
        assert other.ask("ping", 5)["id"] == 5
        client.raw(b'hod":"ping"}\n')
        assert client.receive()["id"] == 1


@KINDS
def test_a_lone_surrogate_in_an_argument_is_told_by_name(
    kind: str, server: Server, tmp_path: Path
) -> None:
    with peer(kind, server, tmp_path) as client:
        client.send(
            request("initialize", 1, **HANDSHAKE),
            b'{"jsonrpc":"2.0","id":2,"method":"tools/call",'
            b'"params":{"name":"echo","arguments":{"text":"\\ud800"},'
            b'"_meta":{"progressToken":"\\ud800"}}}',
        )
        client.receive()
        answer = client.receive()
        text = json.dumps(answer)
        assert "surrogate" in text or answer["error"]["code"] == -32602
        alive(client)


@pytest.mark.parametrize("kind", ["tcp", "unix", "http"])
def test_five_hundred_idle_connections_keep_nobody_out(kind: str, server: Server) -> None:
    opened = {"tcp": server.open_tcp, "unix": server.open_unix, "http": server.open_http}[kind]
    with ExitStack() as idle:
        for _ in range(500):
            idle.enter_context(opened())
        for _ in range(3):
            if kind == "http":
                assert get_health(server).startswith(b"HTTP/1.1 200")
            else:
                with RawLines(opened()) as client:
                    assert client.ask("ping", 1)["id"] == 1


def get_health(server: Server) -> bytes:
    with server.open_http() as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return connection.recv(65536)


def test_a_connection_that_speaks_outlives_five_hundred_idle_ones(server: Server) -> None:
    with RawLines(server.open_tcp()) as client, ExitStack() as idle:
        client.start()
        first, *_ = [idle.enter_context(server.open_tcp()) for _ in range(500)]
        assert first.recv(1) == b""
        client.send(tool_call("echo", 1, text="still here"))
        assert client.receive()["result"]["content"][0]["text"] == "still here"


SHORT = {f"limits.{name}_SECONDS": 0.3 for name in ("LINE", "HEADER", "BODY")}


@pytest.mark.thorough
def test_what_is_begun_must_end_in_time(tmp_path: Path) -> None:
    """A half-sent line, head or body is closed; a connection that is merely quiet is not."""
    (tmp_path / "w").mkdir()
    with serving(tmp_path / "w", tools=TINY, limits=SHORT) as server, ExitStack() as stack:
        quiet = stack.enter_context(RawLines(server.open_unix()))
        quiet.start()
        head = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
        head += (server.token or "").encode() + b"\r\nContent-Length: 1000\r\n"
        halves = [
            (server.open_tcp(), b'{"jsonrpc":'),
            (server.open_unix(), b"x" * 5_000_000),
            (server.open_http(), b"GET /hea"),
            (server.open_http(), b""),
            (server.open_http(), head),
        ]
        for connection, half in halves:
            stack.enter_context(connection)
            with suppress(BrokenPipeError, ConnectionResetError):  # its time may be over already
                connection.sendall(half)
        assert [read_to_end(connection) for connection, _ in halves] == [b""] * 5
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (told := _half_a_body(server, head)):  # on a busy machine the head was too late
            assert time.monotonic() < deadline, "half a body is closed without a word"
        assert told.startswith(b"HTTP/1.1 408")
        assert quiet.ask("ping", 3)["id"] == 3


def _half_a_body(server: Server, head: bytes) -> bytes:
    with server.open_http() as connection, suppress(BrokenPipeError, ConnectionResetError):
        connection.sendall(head + b'\r\n{"a":')
        return read_to_end(connection)
    return b""


def read_to_end(connection: socket.socket) -> bytes:
    """Everything until the server closes; a server that never does is a timeout."""
    connection.settimeout(PATIENCE_SECONDS)
    received = b""
    try:
        while piece := connection.recv(65536):
            received += piece
    except ConnectionResetError:
        pass
    return received
