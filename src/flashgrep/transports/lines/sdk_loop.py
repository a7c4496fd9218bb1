"""A connection's side of the SDK: messages to its loop and back, in both protocol eras.

Importing this module imports the SDK; a session does so when it first needs it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectSendStream
from mcp.server.lowlevel.server import Server
from mcp.server.runner import serve_dual_era_loop
from mcp.shared.message import ServerMessageMetadata, SessionMessage

from flashgrep.tools.dispatch.caller import Caller
from flashgrep.tools.dispatch.delivery import Delivery, RequestId
from flashgrep.transports.lines import messages
from flashgrep.transports.protocol import OnePeer, Peers


class SdkLoop:
    """The SDK's loop for one connection, and the streams to and from it."""

    def __init__(
        self, server: Server[Peers], caller: Caller, made: dict[RequestId, Delivery]
    ) -> None:
        self._server = server
        self._peer = OnePeer(caller, made)
        self._to_sdk: MemoryObjectSendStream[SessionMessage | Exception]
        self._to_sdk, self._incoming = anyio.create_memory_object_stream[
            SessionMessage | Exception
        ]()
        self._outgoing, self._answers = anyio.create_memory_object_stream[SessionMessage]()

    async def run(self) -> None:
        """Serve until `finish`."""
        await serve_dual_era_loop(
            self._server, self._incoming, self._outgoing, lifespan_state=self._peer
        )

    async def ask(
        self,
        number: int,
        method: str,
        params: Mapping[str, Any] | None,
        unanswered: Callable[[int], Awaitable[None]],
    ) -> None:
        """Pass a request on; `unanswered` is called where it ends without an answer."""
        request = types.JSONRPCRequest(
            jsonrpc="2.0", id=number, method=method, params=_as_dict(params)
        )
        metadata = ServerMessageMetadata(on_request_unanswered=partial(unanswered, number))
        await self._to_sdk.send(SessionMessage(request, metadata))

    async def notify(self, method: str, params: Mapping[str, Any] | None) -> None:
        """Pass a notification on."""
        notification = types.JSONRPCNotification(
            jsonrpc="2.0", method=method, params=_as_dict(params)
        )
        await self._to_sdk.send(SessionMessage(notification))

    async def answers(self) -> AsyncIterator[tuple[int | None, dict[str, Any]]]:
        """Each message of the SDK, as it is sent, and the number of the request it answers."""
        async for item in self._answers:
            yield _read(item.message)

    async def finish(self) -> None:
        """Nothing more comes: the loop ends."""
        await self._to_sdk.aclose()

    def close(self) -> None:
        """Give the streams back."""
        for stream in (self._to_sdk, self._incoming, self._outgoing, self._answers):
            stream.close()


def _read(message: types.JSONRPCMessage) -> tuple[int | None, dict[str, Any]]:
    if isinstance(message, types.JSONRPCResponse) and isinstance(message.id, int):
        return message.id, messages.result(message.id, message.result)
    if isinstance(message, types.JSONRPCError) and isinstance(message.id, int):
        told = message.error
        return message.id, messages.error(message.id, told.code, told.message, told.data)
    return None, message.model_dump(by_alias=True, mode="json", exclude_unset=True)


def _as_dict(params: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if params is None else dict(params)
