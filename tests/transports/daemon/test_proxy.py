"""`flashgrep mcp` as the wire between a client and a daemon: real processes at every place.

A fake server, on a real socket, stands in where the server has to misbehave.
"""

from __future__ import annotations

import fcntl
import json
import os
import random
import signal
import socket
import subprocess
import termios
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import ClientSession

from flashgrep import limits
from tests.transports.clients import (
    FLASHGREP,
    HANDSHAKE,
    PATIENCE_SECONDS,
    Server,
    connect,
    environment,
    request,
    serving,
    tool_call,
)
from tests.transports.lines.test_join import NO_PORTS, answer, fake
from tests.warm import Warm

PLAIN = "--no-index"
"""For a daemon and whoever joins it: these tests search nothing."""
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


class Program:
    """A `flashgrep mcp` on pipes."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self.process = process
        self.stdin, self.stdout, self.stderr = process.stdin, process.stdout, process.stderr

    def wait_until_joined(self) -> None:
        for line in self.stderr:
            if b"joined the server" in line:
                return
        raise AssertionError("it did not join")

    def send(self, *messages: dict[str, Any] | bytes) -> None:
        for message in messages:
            data = message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"
            self.stdin.write(data)
        self.stdin.flush()

    def say_all(self, data: bytes) -> None:
        """Send the only message there will be."""
        self.send(data)
        self.stdin.close()

    def receive(self) -> Any:
        return json.loads(self.stdout.readline())

    def start(self) -> None:
        self.send(request("initialize", "start", **HANDSHAKE))
        assert "result" in self.receive()
        self.send(INITIALIZED)

    def end(self) -> tuple[int, bytes]:
        """Close its stdin; its status and what it still had to say."""
        self.stdin.close()
        rest = self.stdout.read()
        return self.process.wait(PATIENCE_SECONDS), rest


@contextmanager
def program(workdir: Path, *flags: str) -> Iterator[Program]:
    with Warm[bytes](
        [*FLASHGREP, "mcp", "--workdir", str(workdir), "--log-level", "debug", *flags],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(workdir.parent),
    ) as process:
        try:
            yield Program(process)
        finally:
            process.kill()
            if process.stdin is not None and not process.stdin.closed:
                with suppress(BrokenPipeError):
                    process.stdin.close()


@pytest.fixture
def workdir(tmp_path: Path) -> Path:
    return _workspace(tmp_path)


def _workspace(top: Path) -> Path:
    work = top / "work"
    work.mkdir()
    (work / "a.txt").write_text("one\ntwo\n", encoding="utf-8")
    return work


# ── with a real daemon ──────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A workspace whose daemon outlives every client it had, and then ends well."""
    work = _workspace(tmp_path_factory.mktemp("served"))
    with _daemon(work) as server:
        yield work
        assert server.stop() == 0


def _daemon(work: Path) -> AbstractContextManager[Server]:
    return serving(work, [*NO_PORTS, PLAIN], ports=False)


def _text(result: Any) -> str:
    assert isinstance(result, types.CallToolResult)
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    return block.text


@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.anyio
async def test_two_clients_share_a_daemon_and_not_what_they_have_read(
    served: Path, era: str
) -> None:
    (served / era).write_text("one\ntwo\n", encoding="utf-8")
    flags = (PLAIN, "--log-level", "debug")
    async with (
        connect("stdio", served, flags, era=era) as first,
        connect("stdio", served, flags, era=era) as second,
    ):
        assert "two" in _text(await first.call_tool("read", {"file_path": era}))
        assert "has not been read" in await _edited(second, era)
        assert "has not been read" not in await _edited(first, era)
    log = (served.parent / "work-home" / "mcp.log").read_text(encoding="utf-8")
    assert "joined the server" in log
    assert (served / era).read_text(encoding="utf-8") == "one\n2\n"


async def _edited(session: ClientSession, name: str) -> str:
    change = {"file_path": name, "old_string": "two", "new_string": "2"}
    return _text(await session.call_tool("edit", change))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def test_the_end_of_stdin_drains_the_answers_and_ends_well(served: Path) -> None:
    with program(served, PLAIN) as client:
        client.wait_until_joined()
        client.send(request("initialize", 1, **HANDSHAKE), INITIALIZED)
        client.send(tool_call("view", "last", path="a.txt"))
        status, said = client.end()
    answers = [json.loads(line) for line in said.splitlines()]
    assert (status, [each["id"] for each in answers]) == (0, [1, "last"])


def test_other_settings_mean_a_process_of_its_own(served: Path) -> None:
    with program(served, PLAIN, "--deny-dir", "**/a.txt") as client:
        client.start()
        client.send(tool_call("view", 1, path="a.txt"))
        assert "denied" in client.receive()["result"]["content"][0]["text"]
        status, _ = client.end()
        assert status == 0
        assert b"its settings differ: " in client.stderr.read()


def test_a_daemon_killed_in_a_call_is_an_error_for_every_request_that_waits(workdir: Path) -> None:
    with _daemon(workdir) as server, program(workdir, PLAIN) as client:
        client.wait_until_joined()
        client.start()
        server.process.send_signal(signal.SIGSTOP)
        client.send(tool_call("grep", 7, pattern="x"), tool_call("grep", "7", pattern="x"))
        client.send([tool_call("grep", "b1", pattern="x"), tool_call("grep", 7, pattern="x")])  # type: ignore[arg-type]
        client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {}})
        _until_sent(client)
        server.stop(signal.SIGKILL)
        answers = [json.loads(line) for line in client.stdout]
        assert client.process.wait(PATIENCE_SECONDS) == 1
        log = client.stderr.read()
    assert sorted(map(repr, (each["id"] for each in answers))) == ["'7'", "'b1'", "7", "7"]
    for each in answers:
        assert each["error"]["code"] == -32000
        assert each["error"]["data"] == {"code": "unavailable"}
        assert "start" in each["error"]["message"]
    assert b"the server ended" in log


def _until_sent(client: Program) -> None:
    """Wait until the program has taken all that was written to it."""
    left = bytearray(4)
    while True:
        fcntl.ioctl(client.stdin.fileno(), termios.FIONREAD, left)
        state = Path(f"/proc/{client.process.pid}/stat").read_text(encoding="ascii")
        if not any(left) and state.rpartition(") ")[2].startswith("S"):
            return


@pytest.mark.parametrize("client_spoke", [False, True])
def test_a_daemon_that_ends_before_the_first_word_is_replaced_unnoticed(
    workdir: Path, client_spoke: bool
) -> None:
    """Also where the client's first word waits beside the news of the end."""
    with _daemon(workdir) as server, program(workdir, PLAIN) as client:
        client.wait_until_joined()
        if client_spoke:
            client.process.send_signal(signal.SIGSTOP)
        server.stop(signal.SIGKILL)
        client.send(request("initialize", "start", **HANDSHAKE))
        client.process.send_signal(signal.SIGCONT)
        assert "result" in client.receive()
        client.send(INITIALIZED)
        client.send(tool_call("view", 1, path="a.txt"))
        assert "one" in client.receive()["result"]["content"][0]["text"]
        assert client.end() == (0, b"")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_order(served: Path, number: int) -> None:
    with program(served, PLAIN) as client:
        client.wait_until_joined()
        client.start()
        client.process.send_signal(number)
        assert client.process.wait(PATIENCE_SECONDS) == 0


def test_a_client_that_reads_no_more_ends_it(served: Path) -> None:
    with program(served, PLAIN) as client:
        client.wait_until_joined()
        client.start()
        client.stdout.close()
        client.send(request("ping", 1))
        assert client.process.wait(PATIENCE_SECONDS) == 0


# ── with a fake ─────────────────────────────────────────────────────────────────────────────────


def introduced(workdir: Path, behave: Callable[[socket.socket], None]) -> Any:
    """A fake daemon that is joined, and then does as told."""

    def run(connection: socket.socket) -> None:
        connection.settimeout(PATIENCE_SECONDS)
        _line(connection)
        connection.sendall(answer(workdir))
        behave(connection)

    return fake(workdir, run)


def _line(connection: socket.socket) -> bytes:
    line = b""
    while not line.endswith(b"\n") and (byte := connection.recv(1)):
        line += byte
    return line


def _echo(connection: socket.socket) -> None:
    while data := connection.recv(65536):
        connection.sendall(data)
    connection.shutdown(socket.SHUT_WR)


def _noise() -> list[bytes]:
    rng = random.Random(3)
    binary = rng.randbytes(300_000)
    return [b"", b"x", b"\n\n", b'{"id":1}\n', b"\xff\xfe\n{", binary, b"y" * 9_000_000 + b"\nz"]


@pytest.mark.parametrize("data", _noise(), ids=range(len(_noise())))
def test_every_byte_passes_as_it_is(workdir: Path, data: bytes) -> None:
    """The daemon's own reader judges them: lines too long, broken UTF-8, no last newline."""
    with introduced(workdir, _echo), program(workdir) as client:
        writer = threading.Thread(target=client.say_all, args=(data,))
        writer.start()
        assert client.stdout.read() == data
        writer.join()
        assert client.process.wait(PATIENCE_SECONDS) == 0


def test_what_is_answered_after_the_end_of_stdin_arrives(workdir: Path) -> None:
    def hear_all_first(connection: socket.socket) -> None:
        while connection.recv(65536):
            pass
        connection.sendall(b"the last word\n")
        connection.shutdown(socket.SHUT_WR)

    with introduced(workdir, hear_all_first), program(workdir) as client:
        client.say_all(b"x\n")
        assert client.stdout.read() == b"the last word\n"
        assert client.process.wait(PATIENCE_SECONDS) == 0


def test_a_line_is_sent_on_when_it_is_whole(workdir: Path) -> None:
    """The daemon gives a line 30 seconds; on stdio a client may take longer."""
    pieces: list[bytes] = []
    seen = threading.Event()

    def listen(connection: socket.socket) -> None:
        pieces.append(connection.recv(65536))
        seen.set()

    with introduced(workdir, listen), program(workdir) as client:
        client.wait_until_joined()
        client.send(b'{"begun":')
        _until_sent(client)
        client.send(b"1}\n")
        assert seen.wait(PATIENCE_SECONDS)
    assert pieces == [b'{"begun":1}\n']


def test_a_line_that_is_too_long_is_not_held(workdir: Path) -> None:
    """It is passed on before its end, and the server refuses it where it ends."""
    seen = threading.Event()

    def listen(connection: socket.socket) -> None:
        left = limits.MESSAGE_BYTES
        while left > 0 and (data := connection.recv(65536)):
            left -= len(data)
        seen.set()

    with introduced(workdir, listen), program(workdir) as client:
        client.wait_until_joined()
        client.send(b"x" * (limits.MESSAGE_BYTES + 200_000))
        assert seen.wait(PATIENCE_SECONDS)
        client.process.kill()


@pytest.mark.thorough
def test_a_daemon_that_does_not_end_is_left_after_a_while(workdir: Path) -> None:
    with introduced(workdir, lambda connection: None), program(workdir) as client:
        client.wait_until_joined()
        client.send(request("ping", 1))
        assert client.end() == (0, b"")


def test_an_answer_that_broke_off_does_not_spoil_the_next_line(workdir: Path) -> None:
    def die(connection: socket.socket) -> None:
        _line(connection)
        connection.sendall(b'{"jsonrpc":"2.0","id":5,"resu')
        connection.shutdown(socket.SHUT_RDWR)

    with introduced(workdir, die), program(workdir) as client:
        client.wait_until_joined()
        client.send(request("ping", 5))
        broken, told = client.stdout.read().splitlines()
        assert client.process.wait(PATIENCE_SECONDS) == 1
    assert broken == b'{"jsonrpc":"2.0","id":5,"resu'
    assert json.loads(told)["id"] == 5


def test_answered_requests_are_not_answered_again(workdir: Path) -> None:
    long = {"jsonrpc": "2.0", "id": "long", "result": {"x": "y" * 5_000_000}}
    sent: list[Any] = [
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        [{"jsonrpc": "2.0", "id": 2, "error": {}}, {"id": "three", "result": None}],
        {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"id": 4}},
        long,
    ]

    def reply(connection: socket.socket) -> None:
        for _ in range(5):
            _line(connection)
        for each in sent:
            connection.sendall(json.dumps(each).encode() + b"\n")
        connection.shutdown(socket.SHUT_RDWR)

    with introduced(workdir, reply), program(workdir) as client:
        client.wait_until_joined()
        client.send(*(request("ping", each) for each in (1, 2, "three", 4, "long")))
        answers = [json.loads(line) for line in client.stdout]
    assert answers[:-1] == sent
    assert answers[-1]["id"] == 4
    assert "error" in answers[-1]


@pytest.mark.thorough
def test_a_client_that_does_not_read_stops_the_daemon_not_memory(workdir: Path) -> None:
    total = 0
    stalled = threading.Event()

    def flood(connection: socket.socket) -> None:
        nonlocal total
        _line(connection)
        connection.settimeout(1)
        try:
            while total < 64 * 2**20:
                total += connection.send(b"x" * 65536)
        except TimeoutError:
            stalled.set()

    with introduced(workdir, flood), program(workdir) as client:
        client.wait_until_joined()
        client.send(request("ping", 1))
        assert stalled.wait(PATIENCE_SECONDS)
        os.kill(client.process.pid, signal.SIGKILL)
    assert total < 4 * 2**20
