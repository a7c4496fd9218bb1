"""Tools as JSON-RPC methods of real servers: envelopes, access, failures, cancellation."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from flashgrep.settings import Settings
from flashgrep.transports.lines.offers import direct_methods
from tests.transports.clients import PATIENCE_SECONDS, TINY, RawLines, Server, request, serving
from tests.transports.program import TOOLS, toolbox

SOCKETS = pytest.mark.parametrize("kind", ["tcp", "unix"])


def lines(server: Server, kind: str) -> RawLines:
    return RawLines(server.open_tcp() if kind == "tcp" else server.open_unix())


def test_the_methods_come_from_the_rows() -> None:
    expected = {name for spec in TOOLS if spec.direct for name in spec.names}
    assert set(direct_methods(toolbox(Settings()))) == expected
    assert "put-it" in expected


@SOCKETS
def test_a_method_answers_without_a_handshake(server: Server, kind: str) -> None:
    with lines(server, kind) as client:
        answer = client.ask("echo", "an id", text="x")
        assert answer == {"jsonrpc": "2.0", "id": "an id", "result": {"text": "x"}}
        client.start()  # the handshake is as before
        assert client.ask("echo", 2, text="y")["result"] == {"text": "y"}


@SOCKETS
def test_a_tool_that_is_no_method_is_not_found(server: Server, kind: str) -> None:
    with lines(server, kind) as client:
        for name in ("whoami", "no_such", "Echo", "", "tools/echo"):
            assert client.ask(name)["error"]["code"] == -32601, name


@SOCKETS
def test_batches_and_notifications(server: Server, kind: str) -> None:
    with lines(server, kind) as client:
        note = {"jsonrpc": "2.0", "method": "echo", "params": {"text": "unheard"}}
        wrong = {"jsonrpc": "2.0", "method": "echo", "params": {"txet": 1}}
        client.send([request("echo", 1, text="a"), note, wrong, request("echo", "1", text="b")])
        answers = {answer["id"]: answer["result"]["text"] for answer in client.receive()}
        assert answers == {1: "a", "1": "b"}
        client.send([note], note, wrong)
        assert client.ask("echo", 2, text="c")["result"]["text"] == "c"


BAD: list[tuple[Any, str]] = [
    (["x"], "must be an object"),
    ("x", "must be an object"),
    ({"txet": "x"}, "Did you mean 'text'?"),
    ({"text": 5}, "text must be a string"),
]


@SOCKETS
@pytest.mark.parametrize(("params", "told"), BAD)
def test_bad_params_are_refused(server: Server, kind: str, params: Any, told: str) -> None:
    with lines(server, kind) as client:
        client.send({"jsonrpc": "2.0", "id": 1, "method": "echo", "params": params})
        error = client.receive()["error"]
        assert (error["code"], error["data"]["code"]) == (-32602, "invalid_params")
        assert told in error["message"]
        client.send({"jsonrpc": "2.0", "id": 2, "method": "echo", "params": None})
        assert client.receive()["id"] == 2


@SOCKETS
def test_a_defect_fails_the_call_and_not_the_connection(server: Server, kind: str) -> None:
    with lines(server, kind) as client:
        error = client.ask("crash")["error"]
        assert (error["code"], error["data"]) == (-32000, {"code": "io_error"})
        assert "secret" not in error["message"]
        assert client.ask("echo", text="alive")["result"] == {"text": "alive"}


# server, transport, token shown first (None: no auth), then a reading and a writing method
ACCESS = [
    ("server", "tcp", None, "ok access_denied"),
    ("server", "tcp", "", "ok ok"),
    ("server", "unix", None, "ok ok"),
    ("locked_server", "tcp", None, "access_denied access_denied"),
    ("locked_server", "tcp", "", "ok ok"),
    ("locked_server", "unix", None, "ok ok"),
    ("open_server", "tcp", None, "ok ok"),
]


@pytest.mark.parametrize(("which", "kind", "shown", "expected"), ACCESS)
def test_who_may_call(
    which: str, kind: str, shown: str | None, expected: str, request: pytest.FixtureRequest
) -> None:
    server: Server = request.getfixturevalue(which)
    with lines(server, kind) as client:
        if shown is not None:
            assert client.ask("auth", 0, token=server.token)["result"] == {"ok": True}
        outcomes = [_outcome(client.ask(name, text="x")) for name in ("echo", "put", "put-it")]
    assert outcomes == [expected.split()[0], *[expected.split()[1]] * 2]


def _outcome(answer: Any) -> str:
    if "result" in answer:
        return "ok"
    assert answer["error"]["code"] == -32001
    return str(answer["error"]["data"]["code"])


@SOCKETS
def test_a_running_method_holds_nobody_up_and_can_be_cancelled(
    server: Server, kind: str, tmp_path: Path
) -> None:
    told = tmp_path / "told"
    with lines(server, kind) as busy, lines(server, kind) as other:
        busy.send(request("wait", "w", text=str(told)))
        _until(told, "STARTED")
        assert other.ask("echo", text="other")["result"] == {"text": "other"}
        assert busy.ask("echo", 2, text="same")["result"] == {"text": "same"}
        params = {"requestId": "w"}
        busy.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
        _until(told, "CANCELLED")
        assert busy.ask("echo", 3, text="on")["id"] == 3


@SOCKETS
def test_a_peer_that_is_gone_cancels_its_method(kind: str, tmp_path: Path) -> None:
    """On TCP after a while: the peer may have closed its half only, and wait for the answer."""
    told = tmp_path / "told"
    (tmp_path / "w").mkdir()
    short = {"limits.SOCKET_DRAIN_SECONDS": 0.1}
    with serving(tmp_path / "w", tools=TINY, limits=short) as server:
        with lines(server, kind) as client:
            client.send(request("wait", 1, text=str(told)))
            _until(told, "STARTED")
        _until(told, "CANCELLED")


def _until(path: Path, word: str) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not path.exists() or path.read_text(encoding="utf-8") != word:
        assert time.monotonic() < deadline, f"{word} never came"
        time.sleep(0.002)


def test_http_sent_to_the_tcp_port_executes_nothing(tmp_path: Path) -> None:
    work = tmp_path / "ws"
    work.mkdir()
    (work / "f").write_text("kept\n")
    call = '{"jsonrpc":"2.0","id":1,"method":"write_code","params":{"file_path":"f",'
    call += '"start_line":1,"end_line":1,"replacement":"gone"}}'
    with (
        serving(work, ["--no-auth", "--no-index"]) as server,
        RawLines(server.open_tcp()) as client,
    ):
        client.send(b"POST / HTTP/1.1\r", b"Host: localhost\r", b"\r", call.encode())
        assert client.receive()["error"]["code"] == -32700
        assert client.receive() is None
        assert (work / "f").read_text() == "kept\n"
        with RawLines(server.open_tcp()) as honest:
            honest.send(call.encode())
            assert honest.receive()["result"]["ok"] is True


def test_a_direct_answer_has_no_budget(tmp_path: Path) -> None:
    work = tmp_path / "ws"
    work.mkdir()
    for number in range(300):
        (work / f"file number {number}.txt").write_text("x" * 100 + "\n")
    flags = ["--max-output-chars", "500", "--no-index"]
    with serving(work, flags) as server, RawLines(server.open_unix()) as client:
        assert len(client.ask("list_files")["result"]["files"]) == 300
        paths = client.ask("glob", pattern="*", limit=250)["result"]["paths"]
        assert len(paths) == 250
        assert len(client.ask("glob", pattern="*")["result"]["paths"]) == 100


def test_a_disabled_tool_is_no_method(tmp_path: Path) -> None:
    work = tmp_path / "ws"
    work.mkdir()
    flags = ["--disable-tools", "list_files,glob", "--no-index"]
    with serving(work, flags) as server, RawLines(server.open_unix()) as client:
        assert client.ask("list_files")["error"]["code"] == -32601
        assert client.ask("glob", pattern="*")["error"]["code"] == -32601
        assert "result" in client.ask("stats")
        assert client.ask("view", path=".")["error"]["code"] == -32601  # a tool only
