"""A stream of MCP on HTTP lives no longer than the token that opened it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from flashgrep.notes.access.roles import Role
from tests.transports.clients import HANDSHAKE, TINY, request, serving, with_limits
from tests.web.served import TOKEN, Served, served

ACCEPT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    quick = with_limits({"limits.TOKEN_LOOK_SECONDS": 0.05})
    with served(tmp_path_factory.mktemp("place"), {"Note.md": "text"}, tools=quick) as running:
        yield running


def session(server: Served, token: str) -> dict[str, str]:
    """The headers of a new session."""
    began = server.post("/mcp", request("initialize", 1, **HANDSHAKE), token, **_under(ACCEPT))
    assert began.status_code == 200, began.text
    return {**ACCEPT, "mcp-session-id": began.headers["mcp-session-id"]}


def _under(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("-", "_"): value for name, value in headers.items()}


@contextmanager
def stream(server: Served, token: str, headers: dict[str, str]) -> Iterator[httpx2.Response]:
    shown = headers | {"authorization": f"Bearer {token}"}
    with server.client.stream("GET", "/mcp", headers=shown) as answer:
        assert answer.status_code == 200
        yield answer


@pytest.mark.thorough
def test_a_stream_ends_when_its_token_is_taken_back(server: Served) -> None:
    token = server.token("reader", Role.READ)
    headers = session(server, token)
    with stream(server, token, headers) as answer:
        server.tokens.revoke("reader")
        assert not [line for line in answer.iter_lines() if line.startswith("data")]
    again = server.get("/mcp", token, **_under(headers))
    assert again.status_code == 401
    assert "revoked" in again.json()["error"]["message"]


@pytest.mark.thorough
def test_a_stream_ends_when_its_token_expires(server: Served) -> None:
    expires = int(time.time() * 1_000) + 1_500
    token = server.tokens.make("guest", Role.READ, expires=expires)
    with stream(server, token, session(server, token)) as answer:
        assert not [line for line in answer.iter_lines() if line.startswith("data")]
    assert time.time() * 1_000 >= expires


def test_streams_of_other_tokens_go_on(server: Served) -> None:
    kept, gone = server.token("kept", Role.READ), server.token("gone", Role.READ)
    headers = {token: session(server, token) for token in (kept, gone, TOKEN)}
    with (
        stream(server, kept, headers[kept]) as of_kept,
        stream(server, TOKEN, headers[TOKEN]) as own,
    ):
        with stream(server, gone, headers[gone]) as of_gone:
            server.tokens.revoke("gone")
            list(of_gone.iter_lines())
        for answer in (of_kept, own):
            assert not answer.is_closed
        # A second stream of a session is refused while the first is open.
        for token in (kept, TOKEN):
            assert server.get("/mcp", token, **_under(headers[token])).status_code == 409


def test_a_server_without_notes_has_streams_too(tmp_path: Path) -> None:
    with serving(tmp_path, ["--tcp-port", "none"], TINY) as running:
        base = f"http://127.0.0.1:{running.http}"
        with httpx2.Client(base_url=base, timeout=120, trust_env=False) as client:
            there = Served(running, tmp_path, client)
            token: Any = running.token
            with stream(there, token, session(there, token)) as answer:
                assert answer.headers["content-type"].startswith("text/event-stream")
