"""Real servers as child programs, and real clients for each of the four transports.

    async with connect("tcp", workdir, ["--deny-dir", "**/x"]) as session:
        await session.call_tool("grep", {"pattern": "x"})

`connect` starts `flashgrep` (or the tiny tools of `program.py`, with `tools=TINY`), speaks to it
over the transport and yields the SDK's own `ClientSession`. `Server` is a running `serve` for
tests that need several clients, raw sockets or signals.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import anyio
import anyio.abc
import httpx2
import mcp_types as types
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage

from tests.warm import Warm, warm_subprocesses

KINDS = ("stdio", "http", "tcp", "unix")
ERAS = ("legacy", "modern")
FLASHGREP = (sys.executable, "-P", "-m", "flashgrep")
TINY = (sys.executable, "-P", str(Path(__file__).with_name("program.py")))
PATIENCE_SECONDS = 120
_LONGEST_LINE = 64 * 1024 * 1024

_HTTP = re.compile(r"^ +http +http://\S+:(\d+)/mcp$")
_TCP = re.compile(r"^ +tcp +\S+:(\d+)$")
_UNIX = re.compile(r"^ +unix +(.+)$")
_TOKEN = re.compile(r"^ +token +(\S+) \(")


def with_limits(changed: Mapping[str, float]) -> tuple[str, ...]:
    """The program with other limits, by module and name: some take too long to wait for."""
    setting = "".join(
        f"import flashgrep.{name.rpartition('.')[0]}; flashgrep.{name} = {value!r}; "
        for name, value in changed.items()
    )
    code = f"import sys; {setting}from flashgrep import cli; sys.exit(cli.main())"
    return (sys.executable, "-P", "-c", code)


@dataclass
class Server:
    """A running `serve`."""

    process: subprocess.Popen[str]
    told: list[str]
    log: Path
    http: int | None = None
    tcp: int | None = None
    unix: str | None = None
    token: str | None = None

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and give the exit status."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_SECONDS)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http}/mcp"

    def open_tcp(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.tcp or 0), PATIENCE_SECONDS)

    def open_http(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.http or 0), PATIENCE_SECONDS)

    def open_unix(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(PATIENCE_SECONDS)
        connection.connect(self.unix or "")
        return connection

    def resident_bytes(self) -> int:
        """What the server keeps in memory."""
        status = Path(f"/proc/{self.process.pid}/statm").read_text(encoding="ascii")
        return int(status.split()[1]) * os.sysconf("SC_PAGE_SIZE")


def environment(home: Path) -> dict[str, str]:
    """An environment in which nothing of the machine's own settings is seen."""
    hidden = ("FLASHGREP_", "PYTHONUNBUFFERED")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    return {**kept, "HOME": str(home), "XDG_CACHE_HOME": str(home / ".cache")}


@contextmanager
def serving(
    workdir: Path,
    flags: Sequence[str] = (),
    tools: Sequence[str] = FLASHGREP,
    home: Path | None = None,
    ports: bool = True,
    limits: Mapping[str, float] | None = None,
    is_warm: bool = True,
) -> Iterator[Server]:
    """Run `serve` on free ports until the block ends; `limits` are for the tiny tools only."""
    home = home or workdir.parent / f"{workdir.name}-home"
    home.mkdir(exist_ok=True)
    free = ("--http-port", "auto", "--tcp-port", "auto") if ports else ()
    command = [*tools, "serve", "--workdir", str(workdir), *free, *flags]
    start = Warm if is_warm and command[0] == sys.executable else subprocess.Popen
    log = home / "serve.log"
    with (
        log.open("w", encoding="utf-8") as errors,
        start(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            cwd=home,
            env=environment(home) | {"TINY_LIMITS": json.dumps(limits or {})},
        ) as process,
    ):
        try:
            yield _listening(process, log)
        finally:
            end(process)


def pause(pid: int) -> None:
    """Stop a process; on return none of its threads runs."""
    os.kill(pid, signal.SIGSTOP)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not all(_is_stopped(task) for task in Path(f"/proc/{pid}/task").iterdir()):
        assert time.monotonic() < deadline, f"{pid} does not stop"
        time.sleep(0.01)


def _is_stopped(task: Path) -> bool:
    return (task / "stat").read_text().rpartition(")")[2].split()[0] == "T"


def end(process: subprocess.Popen[str]) -> None:
    """Kill a server; under `make coverage` let it end by itself, to write what it measured."""
    if "COVERAGE_PROCESS_CONFIG" in os.environ:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE_SECONDS)
    process.kill()


def _listening(process: subprocess.Popen[str], log: Path) -> Server:
    server = Server(process, [], log)
    assert process.stdout is not None
    for line in process.stdout:
        server.told.append(line.rstrip("\n"))
        if line.startswith("Ctrl-C"):
            _read_told(server)
            return server
    raise RuntimeError(f"serve ended: {log.read_text(encoding='utf-8')}")


def _read_told(server: Server) -> None:
    for line in server.told:
        if found := _HTTP.match(line):
            server.http = int(found[1])
        elif found := _TCP.match(line):
            server.tcp = int(found[1])
        elif found := _UNIX.match(line):
            server.unix = found[1]
        elif found := _TOKEN.match(line):
            server.token = found[1]


@asynccontextmanager
async def connect(
    kind: str,
    workdir: Path,
    flags: Sequence[str] = (),
    tools: Sequence[str] = FLASHGREP,
    era: str = "legacy",
) -> AsyncIterator[ClientSession]:
    """A session with a server of its own; on TCP it has authenticated."""
    if kind == "stdio":
        async with _stdio(workdir, flags, tools) as streams, opened(streams, era) as session:
            yield session
        return
    with serving(workdir, flags, tools) as server:
        async with join(server, kind, era=era) as session:
            yield session


@asynccontextmanager
async def join(
    server: Server,
    kind: str,
    era: str = "legacy",
    name: str = "tests",
    auth: bool = True,
    version: str = "1",
) -> AsyncIterator[ClientSession]:
    """A session with a running server."""
    transport = {"http": _http, "tcp": _tcp, "unix": _unix}[kind]
    async with transport(server, auth) as streams, opened(streams, era, name, version) as session:
        yield session


@asynccontextmanager
async def opened(
    streams: Any, era: str, name: str = "tests", version: str = "1"
) -> AsyncIterator[ClientSession]:
    """The SDK's session over a transport, in one of the two protocol eras."""
    client = types.Implementation(name=name, version=version)
    incoming, outgoing = streams
    async with ClientSession(incoming, outgoing, client_info=client) as session:
        await (session.initialize() if era == "legacy" else session.discover())
        yield session


@asynccontextmanager
async def _stdio(workdir: Path, flags: Sequence[str], tools: Sequence[str]) -> AsyncIterator[Any]:
    home = workdir.parent / f"{workdir.name}-home"
    home.mkdir(exist_ok=True)
    command, *rest = tools
    parameters = StdioServerParameters(
        command=command,
        args=[*rest, "mcp", "--workdir", str(workdir), *flags],
        env=environment(home),
        cwd=str(home),
    )
    with (home / "mcp.log").open("w", encoding="utf-8") as errors:
        async with AsyncExitStack() as stack:
            client = stdio_client(parameters, errlog=errors)
            with warm_subprocesses():
                streams = await stack.enter_async_context(client)
            yield streams


@asynccontextmanager
async def _http(server: Server, auth: bool) -> AsyncIterator[Any]:
    headers = {"Authorization": f"Bearer {server.token}"} if auth and server.token else {}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=PATIENCE_SECONDS, trust_env=False) as client,
        streamable_http_client(server.url, http_client=client) as streams,
    ):
        yield streams


@asynccontextmanager
async def _tcp(server: Server, auth: bool) -> AsyncIterator[Any]:
    token = server.token if auth else None
    async with (
        await anyio.connect_tcp("127.0.0.1", server.tcp or 0) as stream,
        lines_over(stream, token) as streams,
    ):
        yield streams


@asynccontextmanager
async def _unix(server: Server, auth: bool) -> AsyncIterator[Any]:
    async with (
        await anyio.connect_unix(server.unix or "") as stream,
        lines_over(stream, None) as streams,
    ):
        yield streams


@asynccontextmanager
async def lines_over(stream: anyio.abc.ByteStream, token: str | None) -> AsyncIterator[Any]:
    """The SDK's stream pair over newline-delimited JSON."""
    received = BufferedByteReceiveStream(stream)
    if token is not None:
        await _authenticate(stream, received, token)
    to_session, incoming = anyio.create_memory_object_stream[SessionMessage | Exception]()
    outgoing, from_session = anyio.create_memory_object_stream[SessionMessage]()

    async def read() -> None:
        async with to_session:
            while True:
                try:
                    line = await received.receive_until(b"\n", _LONGEST_LINE)
                except (anyio.IncompleteRead, anyio.ClosedResourceError, anyio.BrokenResourceError):
                    return
                message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
                await to_session.send(SessionMessage(message))

    async def write() -> None:
        async for item in from_session:
            text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            await stream.send(text.encode("utf-8") + b"\n")

    async with anyio.create_task_group() as tasks, outgoing, from_session, incoming:
        tasks.start_soon(read)
        tasks.start_soon(write)
        yield incoming, outgoing
        tasks.cancel_scope.cancel()


async def _authenticate(
    stream: anyio.abc.ByteStream, received: BufferedByteReceiveStream, token: str
) -> None:
    request = {"jsonrpc": "2.0", "id": 0, "method": "auth", "params": {"token": token}}
    await stream.send(json.dumps(request).encode("utf-8") + b"\n")
    answer = json.loads(await received.receive_until(b"\n", _LONGEST_LINE))
    assert answer["result"] == {"ok": True}


class RawLines:
    """A blocking client that sends any bytes and reads lines."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self._file = connection.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self.connection.close()

    def send(self, *lines: bytes | dict[str, Any] | list[Any]) -> None:
        for line in lines:
            data = line if isinstance(line, bytes) else json.dumps(line).encode("utf-8")
            self.connection.sendall(data + b"\n")

    def receive(self) -> Any:
        """The next answer; None at the end of the connection."""
        try:
            line = self._file.readline()
        except ConnectionResetError:
            return None
        return json.loads(line) if line else None

    def ask(self, method: str, request_id: Any = 1, **params: Any) -> Any:
        self.send(request(method, request_id, **params))
        return self.receive()

    def start(self) -> None:
        """The handshake, so that tools can be called."""
        answer = self.ask("initialize", "start", **HANDSHAKE)
        assert "result" in answer, answer
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})


HANDSHAKE: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "tests", "version": "1"},
}


def request(method: str, request_id: Any = 1, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def tool_call(name: str, request_id: Any = 1, **arguments: Any) -> dict[str, Any]:
    return request("tools/call", request_id, name=name, arguments=arguments)
