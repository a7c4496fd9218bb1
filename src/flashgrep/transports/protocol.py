"""The toolbox as an MCP server: listing, calling, progress, cancellation, in both protocol eras.

Built on the SDK's low-level `Server`, so that schemas and result texts stay exactly ours. The
transport knows who calls, and passes a `Peers` as lifespan state.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server

from flashgrep import __version__
from flashgrep.tools.dispatch.caller import LOADED_META, Caller
from flashgrep.tools.dispatch.delivery import DELIVERY, Delivery, RequestId
from flashgrep.tools.dispatch.toolbox import Listed, Progress, Toolbox
from flashgrep.transports.plain import SERVER_NAME, call_tool

Context = ServerRequestContext["Peers", Any]


ToolCall = Callable[[], Awaitable[dict[str, Any]]]


class Peers(Protocol):
    """Knows who calls."""

    def caller_of(self, context: Context) -> Caller:
        """The caller of a request."""
        ...

    async def run(self, context: Context, call: ToolCall) -> dict[str, Any]:
        """The result of a call, which may end with its connection."""
        ...


@dataclass(frozen=True)
class OnePeer:
    """A connection: every request on it is its one caller's."""

    caller: Caller
    deliveries: dict[RequestId, Delivery] = field(default_factory=dict)
    """Of the answers that were made, and for which something waits; the transport takes them."""

    def caller_of(self, context: Context) -> Caller:
        """The connection's caller, under the name its client has given itself by now."""
        self.caller.call_itself(*client_of(context))
        return self.caller

    async def run(self, context: Context, call: ToolCall) -> dict[str, Any]:
        delivery = Delivery()
        DELIVERY.set(delivery)  # of this request's task alone
        result = await call()
        if delivery and context.request_id is not None:
            self.deliveries[context.request_id] = delivery
        return result


def client_of(context: Context) -> tuple[str, str]:
    """A client's name and version: from its handshake, or, without one, from the request."""
    client = context.session.client_params
    return (client.client_info.name, client.client_info.version) if client else ("", "")


def build_server(
    toolbox: Toolbox, *, structured: bool = False, peers: Peers | None = None
) -> Server[Peers]:
    """The MCP server over a toolbox; `peers` is for HTTP, where one server has many."""

    @asynccontextmanager
    async def lifespan(_: Server[Peers]) -> AsyncIterator[Any]:
        yield peers

    schemas = {listed.name: listed.input_schema for listed in toolbox.listed()}

    async def on_list_tools(
        context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        caller = context.lifespan_context.caller_of(context)
        return types.ListToolsResult(tools=[_tool(listed) for listed in toolbox.listed(caller)])

    async def on_call_tool(
        context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        peers = context.lifespan_context
        given = (params.name, params.arguments, peers.caller_of(context), _progress(context))
        call = partial(call_tool, toolbox, *given, structured=structured)
        return types.CallToolResult.model_validate(await peers.run(context, call))

    return Server(
        SERVER_NAME,
        version=__version__,
        title=SERVER_NAME,
        instructions=toolbox.instructions,
        lifespan=lifespan,
        get_tool_input_schema=schemas.get,
        on_list_tools=on_list_tools,
        on_call_tool=on_call_tool,
    )


def _tool(listed: Listed) -> types.Tool:
    spec = listed.spec
    return types.Tool(
        name=listed.name,
        title=spec.title,
        description=listed.description,
        input_schema=dict(listed.input_schema),
        annotations=types.ToolAnnotations(
            title=spec.title,
            read_only_hint=spec.read_only,
            destructive_hint=not spec.read_only,
            idempotent_hint=spec.idempotent,
            open_world_hint=False,
        ),
        _meta=dict(LOADED_META) if spec.loaded else None,
    )


def _progress(context: Context) -> Progress | None:
    """A reporter where the caller gave a progress token, else None: tools then report nothing."""
    if context.meta is None or context.meta.get("progress_token") is None:
        return None
    return context.session.report_progress
