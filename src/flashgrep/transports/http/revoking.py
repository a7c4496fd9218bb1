"""A stream that stays open ends with the token that opened it."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from flashgrep.transports.http.admission import ADMISSION, Admission, Entrance
from flashgrep.transports.http.guard import Refusal, secret_of


class EndsWithToken:
    """Ends a GET stream of a token of the knowledge base when that is taken back or expires.

    The server's own token lives as long as the server. Any other request is over soon, and the
    next one is checked by the guard.
    """

    def __init__(self, app: ASGIApp, entrance: Entrance) -> None:
        self._app = app
        self._entrance = entrance

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        admission: Admission = scope[ADMISSION]
        if scope["method"] != "GET" or admission.principal is None:
            await self._app(scope, receive, send)
            return
        has_begun = False

        async def watched(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        with anyio.CancelScope() as ending:
            await self._run(scope, receive, watched, ending)
        if ending.cancelled_caught and has_begun:
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        elif ending.cancelled_caught:
            refusal = Refusal(401, "the token was taken back or has expired")
            await refusal.response(scope["path"])(scope, receive, send)

    async def _run(
        self, scope: Scope, receive: Receive, send: Send, ending: anyio.CancelScope
    ) -> None:
        secret, loop = secret_of(scope), asyncio.get_running_loop()

        def look() -> None:
            if self._entrance.admit(secret) is None:
                ending.cancel()

        def tell() -> None:
            with suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(look)

        unwatch = self._entrance.watch(tell)
        try:
            look()  # it may have been taken back before anybody watched
            await self._app(scope, receive, send)
        finally:
            unwatch()
