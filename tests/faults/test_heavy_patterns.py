"""Patterns that would keep a machine busy for hours: nobody else waits, and they can be stopped.

`FLASHGREP_HEAVY=1 pytest tests/faults/test_heavy_patterns.py -s` puts on the whole load, twelve
connections with eight calls each, and prints how long another client's searches took meanwhile.
"""

from __future__ import annotations

import json
import os
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.faults.processes import children, wait_until, wait_until_gone
from tests.faults.telling import tell
from tests.faults.victim import victim
from tests.transports.clients import HANDSHAKE, RawLines, Server, request, serving, tool_call

HEAVY = os.environ.get("FLASHGREP_HEAVY") == "1"
CONNECTIONS, CALLS = (12, 8) if HEAVY else (3, 4)
SEARCHES = 1_000 if HEAVY else 5
SLOWEST_SECONDS = 0.1
FREED_SECONDS = 0.2
PATTERN = ".*[a-h]" + 6 * ".{1000}" + "z"
"""Takes minutes in `LINE`: a call that nobody stops does not end by itself while a test waits."""
LETTERS = bytes(97 + number % 16 for number in range(256))
LINE = random.Random(7).randbytes(24_000_000).translate(LETTERS)

FLAGS: list[tuple[str, ...]] = [(), ("--no-index",)]
WAYS = [("tcp", "closed", FLAGS[0]), ("unix", "notification", FLAGS[1])]
if HEAVY:
    WAYS = [
        (kind, how, flags)
        for kind in ("tcp", "unix")
        for how in ("notification", "closed")
        for flags in FLAGS
    ]

pytestmark = [pytest.mark.fault, pytest.mark.timeout(600)]


@pytest.fixture
def top(tmp_path: Path) -> Path:
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws" / "long.txt").write_bytes(LINE)
    (tmp_path / "ws" / "rare.txt").write_bytes(b"THE_RARE_NEEDLE\n")
    return tmp_path


def busy_seconds(pid: int) -> dict[int, float]:
    """The processor time of a server and of each of its processes that match."""
    return {one: _clock(one) for one in (pid, *children(pid)) if one == pid or _matches(one)}


def _clock(pid: int) -> float:
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:
        return 0.0


def _matches(pid: int) -> bool:
    with suppress(OSError):
        return b"search_worker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def long_at_it(pid: int) -> list[int]:
    """Those of a server's processes that have matched for a while."""
    return [one for one, used in busy_seconds(pid).items() if one != pid and used > 0.4]


def is_at_rest(pid: int) -> bool:
    """Whether neither a server nor its processes match anything, for a while."""
    before = busy_seconds(pid)
    time.sleep(0.1)
    after = busy_seconds(pid)
    return all(after[one] - before.get(one, 0.0) < 0.02 for one in after)


def wait_until_stopped(pid: int, lost: list[int]) -> None:
    """Wait until what was lost in a match is gone, and the server does nothing.

    Rest alone could be that of a process which gets no time on a busy machine.
    """
    wait_until_gone(lost)
    wait_until(lambda: is_at_rest(pid), "rest")


@contextmanager
def socket_client(server: Server, kind: str) -> Iterator[RawLines]:
    with RawLines(server.open_tcp() if kind == "tcp" else server.open_unix()) as client:
        client.start()
        yield client


# ── one call, stopped ───────────────────────────────────────────────────────────────────────────


@pytest.mark.thorough
@pytest.mark.parametrize(("kind", "how", "flags"), WAYS)
def test_a_heavy_call_over_a_socket_can_be_stopped(
    top: Path, kind: str, how: str, flags: tuple[str, ...]
) -> None:
    with serving(top / "ws", flags) as server, socket_client(server, kind) as other:
        pid = server.process.pid
        with socket_client(server, kind) as client:
            client.send(tool_call("grep", 7, pattern=PATTERN, output_mode="content"))
            lost = wait_until(lambda: long_at_it(pid), "process that matches")
            if how == "notification":
                params = {"requestId": 7}
                client.send(
                    {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
                )
                wait_until_stopped(pid, lost)
                client.send(tool_call("grep", 8, pattern="THE_RARE_NEEDLE"))
                assert client.receive()["id"] == 8
        wait_until_stopped(pid, lost)
        other.send(tool_call("grep", 9, pattern="THE_RARE_NEEDLE"))
        assert other.receive()["result"]["content"][0]["text"] == "rare.txt"


@pytest.mark.thorough
def test_a_heavy_call_over_stdio_can_be_stopped(top: Path) -> None:
    with victim(top) as server:
        server.start()
        pid = server.process.pid
        server.send(tool_call("grep", 7, pattern=PATTERN))
        lost = wait_until(lambda: long_at_it(pid), "process that matches")
        params = {"requestId": 7}
        server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
        wait_until_stopped(pid, lost)
        assert server.text("grep", pattern="THE_RARE_NEEDLE") == "rare.txt"


@pytest.mark.thorough
@pytest.mark.parametrize("how", ["notification", "closed"])
def test_a_heavy_call_over_http_can_be_stopped(top: Path, how: str) -> None:
    with serving(top / "ws", ["--no-auth"]) as server:
        pid = server.process.pid
        session = _posted(server, request("initialize", 1, **HANDSHAKE), "", _session)
        with server.open_http() as connection:
            _post(connection, tool_call("grep", 7, pattern=PATTERN), session)
            lost = wait_until(lambda: long_at_it(pid), "process that matches")
            if how == "notification":
                params = {"requestId": 7}
                cancelled = {"method": "notifications/cancelled", "params": params}
                _posted(server, {"jsonrpc": "2.0", **cancelled}, session, lambda answer: answer)
                wait_until_stopped(pid, lost)
        wait_until_stopped(pid, lost)


def _post(connection: socket.socket, message: dict[str, Any], session: str) -> None:
    body = json.dumps(message).encode()
    head = [
        "POST /mcp HTTP/1.1",
        f"Host: 127.0.0.1:{connection.getpeername()[1]}",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        "Connection: close",
        f"Content-Length: {len(body)}",
        *([f"Mcp-Session-Id: {session}"] if session else []),
    ]
    connection.sendall("\r\n".join([*head, "", ""]).encode() + body)


def _posted(
    server: Server, message: dict[str, Any], session: str, read: Callable[[bytes], Any]
) -> Any:
    with server.open_http() as connection:
        _post(connection, message, session)
        answer = b""
        while piece := connection.recv(65_536):
            answer += piece
        return read(answer)


def _session(answer: bytes) -> str:
    lines = answer.decode().lower().split("\r\n")
    return next(line.partition(": ")[2] for line in lines if line.startswith("mcp-session-id"))


# ── many of them, and somebody else ─────────────────────────────────────────────────────────────


class Load:
    """A connection that always has some heavy calls open."""

    def __init__(self, client: RawLines) -> None:
        self._client = client
        self._send(CALLS)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _send(self, count: int) -> None:
        for number in range(count):
            self._client.send(tool_call("grep", number, pattern=PATTERN, output_mode="content"))

    def _run(self) -> None:
        with suppress(OSError, ValueError):
            while self._client.receive() is not None:
                self._send(1)

    def end(self) -> None:
        """Hang up; who only closes waits for the thread that reads, and that for an answer."""
        with suppress(OSError):
            self._client.connection.shutdown(socket.SHUT_RDWR)
        self._thread.join()


@pytest.mark.parametrize("flags", FLAGS if HEAVY else FLAGS[:1])
def test_a_rare_word_is_found_beside_many_heavy_calls_and_their_end_frees_the_processor(
    top: Path, flags: tuple[str, ...]
) -> None:
    with serving(top / "ws", flags) as server, socket_client(server, "unix") as other:
        pid = server.process.pid
        other.send(tool_call("grep", 1, pattern="THE_RARE_NEEDLE"))
        other.receive()
        took: list[float] = []
        with ExitStack() as clients:
            for _ in range(CONNECTIONS):
                client = clients.enter_context(socket_client(server, "unix"))
                clients.callback(Load(client).end)
            wait_until(lambda: long_at_it(pid), "process that matches")
            for number in range(SEARCHES):
                begun = time.perf_counter()
                other.send(tool_call("grep", number, pattern="THE_RARE_NEEDLE"))
                text = other.receive()["result"]["content"][0]["text"]
                took.append(time.perf_counter() - begun)
                assert text == "rare.txt"
            # With many searches the process that finds the rare word is at it for long as well.
            lost = [] if HEAVY else long_at_it(pid)
        time.sleep(FREED_SECONDS)
        before = busy_seconds(pid)
        if HEAVY:
            time.sleep(1)
            after = busy_seconds(pid)
            burnt = sum(used - before.get(one, 0.0) for one, used in after.items())
            took.sort()
            slow = took[int(0.99 * len(took))]
            median = took[len(took) // 2]
            tell(
                f"{CONNECTIONS} x {CALLS} heavy calls {flags}: rare word p50 {median * 1e3:.1f} ms,"
                f" p99 {slow * 1e3:.1f} ms, most {took[-1] * 1e3:.1f} ms; in the second from"
                f" {FREED_SECONDS} s after the end {burnt:.3f} s of processor time"
            )
            assert slow <= SLOWEST_SECONDS
            assert burnt < 0.1
        wait_until_stopped(pid, lost)
