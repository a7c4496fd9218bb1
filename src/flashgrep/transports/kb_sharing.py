"""One knowledge base, several servers: the first owns it, the others have it answer their calls.

Whoever holds the lock answers calls about notes itself and listens on the socket. Any other server
sends such calls there (`kb/call`), with the caller they are for and the settings that shape the
answer, and passes on how far they are (`kb/progress`); all else it does itself. What the caller has
read goes to and fro with each call, so that another owner knows it too. It looks for the owner when
a call comes in, not before: where the lock is free by then, it takes it, opens the notes and is the
owner from this call on.

When the owner ends in the middle of a call, a call that only reads is made again. Any other may
have been done or not, and that is what its caller is told: the same edit sent again is not made
twice, the note shows which it is.

`flashgrep serve` has pages and live editing, for which the notes must be its own: it asks an owner
that is no such server to let go (`kb/yield`), and fails to start where another `serve` owns them.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from flashgrep import limits
from flashgrep.errors import Conflict, InvalidParams, Unavailable
from flashgrep.kb.administration import Administration
from flashgrep.kb.home import SOCKET, Owned
from flashgrep.kb.knowledge_base import KnowledgeBase
from flashgrep.kb.roles import Grant, Principal, Role
from flashgrep.settings import Settings
from flashgrep.tools import note_reads
from flashgrep.tools.answer import Answer
from flashgrep.tools.arguments import Arguments
from flashgrep.tools.caller import Caller, Callers
from flashgrep.tools.registry import ToolSpec
from flashgrep.tools.services import Services
from flashgrep.tools.toolbox import Call, Toolbox
from flashgrep.transports.connection_settings import shorter
from flashgrep.transports.kb_client import NoOwner, OwnerClient, OwnerGone, Refused
from flashgrep.transports.kb_owner import OwnerSocket
from flashgrep.transports.telling import TELL, Tell

log = logging.getLogger(__name__)

CALL: Final = "kb/call"
PROGRESS: Final = "kb/progress"
YIELD: Final = "kb/yield"
_PAUSE_SECONDS: Final = 0.05
_TRIES: Final = 5
"""How many owners may end in the middle of one reading call."""
_SHAPING: Final = (
    "no_workspace",
    "anthropic_compat",
    "toolsets",
    "disable_tools",
    "read_only",
    "max_output_chars",
    "kb_markup",
    "call_seconds",
)
"""The settings that an answer about notes depends on."""


class SharedNotes:
    """The notes of a server: its own, or those of the process that owns them."""

    def __init__(
        self,
        home: Path,
        services: Services,
        settings: Settings,
        toolbox: Callable[[Settings], Toolbox],
        keeps: bool = False,
    ) -> None:
        """`toolbox` makes one for other settings; `keeps`: never let go of the notes."""
        self._home = home
        self._services = services
        self._settings = settings
        self._toolbox = toolbox
        self._keeps = keeps
        self._toolboxes: dict[str, Toolbox] = {}
        self._callers = Callers()
        self._nonce = secrets.token_hex(8)
        self._turn = threading.Condition()
        self._running = 0
        self._is_closed = False
        self._socket: OwnerSocket | None = None
        self._idle: list[OwnerClient] = []

    # ── ownership ───────────────────────────────────────────────────────────────────────────────

    def start(self) -> None:
        """Own the notes if nobody does, and listen; or be ready to ask whoever does."""
        with self._turn:
            self._try_to_own()
            if self._keeps and self._services.notes is None:
                self._ask_to_yield()

    def close(self) -> None:
        """Hang up, and let another process own the notes."""
        with self._turn:
            self._is_closed = True
            self._let_go()
            for client in self._idle:
                client.close()
            self._idle.clear()

    def _try_to_own(self) -> bool:
        if self._services.notes is None and not self._is_closed:
            try:
                notes = KnowledgeBase(self._home)
            except Owned:
                return False
            self._services.notes = notes
            notes.links.start()
        if self._socket is None and self._services.notes is not None:
            self._listen(self._services.notes)
        return self._services.notes is not None

    def _listen(self, notes: KnowledgeBase) -> None:
        alone = replace(self._settings, no_workspace=True)
        more = {CALL: self._called, YIELD: self._asked_to_yield}
        try:
            self._socket = OwnerSocket(
                self._home / SOCKET, Administration(notes), self._toolbox(alone), more
            )
        except Unavailable as error:
            log.warning("other processes cannot reach the notes here: %s", error.message)

    def _let_go(self) -> None:
        """The socket first: whoever finds the lock free must not find us still answering."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if self._services.notes is not None:
            self._services.notes.close()
            self._services.notes = None

    def _ask_to_yield(self) -> None:
        deadline = time.monotonic() + limits.OWNER_SECONDS
        while not self._try_to_own():
            try:
                client = OwnerClient(self._home)
            except NoOwner:
                pass
            else:
                with closing(client), suppress(OwnerGone):
                    client.call(YIELD, {})
            if time.monotonic() > deadline:
                raise Unavailable(f"{self._home} is open in another process that does not let go")
            time.sleep(_PAUSE_SECONDS)

    async def _asked_to_yield(self, _: Caller, __: Mapping[str, Any] | None) -> Any:
        if self._keeps:
            raise Conflict(f"{self._home} is served by another flashgrep serve; use that one")
        threading.Thread(target=self._yield, name="flashgrep-kb-yield", daemon=True).start()
        return {"yields": True}

    def _yield(self) -> None:
        """Let go once no call is running; the next one finds another owner, or none."""
        with self._turn:
            self._turn.wait_for(lambda: not self._running, limits.OWNER_SECONDS)
            if not self._is_closed:
                log.info("another server takes the notes over")
                self._let_go()

    # ── calls ───────────────────────────────────────────────────────────────────────────────────

    def run(
        self,
        spec: ToolSpec,
        name: str,
        arguments: Mapping[str, Any],
        call: Call,
        values: Arguments,
    ) -> Answer:
        """Answer a call about notes, here or there."""
        for _ in range(_TRIES):
            with self._mine() as is_mine:
                if is_mine:
                    return spec.handler(call, values)
            try:
                return self._ask_owner(name, arguments, call)
            except OwnerGone:
                if not spec.read_only:
                    raise Unavailable(
                        f"the process that owned the notes ended before it answered: {name} may "
                        "be done or not. Read the note; if it is not, send the same call again"
                    ) from None
        raise Unavailable(f"the owners of {self._home} keep ending; try again")

    @contextmanager
    def _mine(self) -> Iterator[bool]:
        """Whether the notes are ours; if so, they stay so in the block."""
        with self._turn:
            is_mine = self._has_owner_answering() is False and self._try_to_own()
            self._running += is_mine
        try:
            yield is_mine
        finally:
            if is_mine:
                with self._turn:
                    self._running -= 1
                    self._turn.notify_all()

    def _has_owner_answering(self) -> bool:
        """Whether a connection to another owner is alive; dead ones are dropped."""
        while self._services.notes is None and self._idle:
            if self._idle[-1].is_alive():
                return True
            self._idle.pop().close()
        return False

    def _ask_owner(self, name: str, arguments: Mapping[str, Any], call: Call) -> Answer:
        params = {
            "tool": name,
            "arguments": dict(arguments),
            "caller": self._described(call.caller),
            "settings": {key: getattr(call.settings, key) for key in _SHAPING},
            "direct": call.direct,
            "progress": True,
        }
        client = self._client()
        stop_watching = call.cancelled.then(client.hang_up)
        try:
            told = client.call(CALL, params, lambda told: call.report(*told["progress"]))
        except Refused:
            self._give_back(client)
            raise
        except BaseException:  # an answer may still come, and would be taken for the next one's
            client.close()
            raise
        finally:
            stop_watching()
        self._give_back(client)
        note_reads.learn(call.caller, told["seen"])
        return Answer(told["text"], None, told["code"], told["structured"], told["data"])

    def _client(self) -> OwnerClient:
        """A connection that nobody else uses; an owner without a socket is waited for a while."""
        with self._turn:
            while self._idle:
                client = self._idle.pop()
                if client.is_alive():
                    return client
                client.close()
        try:
            return OwnerClient(self._home)
        except NoOwner as error:
            # A terminal command has the notes, or the owner is just coming or going.
            time.sleep(_PAUSE_SECONDS)
            return self._wait_for_client(error)

    def _wait_for_client(self, error: NoOwner) -> OwnerClient:
        deadline = time.monotonic() + limits.OWNER_SECONDS
        while time.monotonic() < deadline:
            with self._turn:
                if self._try_to_own():
                    raise OwnerGone("the owner ended before it was asked")
            try:
                return OwnerClient(self._home)
            except NoOwner as again:
                error = again
                time.sleep(_PAUSE_SECONDS)
        raise Unavailable(f"another process has {self._home} open: {error.message}; try again")

    def _give_back(self, client: OwnerClient) -> None:
        with self._turn:
            if self._is_closed:
                client.close()
            else:
                self._idle.append(client)

    # ── who asks ────────────────────────────────────────────────────────────────────────────────

    def _described(self, caller: Caller) -> dict[str, Any]:
        grants = [[grant.role, grant.folder] for grant in caller.principal.grants]
        return {
            "key": f"{self._nonce}:{caller.key}",
            "author": caller.author,
            "token": caller.token,
            "may_write": caller.may_write,
            "notes_only": caller.notes_only,
            "principal": caller.principal.name,
            "grants": grants,
            "seen": note_reads.known(caller),
        }

    async def _called(self, _: Caller, params: Mapping[str, Any] | None) -> Any:
        """Answer a call of another server's caller."""
        given = params or {}
        try:
            caller = self._caller(given["caller"])
            toolbox = self._toolbox_for(given["settings"])
            name, arguments = str(given["tool"]), dict(given["arguments"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InvalidParams(f"{CALL}: {error!r}") from None
        progress = partial(_tell_progress, TELL.get()) if given.get("progress") else None
        answer = await toolbox.answer(name, arguments, caller, bool(given.get("direct")), progress)
        told = asdict(replace(answer, image=None))
        shown = {key: told[key] for key in ("text", "code", "structured", "data")}
        return {**shown, "seen": note_reads.known(caller)}

    def _caller(self, told: Mapping[str, Any]) -> Caller:
        caller = self._callers.get(str(told["key"]))
        caller.author, caller.token = str(told["author"]), str(told["token"])
        caller.may_write, caller.notes_only = bool(told["may_write"]), bool(told["notes_only"])
        grants = tuple(Grant(Role(role), str(folder)) for role, folder in told["grants"])
        caller.principal = Principal(str(told["principal"]), grants)
        note_reads.learn(caller, [(str(note), str(digest)) for note, digest in told["seen"]])
        return caller

    def _toolbox_for(self, told: Mapping[str, Any]) -> Toolbox:
        """The toolbox for another server's settings; on the socket's thread alone."""
        # A server of an older version does not know every one of them.
        known = {key: told.get(key, getattr(Settings, key)) for key in _SHAPING}
        shaping = {key: _tuple(value) for key, value in known.items()}
        asked = replace(self._settings, call_seconds=int(shaping["call_seconds"]))
        shaping["call_seconds"] = shorter(self._settings, asked)
        key = repr(sorted(shaping.items()))
        if key not in self._toolboxes:
            # The budget that is told is the one to keep, whatever the caller's client is.
            shaping["explicit"] = self._settings.explicit | {"max_output_chars"}
            self._toolboxes[key] = self._toolbox(replace(self._settings, **shaping))
        return self._toolboxes[key]


async def _tell_progress(tell: Tell, done: float, total: float | None, message: str) -> None:
    await tell(PROGRESS, {"progress": [done, total, message]})


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
