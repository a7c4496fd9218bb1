"""A signal ends the server whatever runs, and a cancelled write learns of it while it runs."""

from __future__ import annotations

import json
import signal
import socket
import threading
from pathlib import Path

import pytest

from tests.transports.clients import TINY, Server, serving


def begin(server: Server, tool: str, witness: Path) -> socket.socket:
    """Call a tool on the unix socket, and wait until it runs."""
    connection = server.open_unix()
    asked = {"jsonrpc": "2.0", "id": 1, "method": tool, "params": {"text": str(witness)}}
    connection.sendall(json.dumps(asked).encode() + b"\n")
    wait_for(witness, "STARTED")
    return connection


def wait_for(witness: Path, word: str) -> None:
    turn = threading.Event()
    while not (witness.exists() and witness.read_text(encoding="utf-8") == word):
        turn.wait(0.005)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_although_a_write_does_not_stop(
    tmp_path: Path, number: int
) -> None:
    (tmp_path / "w").mkdir()
    with serving(
        tmp_path / "w",
        tools=TINY,
        limits={"transports.signals.STOP_SECONDS": 0.2},
    ) as server:
        with begin(server, "stubborn", tmp_path / "witness"):
            assert server.stop(number) == 0
        assert "did not stop" in server.log.read_text(encoding="utf-8")


def test_a_signal_waits_for_a_write_that_stops_in_time(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    with serving(tmp_path / "w", tools=TINY) as server:
        with begin(server, "hold", tmp_path / "witness"):
            assert server.stop() == 0
        assert "did not stop" not in server.log.read_text(encoding="utf-8")
    assert (tmp_path / "witness").read_text(encoding="utf-8") == "CANCELLED"


def test_a_write_whose_caller_hung_up_is_told_while_it_runs(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    with serving(
        tmp_path / "w",
        tools=TINY,
        limits={"limits.SOCKET_DRAIN_SECONDS": 0.1},
    ) as server:
        begin(server, "hold", tmp_path / "witness").close()
        wait_for(tmp_path / "witness", "CANCELLED")
        with server.open_unix() as another:
            asked = {"jsonrpc": "2.0", "id": 1, "method": "put", "params": {"text": "x"}}
            another.sendall(json.dumps(asked).encode() + b"\n")
            assert b"put x" in another.recv(1_000)
