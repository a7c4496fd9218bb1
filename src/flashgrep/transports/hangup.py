"""A client on HTTP that closes its connection has no use for the answer: the call is cancelled.

The protocol with a handshake lets a client come back for an answer it has missed, where the server
keeps answers. We keep none, so nobody could ever read it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

import anyio

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_KEY: Final = "flashgrep.hangup"
_UNREAD: Final[dict[str, Any]] = {
    "content": [{"type": "text", "text": "The connection was closed"}],
    "isError": True,
}
"""In place of an answer that nobody is there to read."""


class _HangUp:
    """What runs for one request, and ends with its connection."""

    def __init__(self) -> None:
        self._running: set[anyio.CancelScope] = set()
        self._is_over = False

    def happen(self) -> None:
        self._is_over = True
        for scope in tuple(self._running):
            scope.cancel()

    async def run(self, call: Callable[[], Awaitable[dict[str, Any]]]) -> dict[str, Any]:
        with anyio.CancelScope() as scope:
            if self._is_over:
                scope.cancel()
            self._running.add(scope)
            try:
                return await call()
            finally:
                self._running.discard(scope)
        return _UNREAD


class NoticedHangUps:
    """Learns of the end of connections from whoever waits for it below."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        hang_up = scope[_KEY] = _HangUp()

        async def noticing() -> Message:
            message = await receive()
            if message["type"] == "http.disconnect":
                hang_up.happen()
            return message

        await self._app(scope, noticing, send)


async def unless_hung_up(
    request: Any, call: Callable[[], Awaitable[dict[str, Any]]]
) -> dict[str, Any]:
    """The result of a call, which ends with the connection of its HTTP request, if it has one."""
    hang_up = None if request is None else request.scope.get(_KEY)
    return await (call() if hang_up is None else hang_up.run(call))
