"""The files an indexed search found: many may match and few are shown, so names are made late."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np

from flashgrep.index.snapshot import ROOM, Place, Snapshot
from flashgrep.search.request import Found, walk_key


class Rows(Sequence[Found]):
    """Found files in an order."""

    def __init__(self, table: Table, order: Any) -> None:
        self._table = table
        self._order = order

    def __len__(self) -> int:
        return len(self._order)

    @overload
    def __getitem__(self, at: int) -> Found: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Found]: ...
    def __getitem__(self, at: int | slice) -> Found | Sequence[Found]:
        if isinstance(at, slice):
            return Rows(self._table, self._order[at])
        return self._table.row(int(self._order[at]))

    def __iter__(self) -> Iterator[Found]:
        return map(self._table.row, self._order.tolist())


class Table:
    """Found files, as columns: those of the segments first, then those found on disk."""

    def __init__(self, snapshot: Snapshot, root: str) -> None:
        self._snapshot = snapshot
        self._root = root + "/" if root else ""
        self._segments: list[Any] = []
        self._files: list[Any] = []
        self._values: list[Any] = []
        self._others: list[Found] = []
        self.places: dict[str, Place] = {}
        """Where the rows that were looked at stand in the segments."""

    def add(self, segment: int, found: dict[int, int]) -> None:
        """Take in what was found in a segment: file and value."""
        if found:
            self._segments.append(np.full(len(found), segment))
            self._files.append(np.fromiter(found.keys(), np.int64, len(found)))
            self._values.append(np.fromiter(found.values(), np.int64, len(found)))

    def add_others(self, found: Sequence[Found]) -> None:
        """Take in what was found on disk, or under another name."""
        self._others.extend(found)

    def close(self) -> None:
        """Everything is there."""
        nothing = np.empty(0, np.int64)
        self.segment = np.concatenate([*self._segments, nothing])
        self.file = np.concatenate([*self._files, nothing])
        found = np.concatenate([*self._values, nothing])
        others = np.array([row.value for row in self._others], np.int64)
        self.value = np.concatenate([found, others])
        ranks = np.empty(len(self.segment), np.int64)
        for number in np.unique(self.segment):
            mine = self.segment == number
            ranks[mine] = self._snapshot.ranks[number][self.file[mine]]
        self.rank = self._ranked(ranks)

    def _ranked(self, ranks: Any) -> Any:
        """Ranks of all rows; those that stand between files of the base are ranked together."""
        if not self._others:
            return ranks
        later = np.flatnonzero(self.segment >= self._snapshot.base).tolist()
        rows = [*later, *range(len(ranks), len(ranks) + len(self._others))]
        places = [
            (self._gap(row, ranks), walk_key("", self._root + self.row(row).shown), row)
            for row in rows
        ]
        ranks = np.append(ranks, np.zeros(len(self._others), np.int64))
        for step, (gap, _, row) in enumerate(sorted(places)):
            ranks[row] = gap * ROOM + step
        return ranks

    def _gap(self, row: int, ranks: Any) -> int:
        if row < len(ranks):
            return int(ranks[row]) // ROOM
        return self._snapshot.rank(self._root + self._others[row - len(ranks)].shown) // ROOM

    def row(self, at: int) -> Found:
        """One found file."""
        if at >= len(self.segment):
            return self._others[at - len(self.segment)]
        place = Place(int(self.segment[at]), int(self.file[at]))
        shown = self._snapshot.segments[place.segment].name(place.file)[len(self._root) :]
        self.places[shown] = place
        return Found(shown, int(self.value[at]))

    @property
    def in_walk_order(self) -> Rows:
        return Rows(self, np.argsort(self.rank, kind="stable"))

    @property
    def newest_first(self) -> Rows:
        return Rows(self, np.lexsort((self.rank, -self.value)))
