"""The numbers by which people name decisions, which do not reveal how many decisions there were.

    decision_numbers   key    32 random bytes, in one row; made by the first process that finds none

The log counts its rows 1, 2, 3, … If these numbers were shown, a token that may read one folder
could count, from the gaps between them, the decisions on notes it may not read. So each is shown as
a unique other number below 2³²: four rounds of a Feistel network with BLAKE2b and the key, which is
kept with the log so that a number holds for good.

Random numbers in the log itself would need a second column for the order. Numbers that differ by
token, as for events, could not be passed on to somebody else: "undo 2718281828".
"""

from __future__ import annotations

import hashlib
import logging
import secrets
from typing import Final

from flashgrep.notes.store.database import Database, StorageFull

log = logging.getLogger(__name__)

_HALF_BYTES: Final = 2
_HALF_BITS: Final = 8 * _HALF_BYTES
_MASK: Final = (1 << _HALF_BITS) - 1
_ROUNDS: Final = range(4)
_KEY_BYTES: Final = 32


class DecisionNumbers:
    """Turns rows of the log into the numbers that are shown, and back. Both begin at 1."""

    def __init__(self, database: Database) -> None:
        self._key = secrets.token_bytes(_KEY_BYTES)
        try:
            with database.transaction():
                database.execute("CREATE TABLE IF NOT EXISTS decision_numbers (key BLOB NOT NULL)")
                rows = database.rows("SELECT key FROM decision_numbers")
                if rows:
                    ((self._key,),) = rows
                else:
                    database.execute("INSERT INTO decision_numbers VALUES (?)", self._key)
        except StorageFull as error:
            log.warning("decisions have other numbers after a restart: %s", error.message)

    def shown(self, row: int) -> int:
        """The number of a row."""
        left, right = divmod(row - 1, _MASK + 1)
        for turn in _ROUNDS:
            left, right = right, left ^ self._mixed(turn, right)
        return (left << _HALF_BITS | right) + 1

    def row(self, shown: int) -> int | None:
        """The row with a number, if there is one; None for a number that is never shown."""
        left, right = divmod(shown - 1, _MASK + 1)
        if not 0 <= left <= _MASK:
            return None
        for turn in reversed(_ROUNDS):
            left, right = right ^ self._mixed(turn, left), left
        return (left << _HALF_BITS | right) + 1

    def _mixed(self, turn: int, half: int) -> int:
        data = half.to_bytes(_HALF_BYTES)
        hashed = hashlib.blake2b(data, digest_size=_HALF_BYTES, key=self._key, salt=bytes([turn]))
        return int.from_bytes(hashed.digest())
