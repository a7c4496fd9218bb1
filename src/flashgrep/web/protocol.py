"""y-websocket's protocol: messages in binary frames, presence, and why connections close.

    0 sync         0 what I have      a state vector, as bytes
                   1 what you lack    an update, the answer to it
                   2 update           an update
    1 presence     bytes: count, then count times: client, clock, JSON as a string ("null": it left)
    3 ask          for everybody's presence; nothing follows

Numbers have seven bits per byte, low ones first; bytes and strings are a number, then that many.
Other types (2 is an authentication that only servers send) are ignored, as peers do: a newer
provider may use more.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum, IntEnum, auto
from typing import Final, NamedTuple

from flashgrep import limits
from flashgrep.errors import FlashgrepError, InvalidParams, NotFound, TooLarge
from flashgrep.notes.document.updates import number
from flashgrep.notes.store.database import StorageFull
from flashgrep.transports.lines.messages import BadMessage, decode

PRESENCE_BYTES: Final = 16 * limits.KIB
"""The state of one client; a cursor, a name and a colour have two hundred. A longer one is not
passed on."""

PRESENT_CLIENTS: Final = 512
"""Clients in one note, and as many that left it, so that no other takes their numbers…"""

PRESENT_CLIENTS_A_TOKEN: Final = 256
"""…those of one token, so that others find room…"""

PRESENT_CLIENTS_A_CONNECTION: Final = 4
"""…and those that one connection ever speaks for; a browser has one."""

log = logging.getLogger(__name__)


_NUMBER_BYTES: Final = 8
"""Of a length, a client or a clock…"""
LARGEST_NUMBER: Final = 2**53 - 1
"""…which JavaScript counts exactly up to here; a client that reads a larger one fails."""
_SYNC, _PRESENCE, _ASK = 0, 1, 3


class Malformed(Exception):
    """A frame that is not a message of the protocol."""


class FrameKind(Enum):
    """What a message is about."""

    HAVE = auto()
    LACK = auto()
    UPDATE = auto()
    PRESENCE = auto()
    ASK = auto()
    UNKNOWN = auto()


_SYNCS: Final = (FrameKind.HAVE, FrameKind.LACK, FrameKind.UPDATE)


class Message(NamedTuple):
    """One message."""

    kind: FrameKind
    data: bytes = b""


class Present(NamedTuple):
    """The state of one client: its cursor, a name, a colour."""

    client: int
    clock: int
    state: bytes
    """JSON; `null` where it left."""


GONE: Final = b"null"


def parse(frame: bytes) -> Message:
    """The message in a frame; `Malformed` where it is cut off, or more follows."""
    reader = _FrameReader(frame)
    kind = reader.number()
    if kind == _SYNC:
        step = reader.number()
        if step >= len(_SYNCS):
            raise Malformed(f"sync message {step} is unknown")
        message = Message(_SYNCS[step], reader.bytes())
    elif kind == _PRESENCE:
        message = Message(FrameKind.PRESENCE, reader.bytes())
    elif kind == _ASK:
        message = Message(FrameKind.ASK)
    else:
        return Message(FrameKind.UNKNOWN)
    reader.end()
    return message


def have(state: bytes) -> bytes:
    """The frame that asks a peer for what this state vector lacks."""
    return bytes((_SYNC, 0)) + _sized(state)


def lack(update: bytes) -> bytes:
    """The frame that answers with what was lacking."""
    return bytes((_SYNC, 1)) + _sized(update)


def update(data: bytes) -> bytes:
    """The frame with an update."""
    return bytes((_SYNC, 2)) + _sized(data)


def presence(states: Iterable[Present]) -> bytes:
    """The frame with the states of clients."""
    told = list(states)
    parts = [number(len(told))]
    for one in told:
        parts += [number(one.client), number(one.clock), _sized(one.state)]
    return bytes((_PRESENCE,)) + _sized(b"".join(parts))


def parse_presence(data: bytes) -> list[Present]:
    """The states in a message of presence."""
    reader = _FrameReader(data)
    found = [
        Present(reader.number(), reader.number(), reader.bytes()) for _ in range(reader.number())
    ]
    reader.end()
    return found


def _sized(data: bytes) -> bytes:
    return number(len(data)) + data


class _FrameReader:
    """Reads a frame from its start to its end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def number(self) -> int:
        value = 0
        for shift in range(0, 7 * _NUMBER_BYTES, 7):
            if self._at >= len(self._data):
                raise Malformed("the message ends too early")
            byte = self._data[self._at]
            self._at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80 and value <= LARGEST_NUMBER:
                return value
            if byte < 0x80:
                break
        raise Malformed("a number is too large")

    def bytes(self) -> bytes:
        size = self.number()
        if size > len(self._data) - self._at:
            raise Malformed("the message ends too early")
        self._at += size
        return self._data[self._at - size : self._at]

    def end(self) -> None:
        if self._at != len(self._data):
            raise Malformed("something follows the message")


# ── presence ─────────────────────────────────────────────────────────────────────────────────────
# Who is in a note, as the clients say: checked, passed on, held while connected, not stored.
#
# Every other client parses a state (`JSON.parse` in y-protocols), and so does every later one: a
# state that is not JSON would break their editors. So a state counts only if it is
#
#     a JSON object of at most PRESENCE_BYTES, nested no deeper than JSON_DEPTH; or null: it left
#
# and is dropped otherwise; the rest of the message counts. What the fields of a state mean is
# between the editors.
#
# A client belongs to the token that brought it, also for a while after it left: no other token can
# speak for it, whatever clock it sends. Within that token the rule is that of y-protocols: what
# has a newer clock counts, and a client's own connection may say at the same clock that it left.
# Clients repeat what they heard of others, so only news makes a connection the one that speaks for
# a client; when that connection ends, so do the clients it speaks for. What others still repeat of
# them then is no news, but the client itself may come back with the clock it had: by a new
# connection.


@dataclass(eq=False)
class Speaker:
    """A connection, as its note knows it."""

    token: str
    """Which token it came with."""
    joined: int
    """Greater than that of all who came before."""
    brought: set[int] = field(default_factory=set)
    """The clients it ever spoke for."""


class _HeldPresence(NamedTuple):
    """A present client, and the connection that speaks for it."""

    present: Present
    speaker: Speaker


class _Left(NamedTuple):
    """A client that has left: whose it was, its last clock, and when it left."""

    token: str
    clock: int
    moment: int


class Presence:
    """The clients of one note."""

    def __init__(self) -> None:
        self._held: dict[int, _HeldPresence] = {}
        self._left: dict[int, _Left] = {}
        self._moments = itertools.count(1)

    def join(self, token: str) -> Speaker:
        """A new connection, with the token it came with."""
        return Speaker(token, next(self._moments))

    def take(self, speaker: Speaker, data: bytes) -> list[Present]:
        """What is new in a connection's message, to be sent to the others."""
        sound = (checked(one) for one in parse_presence(data))
        return [one for one in sound if one is not None and self._take(speaker, one)]

    def _take(self, speaker: Speaker, told: Present) -> bool:
        if not self._is_news(speaker, told):
            return False
        if told.state == GONE:
            self._forget(told, self._held[told.client].speaker)
        else:
            self._left.pop(told.client, None)
            self._held[told.client] = _HeldPresence(told, speaker)
            speaker.brought.add(told.client)
        return True

    def _is_news(self, speaker: Speaker, told: Present) -> bool:
        if held := self._held.get(told.client):
            if held.speaker.token != speaker.token:
                return False
            is_its_leaving = told.state == GONE and held.speaker is speaker
            is_news = told.clock > held.present.clock - is_its_leaving
            return is_news and (told.state == GONE or self._may_bring(speaker, told.client))
        if told.state == GONE or not self._may_bring(speaker, told.client):
            return False
        if left := self._left.get(told.client):
            comes_back = speaker.joined > left.moment
            return left.token == speaker.token and told.clock > left.clock - comes_back
        return self._has_room(speaker.token)

    def _has_room(self, token: str) -> bool:
        own = sum(held.speaker.token == token for held in self._held.values())
        return len(self._held) < PRESENT_CLIENTS and own < PRESENT_CLIENTS_A_TOKEN

    def _may_bring(self, speaker: Speaker, client: int) -> bool:
        return client in speaker.brought or len(speaker.brought) < PRESENT_CLIENTS_A_CONNECTION

    def leave(self, speaker: Speaker) -> list[Present]:
        """Forget the clients a connection spoke for; what to send to the others."""
        gone = [held.present for held in self._held.values() if held.speaker is speaker]
        for one in gone:
            self._forget(one, speaker)
        return [one._replace(state=GONE) for one in gone]

    def _forget(self, told: Present, speaker: Speaker) -> None:
        del self._held[told.client]
        while len(self._left) >= PRESENT_CLIENTS:
            del self._left[next(iter(self._left))]
        self._left[told.client] = _Left(speaker.token, told.clock, next(self._moments))

    def all(self) -> Iterable[Present]:
        """Everybody who is there."""
        return [held.present for held in self._held.values()]


def checked(told: Present) -> Present | None:
    """What a client says, if every other client can parse it; None: not to be passed on."""
    reason = ""
    if len(told.state) > PRESENCE_BYTES:
        reason = f"it has {len(told.state)} bytes, more than {PRESENCE_BYTES}"
    else:
        try:
            state = decode(told.state)
        except BadMessage as bad:
            reason = bad.message
        else:
            if state is None:
                return told._replace(state=GONE)
            if not isinstance(state, dict):
                reason = "it is not a JSON object"
    if reason:
        log.debug("the presence of client %d is dropped: %s", told.client, reason)
        return None
    return told


# ── why connections close ────────────────────────────────────────────────────────────────────────
# Codes from 4400 to 4499 are final for y-websocket's client. After any other it connects again,
# with growing pauses, and both sides send what they have; nothing is lost.


class Close(IntEnum):
    """The codes with which a websocket is closed."""

    TEXT = 1003
    """A frame of text; the protocol has none."""
    MALFORMED = 1007
    """A frame, or an update, that cannot be read."""
    FAILED = 1011
    """The note cannot be given now: it is quarantined, or its engine failed."""
    OVERLOADED = 1013
    """Too many peers, a peer that does not keep up, or no room on the disk."""
    UNAUTHENTICATED = 4401
    FORBIDDEN = 4403
    NO_NOTE = 4404
    OTHER_EPOCH = 4409
    TOO_LARGE = 4413


REASONS: Final = {
    Close.TEXT: "send binary frames",
    Close.MALFORMED: "malformed",
    Close.FAILED: "the note cannot be read now",
    Close.OVERLOADED: "overloaded; come again",
    Close.UNAUTHENTICATED: "a valid token is needed",
    Close.FORBIDDEN: "not allowed on this note",
    Close.NO_NOTE: "no such note",
    Close.OTHER_EPOCH: "the note has begun anew; load it again",
    Close.TOO_LARGE: "too large",
}


class Refused(Exception):
    """The peer must be closed with a code."""

    def __init__(self, code: Close, reason: str = "") -> None:
        self.code, self.reason = code, reason or REASONS[code]
        super().__init__(self.reason)


_CODES: Final = {
    InvalidParams: Close.MALFORMED,
    TooLarge: Close.TOO_LARGE,
    NotFound: Close.NO_NOTE,
    StorageFull: Close.OVERLOADED,
}


NO_ROOM: Final = "the disk of the server is full; nothing can be saved until there is room"


def refusal(error: FlashgrepError) -> Refused:
    """What a note answered, for a peer: the path in it is nobody's but the server's."""
    code = next((code for kind, code in _CODES.items() if isinstance(error, kind)), Close.FAILED)
    return Refused(code, NO_ROOM if isinstance(error, StorageFull) else "")
