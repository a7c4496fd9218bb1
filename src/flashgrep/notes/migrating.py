"""A knowledge base of an older format becomes one of ours.

Before anything is changed, the database is copied to `notes.db.format-N`, N being its format. Then
all steps to our format are one transaction: a process that is killed on the way leaves the database
in the old format or in the new one, never between the two, and the next start goes on from there.

The copy stays. It is replaced where the same format is left a second time (the first attempt was
cut short, or a backup was put back), and removed when a later migration has succeeded: of all
copies only the one of the latest migration is kept. Nothing else is ever removed.

    1 → 2   the tables of `tables`, empty: all notes are behind, and are looked at in turns
"""

from __future__ import annotations

import logging
import re
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from flashgrep.notes import tables
from flashgrep.notes.store.database import FORMAT, Database

log = logging.getLogger(__name__)

STEPS: Final = {1: tables.SCHEMA}
"""By the format that is left: what makes the next one of it."""
OLDEST: Final = min(STEPS)
_COPY: Final = re.compile(r"\.format-(\d{1,9})")


def opened(path: Path) -> Database:
    """The database at a path, in our format; the caller is the only one who has it open."""
    database = Database(path, OLDEST)
    try:
        _bring_up(database)
    except BaseException:
        database.close()
        raise
    return database


def _bring_up(database: Database) -> None:
    before = database.format
    if before == FORMAT:
        return
    copy = _copy_of(database.path, before)
    database.backup(copy)
    with database.transaction():
        for step in range(before, FORMAT):
            for statement in _statements(STEPS[step]):
                database.execute(statement)
        database.execute(f"PRAGMA user_version = {FORMAT}")
    log.warning(
        "%s was brought from format %d to %d; as it was, it is kept in %s",
        database.path,
        before,
        FORMAT,
        copy.name,
    )
    _remove_older(database.path, before)


def _copy_of(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.format-{number}")


def _remove_older(path: Path, number: int) -> None:
    """Remove the copies that earlier migrations made."""
    for other in path.parent.iterdir():
        found = _COPY.fullmatch(other.name.removeprefix(path.name))
        if found and other.name.startswith(path.name) and int(found[1]) < number:
            with suppress(OSError):
                other.unlink()


def _statements(schema: str) -> Iterator[str]:
    """The statements of a script; `executescript` would end the transaction."""
    statement = ""
    for line in schema.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
