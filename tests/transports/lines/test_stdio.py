"""stdio: messages only on stdout, and the end of stdin is the end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.shared.exceptions import MCPError

from tests.transports.clients import (
    HANDSHAKE,
    PATIENCE_SECONDS,
    TINY,
    connect,
    environment,
    request,
    tool_call,
)
from tests.warm import Warm

START: list[dict[str, Any]] = [
    request("initialize", "start", **HANDSHAKE),
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
]


def wire(*messages: Any) -> bytes:
    lines = [m if isinstance(m, bytes) else json.dumps(m).encode() for m in messages]
    return b"".join(line + b"\n" for line in lines)


@contextmanager
def running(
    tmp_path: Path, *flags: str, drain_seconds: float = 1.5
) -> Iterator[subprocess.Popen[bytes]]:
    with (
        (tmp_path / "log").open("wb") as log,
        Warm[bytes](
            [*TINY, "mcp", *flags],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=environment(tmp_path)
            | {"TINY_LIMITS": json.dumps({"transports.lines.stdio.DRAIN_SECONDS": drain_seconds})},
        ) as process,
    ):
        try:
            yield process
        finally:
            process.kill()


def talk(tmp_path: Path, *messages: Any, flags: tuple[str, ...] = ()) -> list[Any]:
    """Send everything, close stdin, and give every line of stdout, each of which must be JSON."""
    with running(tmp_path, *flags) as process:
        output, _ = process.communicate(wire(*START, *messages), PATIENCE_SECONDS)
        assert process.returncode == 0
    return [json.loads(line) for line in output.splitlines()][1:]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What one process has answered, by id, and its log."""
    place = tmp_path_factory.mktemp("told")
    asked = tool_call("noise", "noise"), request("auth", "auth", token="x")
    answers = talk(place, *asked, tool_call("echo", "echo", text="x"))
    log = (place / "log").read_text(encoding="utf-8")
    return {answer["id"]: answer for answer in answers} | {"log": log}


def test_stray_output_and_reads_do_not_touch_the_wire(told: dict[str, Any]) -> None:
    assert told["noise"]["result"]["content"][0]["text"] == "''"
    assert "stray print" in told["log"]
    assert "stray write" in told["log"]


def test_the_end_of_stdin_ends_the_process_after_the_answers(tmp_path: Path) -> None:
    answers = talk(tmp_path, tool_call("slow", 1, text="0.3"), tool_call("echo", 2, text="x"))
    assert sorted(answer["id"] for answer in answers) == [1, 2]


@pytest.mark.thorough
def test_a_call_that_does_not_end_is_stopped_at_the_end_of_stdin(tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    [answer] = talk(tmp_path, tool_call("wait", 1, text=str(witness)))
    assert answer["id"] == 1
    assert "error" in answer
    assert witness.read_text(encoding="utf-8") in ("STARTED", "CANCELLED")


def test_requests_can_come_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(wire(*START, tool_call("echo", 1, text="from a file")))
    with (tmp_path / "in").open("rb") as source:
        output = subprocess.run(
            [*TINY, "mcp"],
            stdin=source,
            stdout=subprocess.PIPE,
            check=True,
            timeout=PATIENCE_SECONDS,
            env=environment(tmp_path),
        ).stdout
    assert json.loads(output.splitlines()[1])["id"] == 1


def test_auth_is_no_method_here(told: dict[str, Any]) -> None:
    assert told["auth"]["error"]["code"] == -32601


def test_structured_content_comes_only_where_it_is_asked_for(
    told: dict[str, Any], tmp_path: Path
) -> None:
    assert "structuredContent" not in told["echo"]["result"]
    [structured] = talk(tmp_path, tool_call("echo", 1, text="x"), flags=("--structured",))
    assert structured["result"]["structuredContent"] == {"text": "x"}


def test_a_message_cut_off_by_the_end_is_refused_and_nothing_runs(tmp_path: Path) -> None:
    with running(tmp_path) as process:
        output, _ = process.communicate(b'{"jsonrpc":"2.0","id":1,"meth', PATIENCE_SECONDS)
    [answer] = [json.loads(line) for line in output.splitlines()]
    assert (answer["id"], answer["error"]["code"]) == (None, -32700)


def test_a_client_that_closes_both_ends_stops_its_calls(tmp_path: Path) -> None:
    """One that only closed stdin could wait ten minutes here."""
    witness = tmp_path / "witness"
    with running(tmp_path, drain_seconds=600) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(wire(*START, tool_call("wait", 1, text=str(witness))))
        process.stdin.flush()
        wait_for(witness, "STARTED")
        process.stdin.close()
        process.stdout.close()
        assert process.wait(PATIENCE_SECONDS) == 0
    assert witness.read_text(encoding="utf-8") != "SURRENDERED"


def test_a_client_that_closes_what_it_reads_ends_the_process_without_a_word(tmp_path: Path) -> None:
    with running(tmp_path) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(wire(*START))
        process.stdin.flush()
        assert process.stdout.readline()
        process.stdout.close()
        process.stdin.write(wire(tool_call("echo", 2, text="x")))
        process.stdin.flush()
        assert process.wait(PATIENCE_SECONDS) == 0
    assert "Traceback" not in (tmp_path / "log").read_text(encoding="utf-8")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_process_in_order(tmp_path: Path, number: int) -> None:
    with running(tmp_path) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(wire(*START))
        process.stdin.flush()
        process.stdout.readline()
        process.send_signal(number)
        assert process.wait(PATIENCE_SECONDS) == 0
    assert "Traceback" not in (tmp_path / "log").read_text(encoding="utf-8")


def test_a_client_that_does_not_read_does_not_hold_up_a_signal(tmp_path: Path) -> None:
    with running(tmp_path) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        large = tool_call("large", 1, text=str(10_000_000))
        process.stdin.write(wire(*START, large))
        process.stdin.flush()
        process.stdout.readline()
        os.read(process.stdout.fileno(), 1)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_SECONDS) == 0


def wait_for(witness: Path, word: str) -> None:
    turn = threading.Event()
    while not (witness.exists() and witness.read_text(encoding="utf-8") == word):
        turn.wait(0.005)


def test_a_call_over_the_ceiling_is_answered_to_the_one_who_waits(tmp_path: Path) -> None:
    async def run() -> None:
        async with connect("stdio", tmp_path, ["--no-index"]) as session:
            with pytest.raises(MCPError, match="message too large"), anyio.fail_after(120):
                await session.call_tool("create_file", {"path": "x", "content": "x" * 5_000_000})
            assert not (tmp_path / "x").exists()
            assert (await session.list_tools()).tools

    anyio.run(run)
