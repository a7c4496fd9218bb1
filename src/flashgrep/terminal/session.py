"""Where a terminal command gets its answers: a running server, or this very process.

Both run the same handlers, as direct methods (objects, no budget), so a command prints the same
either way; the server is faster on a big tree because it has the index. A server is used if its
settings equal ours, apart from those that make no difference here (see `_accepted`).

A command that names paths may also ask the server of a directory above, unless a scope is
set: `flashgrep grep` in a subdirectory of a served project is as fast as at its top.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any, Final

from flashgrep import __version__
from flashgrep.app import build_for_terminal
from flashgrep.errors import RemoteFailure
from flashgrep.settings import Settings, settings_hash
from flashgrep.tools.dispatch.call import Answer
from flashgrep.tools.dispatch.caller import Caller
from flashgrep.transports.lines.client import ConnectionEnded, LineClient
from flashgrep.transports.lines.join import join
from flashgrep.transports.lines.unix_socket import OWN_DIRECTORY, SOCKET_NAME

log = logging.getLogger(__name__)

_METHOD_NOT_FOUND: Final = -32601


class Local:
    """Answers in this process, by scanning."""

    def __init__(self, settings: Settings) -> None:
        self._application = build_for_terminal(settings)
        self.scope = self._application.services.scope

    def close(self) -> None:
        """End worker processes and give descriptors back."""
        self._application.close()

    def call(self, name: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        answer = self.answer(name, arguments, direct=True)
        return answer.data or answer.structured or {"text": answer.text}

    def answer(self, name: str, arguments: Mapping[str, Any], direct: bool = False) -> Answer:
        """A tool's own answer, without a budget."""
        answer = self._application.toolbox.here(name, arguments, Caller("terminal"), direct)
        if answer.failed:
            raise RemoteFailure(answer.text, answer.code or "")
        return answer


class Remote:
    """Answers from a server; from this process if it ends."""

    def __init__(self, connection: socket.socket, local: Local) -> None:
        self.scope = local.scope
        self._local = local
        self._client = LineClient(connection)

    def close(self) -> None:
        """Hang up."""
        self._client.close()

    def call(self, name: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            answer: Mapping[str, Any] = self._client.call(name, arguments)
        except ConnectionEnded as error:
            log.info("the server ended (%r); continuing without it", error)
        except RemoteFailure as error:
            if error.number != _METHOD_NOT_FOUND:
                raise
        else:
            return answer
        return self._local.call(name, arguments)


Session = Local | Remote


@contextmanager
def opened(settings: Settings, use_daemon: bool, *, above: bool = False) -> Iterator[Session]:
    """A session for these settings; `above`: the server of a parent directory will do."""
    with closing(Local(settings)) as local:
        connection = _daemon(settings, above) if use_daemon else None
        if connection is None:
            yield local
            return
        with closing(Remote(connection, local)) as remote:
            yield remote


def _daemon(settings: Settings, above: bool) -> socket.socket | None:
    for directory in _workdirs(settings, above):
        if settings.socket or os.path.lexists(os.path.join(directory, OWN_DIRECTORY, SOCKET_NAME)):
            there = replace(settings, workdir=directory)
            connection = join(there, _accepted(there))
            if connection is not None:
                return connection
    return None


def _workdirs(settings: Settings, above: bool) -> list[str]:
    directory = os.path.realpath(settings.workdir)
    found = [directory]
    scoped = settings.allow_dir or settings.deny_dir or settings.socket
    while above and not scoped and directory != "/":
        directory = os.path.dirname(directory)
        found.append(directory)
    return found


def _accepted(settings: Settings) -> set[str]:
    """The hashes of all settings that would print the same: the index changes no answer."""
    ways = [(index, verify) for index in (False, True) for verify in (False, True)]
    alike = [replace(settings, no_index=index, verify_index=verify) for index, verify in ways]
    return {settings_hash(each, __version__) for each in alike}
