"""Who is in a note, as the clients tell: passed on, held while they are there, never stored.

A client's word counts where its clock is newer than the last one heard, and its leaving also at
the same clock; this is the rule of y-protocols. Clients repeat what they heard of others, so that
only news make the one who brings them the one who speaks for a client: when that peer goes, so do
the clients it speaks for.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from flashgrep import limits
from flashgrep.web.frames import GONE, Malformed, Present, parse_presence


class _Held(NamedTuple):
    """A client, and which peer speaks for it."""

    present: Present
    speaker: object


class Presence:
    """The clients of one note."""

    def __init__(self) -> None:
        self._held: dict[int, _Held] = {}

    def take(self, speaker: object, data: bytes) -> list[Present]:
        """What is new in a peer's message, to be told to the others."""
        told = parse_presence(data)
        if any(len(one.state) > limits.PRESENCE_BYTES for one in told):
            raise Malformed(f"a client's presence has more than {limits.PRESENCE_BYTES} bytes")
        return [one for one in told if self._take(speaker, one)]

    def _take(self, speaker: object, told: Present) -> bool:
        held = self._held.get(told.client)
        if held is None:
            is_new = told.state != GONE and self._has_room(speaker)
        else:
            clock = held.present.clock
            is_new = told.clock > clock or (told.clock == clock and told.state == GONE)
        if not is_new:
            return False
        if told.state == GONE:
            self._held.pop(told.client, None)
        else:
            self._held[told.client] = _Held(told, speaker)
        return True

    def _has_room(self, speaker: object) -> bool:
        own = sum(held.speaker is speaker for held in self._held.values())
        return len(self._held) < limits.PRESENT_CLIENTS and own < limits.PRESENT_CLIENTS_A_PEER

    def leave(self, speaker: object) -> list[Present]:
        """Forget the clients a peer spoke for; what the others are told."""
        gone = [held.present for held in self._held.values() if held.speaker is speaker]
        for one in gone:
            del self._held[one.client]
        return [one._replace(state=GONE) for one in gone]

    def all(self) -> Iterable[Present]:
        """Everybody who is there."""
        return [held.present for held in self._held.values()]
