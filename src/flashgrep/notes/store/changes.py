"""What becomes of notes, as values that any thread may hold: texts, changes, versions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Published:
    """The text of a note after one of its records: durable, and not to change again."""

    note: str
    sequence: int
    data: bytes
    """In UTF-8, which is what a search looks at, and what takes the least memory: one emoji makes
    Python hold a text in four bytes a character."""
    author: str
    """Of that record."""
    time: int
    """The same, in milliseconds since 1970."""

    @property
    def text(self) -> str:
        return self.data.decode()


@dataclass(frozen=True, slots=True)
class NoteChange:
    """What those who listen are told."""

    published: Published
    update: bytes
    """For peers, as Yjs encodes it."""
    origin: object
    """What the writer gave, so that a peer is not told of its own change; None to tell all."""


@dataclass(frozen=True, slots=True)
class Received:
    """What became of a peer's updates."""

    sequence: int
    """The note's newest record; all of them are in the journal, but for those that wait."""
    is_waiting: bool
    """One lacks another before it: ask the peer for all that is missing here."""


@dataclass(frozen=True, slots=True)
class Version:
    """A state of a note that can be gone back to."""

    sequence: int
    author: str
    time: int
