"""A call ends with the connection of its HTTP request."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import anyio
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from flashgrep.tools.dispatch.caller import Callers
from flashgrep.tools.dispatch.delivery import Deliveries
from flashgrep.transports.access import ADMISSION, Admission
from flashgrep.transports.http.server import Exchanges, HttpPeers


def test_a_call_that_begins_after_the_end_of_its_connection_is_not_made() -> None:
    calls: list[str] = []
    answers: list[dict[str, Any]] = []
    deliveries = Deliveries()

    async def call() -> dict[str, Any]:
        await anyio.lowlevel.checkpoint()
        calls.append("made")
        return {}

    async def app(scope: Scope, receive: Receive, _: Send) -> None:
        assert (await receive())["type"] == "http.disconnect"
        context: Any = SimpleNamespace(request=Request(scope), request_id=1)
        answers.append(await HttpPeers(Callers(), deliveries).run(context, call))

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(_: Message) -> None: ...

    scope = {"type": "http", "method": "POST", "headers": [], ADMISSION: Admission("ann", None)}
    anyio.run(Exchanges(app, deliveries), scope, receive, send)
    assert (calls, answers[0]["isError"]) == ([], True)
