"""Finds files of the tree among those of the segments: by status, or by content.

A file that has the status in the roster, and was not read right after a change, has the content
that the segment holds. So does a file with a matching id, whether git's index knows it or a process
that has read the file. The name must be the same too: segments are in walk order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from flashgrep.index.format.segment import Mask, Segment, path_key
from flashgrep.index.watch.changes import Identity

_MANY: Final = 1_000
_FEW: Final = 20
"""So many times as many files as names, and the names are looked up one by one."""


class SegmentSlot(NamedTuple):
    """A file of a segment, with the size and id of its content."""

    segment: int
    file: int
    size: int
    id: bytes


def found_by_status(
    segments: Sequence[Segment], alive: list[Mask], files: Mapping[str, Identity]
) -> dict[str, Identity]:
    """Mark files as alive that are as the rosters know them; return the rest."""
    missing = dict(files)
    for number in reversed(range(len(segments))):
        segment = segments[number]
        places = list(_places(segment, missing))
        rows = segment.status.tolist() if len(places) > _MANY else segment.status
        is_racy = segment.racy.tolist()
        found = []
        for file, name in places:
            status = missing.get(name)
            if status is not None and (*rows[file],) == status and not is_racy[file]:
                found.append(file)
                del missing[name]
        alive[number] = _with(alive[number], found)
    return missing


def found_by_id(
    segments: Sequence[Segment],
    alive: list[Mask],
    files: Mapping[str, Identity],
    ids: Mapping[str, bytes],
) -> dict[str, Identity]:
    """Mark files as alive if their id is that of a segment's file; return the rest."""
    missing = dict(files)
    wanted = {name: known for name, known in ids.items() if name in missing}
    for number in reversed(range(len(segments))):
        segment = segments[number]
        known, sizes = segment.all_ids() if wanted else [], segment.sizes.tolist()
        found, rows = [], []
        for file, name in _places(segment, wanted):
            # Where the sizes differ, git has converted line ends between blob and file.
            if wanted.get(name) == known[file] and sizes[file] == missing[name][0]:
                found.append(file)
                rows.append(missing.pop(name))
                del wanted[name]
        segment.enrol(found, np.array(rows, np.int64), False)
        alive[number] = _with(alive[number], found)
    return missing


def slots_of(segments: Sequence[Segment], names: Collection[str]) -> dict[str, list[SegmentSlot]]:
    """Where files may be that have not been read yet: all of the same name.

    Of any size: when it is read, a file may have another than when it was listed.
    """
    slots: dict[str, list[SegmentSlot]] = {}
    for number, segment in enumerate(segments):
        for file, name in _places(segment, names):
            if name in names:
                slot = SegmentSlot(
                    segment=number,
                    file=file,
                    size=int(segment.sizes[file]),
                    id=segment.id(file),
                )
                slots.setdefault(name, []).append(slot)
    return slots


def enrolled(
    segments: Sequence[Segment],
    alive: list[Mask],
    files: Iterable[tuple[str, bytes, Identity, bool]],
    slots: Mapping[str, Sequence[SegmentSlot]],
) -> None:
    """Mark files as alive that were read: name, id, status, and whether right after a change."""
    found: dict[int, list[tuple[int, Identity, bool]]] = {}
    for name, held, status, racy in files:
        slot = next(slot for slot in slots[name] if slot.id == held)
        found.setdefault(slot.segment, []).append((slot.file, status, racy))
    for number, rows in found.items():
        places, statuses, racies = zip(*rows, strict=True)
        segments[number].enrol(list(places), np.array(statuses, np.int64), np.array(racies, bool))
        alive[number] = _with(alive[number], list(places))


def _places(segment: Segment, names: Collection[str]) -> Iterator[tuple[int, str]]:
    """Number and name of files of a segment, among them all that have one of some names."""
    if len(names) * _FEW >= segment.files:
        yield from enumerate(segment.all_names())
        return
    for name in list(names):
        file = segment.find(path_key(name))
        if file is not None:
            yield file, name


def _with(alive: Mask, files: list[int]) -> Mask:
    """A mask with some more files; searches may be reading the old one."""
    if not files:
        return alive
    more = alive.copy()
    more[files] = True
    return more
