"""The settings of one connection, as `flashgrep mcp` tells them to the server it joins.

They are those of the rows marked `per_connection`: naming mode, toolsets, disabled tools, budget,
`--structured`, `--require-view-before-edit`, `--read-only` and `--call-seconds`. Only those that
were given are told, each as text, in the spelling of its environment variable; the others are at
their defaults:

    {"anthropic_compat": "true", "disable_tools": "write,write_code"}

A connection is free in how it is answered. What it may do it can only narrow: whatever restriction
the server was started with holds for everybody who connects.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from flashgrep.errors import InvalidParams, SettingsError
from flashgrep.settings import REQUIRE_VIEW, SETTINGS, Settings, read_settings

JOIN: Final = "flashgrep/join"
"""The first message of a connection that has settings of its own; see `offers`."""
ROWS: Final = {row.name: row for row in SETTINGS if row.per_connection}
_STRICTNESS: Final = ("false", "auto", "true")
assert sorted(_STRICTNESS) == sorted(REQUIRE_VIEW)  # noqa: S101 - read when this is imported


def told(settings: Settings) -> dict[str, str]:
    """What a connection tells of its settings."""
    values = {name: getattr(settings, name) for name in ROWS}
    given = settings.explicit | {name for name, row in ROWS.items() if values[name] != row.default}
    return {name: _text(value) for name, value in values.items() if name in given}


def read(given: Any) -> Settings:
    """The settings that a connection told; `InvalidParams` names what is wrong with them."""
    if not isinstance(given, Mapping):
        raise InvalidParams(f"settings must be an object, not {type(given).__name__}")
    unknown = sorted(str(name) for name in given if name not in ROWS)
    if unknown:
        raise InvalidParams(
            f"no settings of a connection: {', '.join(unknown)}; there are: {', '.join(ROWS)}"
        )
    for name, value in given.items():
        if not isinstance(value, str):
            raise InvalidParams(f"{name} must be text, not {type(value).__name__}")
    try:
        return read_settings(given, {})
    except SettingsError as error:
        raise InvalidParams(str(error)) from None


def narrowed(server: Settings, asked: Settings) -> Settings:
    """The settings a connection has: those it asks for, as far as the server's allow them."""
    values = {name: getattr(asked, name) for name in ROWS}
    values["toolsets"] = tuple(name for name in asked.toolsets if name in server.toolsets)
    if not values["toolsets"]:
        raise InvalidParams(
            f"toolsets {', '.join(asked.toolsets)}: this server offers none of them, but "
            f"{', '.join(server.toolsets)}"
        )
    values["disable_tools"] = tuple(dict.fromkeys((*server.disable_tools, *asked.disable_tools)))
    values["read_only"] = server.read_only or asked.read_only
    values["require_view_before_edit"] = _stricter(server, asked)
    values["call_seconds"] = shorter(server, asked)
    explicit = frozenset((server.explicit - ROWS.keys()) | (asked.explicit & ROWS.keys()))
    return replace(server, **values, explicit=explicit)


def restrictions(asked: Settings, kept: Settings) -> list[str]:
    """How a connection's settings are narrower than it asked for, in words for a person."""
    found = []
    if kept.read_only and not asked.read_only:
        found.append("--read-only")
    if more := [name for name in kept.disable_tools if name not in asked.disable_tools]:
        found.append(f"--disable-tools {','.join(more)}")
    if kept.toolsets != asked.toolsets:
        found.append(f"--toolsets {','.join(kept.toolsets)}")
    if kept.require_view_before_edit != asked.require_view_before_edit:
        found.append(f"--require-view-before-edit {kept.require_view_before_edit}")
    if kept.call_seconds != asked.call_seconds:
        found.append(f"--call-seconds {kept.call_seconds}")
    return found


def shorter(server: Settings, asked: Settings) -> int:
    """The shorter time of the two, where the server was given one; 0 is no limit."""
    if "call_seconds" not in server.explicit or not server.call_seconds:
        return asked.call_seconds
    return min(server.call_seconds, asked.call_seconds or server.call_seconds)


def _stricter(server: Settings, asked: Settings) -> str:
    """The stricter of the two; a server that was not told anything asks for nothing."""
    name = "require_view_before_edit"
    if name not in server.explicit:
        return asked.require_view_before_edit
    both = (server.require_view_before_edit, asked.require_view_before_edit)
    return max(both, key=_STRICTNESS.index)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(value) if isinstance(value, tuple) else str(value)
