"""Streamable HTTP against a real server."""

from __future__ import annotations

import json
import os
from pathlib import Path

import anyio
import anyio.to_thread
import httpx2
import pytest
from mcp.shared.exceptions import MCPError

from flashgrep import limits
from tests.transports.clients import TINY, Server, join, serving, tool_call

FLOOD_BYTES = 200_000_000 if os.environ.get("FLASHGREP_HEAVY") == "1" else 12_000_000
ADDED_BYTES = 16 * 1024 * 1024


def post(server: Server, body: bytes, token: str | None = None) -> httpx2.Response:
    headers = {
        "Authorization": f"Bearer {token or server.token}",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
    }
    with httpx2.Client(trust_env=False, timeout=120) as client:
        return client.post(server.url, content=body, headers=headers)


def test_health_says_only_ok(server: Server) -> None:
    with httpx2.Client(trust_env=False) as client:
        answer = client.get(server.url.replace("/mcp", "/health"))
    assert answer.content == b'{"status":"ok"}'
    assert "server" not in answer.headers


def test_a_missing_token_is_told_how_to_show_it(server: Server) -> None:
    answer = post(server, b"{}", "wrong")
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert answer.json()["error"]["data"] == {"code": "access_denied"}


def unauthorised(server: Server, path: str = "/mcp") -> httpx2.Response:
    with httpx2.Client(trust_env=False, timeout=120) as client:
        url = server.url.replace("/mcp", path)
        return client.post(url, json=tool_call("echo", 1, text="x"))


def test_a_call_without_a_token_is_told_the_header_and_where_the_token_is(server: Server) -> None:
    answer = unauthorised(server)
    assert answer.status_code == 401
    told = answer.json()["error"]
    assert told["code"] == -32001
    kept = next(line for line in server.told if "(kept in " in line).rpartition("kept in ")[2][:-1]
    assert Path(kept).read_text(encoding="ascii").strip() == server.token
    for word in ("a token is needed", "header Authorization", "Bearer", kept):
        assert word in told["message"]
    assert str(server.token) not in answer.text
    assert "wrong, expired or revoked" in post(server, b"{}", "wrong").text


def test_a_given_token_is_told_to_be_given(locked_server: Server) -> None:
    told = unauthorised(locked_server).json()["error"]["message"]
    assert told.endswith("it is the one that flashgrep serve was given with --token")


def test_a_client_that_asks_for_a_sign_in_is_told_so_in_its_own_form(server: Server) -> None:
    """Claude Code does: without a header it tries OAuth, and shows what comes back from there."""
    answer = unauthorised(server, "/register")
    told = unauthorised(server).json()["error"]["message"]
    assert answer.json() == {"error": "access_denied", "error_description": told}


def test_the_sdks_client_shows_where_the_token_is(server: Server) -> None:
    async def use() -> None:
        async with join(server, "http", auth=False):
            raise AssertionError("it was let in")

    with pytest.raises(BaseExceptionGroup) as refused:
        anyio.run(use)
    leaf: BaseException = refused.value
    while isinstance(leaf, BaseExceptionGroup):
        (leaf,) = leaf.exceptions
    assert isinstance(leaf, MCPError)
    assert "header Authorization, as Bearer TOKEN; it is kept in" in str(leaf)


BODIES: list[tuple[bytes, int, int]] = [
    (b"hello", 400, -32700),
    (b'{"a":"\xff"}', 400, -32700),
    (b"[" * 1_000_000, 400, -32600),
    (b"[" * 100 + b"]" * 100, 400, -32600),
    (b"x" * (limits.MESSAGE_BYTES + 1), 413, -32600),
]


@pytest.mark.parametrize(("body", "status", "code"), BODIES, ids=range(len(BODIES)))
def test_noise_is_refused(server: Server, body: bytes, status: int, code: int) -> None:
    answer = post(server, body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


def test_a_flood_is_refused_without_being_kept(server: Server) -> None:
    """Sent in chunks without a length: nothing announces how much is coming."""
    before = server.resident_bytes()
    head = (
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
        f"Authorization: Bearer {server.token}\r\n\r\n"
    )
    with server.open_http() as connection:
        connection.sendall(head.encode())
        chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
        for _ in range(FLOOD_BYTES // 0x10000):
            connection.sendall(chunk)
        connection.sendall(b"0\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 413")
    assert server.resident_bytes() - before < ADDED_BYTES


def test_a_head_over_64_kib_is_refused(server: Server) -> None:
    with server.open_http() as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 70_000)
        assert connection.recv(65536).startswith(b"HTTP/1.1 400")


def test_callers_are_sessions_in_one_era_and_client_names_in_the_other(server: Server) -> None:
    async def main() -> None:
        with anyio.fail_after(120):
            for era, name, expected in (
                ("legacy", "a", "session:"),
                ("modern", "a", "http:server:a"),
                ("modern", "b", "http:server:b"),
            ):
                async with join(server, "http", era=era, name=name) as session:
                    said = (await session.call_tool("whoami", {})).content[0]
                    assert said.text.startswith(expected)  # type: ignore[union-attr]

    anyio.run(main)


def test_the_token_is_in_no_log(server: Server) -> None:
    post(server, b"hello")
    post(server, json.dumps(tool_call("echo", 1, text="x")).encode())
    assert server.token
    assert server.token not in server.log.read_text(encoding="utf-8")


def test_a_signal_ends_serve_while_a_session_is_open(tmp_path: Path) -> None:
    """The session's stream for notifications stays open all the while."""
    (tmp_path / "w").mkdir()

    async def main() -> None:
        with anyio.fail_after(120), serving(tmp_path / "w", tools=TINY) as running:
            async with join(running, "http") as session:
                await session.call_tool("echo", {"text": "x"})
                status = await anyio.to_thread.run_sync(running.stop)
                assert status == 0
            assert "Traceback" not in running.log.read_text(encoding="utf-8")

    anyio.run(main)
