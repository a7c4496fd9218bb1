"""Places for live editing and events: one who takes many locks nobody out."""

from __future__ import annotations

import json
import socket
from contextlib import ExitStack
from pathlib import Path

import httpx2
import pytest

from flashgrep.notes.access.roles import Role
from tests.transports.clients import HANDSHAKE, request, with_limits
from tests.web.served import TOKEN, served
from tests.web.test_live import shake_hands


@pytest.mark.thorough
@pytest.mark.parametrize("share", [100, 200])
def test_one_reader_with_many_sockets_locks_nobody_out(tmp_path: Path, share: int) -> None:
    """Neither where it has its share, nor where all the places are its own."""
    flags = ("--token", TOKEN, "--live-share", str(share))
    with served(tmp_path, {"N.md": "text"}, flags=flags) as running, ExitStack() as ends:
        greedy = running.token("greedy", Role.READ)
        for _ in range(220):
            shake_hands(running, ends.enter_context(socket.socket()), "N.md", greedy)
        reader = ends.enter_context(running.live("N.md", running.token("reader", Role.READ)))
        writer = ends.enter_context(running.live("N.md", running.token("writer", Role.WRITE)))
        reader.sync()
        writer.sync().type("!")
        reader.until(lambda: reader.text == "text!")
        with running.live("N.md", greedy) as refused:
            assert refused.closed() == 1013
            assert refused.socket.close_reason is not None
            assert "--live-" in refused.socket.close_reason
        headers = {"authorization": f"Bearer {TOKEN}"}
        with running.client.stream("GET", "/kb/events", headers=headers) as page:
            assert page.status_code == 200


def test_one_token_with_many_streams_of_events_locks_nobody_out(tmp_path: Path) -> None:
    flags = ("--token", TOKEN, "--live-connections", "3", "--live-share", "3")
    with served(tmp_path, {"N.md": "text"}, flags=flags) as running, ExitStack() as ends:
        greedy = {"authorization": f"Bearer {running.token('greedy', Role.READ)}"}
        pages = [
            ends.enter_context(running.client.stream("GET", "/kb/events", headers=greedy))
            for _ in range(4)
        ]
        assert [page.status_code for page in pages] == [200, 200, 200, 503]
        assert pages[3].headers["retry-after"]
        assert "--live-share" in json.loads(pages[3].read())["error"]["message"]
        with running.live("N.md") as writer:
            writer.sync()
            list(pages[2].iter_lines())  # the one that came last is ended, as any stream is
            assert running.get("/kb/events", greedy["authorization"][7:]).status_code == 503


@pytest.mark.thorough
def test_sockets_that_were_refused_and_do_not_go_leave_connections_for_others(
    tmp_path: Path,
) -> None:
    program = with_limits(
        {"limits.CONNECTIONS": 20, "transports.http.connections.CLOSE_SECONDS": 60.0}
    )
    flags = ("--token", TOKEN, "--live-connections", "2")
    with served(tmp_path, {}, flags=flags, tools=program) as running, ExitStack() as ends:
        for _ in range(40):
            shake_hands(running, ends.enter_context(socket.socket()), "N.md", "wrong")
        with httpx2.Client(base_url=running.client.base_url, trust_env=False) as client:
            assert client.get("/health").status_code == 200


def test_streams_of_mcp_have_places_too(tmp_path: Path) -> None:
    flags = ("--token", TOKEN, "--live-share", "2")
    accept = "application/json, text/event-stream"
    with served(tmp_path, {}, flags=flags) as running, ExitStack() as ends:
        statuses = []
        for _ in range(3):
            asked = request("initialize", **HANDSHAKE)
            begun = running.post("/mcp", asked, accept=accept, content_type="application/json")
            headers = {
                "authorization": f"Bearer {TOKEN}",
                "accept": accept,
                "mcp-session-id": begun.headers["mcp-session-id"],
            }
            stream = running.client.stream("GET", "/mcp", headers=headers)
            statuses.append(ends.enter_context(stream).status_code)
        assert statuses == [200, 200, 503]
