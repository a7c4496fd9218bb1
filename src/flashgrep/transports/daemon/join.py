"""Finds the daemon that already serves a workspace, so that several programs share one index.

The socket is looked at with the distrust it is made with (see `unix_socket`): no link, our own
directory, our own user at the other end. Whoever listens must then answer `flashgrep/join` (see
`offers`) at once with a `settings_hash` that we accept. Equal hashes mean the same version,
directory, scope, index, limits and notes; what else shapes an answer is told with the question
and belongs to the connection. So the daemon's answers are the ones we would give, or fewer where
it was started with a restriction, which is logged. In every other case there is no daemon for us;
one log line says why, and which settings differ, unless there simply is no socket. An older server
does not know the question, and an older `flashgrep mcp` asks for `index` and finds a hash it does
not expect: both go their own ways.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Container
from typing import Any, Final

from flashgrep import __version__, limits
from flashgrep.errors import RemoteFailure
from flashgrep.settings import Settings, settings_hash, shared_settings
from flashgrep.transports.lines import connection_settings
from flashgrep.transports.lines.client import ConnectionEnded, LineClient, NotJsonRpc
from flashgrep.transports.lines.connection_settings import JOIN
from flashgrep.transports.lines.unix_socket import reach_unix

JOIN_SECONDS: Final = 1.0
"""A daemon must say who it is in this time, or `flashgrep mcp` serves alone: a client waits."""

JOIN_BYTES: Final = 64 * limits.KIB
"""…and in a line no longer than this: the answer has a few hundred bytes."""

log = logging.getLogger(__name__)

_UNKNOWN = f"does not know {JOIN}: it is another version, or no flashgrep"


class _NotOurs(Exception):
    """Whoever listens is no daemon to join; the reason."""


def join(settings: Settings, accepted: Container[str] | None = None) -> socket.socket | None:
    """A connection to the daemon of this workspace, or None.

    Without `accepted` the connection is an MCP client's: it has the settings that are its own, and
    nothing else was asked. With it, it is one for direct methods, and these are the settings hashes
    that will do.
    """
    if settings.socket.lower() == "none":
        return None
    workdir = os.path.realpath(settings.workdir)
    try:
        connection = reach_unix(settings, workdir, JOIN_SECONDS)
    except FileNotFoundError:
        return None
    except OSError as error:
        log.info("no daemon joined: %s: %s", _socket_path(settings), error.strerror or error)
        return None
    try:
        answer = _ask(connection, settings, accepted)
    except (_NotOurs, ConnectionEnded, RemoteFailure, TimeoutError) as reason:
        connection.close()
        log.info(
            "no daemon joined: the server at %s %s", _socket_path(settings), _told(reason, settings)
        )
        return None
    log.debug("joined the server at %s", _socket_path(settings))
    restricted = answer.get("restricted")
    if isinstance(restricted, list) and restricted:
        told = " ".join(map(str, restricted))
        log.info("joined the server at %s, which holds us to %s", _socket_path(settings), told)
    connection.settimeout(None)
    return connection


def _socket_path(settings: Settings) -> str:
    return settings.socket or os.path.join(settings.workdir, ".flashgrep", "mcp.sock")


def _told(reason: Exception, settings: Settings) -> str:
    if isinstance(reason, TimeoutError):
        return f"did not answer within {JOIN_SECONDS:g} s"
    if isinstance(reason, NotJsonRpc) or (isinstance(reason, RemoteFailure) and not reason.code):
        return _UNKNOWN
    if isinstance(reason, RemoteFailure):  # one of ours, which says why
        if differences := _differences(reason.details.get("settings"), settings):
            return f"has other settings: {'; '.join(differences)}"
        return f"does not take us: {reason.message[: limits.QUOTED_CHARS]}"
    return str(reason)


def _ask(
    connection: socket.socket, settings: Settings, accepted: Container[str] | None
) -> dict[str, Any]:
    own = settings_hash(settings, __version__)
    params: dict[str, Any] = {}
    if accepted is None:
        told = connection_settings.told(settings)
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
    """What a server says of a setting, fit for our log whoever it is."""
    text = str(value)[: limits.QUOTED_CHARS]
    return "".join(character if character.isprintable() else "\ufffd" for character in text)
