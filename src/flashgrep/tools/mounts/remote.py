"""Notes that another process owns: the whole verb is sent to the owner.

    kb/call       → tool, arguments, caller, settings, direct, progress
                  ← text, code, structured, data, seen
    kb/progress   how far the call is, before its answer

The settings are those that shape the answer, so that it is the one this server would give. What the
caller has read travels both ways with each call, so that the next owner knows it too. `transports`
has the side that answers.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from flashgrep.errors import RemoteFailure
from flashgrep.notes.access.roles import Grant, Principal, Role
from flashgrep.notes.ownership import Ownership
from flashgrep.tools.dispatch.call import Answer
from flashgrep.tools.dispatch.caller import READ_NOTES, Caller, Callers, note_key
from flashgrep.tools.mounts.points import Asked

if TYPE_CHECKING:
    from flashgrep.tools.dispatch.call import Call

_TOLD_READS: Final = 100
"""Notes that a caller read last: they go to the owner with each of its calls."""

CALL: Final = "kb/call"
PROGRESS: Final = "kb/progress"
SHAPING: Final = (
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
_GRACE_SECONDS: Final = 1.0


class RemoteNotes:
    """The notes of the process that owns them."""

    def __init__(self, ownership: Ownership) -> None:
        self._ownership = ownership
        self._nonce = secrets.token_hex(8)

    def answer(self, asked: Asked, call: Call) -> Answer:
        """Have the owner answer; `OwnerGone` where it ended meanwhile, `NoOwner` before.

        `OwnerSilent` where the time of the call is over.
        """
        params = {
            "tool": asked.name,
            "arguments": dict(asked.arguments),
            "caller": described(call.caller, self._nonce),
            "settings": {key: getattr(call.settings, key) for key in SHAPING},
            "direct": call.direct,
            "progress": True,
        }
        connection = self._ownership.connection()
        stop_watching = call.cancelled.then(connection.hang_up)
        try:
            answer = connection.call(
                CALL, params, lambda message: call.report(*message["progress"]), _patience(call)
            )
        except RemoteFailure:
            self._ownership.give_back(connection)
            raise
        except BaseException:  # an answer may still come, and would be taken for the next one's
            connection.close()
            raise
        finally:
            stop_watching()
        self._ownership.give_back(connection)
        learn(call.caller, answer["seen"])
        return Answer(
            text=answer["text"],
            image=None,
            code=answer["code"],
            structured=answer["structured"],
            data=answer["data"],
        )


def _patience(call: Call) -> float:
    """Seconds to wait for the owner, which keeps to the same limit: its answer may say so."""
    return call.cancelled.seconds + _GRACE_SECONDS if call.cancelled.seconds else math.inf


# ── callers ────────────────────────────────────────────────────────────────────────────────────


def described(caller: Caller, nonce: str) -> dict[str, Any]:
    """A caller, for the owner; the nonce keeps those of different servers apart."""
    return {
        "key": f"{nonce}:{caller.key}",
        "author": caller.author,
        "token": caller.token,
        "may_write": caller.may_write,
        "notes_only": caller.notes_only,
        "principal": caller.principal.name,
        "grants": [[grant.role, grant.folder] for grant in caller.principal.grants],
        "seen": known(caller),
    }


def caller_of(sent: Mapping[str, Any], callers: Callers) -> Caller:
    """The caller that was described; an error of any kind where the description is none."""
    caller = callers.get(str(sent["key"]))
    caller.author, caller.token = str(sent["author"]), str(sent["token"])
    caller.may_write, caller.notes_only = bool(sent["may_write"]), bool(sent["notes_only"])
    grants = tuple(Grant(Role(role), str(folder)) for role, folder in sent["grants"])
    caller.principal = Principal(str(sent["principal"]), grants)
    learn(caller, [(str(note), str(digest)) for note, digest in sent["seen"]])
    return caller


def known(caller: Caller) -> list[tuple[str, str]]:
    """The notes a caller saw last, by id, with what it saw."""
    seen = caller.latest(READ_NOTES, _TOLD_READS)
    return [(key.removeprefix(READ_NOTES).decode(), digest) for key, digest in seen]


def learn(caller: Caller, seen: Iterable[tuple[str, str]]) -> None:
    """Take over what another process knows of a caller's reads."""
    for note, digest in seen:
        caller.remember(note_key(note), digest)
