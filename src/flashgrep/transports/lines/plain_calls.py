"""Calls answered beside the SDK, and notifications sent before an answer.

A `tools/call` passes through five streams, two tasks and six models of the SDK: 0.2 ms on a machine
that does nothing else, 1 ms where something big has just run, which is a fifth of what the search
for a rare word takes. A plain call (a name and arguments, nothing more) of a connection whose
handshake the SDK has accepted is therefore put to the toolbox at once. Everything else goes the
long way, which stays the definition: `tests/transports/lines/test_plain_calls.py` compares the two.

Not plain: progress tokens and anything else in `_meta` (the protocol without handshake has its
envelope there), what the SDK would refuse, and `--structured`, whose results differ by version.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from functools import partial
from typing import Any

from flashgrep.tools.dispatch.caller import Caller
from flashgrep.tools.dispatch.toolbox import Toolbox
from flashgrep.transports.protocol import call_tool

METHOD = "tools/call"

PlainCall = Callable[[Caller, Mapping[str, Any]], Awaitable[dict[str, Any]]]

_FIELDS = frozenset({"name", "arguments"})


def plain_calls(toolbox: Toolbox, *, structured: bool) -> PlainCall | None:
    """What answers the plain calls of a toolbox; None where there are none."""
    return None if structured else partial(_call, toolbox)


async def _call(toolbox: Toolbox, caller: Caller, params: Mapping[str, Any]) -> dict[str, Any]:
    return await call_tool(toolbox, params["name"], params.get("arguments"), caller)


def is_plain(params: Mapping[str, Any] | None) -> bool:
    """Whether these are a tool's name and arguments, as the SDK accepts them, and nothing else."""
    if params is None or not params.keys() <= _FIELDS:
        return False
    name, arguments = params.get("name"), params.get("arguments", {})
    if not isinstance(name, str) or not isinstance(arguments, dict):
        return False
    return name.isascii() and all(map(str.isascii, arguments))


# ── notifications ────────────────────────────────────────────────────────────────────────────────
# What a direct method tells its peer before it answers: notifications on the same connection.


Tell = Callable[[str, Mapping[str, Any]], Awaitable[None]]
"""Sends a notification: its method and its parameters."""


async def _nobody(_: str, __: Mapping[str, Any]) -> None:
    pass


TELL: ContextVar[Tell] = ContextVar("TELL", default=_nobody)
"""The way to the peer of the direct method that is running."""
