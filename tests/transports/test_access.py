"""Who may call: contracts section 1, as a table over real servers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.transports.clients import HANDSHAKE, RawLines, Server, request, tool_call

LIST = request("tools/list", 2)
SLOW = {"name": "slow", "arguments": {"text": "0.2"}, "_meta": {"é": "is not plain"}}
READ = tool_call("echo", 3, text="hello")
WRITE = tool_call("put", 4, text="hello")


@contextmanager
def lines(server: Server, kind: str) -> Iterator[RawLines]:
    with RawLines(server.open_tcp() if kind == "tcp" else server.open_unix()) as client:
        yield client


def outcome(answer: Any) -> str:
    """ok, or the code a refusal carries, wherever it stands."""
    if answer is None:
        return "closed"
    if "error" in answer:
        return str(answer["error"].get("data", {}).get("code", answer["error"]["code"]))
    return str(answer["result"].get("_meta", {}).get("flashgrep/error", "ok"))


# server, transport, token shown first (None: no auth, "": the right one), then what
# initialize, tools/list, a read-only tool and a writing tool answer
TABLE = [
    ("server", "tcp", None, "ok ok ok access_denied"),
    ("server", "tcp", "", "ok ok ok ok"),
    ("server", "unix", None, "ok ok ok ok"),
    ("server", "unix", "", "ok ok ok ok"),
    ("locked_server", "tcp", None, "access_denied access_denied access_denied access_denied"),
    ("locked_server", "tcp", "", "ok ok ok ok"),
    ("locked_server", "unix", None, "ok ok ok ok"),
    ("open_server", "tcp", None, "ok ok ok ok"),
    ("open_server", "tcp", "anything", "ok ok ok ok"),
    ("open_server", "unix", None, "ok ok ok ok"),
]


@pytest.mark.parametrize(("which", "kind", "shown", "expected"), TABLE)
def test_who_may_call(
    which: str, kind: str, shown: str | None, expected: str, request: pytest.FixtureRequest
) -> None:
    server: Server = request.getfixturevalue(which)
    with lines(server, kind) as client:
        if shown is not None:
            token = shown or server.token
            assert client.ask("auth", 0, token=token)["result"] == {"ok": True}
        answers = [outcome(client.ask("initialize", 1, **HANDSHAKE))]
        client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        for message in (LIST, READ, WRITE):
            client.send(message)
            answers.append(outcome(client.receive()))
    assert " ".join(answers) == expected


@pytest.mark.parametrize("which", ["server", "locked_server"])
@pytest.mark.parametrize("kind", ["tcp", "unix"])
def test_a_wrong_token_is_refused_and_the_connection_closes(
    which: str, kind: str, request: pytest.FixtureRequest
) -> None:
    with lines(request.getfixturevalue(which), kind) as client:
        answer = client.ask("auth", "a", token="wrong")
        assert answer["id"] == "a"
        assert answer["error"]["code"] == -32001
        assert answer["error"]["data"] == {"code": "access_denied"}
        assert client.receive() is None


def test_nothing_runs_after_a_wrong_token_in_a_batch(locked_server: Server) -> None:
    with lines(locked_server, "tcp") as client:
        client.send([request("auth", 1, token="wrong"), request("auth", 2, token="T")])
        [answer] = client.receive()
        assert (answer["id"], outcome(answer)) == (1, "access_denied")
        assert client.receive() is None


def test_what_was_asked_before_a_wrong_token_is_answered_before_it(server: Server) -> None:
    with lines(server, "tcp") as client:
        client.start()
        client.send(
            tool_call("slow", "through the SDK", text="0.2") | {"params": SLOW},
            tool_call("slow", "a plain call", text="0.2"),
            request("large", "a direct method", text="1000"),
            request("auth", "wrong", token="wrong"),
            tool_call("echo", "after", text="never"),
        )
        answers = []
        while (answer := client.receive()) is not None:
            answers.append(answer["id"])
        before = {"through the SDK", "a plain call", "a direct method"}
        assert (set(answers[:-1]), answers[-1]) == (before, "wrong")


def test_a_long_answer_before_a_wrong_token_arrives_whole(server: Server) -> None:
    """Though the peer reads late and sends on: a reset would drop what it has not read."""
    with lines(server, "tcp") as client:
        size = 3_000_000
        client.send(request("large", 1, text=str(size)), request("auth", 2, token="wrong"))
        for _ in range(20):
            client.send(request("large", 3, text="1"))
        assert len(client.receive()["result"]["text"]) == size
        assert client.receive()["error"]["data"] == {"code": "access_denied"}
        assert client.receive() is None


def test_a_wrong_token_in_a_batch_comes_after_the_rest_of_it(server: Server) -> None:
    with lines(server, "tcp") as client:
        client.start()
        slow = tool_call("slow", 1, text="0.2")
        client.send([slow, request("auth", 2, token="wrong"), request("large", 3, text="1")])
        assert [outcome(answer) for answer in client.receive()] == ["ok", "access_denied"]
        assert client.receive() is None


@pytest.mark.parametrize("params", [{}, {"token": 7}, {"token": None}])
def test_auth_without_a_token_is_a_bad_parameter(server: Server, params: Any) -> None:
    with lines(server, "tcp") as client:
        answer = client.ask("auth", 1, **params)
        assert (answer["error"]["code"], outcome(answer)) == (-32602, "invalid_params")
        assert outcome(client.ask("auth", 2, token=server.token)) == "ok"


def test_a_writing_tool_works_once_the_token_was_shown(server: Server) -> None:
    with lines(server, "tcp") as client:
        client.start()
        client.send(WRITE)
        assert outcome(client.receive()) == "access_denied"
        client.ask("auth", 1, token=server.token)
        client.send(WRITE)
        assert client.receive()["result"]["content"][0]["text"] == "put hello"


def test_a_locked_connection_ignores_notifications_and_refuses_batches(
    locked_server: Server,
) -> None:
    with lines(locked_server, "tcp") as client:
        client.send({"jsonrpc": "2.0", "method": "notifications/initialized"}, [LIST, READ])
        assert [outcome(answer) for answer in client.receive()] == ["access_denied"] * 2


FIRST_LINES = [
    b"POST / HTTP/1.1",
    b"GET / HTTP/1.1",
    b"",
    b"   ",
    b"7",
    b'"text"',
    b"null",
    b"{",
    b"\xff\xfe",
    b"\x16\x03\x01\x02\x00",
]


@pytest.mark.parametrize("first", FIRST_LINES)
def test_a_first_line_on_tcp_that_is_no_message_closes_and_nothing_runs(
    open_server: Server, first: bytes
) -> None:
    with lines(open_server, "tcp") as client:
        client.connection.sendall(
            first + b"\r\n\r\n" + b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
        )
        answer = client.receive()
        assert (answer["id"], answer["error"]["code"]) == (None, -32700)
        assert client.receive() is None


def test_a_bad_first_line_on_the_unix_socket_leaves_the_connection_open(server: Server) -> None:
    with lines(server, "unix") as client:
        client.send(b"hello")
        assert client.receive()["error"]["code"] == -32700
        client.start()


def test_later_bad_lines_on_tcp_leave_the_connection_open(server: Server) -> None:
    with lines(server, "tcp") as client:
        client.start()
        client.send(b"hello")
        assert client.receive()["error"]["code"] == -32700
        client.send(READ)
        assert outcome(client.receive()) == "ok"
