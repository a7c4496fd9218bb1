"""Messages of y-websocket's protocol, one in each binary frame.

    0 sync         0 what I have      a state vector, as bytes
                   1 what you lack    an update, the answer to it
                   2 update           an update
    1 presence     bytes: count, then count times: client, clock, JSON as a string ("null": it left)
    3 ask          for everybody's presence; nothing follows

Numbers have seven bits a byte, low ones first; bytes and strings are a number, then that many.
Other types (2 is an authentication that only servers send) are passed over, as peers do: a newer
provider may speak more than we know.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, auto
from typing import Final, NamedTuple

from flashgrep.notes.document.updates import number

_NUMBER_BYTES: Final = 8
"""Of a length, a client or a clock…"""
LARGEST_NUMBER: Final = 2**53 - 1
"""…which JavaScript counts exactly up to here; a client that reads a larger one fails."""
_SYNC, _PRESENCE, _ASK = 0, 1, 3


class Malformed(Exception):
    """A frame that is no message of the protocol."""


class Kind(Enum):
    """What a message is about."""

    HAVE = auto()
    LACK = auto()
    UPDATE = auto()
    PRESENCE = auto()
    ASK = auto()
    UNKNOWN = auto()


_SYNCS: Final = (Kind.HAVE, Kind.LACK, Kind.UPDATE)


class Message(NamedTuple):
    """One message."""

    kind: Kind
    data: bytes = b""


class Present(NamedTuple):
    """What one client tells of itself: its cursor, a name, a colour."""

    client: int
    clock: int
    state: bytes
    """JSON; `null` where it left."""


GONE: Final = b"null"


def parse(frame: bytes) -> Message:
    """The message in a frame; `Malformed` where it is cut off, or more follows."""
    reader = _Reader(frame)
    kind = reader.number()
    if kind == _SYNC:
        step = reader.number()
        if step >= len(_SYNCS):
            raise Malformed(f"sync message {step} is unknown")
        message = Message(_SYNCS[step], reader.bytes())
    elif kind == _PRESENCE:
        message = Message(Kind.PRESENCE, reader.bytes())
    elif kind == _ASK:
        message = Message(Kind.ASK)
    else:
        return Message(Kind.UNKNOWN)
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
    """The frame that tells of clients."""
    told = list(states)
    parts = [number(len(told))]
    for one in told:
        parts += [number(one.client), number(one.clock), _sized(one.state)]
    return bytes((_PRESENCE,)) + _sized(b"".join(parts))


def parse_presence(data: bytes) -> list[Present]:
    """What a message of presence tells."""
    reader = _Reader(data)
    found = [
        Present(reader.number(), reader.number(), reader.bytes()) for _ in range(reader.number())
    ]
    reader.end()
    return found


def _sized(data: bytes) -> bytes:
    return number(len(data)) + data


class _Reader:
    """What stands at a place, and the place after it."""

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
