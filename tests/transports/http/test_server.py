"""uvicorn as we run it: it sleeps while nobody asks, and dates its answers all the same."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path

import httpx2
import pytest

from flashgrep.notes.home import Home
from tests.transports.clients import PATIENCE_SECONDS, Server, serving

IDLE_SECONDS = 0.5


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Everything that `serve` has: four listeners' code, an index, notes."""
    tmp_path = tmp_path_factory.mktemp("server")
    Home.create(tmp_path / "kb")
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.txt").write_text("needle\n", encoding="utf-8")
    flags = ("--kb", str(tmp_path / "kb"), "--socket", str(tmp_path / "s.sock"))
    with serving(work, flags) as running:
        yield running


@pytest.mark.thorough
def test_a_server_that_nobody_asks_is_not_woken(server: Server) -> None:
    """serving, idle: no wake-ups when nothing changes"""
    httpx2.get(f"http://127.0.0.1:{server.http}/health", trust_env=False).raise_for_status()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while woken := _woken(server):  # the index is built first, connections time out
        assert time.monotonic() < deadline, f"it does not come to rest: {woken}"


def _woken(server: Server) -> dict[str, int]:
    """How often each thread ran of its own will in a while; those that did not are left out."""
    before = _switches(server)
    time.sleep(IDLE_SECONDS)
    after = _switches(server)
    return {
        task: after[task] - before.get(task, 0) for task in after if after[task] != before.get(task)
    }


def _switches(server: Server) -> dict[str, int]:
    found = {}
    for status in Path(f"/proc/{server.process.pid}/task").glob("*/status"):
        try:
            text = status.read_text(encoding="ascii", errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue  # a thread that has just ended
        found[status.parent.name] = int(text.rpartition("\nvoluntary_ctxt_switches:")[2].split()[0])
    return found


@pytest.mark.thorough
def test_answers_have_the_date_of_their_time(server: Server) -> None:
    with httpx2.Client(base_url=f"http://127.0.0.1:{server.http}", trust_env=False) as client:
        for seconds in (0, 1.1):  # the second on a connection that is already there
            time.sleep(seconds)
            began = datetime.now(UTC) - timedelta(seconds=1)  # dates have whole seconds
            told = client.get("/health").headers
            assert began <= parsedate_to_datetime(told["date"]) <= datetime.now(UTC)
            assert "server" not in told
