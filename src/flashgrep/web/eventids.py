"""Ids of events that say nothing: not how many there were, not whether two are the same.

    id    nonce (8 bytes), the event's number (8 bytes) hidden by it, seal (8 bytes), in hex

Whoever may read a few notes only would otherwise count, by the gaps between numbers, what happens
to the others. The key is drawn at each start, so an id of another start is known for one. Hiding
and seal are BLAKE2b with that key: the number is combined with a hash of the nonce, and the seal
is a hash of both.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Final

_PART: Final = 8
"""Bytes of each of the three parts."""


class EventIds:
    """Makes ids, and reads those it made."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def made(self, number: int) -> str:
        """An id for an event; another one at each call."""
        nonce = secrets.token_bytes(_PART)
        hidden = _combined(number.to_bytes(_PART), self._hash(b"hide", nonce))
        return (nonce + hidden + self._hash(b"seal", nonce + hidden)).hex()

    def read(self, text: str) -> int | None:
        """The number in an id; None where this is no id of ours, or of another start."""
        try:
            data = bytes.fromhex(text)
        except ValueError:
            return None
        nonce, hidden, seal = data[:_PART], data[_PART : 2 * _PART], data[2 * _PART :]
        if not hmac.compare_digest(seal, self._hash(b"seal", nonce + hidden)):
            return None
        return int.from_bytes(_combined(hidden, self._hash(b"hide", nonce)))

    def _hash(self, purpose: bytes, data: bytes) -> bytes:
        return hashlib.blake2b(data, digest_size=_PART, key=self._key, person=purpose).digest()


def _combined(one: bytes, other: bytes) -> bytes:
    return bytes(left ^ right for left, right in zip(one, other, strict=True))
