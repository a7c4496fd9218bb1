"""Direct methods: tools called by their own name as JSON-RPC methods, on TCP and the unix socket.

They come from the same rows as the tools and run through the same toolbox, so arguments, access
and behaviour cannot differ; only the envelope does. The result is the object itself, a failure is
a JSON-RPC error that carries the tool's code, and there is no budget.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from flashgrep.tools.dispatch.caller import Caller
from flashgrep.tools.dispatch.toolbox import Toolbox
from flashgrep.transports.lines.session import DirectMethod


def direct_methods(toolbox: Toolbox) -> Mapping[str, DirectMethod]:
    """The methods a toolbox offers, by name."""
    return {name: partial(_call, toolbox, name) for name in toolbox.direct_names()}


async def _call(
    toolbox: Toolbox, name: str, caller: Caller, params: Mapping[str, Any] | None
) -> Any:
    return await toolbox.direct(name, params, caller)
