"""What an agent is told counts as told once it has the answer, on every transport."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

import httpx2
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from flashgrep.notes.access.roles import Role, everywhere
from flashgrep.notes.decided_block import DECIDED
from flashgrep.notes.review.review import Query
from flashgrep.notes.review.verdict import Action
from flashgrep.tools.dispatch.call import Call
from flashgrep.tools.dispatch.caller import Caller, Callers
from flashgrep.transports.access import Authorisation, Entrance
from flashgrep.transports.http.connections import serve_http
from flashgrep.transports.http.guard import Names
from flashgrep.transports.http.server import build_app
from flashgrep.transports.lines.session import LineSession, ListenerRules
from flashgrep.transports.lines.sockets import SocketWire
from flashgrep.transports.plain import Offer
from tests.tools.notes_desk import NotesDesk, notes_desk
from tests.transports.clients import HANDSHAKE, PATIENCE_SECONDS, request, tool_call

PERSON = everywhere("paul", Role.ADMIN)
SHAKE = request("initialize", "start", **HANDSHAKE | {"clientInfo": {"name": "ann", "version": ""}})
SHAKEN = {"jsonrpc": "2.0", "method": "notifications/initialized"}
CANCEL = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
READ = tool_call("read", 7, file_path="kb://A.md")


class Agent(Protocol):
    """A client in the middle of a session."""

    def read(self) -> str:
        """The answer as it came, with the id 7."""
        ...

    def cancel(self) -> None: ...

    def begin_to_read(self) -> socket.socket:
        """Send the request; the socket that the answer would come on."""
        ...


class OnLines:
    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._lines = end.makefile("rb")
        self._send(SHAKE)
        self._lines.readline()
        self._send(SHAKEN)

    def _send(self, message: Any) -> None:
        self._end.sendall(json.dumps(message).encode() + b"\n")

    def read(self) -> str:
        self._send(READ)
        return self._lines.readline().decode()

    def cancel(self) -> None:
        self._send(CANCEL)

    def begin_to_read(self) -> socket.socket:
        self._send(READ)
        self._lines.close()
        return self._end


class OnHttp:
    def __init__(self, client: httpx2.Client, port: int) -> None:
        self._client = client
        self._port = port
        self._headers = {"accept": "application/json, text/event-stream"}
        self._headers["mcp-session-id"] = self._post(SHAKE).headers["mcp-session-id"]
        self._post(SHAKEN)

    def _post(self, message: Any) -> httpx2.Response:
        return self._client.post("/mcp", json=message, headers=self._headers)

    def read(self) -> str:
        return self._post(READ).text

    def cancel(self) -> None:
        self._post(CANCEL)

    def begin_to_read(self) -> socket.socket:
        body = json.dumps({**READ, "id": 8})
        told = {"host": f"127.0.0.1:{self._port}", "content-type": "application/json"}
        told |= {"content-length": str(len(body)), **self._headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in told.items())
        end = socket.create_connection(("127.0.0.1", self._port))
        end.sendall(f"POST /mcp HTTP/1.1\r\n{head}\r\n{body}".encode())
        return end


@contextmanager
def on_lines(desk: NotesDesk, portal: BlockingPortal, is_plain: bool) -> Iterator[OnLines]:
    toolbox = desk.application.toolbox
    ours, theirs = socket.socketpair()
    theirs.settimeout(PATIENCE_SECONDS)
    rules = ListenerRules(drain_seconds=1.5)
    gate = Authorisation(Caller("test:lines", principal=everywhere("ann", Role.SUGGEST)))
    session = LineSession(Offer(toolbox, is_plain=is_plain), SocketWire(ours), gate, rules)
    running = portal.start_task_soon(session.run)
    with ours, theirs:
        try:
            yield OnLines(theirs)
        finally:
            with suppress(OSError):  # closed
                theirs.shutdown(socket.SHUT_RDWR)
        running.result(PATIENCE_SECONDS)


@contextmanager
def on_http(desk: NotesDesk, portal: BlockingPortal) -> Iterator[OnHttp]:
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    names = Names.of(["127.0.0.1"], port)
    app = build_app(desk.application.toolbox, Callers(), names, Entrance(None), False)
    serving = portal.start_task_soon(serve_http, app, listener)
    base = f"http://127.0.0.1:{port}"
    try:
        with httpx2.Client(base_url=base, timeout=PATIENCE_SECONDS, trust_env=False) as client:
            yield OnHttp(client, port)
    finally:
        serving.cancel()


def connected(
    desk: NotesDesk, portal: BlockingPortal, transport: str
) -> AbstractContextManager[Agent]:
    if transport == "http":
        return on_http(desk, portal)
    return on_lines(desk, portal, transport == "plain lines")


@pytest.fixture
def portal() -> Iterator[BlockingPortal]:
    with start_blocking_portal() as made:
        yield made


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[NotesDesk]:
    """Something was decided that the agent `ann` is to be told."""
    with notes_desk(tmp_path, anthropic_compat=True) as made:
        made.note("A.md", "one two three\n")
        made.edit("kb://A.md", "one", "1")
        (found,) = made.notes.review.suggestions(Query(), PERSON).suggestions
        made.notes.review.decide([found.id], Action.REJECT, PERSON)
        yield made


transports = pytest.mark.parametrize("transport", ["plain lines", "lines", "http"])


@transports
def test_what_was_received_is_told_once(
    desk: NotesDesk, portal: BlockingPortal, transport: str
) -> None:
    with connected(desk, portal, transport) as agent:
        assert [DECIDED in agent.read() for _ in range(3)] == [True, False, False]


@transports
def test_an_answer_that_nobody_was_there_to_read_tells_nothing(
    desk: NotesDesk, portal: BlockingPortal, transport: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, gone = threading.Event(), threading.Event()
    was_answered = Call.was_answered

    def held(call: Call) -> None:
        """The answer is made, and the loop learns of nothing until the client is gone."""
        was_answered(call)
        made.set()
        assert gone.wait(PATIENCE_SECONDS)

    with connected(desk, portal, transport) as agent:
        with monkeypatch.context() as patched:
            patched.setattr(Call, "was_answered", held)
            end = agent.begin_to_read()
            assert made.wait(PATIENCE_SECONDS)
            if transport == "http":
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            end.close()
            gone.set()
        if transport == "http":
            assert [DECIDED in agent.read() for _ in range(2)] == [True, False]
            return
    with connected(desk, portal, transport) as again:
        assert [DECIDED in again.read() for _ in range(2)] == [True, False]


@transports
def test_an_answer_that_was_withdrawn_tells_nothing(
    desk: NotesDesk, portal: BlockingPortal, transport: str
) -> None:
    with connected(desk, portal, transport) as agent:
        assert DECIDED in agent.read()
        agent.cancel()
        assert [DECIDED in agent.read() for _ in range(2)] == [True, False]


@pytest.mark.parametrize("transport", ["plain lines", "lines"])
def test_a_client_that_leaves_after_its_answer_was_told(
    desk: NotesDesk, portal: BlockingPortal, transport: str
) -> None:
    for is_told in (True, False):
        with connected(desk, portal, transport) as agent:
            assert (DECIDED in agent.read()) is is_told
