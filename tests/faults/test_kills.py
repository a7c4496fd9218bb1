"""Kill -9 on a real server: no file torn, nothing left behind, and the next start just works."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.faults.processes import children, wait_until, wait_until_gone
from tests.faults.telling import tell
from tests.faults.victim import Victim, victim
from tests.transports.clients import RawLines, serving, tool_call

HEAVY = os.environ.get("FLASHGREP_HEAVY") == "1"
KILLS = 200 if HEAVY else 6
SIZE = 400_000
LATEST_KILL_SECONDS = 0.05
IN_PLACE_SECONDS = 0.0003


# ── overwrites ──────────────────────────────────────────────────────────────────────────────────


@dataclass
class Books:
    """What each file may hold: the last content confirmed, and those under way."""

    confirmed: dict[str, bytes] = field(default_factory=dict)
    under_way: dict[str, bytes] = field(default_factory=dict)
    number: int = 0
    hit: int = 0
    torn: int = 0

    def next(self) -> bytes:
        self.number += 1
        return bytes([97 + self.number % 26]) * (SIZE + self.number % 7 * 1_000)

    def allowed(self, name: str) -> tuple[bytes, ...]:
        return self.confirmed[name], self.under_way.get(name, self.confirmed[name])


@pytest.mark.fault
@pytest.mark.timeout(1800 if HEAVY else 600)
def test_a_kill_during_overwrites_tears_nothing_and_leaves_nothing(tmp_path: Path) -> None:
    """Two files at once: one replaced by rename, one in place because it has a second name."""
    ws, recovery = tmp_path / "ws", tmp_path / "state" / "recovery"
    ws.mkdir()
    books = Books()
    for name in ("plain", "linked"):
        books.confirmed[name] = books.next()
        (ws / name).write_bytes(books.confirmed[name])
    os.link(ws / "linked", ws / "other name")
    chance = random.Random(2)
    kills = 0
    while kills < KILLS or (not books.hit and kills < 5 * KILLS):
        kills += 1
        with victim(tmp_path, ["--no-index"]) as server:
            _check(ws, recovery, books)
            killer = Killer(server.process, recovery, chance, aims=kills % 2 == 0)
            _overwrite_until_killed(server, books, killer)
        _look_at_the_damage(ws, recovery, books)
    with victim(tmp_path, ["--no-index"]):
        _check(ws, recovery, books)
    tell(f"{kills} kills, {books.hit} during a write, {books.torn} half-written and put right")
    assert books.hit


def _overwrite_until_killed(server: Victim, books: Books, killer: Killer) -> None:
    try:
        while True:
            for name in ("plain", "linked"):
                books.under_way[name] = books.next()
                text = books.under_way[name].decode()
                server.send(tool_call("create_file", name, path=name, content=text))
            for _ in books.confirmed:
                answer = server.receive()
                if answer is None:
                    return
                assert not answer["result"].get("isError"), answer
                books.confirmed[answer["id"]] = books.under_way.pop(answer["id"])
            killer.begin()
    except BrokenPipeError:
        return
    finally:
        killer.join()


class Killer(threading.Thread):
    """Kills at a random moment; one that aims waits for an overwrite in place to begin."""

    def __init__(
        self, process: subprocess.Popen[bytes], recovery: Path, chance: random.Random, aims: bool
    ) -> None:
        super().__init__()
        self._process, self._recovery, self._aims = process, recovery, aims
        self._seconds = chance.random() * LATEST_KILL_SECONDS
        self._later = chance.random() * IN_PLACE_SECONDS

    def begin(self) -> None:
        if self.ident is None:
            self.start()

    def run(self) -> None:
        _spin(self._seconds)
        if self._aims:
            wait_until(self._sees_an_overwrite, "overwrite in place")
            _spin(self._later)
        self._process.send_signal(signal.SIGKILL)

    def _sees_an_overwrite(self) -> bool:
        """A published note that holds the old bytes and the new ones."""
        with os.scandir(self._recovery) as notes, suppress(FileNotFoundError):
            return any(n.name.endswith(".intent") and n.stat().st_size > SIZE for n in notes)
        return False


def _spin(seconds: float) -> None:
    """Sleeping would be too coarse for what is over in a millisecond."""
    instant = time.perf_counter() + seconds
    while time.perf_counter() < instant:
        pass


def _look_at_the_damage(ws: Path, recovery: Path, books: Books) -> None:
    """What a kill left; the file replaced by rename is whole even now."""
    books.hit += bool(os.listdir(recovery)) or len(os.listdir(ws)) > 3
    books.torn += (ws / "linked").read_bytes() not in books.allowed("linked")
    assert (ws / "plain").read_bytes() in books.allowed("plain")


def _check(ws: Path, recovery: Path, books: Books) -> None:
    """A started server has put everything right, and what was confirmed counts."""
    assert sorted(os.listdir(ws)) == ["linked", "other name", "plain"]
    for name in ("plain", "linked"):
        found = (ws / name).read_bytes()
        assert found in books.allowed(name), f"{name} is torn"
        books.confirmed[name] = found
        books.under_way.pop(name, None)
    assert (ws / "linked").samefile(ws / "other name")
    assert not recovery.exists() or os.listdir(recovery) == []


# ── searches ────────────────────────────────────────────────────────────────────────────────────

SLOW = "[a-y]*(a|b)[a-z]{12}(c|d)[a-z]{12}$"
"""Hard work for any engine: each `a` or `b` may begin a match."""


def _make_slow_tree(ws: Path) -> None:
    """A gigabyte to search that takes eight megabytes: one file under many names."""
    ws.mkdir()
    chance = random.Random(3)
    lines = b"".join(bytes(chance.choices(range(97, 122), k=70)) + b"\n" for _ in range(15_000))
    (ws / "0.txt").write_bytes(lines * 8)
    for number in range(1, 128):
        os.link(ws / "0.txt", ws / f"{number}.txt")


@pytest.mark.fault
@pytest.mark.timeout(600)
def test_a_killed_server_takes_its_workers_along(tmp_path: Path) -> None:
    _make_slow_tree(tmp_path / "ws")
    with victim(tmp_path) as server:
        server.send(tool_call("grep", 1, pattern=SLOW, output_mode="count"))
        workers = wait_until(lambda: children(server.process.pid), "workers")
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()
        wait_until_gone(workers)


@pytest.mark.thorough
@pytest.mark.fault
@pytest.mark.timeout(600)
def test_nothing_of_a_killed_server_blocks_the_next_one(tmp_path: Path) -> None:
    """The same ports, socket, state and files, a search and a write under way.

    `test_index_kills` has the index.
    """
    ws = tmp_path / "ws"
    _make_slow_tree(ws)
    with serving(ws, ["--no-index"]) as first:
        with RawLines(first.open_unix()) as lines:
            lines.start()
            lines.send(tool_call("grep", 1, pattern=SLOW, output_mode="count"))
            workers = wait_until(lambda: children(first.process.pid), "workers")
            lines.send(tool_call("create_file", 2, path="new.txt", content="x" * SIZE))
            first.stop(signal.SIGKILL)
        wait_until_gone(workers)
    flags = ["--no-index", "--http-port", str(first.http), "--tcp-port", str(first.tcp)]
    with serving(ws, flags, ports=False) as second:
        assert (second.http, second.tcp, second.unix) == (first.http, first.tcp, first.unix)
        assert second.token == first.token
        assert [name for name in os.listdir(ws) if name.endswith(".tmp")] == []
        for connection in (second.open_unix(), second.open_tcp()):
            _answers(connection)


def _answers(connection: socket.socket) -> None:
    with RawLines(connection) as lines:
        lines.start()
        answer = lines.ask("tools/call", name="glob", arguments={"pattern": "0.txt"})
        assert answer["result"]["content"][0]["text"] == "0.txt"
