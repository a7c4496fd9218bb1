"""What the disk holds of an index that no server keeps just now."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from flashgrep.index.format.segment import Damaged, Segment
from flashgrep.index.format.store import Generation, Store
from flashgrep.ranking.format import DamagedRanking, read_manifest


@dataclass(frozen=True)
class OnDisk:
    """A complete index; a server that starts takes in what changed since."""

    updated: float
    files: int | None
    """None where later segments replace files of earlier ones: only a server knows which."""
    blocks: int
    is_ranked: bool


def newest(directory: Path) -> OnDisk | None:
    """The index below `directory` that was put together last; None where none is complete.

    There is one for each set of directories that were searched, as told in `store`.
    """
    found = [one for home in _homes(directory) if (one := _complete(home)) is not None]
    return max(found, key=lambda one: one.updated, default=None)


def _homes(directory: Path) -> list[Path]:
    try:
        return [path for path in directory.iterdir() if path.is_dir() and not path.is_symlink()]
    except OSError:
        return []


def _complete(home: Path) -> OnDisk | None:
    try:
        generation = Store(home).generation()
        paths = [os.path.join(home, name) for name in generation.segments]
        segments = [Segment(path, is_checked=True) for path in paths]
    except (OSError, Damaged):
        return None
    if generation.updated is None or not segments:
        return None
    is_base = generation.base == len(segments)
    return OnDisk(
        updated=generation.updated,
        files=sum(segment.files for segment in segments) if is_base else None,
        blocks=sum(segment.blocks for segment in segments),
        is_ranked=_is_ranked(home, generation),
    )


def _is_ranked(home: Path, generation: Generation) -> bool:
    try:
        for name in generation.segments:
            read_manifest(os.path.join(home, "ranked", name))
    except DamagedRanking:
        return False
    return True
