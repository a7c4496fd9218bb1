"""The owner's side of a knowledge base that several servers share: calls of the others' callers.

A server that does not own the notes sends a call about them here whole (`kb/call`), with the
caller it is for and the settings that shape the answer (see `tools/mounts/remote.py`), and passes
on how far it is (`kb/progress`). `flashgrep serve` has pages and live editing, for which the notes
must be its own: it asks an owner that is no such server to let go (`kb/yield`), and fails to start
where another `serve` owns them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from flashgrep.errors import InvalidParams
from flashgrep.notes.administration import Administration
from flashgrep.notes.home import SOCKET
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.notes.ownership import YIELD, Ownership
from flashgrep.settings import Settings
from flashgrep.tools.dispatch.caller import Caller, Callers
from flashgrep.tools.dispatch.toolbox import Toolbox
from flashgrep.tools.mounts.remote import CALL, PROGRESS, SHAPING, caller_of, known
from flashgrep.transports.daemon.notes_socket import OwnerSocket
from flashgrep.transports.lines.connection_settings import shorter
from flashgrep.transports.lines.telling import TELL, Tell


class OwnerCalls:
    """Answers what other servers ask of the owner of the notes."""

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
        alone = replace(self._settings, no_workspace=True)
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
            # The budget that is told is the one to keep, whatever the caller's client is.
            shaping["explicit"] = self._settings.explicit | {"max_output_chars"}
            self._toolboxes[key] = self._toolbox(replace(self._settings, **shaping))
        return self._toolboxes[key]


async def _tell_progress(tell: Tell, done: float, total: float | None, message: str) -> None:
    await tell(PROGRESS, {"progress": [done, total, message]})


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
