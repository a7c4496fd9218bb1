"""What a connection is served, and the requests answered without the SDK.

Importing the SDK takes longer than all the rest of startup, and a `tools/call` passes through five
of its streams, two tasks and six models: 0.2 ms on an idle machine, 1 ms after something big has
run, a fifth of a search for a rare word. So the requests that nearly every client makes are
answered here: the handshake, `ping`, the listing, and tool calls. Everything else goes through the
SDK, which remains the definition: `tests/transports/lines/test_plain_calls.py` compares the two.

A request is plain only if every field of it is understood. Not plain: the protocol without
handshake, which has its envelope in `_meta`; what the SDK would refuse; fields and capabilities
that are unknown here; and calls with `--structured`, because their results differ by version.
"""

from __future__ import annotations

import base64
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from flashgrep import __version__
from flashgrep.tools.dispatch.call import Answer
from flashgrep.tools.dispatch.caller import LOADED_META, Caller
from flashgrep.tools.dispatch.toolbox import Listed, Progress, Toolbox

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import Server

    from flashgrep.transports.protocol import Peers

log = logging.getLogger(__name__)

ERROR_META = "flashgrep/error"
SERVER_NAME: Final = "flashgrep"

INITIALIZE: Final = "initialize"
INITIALIZED: Final = "notifications/initialized"
PROGRESSED: Final = "notifications/progress"
TOOL_CALL: Final = "tools/call"
_PING: Final = "ping"
_TOOL_LIST: Final = "tools/list"

HANDSHAKE_VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""The versions of the protocol that begin with a handshake, as the SDK has them; a client that asks
for another is offered the last."""


class Offer:
    """What a connection is served: tools, and how their results are sent."""

    def __init__(
        self, toolbox: Toolbox, *, structured: bool = False, is_plain: bool = True
    ) -> None:
        """Where nothing `is_plain`, the SDK answers all: the definition, for tests."""
        self._toolbox = toolbox
        self._structured = structured
        self._is_plain = is_plain

    @cached_property
    def server(self) -> Server[Peers]:
        """The SDK's server, which imports the SDK."""
        from flashgrep.transports.protocol import build_server

        return build_server(self._toolbox, structured=self._structured)

    def handshake(self, params: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """The answer to `initialize`; None where it is not plain."""
        if not self._is_plain or params is None or not is_plain_handshake(params):
            return None
        asked = params["protocolVersion"]
        return {
            "capabilities": {"tools": {"listChanged": False}},
            "instructions": self._toolbox.instructions,
            "protocolVersion": asked if asked in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1],
            "serverInfo": {"name": SERVER_NAME, "title": SERVER_NAME, "version": __version__},
        }

    def at_once(
        self, method: str, params: Mapping[str, Any] | None, caller: Caller
    ) -> dict[str, Any] | None:
        """The answer to a request that takes no time; None where it is not plain."""
        if params or not self._is_plain:
            return None
        if method == _PING:
            return {}
        if method == _TOOL_LIST:
            return {"tools": [_shown(listed) for listed in self._toolbox.listed(caller)]}
        return None

    def calls(self, params: Mapping[str, Any] | None) -> bool:
        """Whether these are a plain call's parameters."""
        return self._is_plain and not self._structured and is_plain(params)

    def in_a_moment(self, caller: Caller, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """The answer to a plain call that is over in a moment; None where it is not."""
        answer = self._toolbox.in_a_moment(params["name"], params.get("arguments"), caller)
        return None if answer is None else _result(answer, structured=False)

    async def call(
        self, caller: Caller, params: Mapping[str, Any], progress: Progress | None
    ) -> dict[str, Any]:
        """Answer a plain call that `in_a_moment` did not."""
        name, arguments = params["name"], params.get("arguments")
        return await call_tool(self._toolbox, name, arguments, caller, progress, was_tried=True)


# ── what is plain ────────────────────────────────────────────────────────────────────────────────

_CALL_FIELDS: Final = frozenset({"name", "arguments", "_meta"})
_HANDSHAKE_FIELDS: Final = frozenset({"protocolVersion", "capabilities", "clientInfo"})
_CLIENT_FIELDS: Final = frozenset({"name", "title", "version", "description", "websiteUrl"})
_CAPABILITIES: Final[Mapping[str, frozenset[str]]] = {
    "roots": frozenset(),
    "sampling": frozenset({"context", "tools"}),
    "elicitation": frozenset({"form", "url"}),
}
"""What a client may be able to do, and the parts of it that are objects."""

_RESERVED: Final = "io.modelcontextprotocol/"
_TOKEN: Final = "progressToken"  # noqa: S105 - the name of a field


def is_plain(params: Mapping[str, Any] | None) -> bool:
    """Whether these are a tool's name and arguments, as the SDK accepts them, and nothing else
    that would change its answer."""
    if params is None or not params.keys() <= _CALL_FIELDS:
        return False
    name, arguments = params.get("name"), params.get("arguments", {})
    if not isinstance(name, str) or not isinstance(arguments, dict):
        return False
    if "_meta" in params and not _is_plain_meta(params["_meta"]):
        return False
    return name.isascii() and all(map(str.isascii, arguments))


def progress_token(params: Mapping[str, Any]) -> str | int | None:
    """What the progress of a plain call is reported under; None where nobody wants to know."""
    token: str | int | None = params.get("_meta", {}).get(_TOKEN)
    return token


def _is_plain_meta(meta: Any) -> bool:
    """A progress token at most, and what only the client understands."""
    if not isinstance(meta, dict) or any(
        key.startswith(_RESERVED) or not key.isascii() for key in meta
    ):
        return False
    return _TOKEN not in meta or type(meta[_TOKEN]) is int or _is_word(meta[_TOKEN])


def is_plain_handshake(params: Mapping[str, Any]) -> bool:
    """Whether the SDK accepts this `initialize`, and nothing in it asks for more."""
    return (
        params.keys() == _HANDSHAKE_FIELDS
        and _is_word(params["protocolVersion"])
        and _is_plain_client(params["clientInfo"])
        and _are_plain_capabilities(params["capabilities"])
    )


def _is_plain_client(client: Any) -> bool:
    if not isinstance(client, dict) or not {"name", "version"} <= client.keys() <= _CLIENT_FIELDS:
        return False
    return all(map(_is_word, client.values()))


def _are_plain_capabilities(capabilities: Any) -> bool:
    if not isinstance(capabilities, dict) or not capabilities.keys() <= _CAPABILITIES.keys():
        return False
    return all(_is_plain_capability(name, value) for name, value in capabilities.items())


def _is_plain_capability(name: str, value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    if name == "roots":
        return all(key == "listChanged" and isinstance(part, bool) for key, part in value.items())
    return all(key in _CAPABILITIES[name] and part == {} for key, part in value.items())


def _is_word(value: Any) -> bool:
    """Text that is the same in every encoding: the SDK refuses lone surrogates."""
    return isinstance(value, str) and value.isascii()


# ── as it goes over the wire ─────────────────────────────────────────────────────────────────────

_SCHEMA_FIELDS: Final = ("$schema", "properties", "required", "type")
"""What the SDK sends of a schema first, and in which order."""


def _shown(listed: Listed) -> dict[str, Any]:
    """A tool as the SDK sends it, its fields in the same order."""
    spec, schema = listed.spec, listed.input_schema
    first = {key: schema[key] for key in _SCHEMA_FIELDS if key in schema}
    return {
        **({"_meta": dict(LOADED_META)} if spec.loaded else {}),
        "annotations": {
            "destructiveHint": not spec.read_only,
            "idempotentHint": spec.idempotent,
            "openWorldHint": False,
            "readOnlyHint": spec.read_only,
            "title": spec.title,
        },
        "description": listed.description,
        "inputSchema": {**first, **schema},
        "name": listed.name,
        "title": spec.title,
    }


async def call_tool(
    toolbox: Toolbox,
    name: str,
    arguments: Mapping[str, Any] | None,
    caller: Caller,
    progress: Progress | None = None,
    *,
    structured: bool = False,
    was_tried: bool = False,
) -> dict[str, Any]:
    """Run one tool; its `CallToolResult` as it goes over the wire."""
    try:
        answer = await toolbox.call(name, arguments, caller, progress, was_tried=was_tried)
    except Exception:
        # The last boundary: a defect of ours is a failed call; its details go to the log.
        log.exception("%s failed", name)
        answer = Answer(f"{name} failed inside the server; see its log.", code="io_error")
    return _result(answer, structured)


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


class ProgressReports:
    """Reports on a plain call until it has ended; a thread that nobody waits for may continue."""

    def __init__(
        self, token: str | int, tell: Callable[[str, Mapping[str, Any]], Awaitable[None]]
    ) -> None:
        self._token = token
        self._tell = tell
        self.is_open = True

    async def report(self, done: float, total: float | None, message: str) -> None:
        """Send a report."""
        if self.is_open:
            known = {} if total is None else {"total": total}
            told = {"progressToken": self._token, "progress": done, **known, "message": message}
            await self._tell(PROGRESSED, told)
