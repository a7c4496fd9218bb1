"""Which notes there are: their ids, paths and properties.

    notes    id          16 hex digits, given once; the journal knows a note by it
             path        where it is; NULL in the trash
             epoch       16 hex digits, new whenever the note's history begins anew: a peer with an
                         older one holds letters that mean something else now
             created     milliseconds since 1970
             trashed     the same; NULL where it is not
             last_path   where it was before it went to the trash
             properties  JSON: what a file had that a text has not (line ends, a byte order mark)

The table is small and in constant use, so all of it is held in memory. After a failed transaction
it is read again.
"""

from __future__ import annotations

import json
import logging
import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from flashgrep.errors import Conflict, NotFound
from flashgrep.notes.store import paths
from flashgrep.notes.store.database import Database

log = logging.getLogger(__name__)

SCHEMA: Final = """
CREATE TABLE notes (
    id TEXT NOT NULL PRIMARY KEY, path TEXT UNIQUE, epoch TEXT NOT NULL,
    created INTEGER NOT NULL, trashed INTEGER, last_path TEXT, properties TEXT NOT NULL
);
"""
_ID_BYTES: Final = 8


class StoredProperties(Mapping[str, Any]):
    """Stored properties, decoded only when one is needed: startup needs none."""

    __slots__ = ("_properties", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._properties: dict[str, Any] | None = None

    @property
    def _read(self) -> dict[str, Any]:
        if self._properties is None:
            self._properties = json.loads(self._text)
        return self._properties

    def __getitem__(self, name: str) -> Any:
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read)

    def __len__(self) -> int:
        return len(self._read)


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """A note as the catalogue knows it."""

    id: str
    path: str | None
    epoch: str
    created: int
    trashed: int | None = None
    last_path: str | None = None
    properties: Mapping[str, Any] = field(default_factory=dict)

    @property
    def shown(self) -> str:
        """What to call it: its path, or the one it had before it was deleted."""
        return self.path or self.last_path or self.id


class Catalogue:
    """All notes, by id and by path."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._entries: dict[str, CatalogueEntry] = {}
        self._by_form: dict[str, str] = {}
        """Path in one Unicode form → id."""
        self._by_epoch: dict[str, str] = {}
        self._taken: dict[str, dict[str, int]] = {}
        """Twin key of a note or folder → each spelling of it, and how many notes have it."""
        self._watchers: list[Callable[[CatalogueEntry], None]] = []
        self.generation = 0
        """Another number whenever a note came, went or moved."""
        self.load()

    def load(self) -> None:
        """Read the table."""
        self.generation += 1
        self._entries, self._by_form, self._by_epoch, self._taken = {}, {}, {}, {}
        within: Counter[str] = Counter()
        for note, path, epoch, created, trashed, last_path, properties in self._database.rows(
            "SELECT id, path, epoch, created, trashed, last_path, properties FROM notes"
        ):
            self._entries[note] = CatalogueEntry(
                id=note,
                path=path,
                epoch=epoch,
                created=created,
                trashed=trashed,
                last_path=last_path,
                properties=StoredProperties(properties),
            )
            self._by_epoch[epoch] = note
            if path is not None:
                self._by_form[paths.form_key(path)] = note
                self._count(path, path, 1)
                within[path.rpartition("/")[0]] += 1
        for folder, notes in within.items():  # a note at a time, this took a third of a start
            self._count_folders(f"{folder}/" if folder else "", notes)

    # ── asking ──────────────────────────────────────────────────────────────────────────────────

    def entry(self, note: str) -> CatalogueEntry:
        """A note by its id, in the trash or not."""
        try:
            return self._entries[note]
        except KeyError:
            raise NotFound(f"no note has the id {note}") from None

    def epoch_of(self, note: str) -> str | None:
        """The epoch of a note by its id; None where there is no such note."""
        entry = self._entries.get(note)
        return entry.epoch if entry else None

    def find(self, path: str) -> CatalogueEntry | None:
        """The note at a path, whatever Unicode form its letters have."""
        note = self._by_form.get(paths.form_key(path))
        return self._entries[note] if note else None

    def of_epoch(self, epoch: str) -> CatalogueEntry | None:
        """The note whose history has this epoch, wherever it is now, also in the trash."""
        note = self._by_epoch.get(epoch)
        return self._entries[note] if note else None

    def is_taken(self, path: str) -> bool:
        """Whether a note or folder is at a path, or one that some file system takes for it."""
        return bool(self._taken.get(paths.twin_key(path)))

    def entries(self) -> list[CatalogueEntry]:
        """All notes that are not in the trash, by path."""
        there = (entry for entry in self._entries.values() if entry.path is not None)
        return sorted(there, key=lambda entry: entry.path or "")

    def placed(self) -> dict[str, str]:
        """The paths of the notes that are not in the trash, by id, in any order."""
        return {entry.id: entry.path for entry in self._entries.values() if entry.path is not None}

    def trash(self) -> list[CatalogueEntry]:
        """The notes in the trash, the latest first."""
        gone = [entry for entry in self._entries.values() if entry.path is None]
        return sorted(gone, key=lambda entry: entry.trashed or 0, reverse=True)

    def watch(self, listener: Callable[[CatalogueEntry], None]) -> Callable[[], None]:
        """Call a listener after each durable write of an entry; gives the way to stop."""
        self._watchers.append(listener)
        return lambda: self._watchers.remove(listener)

    def _notify(self, entry: CatalogueEntry) -> None:
        for listener in list(self._watchers):
            try:
                listener(entry)
            except Exception:
                log.exception("a listener failed on note %s", entry.id)

    # ── changing ────────────────────────────────────────────────────────────────────────────────

    def add(self, path: str, time: int, properties: Mapping[str, Any]) -> CatalogueEntry:
        """A new note; its text is the journal's affair."""
        self._check_free(path)
        entry = CatalogueEntry(
            id=_new_id(), path=path, epoch=_new_id(), created=time, properties=dict(properties)
        )
        self._write(entry)
        return entry

    def move(self, note: str, path: str) -> CatalogueEntry:
        """Another path for a note, also one that differs from its own by case alone."""
        entry = self.entry(note)
        self._check_free(path, besides=entry)
        moved = replace(entry, path=path, trashed=None, last_path=None)
        self._write(moved)
        return moved

    def move_all(self, moves: Mapping[str, str]) -> list[CatalogueEntry]:
        """Other paths for notes, by id, all of them or none; each may take one that another had."""
        moved = []
        with self._database.transaction():
            self._database.when_undone(self.load)
            for note in moves:
                self._take_out(self.entry(note))
                self._database.execute("UPDATE notes SET path = NULL WHERE id = ?", note)
            for note, path in moves.items():
                entry = self.entry(note)
                self._check_free(path, besides=replace(entry, path=None, last_path=entry.path))
                moved.append(replace(entry, path=path, trashed=None, last_path=None))
                self._write(moved[-1])
        return moved

    def to_trash(self, note: str, time: int) -> CatalogueEntry:
        """Take a note's path away, and nothing else."""
        entry = self.entry(note)
        if entry.path is None:
            raise Conflict(f"{entry.shown} is in the trash already")
        gone = replace(entry, path=None, trashed=time, last_path=entry.path)
        self._write(gone)
        return gone

    def begin_epoch(self, note: str) -> CatalogueEntry:
        """A new epoch: peers that hold the old history must begin anew."""
        entry = replace(self.entry(note), epoch=_new_id())
        self._write(entry)
        return entry

    def set_properties(self, note: str, properties: Mapping[str, Any]) -> CatalogueEntry:
        """Other properties."""
        entry = replace(self.entry(note), properties=dict(properties))
        self._write(entry)
        return entry

    def _write(self, entry: CatalogueEntry) -> None:
        with self._database.transaction():
            self._database.execute(
                "INSERT INTO notes VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (id) DO UPDATE"
                " SET path = ?2, epoch = ?3, trashed = ?5, last_path = ?6, properties = ?7",
                entry.id,
                entry.path,
                entry.epoch,
                entry.created,
                entry.trashed,
                entry.last_path,
                json.dumps(dict(entry.properties), sort_keys=True),
            )
            self._database.when_undone(self.load)
            self._database.when_done(lambda: self._notify(entry))
        if before := self._entries.get(entry.id):
            self._take_out(before)
            self._by_epoch.pop(before.epoch, None)
        self._put(entry)

    def _take_out(self, entry: CatalogueEntry) -> None:
        """Let go of the path of an entry that is about to be written."""
        form = paths.form_key(entry.path or "")
        if self._by_form.get(form) == entry.id:
            del self._by_form[form]
            self._count_note(entry.path or "", -1)

    def _put(self, entry: CatalogueEntry) -> None:
        self.generation += 1
        self._entries[entry.id] = entry
        self._by_epoch[entry.epoch] = entry.id
        if entry.path is not None:
            self._by_form[paths.form_key(entry.path)] = entry.id
            self._count_note(entry.path, 1)

    # ── twins ───────────────────────────────────────────────────────────────────────────────────

    def _count_note(self, path: str, step: int) -> None:
        self._count_folders(path, step)
        self._count(path, path, step)

    def _count_folders(self, path: str, step: int) -> None:
        for name in paths.folders(path):
            self._count(name, name + "/", step)

    def _count(self, name: str, spelling: str, step: int) -> None:
        spellings = self._taken.setdefault(paths.twin_key(name), {})
        spellings[spelling] = spellings.get(spelling, 0) + step
        if not spellings[spelling]:
            del spellings[spelling]

    def _check_free(self, path: str, besides: CatalogueEntry | None = None) -> None:
        """Refuse a path that is taken, or that some file system takes for one that is."""
        if besides and path in (besides.path, besides.last_path):
            paths.checked(path)  # it had that path already, under the rules of its time
        else:
            paths.checked_new(path)
        own = besides.path if besides else None
        for name in (*paths.folders(path), path):
            spelling = name + "/" if name != path else name
            for taken, count in self._taken.get(paths.twin_key(name), {}).items():
                is_own = own is not None and taken in _spellings(own) and count == 1
                if is_own or (taken == spelling and name != path):
                    continue
                raise Conflict(
                    f"{path}: {taken} is there already"
                    + (", and file systems take one for the other" if taken != spelling else "")
                    + "; choose another name"
                )


def _spellings(path: str) -> set[str]:
    return {path, *(folder + "/" for folder in paths.folders(path))}


def _new_id() -> str:
    return secrets.token_hex(_ID_BYTES)
