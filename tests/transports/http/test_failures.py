"""Failures of HTTP routes are JSON, a defect of ours among them."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import httpx2
import pytest
from anyio.from_thread import start_blocking_portal
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from flashgrep.notes.access.tokens import Tokens
from flashgrep.settings import Settings
from flashgrep.tools.dispatch.caller import Callers
from flashgrep.transports.access import Entrance
from flashgrep.transports.http.connections import serve_http
from flashgrep.transports.http.guard import Names
from flashgrep.transports.http.server import Mounted, build_app
from tests.transports.clients import PATIENCE_SECONDS
from tests.transports.program import toolbox


async def _defect(_: Request) -> Response:
    raise ZeroDivisionError("a secret detail")


def _routes(_: Entrance) -> Sequence[BaseRoute]:
    return [Route("/kb/defect", _defect, methods=["GET"])]


@contextlib.asynccontextmanager
async def _running() -> AsyncIterator[None]:
    yield


def test_a_defect_is_a_500_that_says_where_to_look_and_nothing_more(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    mounted = Mounted(_routes, _running, tokens=Tokens(tmp_path), told="no notes")
    app = build_app(
        toolbox(Settings()),
        Callers(),
        Names.of(["127.0.0.1"], port),
        Entrance(None),
        False,
        mounted,
    )
    url = f"http://127.0.0.1:{port}"
    with start_blocking_portal() as portal:
        serving = portal.start_task_soon(serve_http, app, listener)
        try:
            with httpx2.Client(base_url=url, timeout=PATIENCE_SECONDS, trust_env=False) as client:
                answer = client.get("/kb/defect")
                again = client.get("/health")
        finally:
            serving.cancel()
    assert answer.status_code == 500
    assert answer.headers["content-type"] == "application/json"
    message = "the request failed inside the server; see its log"
    assert answer.json() == {"error": {"code": "io_error", "message": message}}
    assert again.json() == {"status": "ok"}
    assert "a secret detail" in caplog.text, "the log has what the answer has not"
