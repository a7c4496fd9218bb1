"""How `flashgrep mcp` finds and joins the server of its workspace, so that they share one index.

The socket is opened with the same checks with which it is made (see `unix_socket`): no link, our
own directory, our own user at the other end. The server must then answer `flashgrep/join` (see
`offers`) at once, with a `settings_hash` that we accept. Equal hashes mean the same version,
directory, scope, index, limits and notes; the other settings that shape an answer are sent with the
request and belong to the connection. So the server answers as we would, or with less if it was
started with a restriction, which is logged. In every other case no server is joined, and unless
there is simply no socket, one log line says why and which settings differ. An older server does not
know the request, and an older `flashgrep mcp` asks for `index` and finds a hash it does not expect:
neither joins.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Container, Mapping
from dataclasses import replace
from typing import Any, Final

from flashgrep import __version__, limits
from flashgrep.errors import InvalidParams, RemoteFailure, SettingsError
from flashgrep.settings import (
    REQUIRE_VIEW,
    SETTINGS,
    Settings,
    read_settings,
    settings_hash,
    shared_settings,
)
from flashgrep.transports.lines.client import ConnectionEnded, LineClient, NotJsonRpc
from flashgrep.transports.lines.unix_socket import reach_unix, socket_path

JOIN: Final = "flashgrep/join"
"""The first message of a connection that joins; see `offers`."""

JOIN_SECONDS: Final = 1.0
"""A server must identify itself in this time, or `flashgrep mcp` serves alone: a client waits."""

JOIN_BYTES: Final = 64 * limits.KIB
"""…and in a line no longer than this: the answer has a few hundred bytes."""

log = logging.getLogger(__name__)

_UNKNOWN = f"it does not know {JOIN}: it is another version, or not flashgrep"


class _NotOurs(Exception):
    """What listens is not a server that we can join, and why."""


def join(settings: Settings, accepted: Container[str] | None = None) -> socket.socket | None:
    """A connection to the server of this workspace, or None.

    Without `accepted` the connection is for an MCP client, with our settings. With it, it is for
    direct methods, and these are the settings hashes to accept.
    """
    if settings.socket.lower() == "none":
        return None
    workdir = os.path.realpath(settings.workdir)
    try:
        connection = reach_unix(settings, workdir, JOIN_SECONDS)
    except FileNotFoundError:
        return None
    except OSError as error:
        log.info(
            "not joining a running server: %s: %s",
            socket_path(settings, settings.workdir),
            error.strerror or error,
        )
        return None
    try:
        answer = _ask(connection, settings, accepted)
    except (_NotOurs, ConnectionEnded, RemoteFailure, TimeoutError) as reason:
        connection.close()
        log.info(
            "not joining the running server at %s: %s",
            socket_path(settings, settings.workdir),
            _reason(reason, settings),
        )
        return None
    log.debug("joined the server at %s", socket_path(settings, settings.workdir))
    restricted = answer.get("restricted")
    if isinstance(restricted, list) and restricted:
        told = " ".join(map(str, restricted))
        log.info(
            "joined the server at %s, which restricts us to %s",
            socket_path(settings, settings.workdir),
            told,
        )
    connection.settimeout(None)
    return connection


def _reason(reason: Exception, settings: Settings) -> str:
    if isinstance(reason, TimeoutError):
        return f"it did not answer within {JOIN_SECONDS:g} s"
    if isinstance(reason, NotJsonRpc) or (isinstance(reason, RemoteFailure) and not reason.code):
        return _UNKNOWN
    if isinstance(reason, RemoteFailure):  # one of ours, which says why
        if differences := _differences(reason.details.get("settings"), settings):
            return f"its settings differ: {'; '.join(differences)}"
        return f"it refuses us: {reason.message[: limits.QUOTED_CHARS]}"
    return f"it {reason}"


def _ask(
    connection: socket.socket, settings: Settings, accepted: Container[str] | None
) -> dict[str, Any]:
    own = settings_hash(settings, __version__)
    params: dict[str, Any] = {}
    if accepted is None:
        told = sent_settings(settings)
        params = {"version": __version__, "settings_hash": own, "settings": told}
    client = LineClient(connection, JOIN_SECONDS, JOIN_BYTES)
    answer = client.call(JOIN, params)
    if not isinstance(answer, dict):
        raise _NotOurs(_UNKNOWN)
    if not client.is_drained:
        raise _NotOurs("says more than it was asked")
    given = answer.get("settings_hash")
    if not isinstance(given, str) or given not in (accepted or {own}):
        raise _NotOurs("has other settings, or is another version")
    return answer


def _differences(theirs: Any, settings: Settings) -> list[str]:
    """Which settings a server has other than ours, with both values."""
    if not isinstance(theirs, dict):
        return []
    return [
        f"{flag} is {_one_word(theirs[flag])} there and {own} here"
        for flag, own in shared_settings(settings).items()
        if flag in theirs and theirs[flag] != own
    ]


def _one_word(value: Any) -> str:
    """What a server says of a setting, fit for our log."""
    text = str(value)[: limits.QUOTED_CHARS]
    return "".join(character if character.isprintable() else "\ufffd" for character in text)


# ── settings of a connection ─────────────────────────────────────────────────────────────────────
# Those of the rows marked `per_connection`: naming mode, toolsets, disabled tools, budget,
# `--structured`, `--require-view-before-edit`, `--read-only` and `--call-seconds`. Only those that
# were given are sent, each as text, spelled as in its environment variable; the others are at their
# defaults:
#
#     {"anthropic_compat": "true", "disable_tools": "write,write_code"}  # noqa: ERA001
#
# A connection is free in how it is answered. What it may do it can only narrow: a restriction the
# server was started with holds for all connections.


ROWS: Final = {row.name: row for row in SETTINGS if row.per_connection}
_STRICTNESS: Final = ("false", "auto", "true")
assert sorted(_STRICTNESS) == sorted(REQUIRE_VIEW)  # noqa: S101 - read when this is imported


def sent_settings(settings: Settings) -> dict[str, str]:
    """The settings that a connection sends."""
    values = {name: getattr(settings, name) for name in ROWS}
    given = settings.explicit | {name for name, row in ROWS.items() if values[name] != row.default}
    return {name: _text(value) for name, value in values.items() if name in given}


def read_sent(given: Any) -> Settings:
    """The settings that a connection sent; `InvalidParams` names what is wrong with them."""
    if not isinstance(given, Mapping):
        raise InvalidParams(f"settings must be an object, not {type(given).__name__}")
    unknown = sorted(str(name) for name in given if name not in ROWS)
    if unknown:
        raise InvalidParams(
            f"not settings of a connection: {', '.join(unknown)}; those are {', '.join(ROWS)}"
        )
    for name, value in given.items():
        if not isinstance(value, str):
            raise InvalidParams(f"{name} must be text, not {type(value).__name__}")
    try:
        return read_settings(given, {})
    except SettingsError as error:
        raise InvalidParams(str(error)) from None


def narrowed(server: Settings, asked: Settings) -> Settings:
    """The settings a connection gets: those it asks for, as far as the server's allow them."""
    values = {name: getattr(asked, name) for name in ROWS}
    values["toolsets"] = tuple(name for name in asked.toolsets if name in server.toolsets)
    if not values["toolsets"]:
        raise InvalidParams(
            f"toolsets {', '.join(asked.toolsets)}: this server offers only "
            f"{', '.join(server.toolsets)}"
        )
    values["disable_tools"] = tuple(dict.fromkeys((*server.disable_tools, *asked.disable_tools)))
    values["read_only"] = server.read_only or asked.read_only
    values["require_view_before_edit"] = _stricter(server, asked)
    values["call_seconds"] = shorter(server, asked)
    explicit = frozenset((server.explicit - ROWS.keys()) | (asked.explicit & ROWS.keys()))
    return replace(server, **values, explicit=explicit)


def restrictions(asked: Settings, kept: Settings) -> list[str]:
    """The flags by which a connection's settings are narrower than it asked for."""
    found = ["--read-only"] if kept.read_only and not asked.read_only else []
    if more := [name for name in kept.disable_tools if name not in asked.disable_tools]:
        found.append(f"--disable-tools {','.join(more)}")
    found += [
        f"{ROWS[name].flag} {_text(getattr(kept, name))}"
        for name in ("toolsets", "require_view_before_edit", "call_seconds")
        if getattr(kept, name) != getattr(asked, name)
    ]
    return found


def shorter(server: Settings, asked: Settings) -> int:
    """The shorter time of the two, where the server was given one; 0 is no limit."""
    if "call_seconds" not in server.explicit or not server.call_seconds:
        return asked.call_seconds
    return min(server.call_seconds, asked.call_seconds or server.call_seconds)


def _stricter(server: Settings, asked: Settings) -> str:
    """The stricter of the two; a server's default does not count."""
    name = "require_view_before_edit"
    if name not in server.explicit:
        return asked.require_view_before_edit
    both = (server.require_view_before_edit, asked.require_view_before_edit)
    return max(both, key=_STRICTNESS.index)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(value) if isinstance(value, tuple) else str(value)
