"""One question at a time over a line connection: an answer, a refusal, or the end of it."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any

import pytest

from flashgrep.errors import RemoteFailure
from flashgrep.transports.lines.client import ConnectionEnded, LineClient, NotJsonRpc

Behave = Callable[[dict[str, Any]], list[object]]
"""What is sent for a request: values as lines, bytes as they are; None hangs up."""


@contextmanager
def asking(behave: Behave, seconds: float = 30, ceiling: int | None = None) -> Iterator[LineClient]:
    ours, theirs = socket.socketpair()
    with closing(LineClient(ours, seconds, ceiling)) as client:
        thread = threading.Thread(target=_serve, args=(theirs, behave))
        thread.start()
        try:
            yield client
        finally:
            client.hang_up()
            thread.join()


def _serve(connection: socket.socket, behave: Behave) -> None:
    with closing(connection), connection.makefile("rb") as lines:
        for line in lines:
            for value in behave(json.loads(line)):
                if value is None:
                    return
                data = value if isinstance(value, bytes) else json.dumps(value).encode() + b"\n"
                connection.sendall(data)


def test_each_question_gets_its_own_answer() -> None:
    with asking(lambda asked: [{"id": asked["id"], "result": asked["params"]}]) as client:
        assert [client.call("echo", {"n": n}) for n in range(3)] == [{"n": n} for n in range(3)]


def test_an_answer_of_megabytes_comes_whole() -> None:
    long = "x" * 5_000_000
    with asking(lambda asked: [{"id": asked["id"], "result": long}]) as client:
        assert client.call("give", {}) == long


def test_what_is_told_before_the_answer_is_heard() -> None:
    heard: list[Mapping[str, Any]] = []

    def behave(asked: dict[str, Any]) -> list[object]:
        told = [{"method": "progress", "params": {"done": n}} for n in range(2)]
        return [*told, {"id": asked["id"], "result": "done"}]

    with asking(behave) as client:
        assert client.call("work", {}, heard.append) == "done"
    assert heard == [{"done": 0}, {"done": 1}]


def test_a_failure_has_code_number_and_details() -> None:
    data = {"code": "conflict", "note": "a.md"}
    failure = {"code": -32000, "message": "it changed", "data": data}
    with asking(lambda asked: [{"id": asked["id"], "error": failure}]) as client:
        with pytest.raises(RemoteFailure, match="it changed") as told:
            client.call("edit", {})
        assert (told.value.code, told.value.number) == ("conflict", -32000)
        assert told.value.details == {"note": "a.md"}


ENDS: list[tuple[str, list[object], type[Exception]]] = [
    ("the end", [None], ConnectionEnded),
    ("an answer that breaks off", [b'{"id":0,"res', None], ConnectionEnded),
    ("no JSON", [b"HTTP/1.1 400 Bad Request\r\n"], NotJsonRpc),
    ("no object", [[1]], NotJsonRpc),
    ("neither question nor answer", [{"result": 1}], NotJsonRpc),
    ("another answer", [{"id": 7, "result": 1}], NotJsonRpc),
    ("no result", [{"id": 0}], NotJsonRpc),
    ("a failure without words", [{"id": 0, "error": {"code": 1}}], NotJsonRpc),
    ("too much", [{"id": 0, "result": "x" * 100}], ConnectionEnded),
    ("a flood", [b"x" * 1_000], ConnectionEnded),
    ("nothing", [], TimeoutError),
    ("a part of it", [b'{"id":'], TimeoutError),
]


@pytest.mark.parametrize(("said", "kind"), [row[1:] for row in ENDS], ids=[r[0] for r in ENDS])
def test_anything_else_is_the_end_of_the_conversation(
    said: list[object], kind: type[Exception]
) -> None:
    seconds = 0.05 if kind is TimeoutError else 30
    with asking(lambda asked: said, seconds, ceiling=99) as client, pytest.raises(kind):
        client.call("ask", {})


def test_hanging_up_ends_a_call_that_waits_in_another_thread() -> None:
    asked, failed = threading.Event(), threading.Event()

    def behave(_: dict[str, Any]) -> list[object]:
        asked.set()
        return []

    def call() -> None:
        with pytest.raises(ConnectionEnded):
            client.call("wait", {})
        failed.set()

    with asking(behave) as client:
        assert client.is_alive()
        thread = threading.Thread(target=call)
        thread.start()
        assert asked.wait(120)
        client.hang_up()
        thread.join()
        assert failed.is_set()
        assert not client.is_alive()
