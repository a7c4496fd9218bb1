"""The socket of the process that owns a knowledge base, and the calls other servers make on it.

    PATH/kb.sock    newline-delimited JSON-RPC, as on the workspace's socket (see `lines.session`):
                    MCP over the notes alone, and the methods of `administration` as direct ones

Only our own user gets in, who could read and change PATH anyway. The listener has its own thread
and event loop, so that it works the same beside stdio and beside `serve`.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.to_thread

from flashgrep import limits
from flashgrep.errors import InvalidParams, Unavailable
from flashgrep.notes.administration import METHODS, Administration
from flashgrep.notes.home import SOCKET
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.notes.ownership import YIELD, Ownership
from flashgrep.settings import Settings
from flashgrep.tools.dispatch.caller import Caller, Callers
from flashgrep.tools.dispatch.toolbox import Toolbox
from flashgrep.tools.mounts.remote import CALL, PROGRESS, SHAPING, caller_of, known
from flashgrep.transports.access import Authorisation
from flashgrep.transports.lines.join import shorter
from flashgrep.transports.lines.messages import TELL, DirectMethod, Tell
from flashgrep.transports.lines.sockets import LineListener, socket_rules
from flashgrep.transports.lines.unix_socket import bind_at, peer_is_us
from flashgrep.transports.plain import Offer

OWNER_MESSAGE_BYTES: Final = 16 * limits.MIB
"""A line on kb.sock, where the largest file comes in base64, or as JSON with escapes."""

log = logging.getLogger(__name__)


class OwnerSocket:
    """Listens while these notes are ours."""

    def __init__(
        self,
        path: Path,
        administration: Administration,
        toolbox: Toolbox,
        more: Mapping[str, DirectMethod] | None = None,
    ) -> None:
        """Bind and serve; `Unavailable` where the socket cannot be made."""
        direct = {**administrative(administration), **(more or {})}
        rules = socket_rules(direct, message_bytes=OWNER_MESSAGE_BYTES)
        try:
            self._bound = bind_at(path)
        except OSError as error:
            raise Unavailable(f"{path}: {error.strerror or error}") from None
        self._listener = LineListener(self._bound.listener, Offer(toolbox), self._gate, rules)
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
        """Close all connections, and remove the socket."""
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._scope.cancel)
        self._thread.join(limits.SOCKET_DRAIN_SECONDS)
        self._bound.close()

    def drain(self, seconds: float) -> bool:
        """Take no more calls, answer those that came, and close; False if one still runs."""
        self._bound.remove()
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._listener.drain)
        self._thread.join(seconds)
        self.close()
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            anyio.run(self._serve)
        except Exception as error:
            # The constructor waits until this serves, or has failed.
            log.exception("the socket of the notes has failed")
            self._failure = error
        finally:
            self._started.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        with anyio.CancelScope() as self._scope:
            self._started.set()
            await self._listener.run()

    def _gate(self, connection: socket.socket) -> Authorisation | None:
        if not peer_is_us(connection):
            return None
        return Authorisation(Caller(f"kb:{next(self._numbers)}"))


def administrative(administration: Administration) -> dict[str, DirectMethod]:
    """The administration's methods, each in a thread."""
    return {name: partial(_administer, administration, name) for name in METHODS}


async def _administer(
    administration: Administration, name: str, _: Caller, params: Mapping[str, Any] | None
) -> Any:
    return await anyio.to_thread.run_sync(administration.call, name, params or {})


# ── calls of other servers ───────────────────────────────────────────────────────────────────────
# A server that does not own the notes sends a call about them here whole (`kb/call`), with the
# caller it is for and the settings that shape the answer (see `tools/mounts/remote.py`), and passes
# on how far it is (`kb/progress`). `flashgrep serve` has pages and live editing, for which the
# notes must be its own: it asks an owner of another kind to let go (`kb/yield`), and fails to start
# where another `serve` owns them.


class OwnerCalls:
    """Answers the calls of other servers to the owner of the notes."""

    def __init__(
        self, ownership: Ownership, settings: Settings, toolbox: Callable[[Settings], Toolbox]
    ) -> None:
        """`toolbox` makes one for other settings."""
        self._ownership = ownership
        self._settings = settings
        self._toolbox = toolbox
        self._toolboxes: dict[str, Toolbox] = {}
        self._callers = Callers()

    def listen(self, notes: KnowledgeBase) -> OwnerSocket:
        """Listen on the socket beside the notes; `Unavailable` where that cannot be."""
        toolsets = self._settings.toolsets
        if not {"files", "kb"} & set(toolsets):  # this server's client has no tools for notes
            toolsets = (*toolsets, "kb")
        alone = replace(self._settings, no_workspace=True, toolsets=toolsets)
        more = {CALL: self._called, YIELD: self._asked_to_yield}
        path = notes.home.path / SOCKET
        return OwnerSocket(path, Administration(notes), self._toolbox(alone), more)

    async def _asked_to_yield(self, _: Caller, __: Mapping[str, Any] | None) -> Any:
        self._ownership.begin_to_yield()
        return {"yields": True}

    async def _called(self, _: Caller, params: Mapping[str, Any] | None) -> Any:
        """Answer a call of another server's caller."""
        given = params or {}
        try:
            caller = caller_of(given["caller"], self._callers)
            toolbox = self._toolbox_for(given["settings"])
            name, arguments = str(given["tool"]), dict(given["arguments"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InvalidParams(f"{CALL}: {error!r}") from None
        progress = partial(_tell_progress, TELL.get()) if given.get("progress") else None
        answer = await toolbox.answer(name, arguments, caller, bool(given.get("direct")), progress)
        told = asdict(replace(answer, image=None))
        shown = {key: told[key] for key in ("text", "code", "structured", "data")}
        return {**shown, "seen": known(caller)}

    def _toolbox_for(self, told: Mapping[str, Any]) -> Toolbox:
        """The toolbox for another server's settings; on the socket's thread alone."""
        # A server of an older version does not know every one of them.
        given = {key: told.get(key, getattr(Settings, key)) for key in SHAPING}
        shaping = {key: _tuple(value) for key, value in given.items()}
        asked = replace(self._settings, call_seconds=int(shaping["call_seconds"]))
        shaping["call_seconds"] = shorter(self._settings, asked)
        key = repr(sorted(shaping.items()))
        if key not in self._toolboxes:
            # The budget that was sent holds, whatever the caller's client is.
            shaping["explicit"] = self._settings.explicit | {"max_output_chars"}
            self._toolboxes[key] = self._toolbox(replace(self._settings, **shaping))
        return self._toolboxes[key]


async def _tell_progress(tell: Tell, done: float, total: float | None, message: str) -> None:
    await tell(PROGRESS, {"progress": [done, total, message]})


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
