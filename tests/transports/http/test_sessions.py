"""Sessions on HTTP: whoever comes is let in, and one idle longest goes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.transports.clients import HANDSHAKE, PATIENCE_SECONDS, request, serving, with_limits

MOST = 3


@pytest.fixture
def client(tmp_path: Path) -> Iterator[httpx2.Client]:
    work = tmp_path / "work"
    work.mkdir()
    flags = ("--no-auth", "--no-index", "--socket", "none")
    with (
        serving(work, flags, with_limits({"limits.REMEMBERED_CALLERS": MOST})) as server,
        httpx2.Client(
            base_url=server.url.removesuffix("/mcp"), timeout=PATIENCE_SECONDS, trust_env=False
        ) as made,
    ):
        yield made


def asked(client: httpx2.Client, session: str, body: dict[str, Any]) -> httpx2.Response:
    headers = {
        "accept": "application/json, text/event-stream",
        "content-type": "application/json",
        **({"mcp-session-id": session} if session else {}),
    }
    return client.post("/mcp", content=json.dumps(body), headers=headers)


def begun(client: httpx2.Client) -> str:
    answer = asked(client, "", request("initialize", 1, **HANDSHAKE))
    assert answer.status_code == 200, answer.text
    session = str(answer.headers["mcp-session-id"])
    initialized = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert asked(client, session, initialized).status_code == 202
    return session


def is_alive(client: httpx2.Client, session: str) -> bool:
    return asked(client, session, request("tools/list", 2)).status_code == 200


def test_a_session_too_many_ends_the_one_idle_longest(client: httpx2.Client) -> None:
    first, second, third = (begun(client) for _ in range(MOST))
    assert is_alive(client, first)  # so the second is idle longest
    fourth = begun(client)
    alive = {name: is_alive(client, name) for name in (first, second, third, fourth)}
    assert list(alive.values()) == [True, False, True, True]


def test_who_begins_a_session_for_every_call_locks_nobody_out(client: httpx2.Client) -> None:
    for _ in range(5 * MOST):
        assert is_alive(client, begun(client))
