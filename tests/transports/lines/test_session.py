"""The line protocol over sockets: ids, batches, notifications, cancellation, half-closed peers."""

from __future__ import annotations

import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import anyio
import anyio.to_thread
import pytest

from tests.transports.clients import (
    ERAS,
    KINDS,
    TINY,
    RawLines,
    Server,
    connect,
    join,
    serving,
    tool_call,
)

SOCKETS = pytest.mark.parametrize("kind", ["tcp", "unix"])


def lines(server: Server, kind: str) -> RawLines:
    client = RawLines(server.open_tcp() if kind == "tcp" else server.open_unix())
    client.start()
    return client


def text(answer: Any) -> str:
    return str(answer["result"]["content"][0]["text"])


@pytest.mark.parametrize("request_id", ["a", "", "7", 7, 0, -1, 10**30, "é" * 1000])
def test_an_id_comes_back_as_it_was_sent(server: Server, request_id: Any) -> None:
    with lines(server, "unix") as client:
        client.send(tool_call("echo", request_id, text="x"))
        answer = client.receive()
    assert answer["id"] == request_id
    assert type(answer["id"]) is type(request_id)


def test_equal_ids_each_get_their_answer(server: Server) -> None:
    with lines(server, "unix") as client:
        client.send(tool_call("echo", 7, text="a"), tool_call("echo", "7", text="b"))
        client.send(tool_call("echo", 7, text="c"))
        answers = sorted(
            ((text(a), a["id"]) for a in (client.receive() for _ in range(3))), key=str
        )
    assert answers == [("a", 7), ("b", "7"), ("c", 7)]


def test_notifications_are_not_answered(server: Server) -> None:
    with lines(server, "unix") as client:
        client.send(
            {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "echo"}},
            {"jsonrpc": "2.0", "method": "no/such"},
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}},
            {"jsonrpc": "2.0", "id": 5, "result": {}},
            b"",
            tool_call("echo", 1, text="first answer"),
        )
        assert text(client.receive()) == "first answer"


def test_a_batch_is_answered_in_one_array(server: Server) -> None:
    with lines(server, "tcp") as client:
        client.send(
            [
                tool_call("echo", 1, text="a"),
                {"jsonrpc": "2.0", "method": "notifications/initialized"},
                tool_call("missing", "2"),
                17,
                {"jsonrpc": "2.0", "id": 3, "method": "no/such"},
                {"jsonrpc": "2.0", "id": 4, "method": "auth", "params": {"token": server.token}},
            ]
        )
        answers = {str(answer["id"]): answer for answer in client.receive()}
    assert set(answers) == {"1", "2", "None", "3", "4"}
    assert text(answers["1"]) == "a"
    assert answers["2"]["result"]["isError"] is True
    assert answers["None"]["error"]["code"] == -32600
    assert answers["3"]["error"]["code"] == -32601
    assert answers["4"]["result"] == {"ok": True}


def test_a_batch_of_notifications_is_not_answered(server: Server) -> None:
    with lines(server, "unix") as client:
        client.send([{"jsonrpc": "2.0", "method": "x"}] * 3, tool_call("echo", 1, text="next"))
        assert text(client.receive()) == "next"


def test_a_tool_that_does_not_exist_is_a_result_not_a_protocol_error(server: Server) -> None:
    with lines(server, "unix") as client:
        client.send(tool_call("ecko", 1))
        result = client.receive()["result"]
    assert result["isError"] is True
    assert result["_meta"] == {"flashgrep/error": "invalid_params"}
    assert "Did you mean echo?" in result["content"][0]["text"]


def test_a_defect_is_a_failed_call_and_its_details_go_to_the_log(server: Server) -> None:
    with lines(server, "unix") as client:
        client.send(tool_call("crash", 1))
        result = client.receive()["result"]
    assert result["isError"] is True
    assert result["_meta"] == {"flashgrep/error": "io_error"}
    assert "secret" not in result["content"][0]["text"]
    assert "a secret detail" in server.log.read_text(encoding="utf-8")


@SOCKETS
def test_answers_still_come_after_the_peer_half_closed(server: Server, kind: str) -> None:
    with lines(server, kind) as client:
        client.send(tool_call("slow", 1, text="0.2"), tool_call("echo", 2, text="quick"))
        client.connection.shutdown(socket.SHUT_WR)
        answers = sorted([text(client.receive()), text(client.receive())])
        assert client.receive() is None
    assert answers == ["quick", "slow answer"]


def test_a_last_message_needs_no_newline(server: Server) -> None:
    with lines(server, "unix") as client:
        client.connection.sendall(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
        client.connection.shutdown(socket.SHUT_WR)
        assert client.receive() == {"jsonrpc": "2.0", "id": 1, "result": {}}


def test_a_peer_that_is_gone_stops_its_calls(tmp_path: Path) -> None:
    """A half-closed peer could wait ten minutes here; one that hung up is noticed at once."""
    (tmp_path / "w").mkdir()
    witness = tmp_path / "witness"
    with serving(tmp_path / "w", tools=TINY, limits={"limits.SOCKET_DRAIN_SECONDS": 600}) as server:
        client = lines(server, "unix")
        client.send(tool_call("wait", 1, text=str(witness)))
        wait_for(witness, "STARTED")
        client.__exit__()
        wait_for(witness, "CANCELLED")


@pytest.mark.parametrize(("sent", "cancelled"), [(9, 9), ("nine", "nine"), (9, "9")])
def test_a_cancelled_call_stops_and_is_not_answered(
    server: Server, tmp_path: Path, sent: Any, cancelled: Any
) -> None:
    witness = tmp_path / "witness"
    with lines(server, "unix") as client:
        client.send(tool_call("wait", sent, text=str(witness)))
        wait_for(witness, "STARTED")
        params = {"requestId": cancelled}
        client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
        wait_for(witness, "CANCELLED")
        client.send(tool_call("echo", 10, text="next"))
        assert text(client.receive()) == "next"


def test_a_cancelled_call_leaves_the_rest_of_its_batch(server: Server, tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    with lines(server, "unix") as client:
        client.send([tool_call("wait", 1, text=str(witness)), tool_call("echo", 2, text="rest")])
        wait_for(witness, "STARTED")
        params = {"requestId": 1}
        client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
        [answer] = client.receive()
    assert text(answer) == "rest"


def wait_for(witness: Path, word: str) -> None:
    """Until the tool has written the word; the test's own time limit is the wall."""
    turn = threading.Event()
    while not (witness.exists() and witness.read_text(encoding="utf-8") == word):
        turn.wait(0.005)


def test_sixty_four_clients_with_equal_ids_get_their_own_answers(server: Server) -> None:
    def talk(number: int) -> bool:
        with lines(server, "tcp" if number % 2 else "unix") as client:
            for turn in range(10):
                client.send(tool_call("echo", turn, text=f"{number} {turn}"))
            answers = [client.receive() for _ in range(10)]
        return all(text(answer) == f"{number} {answer['id']}" for answer in answers)

    with ThreadPoolExecutor(64) as pool:
        assert all(pool.map(talk, range(64)))


def test_a_large_answer_arrives_whole(server: Server) -> None:
    with lines(server, "tcp") as client:
        client.send(tool_call("large", 1, text="20000000"))
        assert len(text(client.receive())) == 20_000_000


def test_a_peer_that_does_not_read_hurts_nobody_else(server: Server) -> None:
    with lines(server, "unix") as greedy, lines(server, "unix") as other:
        for number in range(50):
            greedy.send(tool_call("large", number, text="1000000"))
        other.send(tool_call("echo", 1, text="fine"))
        assert text(other.receive()) == "fine"


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_transport_lists_calls_fails_shows_and_reports(
    kind: str, era: str, server: Server, tmp_path: Path
) -> None:
    """The SDK's own client, both protocol eras."""
    workdir = tmp_path / "workspace"
    workdir.mkdir()

    async def main() -> None:
        reported: list[tuple[float, float | None, str | None]] = []

        async def on_progress(done: float, total: float | None, message: str | None) -> None:
            reported.append((done, total, message))

        with anyio.fail_after(120):
            stdio = connect("stdio", workdir, tools=TINY, era=era)
            async with stdio if kind == "stdio" else join(server, kind, era) as session:
                assert session.instructions == "Tools for tests."
                tools = {tool.name: tool for tool in (await session.list_tools()).tools}
                counted = await session.call_tool(
                    "count", {}, progress_callback=cast(Any, on_progress)
                )
                failed = await session.call_tool("missing", {})
                picture = await session.call_tool("picture", {})
                written = await session.call_tool("put", {"text": "é"})
        hints = tools["put"].annotations
        assert hints is not None
        assert (hints.read_only_hint, hints.destructive_hint) == (False, True)
        assert (hints.idempotent_hint, hints.open_world_hint) == (True, False)
        assert tools["put"].title == "Put"
        assert counted.content[0].text == "counted"  # type: ignore[union-attr]
        assert reported == [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]
        assert failed.is_error
        assert failed.meta is not None
        assert failed.meta["flashgrep/error"] == "not_found"
        assert picture.content[0].data == "iVBORw=="  # type: ignore[union-attr]
        assert written.content[0].text == "put é"  # type: ignore[union-attr]
        assert written.structured_content is None

    anyio.run(main)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("kind", ["http", "tcp", "unix"])
def test_a_client_that_gives_up_stops_its_call(
    kind: str, era: str, server: Server, tmp_path: Path
) -> None:
    """The SDK's client sends a cancellation, or closes the response stream."""
    witness = tmp_path / "witness"

    async def main() -> None:
        with anyio.fail_after(120):
            async with join(server, kind, era=era) as session:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(session.call_tool, "wait", {"text": str(witness)})
                    await anyio.to_thread.run_sync(wait_for, witness, "STARTED")
                    tasks.cancel_scope.cancel()
                await anyio.to_thread.run_sync(wait_for, witness, "CANCELLED")
                after = await session.call_tool("echo", {"text": "next"})
        assert after.content[0].text == "next"  # type: ignore[union-attr]

    anyio.run(main)


def test_sessions_on_one_connection_are_one_caller(server: Server) -> None:
    async def main() -> None:
        with anyio.fail_after(120):
            async with join(server, "unix") as one, join(server, "unix") as two:
                names = [
                    (await session.call_tool("whoami", {})).content[0].text  # type: ignore[union-attr]
                    for session in (one, one, two)
                ]
        assert names[0] == names[1] != names[2]

    anyio.run(main)
