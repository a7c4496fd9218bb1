"""A journal in memory: for tests and for trying things out. Gone with the process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from flashgrep.notes.store.journal import (
    DamagedNote,
    Head,
    NoteSnapshot,
    Record,
    SequenceTaken,
    Version,
    check_row,
)


@dataclass
class _History:
    records: list[Record] = field(default_factory=list)
    snapshots: dict[int, NoteSnapshot] = field(default_factory=dict)
    head: Head = field(default_factory=lambda: Head(0, "", 0))

    def copy(self) -> _History:
        return _History(list(self.records), dict(self.snapshots), self.head)


class MemoryJournal:
    """Passes the same suite as the one on disk."""

    def __init__(self) -> None:
        self._notes: dict[str, _History] = {}
        self._told: list[Callable[[Record], None]] = []
        self._untold: list[Record] = []
        self._depth = 0

    def append(
        self, note: str, expected: int, update: bytes, state: bytes, author: str, time: int
    ) -> Record:
        history = self._notes.get(note) or _History()
        if history.head.sequence != expected:
            raise SequenceTaken(note, expected, history.head.sequence)
        record = Record(
            note=note, sequence=expected + 1, update=update, state=state, author=author, time=time
        )
        with self.transaction():
            self._notes[note] = history
            history.records.append(record)
            old = history.head
            history.head = Head(
                sequence=record.sequence,
                author=author,
                time=time,
                snapshot=old.snapshot,
                snapshot_time=old.snapshot_time,
                loose_bytes=old.loose_bytes + len(update),
            )
            self._untold.append(record)
        return record

    def read(self, note: str, after: int = 0) -> list[Record]:
        history = self._notes.get(note) or _History()
        found = [record for record in history.records if record.sequence > after]
        check_row(note, found, after, max(after, history.head.sequence))
        return found

    def read_good(self, note: str, after: int = 0) -> list[Record]:
        return self.read(note, after)

    def head(self, note: str) -> Head | None:
        return self._notes[note].head if note in self._notes else None

    def heads(self) -> dict[str, Head]:
        return {note: history.head for note, history in self._notes.items()}

    def newest(self, notes: Sequence[str]) -> dict[str, list[Record | NoteSnapshot]]:
        found: dict[str, list[Record | NoteSnapshot]] = {}
        for note in notes:
            if head := self.head(note):
                kept = [self.snapshot(note, head.snapshot)] if head.snapshot else []
                found[note] = [*kept, *self.read(note, head.snapshot)]
        return found

    def last(self, notes: Sequence[str]) -> dict[str, Record | NoteSnapshot]:
        return {note: entries[-1] for note, entries in self.newest(notes).items()}

    def authors(self, note: str) -> list[tuple[int, str]]:
        history = self._notes.get(note) or _History()
        return [(one.sequence, one.author) for one in history.records]

    def snapshots(self, note: str) -> list[Version]:
        found = self._notes[note].snapshots if note in self._notes else {}
        kept = (found[sequence] for sequence in sorted(found, reverse=True))
        return [Version(one.sequence, one.author, one.time) for one in kept]

    def snapshot(self, note: str, sequence: int) -> NoteSnapshot:
        try:
            return self._notes[note].snapshots[sequence]
        except KeyError:
            raise DamagedNote(note, f"there is no snapshot {sequence}") from None

    def add_snapshot(self, snapshot: NoteSnapshot, taken: int) -> None:
        history = self._notes[snapshot.note]
        with self.transaction():
            history.snapshots[snapshot.sequence] = snapshot
            newest = max(history.snapshots)
            later = (one for one in history.records if one.sequence > newest)
            loose = sum(len(record.update) for record in later)
            head = history.head
            history.head = Head(
                sequence=head.sequence,
                author=head.author,
                time=head.time,
                snapshot=newest,
                snapshot_time=taken,
                loose_bytes=loose,
            )

    def trim(self, note: str, through: int) -> None:
        history = self._notes[note]
        if through not in history.snapshots:
            raise DamagedNote(note, f"there is no snapshot {through} to trim to")
        history.records = [record for record in history.records if record.sequence > through]

    def drop_snapshots(self, note: str, sequences: Sequence[int]) -> None:
        snapshots = self._notes[note].snapshots
        for sequence in set(sequences) - set(sorted(snapshots)[-2:]):
            snapshots.pop(sequence, None)

    def set_aside(self, note: str, name: str) -> None:
        self._notes[name] = self._notes.pop(note)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        before = {note: history.copy() for note, history in self._notes.items()}
        untold = list(self._untold)
        self._depth += 1
        try:
            yield
        except BaseException:
            self._notes, self._untold = before, untold
            raise
        finally:
            self._depth -= 1
        if not self._depth:
            ready, self._untold = self._untold, []
            for record in ready:
                for told in list(self._told):
                    told(record)

    def subscribe(self, told: Callable[[Record], None]) -> Callable[[], None]:
        self._told.append(told)
        return lambda: self._told.remove(told)
