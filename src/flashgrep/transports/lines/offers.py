"""What a connection can call: the tools its settings allow, and direct methods.

`flashgrep/join` is the first message of a connection of `flashgrep mcp` (or of a terminal command)
on the workspace's unix socket:

    → {"version", "settings_hash", "settings"}     from `mcp`; a terminal command sends {}
    ← {"version", "settings_hash", "restricted"}   the server's; how it narrows what was asked for

If the hashes differ, the error's data has the server's `settings` by flag, in words for a person,
so that the other side can say which differ.

With `settings` (see `join`) the connection then speaks MCP as `flashgrep mcp` alone would: with its
own tools, and without direct methods. The server enforces the settings, whatever the process at the
other end does later. Without `settings`, nothing changes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from flashgrep import __version__, limits
from flashgrep.errors import Conflict, InvalidParams, SettingsError
from flashgrep.settings import Settings, settings_hash, shared_settings
from flashgrep.tools.dispatch.caller import Caller
from flashgrep.tools.dispatch.toolbox import Toolbox
from flashgrep.transports.lines.join import JOIN, narrowed, read_sent, restrictions
from flashgrep.transports.lines.messages import DirectMethod
from flashgrep.transports.plain import Offer

_CONNECTION_OFFERS: Final = 32
"""Different sets of connection settings whose tools are kept ready; more are made again."""

JOINING: Final = frozenset({"version", "settings_hash", "settings"})
"""What `flashgrep/join` takes."""


class Offers:
    """The offers of one server, by settings; used only on its event loop."""

    def __init__(self, settings: Settings, toolbox: Callable[[Settings], Toolbox]) -> None:
        """`toolbox` makes one for other settings."""
        self._settings = settings
        self._hash = settings_hash(settings, __version__)
        self._toolbox = toolbox
        self._made: OrderedDict[Settings, Offer] = OrderedDict()

    def join(self, params: Mapping[str, Any] | None) -> tuple[dict[str, Any], Offer | None]:
        """Answer `flashgrep/join`."""
        given = params or {}
        if unknown := sorted(given.keys() - JOINING):
            raise InvalidParams(f"{JOIN} does not take {', '.join(unknown)}")
        answer: dict[str, Any] = {"version": __version__, "settings_hash": self._hash}
        if "settings" not in given:
            return answer, None
        self._require_same(given)
        asked = read_sent(given["settings"])
        kept = narrowed(self._settings, asked)
        answer["restricted"] = restrictions(asked, kept)
        return answer, self._offer(kept)

    def _require_same(self, given: Mapping[str, Any]) -> None:
        if given.get("version") != __version__:
            told = str(given.get("version"))[: limits.QUOTED_CHARS]
            raise Conflict(f"this server is flashgrep {__version__}, and {told} asks")
        if given.get("settings_hash") != self._hash:
            raise Conflict(
                "this server has other settings: scope, index, size limits, skill or knowledge "
                "base",
                {"settings": shared_settings(self._settings)},
            )

    def _offer(self, settings: Settings) -> Offer:
        if settings not in self._made:
            self._made[settings] = self._make(settings)
        self._made.move_to_end(settings)
        while len(self._made) > _CONNECTION_OFFERS:
            self._made.popitem(last=False)
        return self._made[settings]

    def _make(self, settings: Settings) -> Offer:
        try:
            toolbox = self._toolbox(settings)
        except SettingsError as error:
            raise InvalidParams(str(error)) from None
        return Offer(toolbox, structured=settings.structured)


# ── direct methods ───────────────────────────────────────────────────────────────────────────────
# Tools called by their own name as JSON-RPC methods, on TCP and the unix socket. They come from the
# same rows as the tools and run through the same toolbox; only the envelope differs. The result is
# the object itself, a failure is a JSON-RPC error with the tool's code, and there is no budget.


def direct_methods(toolbox: Toolbox) -> Mapping[str, DirectMethod]:
    """The methods a toolbox offers, by name."""

    async def call(name: str, caller: Caller, params: Mapping[str, Any] | None) -> Any:
        return await toolbox.direct(name, params, caller)

    return {name: partial(call, name) for name in toolbox.direct_names()}
