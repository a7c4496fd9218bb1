"""Finds the daemon that already serves a workspace, so that several programs share one index.

The socket is looked at with the distrust it is made with (see `unixsocket`): no link, our own
directory, our own user at the other end. Whoever listens must then answer the direct method
`stats` at once with a `settings_hash` that we accept. Equal hashes mean the same version,
directory and settings, so the daemon's answers are the ones we would give. In every other case
there is no daemon for us; one log line says why, unless there simply is no socket.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import time
from collections.abc import Container
from typing import Any

from flashgrep import __version__, limits
from flashgrep.settings import Settings, settings_hash
from flashgrep.transports.unixsocket import reach_unix

log = logging.getLogger(__name__)

_ASK = b'{"jsonrpc":"2.0","id":0,"method":"stats","params":{}}\n'


class _NotOurs(Exception):
    """Whoever listens is no daemon to join; the reason."""


def join(settings: Settings, accepted: Container[str] | None = None) -> socket.socket | None:
    """A connection to the daemon of this workspace, or None.

    `accepted` are the settings hashes that will do; without it, only that of `settings`. The
    connection has been asked `stats` and nothing else.
    """
    if settings.socket.lower() == "none":
        return None
    workdir = os.path.realpath(settings.workdir)
    try:
        connection = reach_unix(settings, workdir, limits.JOIN_SECONDS)
    except FileNotFoundError:
        return None
    except OSError as error:
        log.info("no daemon joined: %s: %s", _socket_path(settings), error.strerror or error)
        return None
    try:
        _require_same(connection, accepted or {settings_hash(settings, __version__)})
    except (_NotOurs, OSError) as reason:
        connection.close()
        log.info("no daemon joined: the server at %s %s", _socket_path(settings), _told(reason))
        return None
    log.debug("joined the server at %s", _socket_path(settings))
    connection.settimeout(None)
    return connection


def _socket_path(settings: Settings) -> str:
    return settings.socket or os.path.join(settings.workdir, ".flashgrep", "mcp.sock")


def _told(reason: Exception) -> str:
    if isinstance(reason, TimeoutError):
        return f"did not answer within {limits.JOIN_SECONDS:g} s"
    return f"closed the connection ({reason})" if isinstance(reason, OSError) else str(reason)


def _require_same(connection: socket.socket, accepted: Container[str]) -> None:
    connection.sendall(_ASK)
    answer = _answer(_one_line(connection))
    given = answer.get("settings_hash")
    if not isinstance(given, str) or given not in accepted:
        raise _NotOurs("has other settings, or is another version")


def _one_line(connection: socket.socket) -> bytes:
    """The line that answers; one deadline for all of it, however it is spread."""
    deadline = time.monotonic() + limits.JOIN_SECONDS
    line = b""
    while not line.endswith(b"\n"):
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        connection.settimeout(left)
        piece = connection.recv(limits.READ_CHUNK_BYTES)
        line += piece
        if not piece:
            raise _NotOurs("closed the connection")
        if len(line) > limits.JOIN_BYTES or b"\n" in line[:-1]:
            raise _NotOurs("says more than it was asked")
    return line


def _answer(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
        result = value["result"]
    except (ValueError, RecursionError, TypeError, KeyError):
        raise _NotOurs("does not know stats") from None
    if value.get("id") != 0 or not isinstance(result, dict):
        raise _NotOurs("does not know stats")
    return result
