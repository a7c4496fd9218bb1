"""The toolbox as an MCP server: listing, calling, progress, cancellation, in both protocol eras.

Built on the SDK's low-level `Server`, so that schemas and result texts stay exactly ours. The
transport knows who calls, and passes a `Peers` as lifespan state.
"""

from __future__ import annotations

import base64
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Protocol

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server

from flashgrep import __version__
from flashgrep.tools.dispatch.call import Answer
from flashgrep.tools.dispatch.caller import LOADED_META, Caller
from flashgrep.tools.dispatch.delivery import DELIVERY, Delivery, RequestId
from flashgrep.tools.dispatch.toolbox import Listed, Progress, Toolbox

log = logging.getLogger(__name__)

ERROR_META = "flashgrep/error"

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
        "flashgrep",
        version=__version__,
        title="flashgrep",
        instructions=toolbox.instructions,
        lifespan=lifespan,
        get_tool_input_schema=schemas.get,
        on_list_tools=on_list_tools,
        on_call_tool=on_call_tool,
    )


async def call_tool(
    toolbox: Toolbox,
    name: str,
    arguments: Mapping[str, Any] | None,
    caller: Caller,
    progress: Progress | None = None,
    *,
    structured: bool = False,
) -> dict[str, Any]:
    """Run one tool; its `CallToolResult` as it goes over the wire."""
    try:
        answer = await toolbox.call(name, arguments, caller, progress)
    except Exception:
        # The last boundary: a defect of ours is a failed call; its details go to the log.
        log.exception("%s failed", name)
        answer = Answer(f"{name} failed inside the server; see its log.", code="io_error")
    return _result(answer, structured)


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


def _result(answer: Answer, structured: bool) -> dict[str, Any]:
    """The answer as it is sent, by the SDK or as a plain call."""
    content: list[dict[str, Any]] = []
    if answer.image is not None:
        data = base64.b64encode(answer.image.data).decode("ascii")
        content.append({"type": "image", "data": data, "mimeType": answer.image.mime_type})
    if answer.text or answer.image is None:
        content.append({"type": "text", "text": _unicode(answer.text)})
    result: dict[str, Any] = {"content": content, "isError": answer.failed}
    if answer.code is not None:
        result["_meta"] = {ERROR_META: answer.code}
    if structured and answer.structured is not None:
        result["structuredContent"] = dict(answer.structured)
    return result


def _unicode(text: str) -> str:
    """The text, with lone surrogates written out: one stray name must not fail the answer."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


# ── plain calls ──────────────────────────────────────────────────────────────────────────────────
# A `tools/call` passes through five streams, two tasks and six models of the SDK: 0.2 ms on an idle
# machine, 1 ms where something big has just run, a fifth of a search for a rare word. A plain call
# (a name and arguments, nothing more) of a connection whose handshake the SDK has accepted goes
# straight to the toolbox instead. Everything else goes through the SDK, which stays the definition:
# `tests/transports/lines/test_plain_calls.py` compares the two.
#
# Not plain: progress tokens and anything else in `_meta` (the protocol without handshake has its
# envelope there), what the SDK would refuse, and `--structured`, whose results differ by version.


TOOL_CALL: Final = "tools/call"

PlainCall = Callable[[Caller, Mapping[str, Any]], Awaitable[dict[str, Any]]]

_FIELDS: Final = frozenset({"name", "arguments"})


def plain_calls(toolbox: Toolbox, *, structured: bool) -> PlainCall | None:
    """Answers the plain calls of a toolbox; None where it has none."""

    async def call(caller: Caller, params: Mapping[str, Any]) -> dict[str, Any]:
        return await call_tool(toolbox, params["name"], params.get("arguments"), caller)

    return None if structured else call


def is_plain(params: Mapping[str, Any] | None) -> bool:
    """Whether these are a tool's name and arguments, as the SDK accepts them, and nothing else."""
    if params is None or not params.keys() <= _FIELDS:
        return False
    name, arguments = params.get("name"), params.get("arguments", {})
    if not isinstance(name, str) or not isinstance(arguments, dict):
        return False
    return name.isascii() and all(map(str.isascii, arguments))
