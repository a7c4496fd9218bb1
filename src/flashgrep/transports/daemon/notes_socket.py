"""The socket of whoever owns a knowledge base: what other processes of the same user ask there.

    PATH/kb.sock    newline-delimited JSON-RPC, as on the workspace's socket (see `lines.session`):
                    MCP over the notes alone, and the methods of `administration` as direct ones

Only our own user gets in, who could read and change PATH as well. The listener has a thread and an
event loop of its own, so that it is the same beside stdio and beside `serve`.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import socket
import threading
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from flashgrep import limits
from flashgrep.errors import Unavailable
from flashgrep.notes.administration import METHODS, Administration
from flashgrep.tools.dispatch.caller import Caller
from flashgrep.tools.dispatch.toolbox import Toolbox
from flashgrep.transports.lines.gate import Gate
from flashgrep.transports.lines.session import DirectMethod
from flashgrep.transports.lines.sockets import LineListener, unix_manners
from flashgrep.transports.lines.unix_socket import bind_at, peer_is_us
from flashgrep.transports.protocol import build_server

log = logging.getLogger(__name__)


class OwnerSocket:
    """Listens for as long as these notes are ours."""

    def __init__(
        self,
        path: Path,
        administration: Administration,
        toolbox: Toolbox,
        more: Mapping[str, DirectMethod] | None = None,
    ) -> None:
        """Bind and serve; `Unavailable` where the socket cannot be made."""
        direct = {**administrative(administration), **(more or {})}
        manners = replace(unix_manners(direct), message_bytes=limits.OWNER_MESSAGE_BYTES)
        server = build_server(toolbox)
        try:
            self._bound = bind_at(path)
        except OSError as error:
            raise Unavailable(f"{path}: {error.strerror or error}") from None
        self._listener = LineListener(self._bound.listener, server, self._gate, manners)
        self._numbers = itertools.count(1)
        self._started = threading.Event()
        self._loop: asyncio.AbstractEventLoop
        self._scope: anyio.CancelScope
        self._thread = threading.Thread(target=self._run, name="flashgrep-kb-socket", daemon=True)
        self._failure: Exception | None = None
        try:
            self._thread.start()
        except RuntimeError as error:
            self._bound.close()
            raise Unavailable(f"{path}: {error}") from None
        self._started.wait()
        if self._failure is not None:
            self._bound.close()
            raise Unavailable(f"{path}: {self._failure}") from self._failure

    def close(self) -> None:
        """Hang up on everybody, and take the socket away."""
        self._loop.call_soon_threadsafe(self._scope.cancel)
        self._thread.join(limits.SOCKET_DRAIN_SECONDS)
        self._bound.close()

    def _run(self) -> None:
        try:
            anyio.run(self._serve)
        except Exception as error:
            # Whoever made this waits until it is known to serve, or why it does not.
            log.exception("the socket of the notes has failed")
            self._failure = error
        finally:
            self._started.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        with anyio.CancelScope() as self._scope:
            self._started.set()
            await self._listener.run()

    def _gate(self, connection: socket.socket) -> Gate | None:
        if not peer_is_us(connection):
            return None
        return Gate(Caller(f"kb:{next(self._numbers)}"))


def administrative(administration: Administration) -> dict[str, DirectMethod]:
    """The administration's methods, each in a thread."""
    return {name: partial(_administer, administration, name) for name in METHODS}


async def _administer(
    administration: Administration, name: str, _: Caller, params: Mapping[str, Any] | None
) -> Any:
    return await anyio.to_thread.run_sync(administration.call, name, params or {})
