"""A running `flashgrep serve`, and real MCP clients on its unix socket, called without await."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp import ClientSession
from mcp.shared.message import SessionMessage

FLASHGREP = str(Path(sys.executable).with_name("flashgrep"))
UNBOUNDED = ("--max-output-chars", "0")
UNINDEXED = ("--no-index",)

_LONGEST_LINE = 1 << 31
_GOODBYE_SECONDS = 5
_NO_BYTE_CODE = "PYTHONDONTWRITEBYTECODE"


@dataclass(frozen=True)
class Server:
    """A `flashgrep serve`: its processes and addresses."""

    pid: int
    socket: str
    url: str

    def processes(self) -> list[int]:
        """The server and those that work for it, which are children of the threads that ask."""
        found = {self.pid}
        for children in Path(f"/proc/{self.pid}/task").glob("*/children"):
            try:
                found.update(int(word) for word in children.read_text("ascii").split())
            except OSError:  # the thread has ended
                continue
        return sorted(found)


@contextmanager
def serving(
    workdir: Path,
    *flags: str,
    http: bool = False,
    state: Path | None = None,
    cache: Path | None = None,
) -> Iterator[Server]:
    """Run `serve` for a directory; nothing is written into it.

    Its state is gone afterwards unless a place is given for it. In a `cache` it is where a
    user's would be, so that the trees of a repository share theirs.
    """
    with tempfile.TemporaryDirectory(prefix="flashgrep-bench-") as own:
        socket = f"{own}/mcp.sock"
        listeners = ["--socket", socket, "--tcp-port", "none"]
        listeners += ["--http-port", "auto" if http else "none"]
        command = [FLASHGREP, "serve", "--workdir", str(workdir)]
        if cache is None:
            command += ["--state-dir", str(state or f"{own}/state")]
        with (
            open(f"{own}/log", "wb") as log,
            subprocess.Popen(
                [*command, *listeners, *flags],
                env=environment(cache),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            ) as process,
        ):
            try:
                yield Server(process.pid, socket, _listening(process, f"{own}/log"))
            finally:
                _stop(process)


def environment(cache: Path | None = None) -> dict[str, str]:
    """The environment without settings of ours that the user may have, and with byte code.

    Where a shell forbids to write that, each start would compile the sources anew.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FLASHGREP_")}
    kept.pop(_NO_BYTE_CODE, None)
    return kept if cache is None else {**kept, "XDG_CACHE_HOME": str(cache)}


def _listening(process: subprocess.Popen[str], log: str) -> str:
    url = ""
    assert process.stdout is not None
    for line in process.stdout:
        words = line.split()
        if words[:1] == ["http"]:
            url = words[1]
        if line.startswith("Ctrl-C"):
            return url
    raise RuntimeError(f"serve ended: {Path(log).read_text(encoding='utf-8')}")


def _stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(_GOODBYE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()


class NoAnswer(Exception):
    """A call was not answered in the time it was given."""


@dataclass(frozen=True)
class Client:
    """A connection, with the tools as functions."""

    loop: asyncio.AbstractEventLoop
    session: ClientSession

    def call(self, tool: str, arguments: dict[str, Any], seconds: float = 600.0) -> str:
        """The text of a call, refusals included."""
        return self.loop.run_until_complete(call(self.session, tool, arguments, seconds))


async def call(
    session: ClientSession, tool: str, arguments: dict[str, Any], seconds: float = 600.0
) -> str:
    """The text of a call, refusals included; `NoAnswer` if it takes too long."""
    with anyio.move_on_after(seconds):
        result = await session.call_tool(tool, arguments)
        return "".join(part.text for part in result.content if isinstance(part, types.TextContent))
    raise NoAnswer(f"{tool}: no answer in {seconds:.0f} s")


@contextmanager
def connected(server: Server) -> Iterator[Client]:
    """A new client."""
    with kept_open(joined(server)) as client:
        yield client


@contextmanager
def kept_open(connection: AbstractAsyncContextManager[ClientSession]) -> Iterator[Client]:
    """A client whose event loop runs in the thread that asks, while that waits.

    In another thread it would be handed each call, which is not measured.
    """
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        opened, ended = loop.create_future(), loop.create_future()

        async def keep() -> None:
            async with connection as session:
                opened.set_result(session)
                await ended

        keeping = loop.create_task(keep())
        loop.run_until_complete(asyncio.wait({opened, keeping}, return_when="FIRST_COMPLETED"))
        if keeping.done():
            keeping.result()
        try:
            yield Client(loop, opened.result())
        finally:
            ended.set_result(None)
            loop.run_until_complete(keeping)


@asynccontextmanager
async def joined(server: Server) -> AsyncIterator[ClientSession]:
    """The SDK's own session over the unix socket."""
    client = types.Implementation(name="bench", version="1")
    async with (
        await anyio.connect_unix(server.socket) as stream,
        _lines(stream) as (incoming, outgoing),
        ClientSession(incoming, outgoing, client_info=client) as session,
    ):
        await session.initialize()
        yield session


@asynccontextmanager
async def _lines(stream: anyio.abc.ByteStream) -> AsyncIterator[Any]:
    """The SDK's pair of streams over newline-delimited JSON."""
    received = BufferedByteReceiveStream(stream)
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
