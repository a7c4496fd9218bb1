"""The index of one tree on disk: the manifest that says which segments count, and their rosters.

    <state directory>/index/<hash of what is searched>/     0700
        lock        held (flock) by the one process that writes here
        manifest    see `manifest`
        *.roster    what the tree knows of a segment's files (see `roster`)
        *.seg       segments (see `segment`), unless they are shared (see `shelf`)

A new generation is a set of complete segments and rosters, then a manifest put in place by one
rename. So a crash at any moment leaves the previous generation, and nothing incomplete is ever
read. Anything damaged is thrown away and rebuilt: the index is a copy of the workspace.
"""

from __future__ import annotations

import logging
import os
import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from flashgrep.index.format.enrolled_files import EnrolledFiles, enrolled_by
from flashgrep.index.format.header import DamagedSegment
from flashgrep.index.format.manifest import (
    MANIFEST,
    Generation,
    read_generation,
    write_generation,
)
from flashgrep.index.format.roster import read_roster, write_roster
from flashgrep.index.format.segment import Segment
from flashgrep.index.format.shelf import LOCK, RANKED, Shelf, used_bytes
from flashgrep.ranking.format import DamagedRanking, read_manifest
from flashgrep.system.lock import open_lock_file, try_lock

log = logging.getLogger(__name__)

_TRIES: Final = 5
"""So often a generation is read anew that another process replaces meanwhile."""
_LOOK_SECONDS: Final = 0.002
"""Another tree that looks whether we are there has our lock for less than this."""
_ROSTER_SUFFIX: Final = ".roster"


Loaded = tuple[list[Segment], int, float | None]
"""Segments, how many of them are the base, and when they were put together."""

Ids = Callable[[], Any]
"""The beginnings of the ids of a tree's files, as far as they are known without reading them."""


def no_ids() -> Any:
    """The ids of a tree about which nothing is known."""
    return np.zeros(0, np.uint64)


class Store:
    """The directory of one index."""

    def __init__(
        self, directory: Path, shared: Path | None = None, workspace: str = "", ids: Ids = no_ids
    ) -> None:
        """`shared` is the directory for segments that trees of one repository share."""
        self.directory = directory
        self.shelf = Shelf(directory, shared)
        self._workspace = workspace
        self._ids = ids
        self._lock: int | None = None

    # ── one writer ──────────────────────────────────────────────────────────────────────────────

    def lock(self) -> bool:
        """Become the one writer, unless another process is."""
        if self._lock is not None and not self._is_in_place(self._lock):
            self.close()  # the cache was cleared: ours locks nothing
        if self._lock is None:
            self.shelf.make()
            descriptor = open_lock_file(self.directory / LOCK)
            if not self._try(descriptor):
                os.close(descriptor)
                return False
            self._lock = descriptor
            self.shelf.join()
            self.sweep()  # a writer that was killed has left files here
        return True

    def _try(self, descriptor: int) -> bool:
        for _ in range(_TRIES if self.shelf.is_shared else 1):
            if try_lock(descriptor):
                return True
            time.sleep(_LOOK_SECONDS)
        return False

    def _is_in_place(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), os.lstat(self.directory / LOCK))
        except OSError:
            return False

    def close(self) -> None:
        """Let other processes write."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    # ── generations ─────────────────────────────────────────────────────────────────────────────

    def identity(self) -> tuple[int, int] | None:
        """What identifies a generation without reading it."""
        try:
            status = os.stat(self.directory / MANIFEST)
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns

    def generation(self) -> Generation:
        """The generation in force; an empty one if none can be trusted."""
        try:
            found = read_generation(self.directory)
        except OSError:
            return Generation()
        return found if found.store == self._shared_name else Generation()

    @property
    def _shared_name(self) -> str:
        return str(self.shelf.directory) if self.shelf.is_shared else ""

    def load(self) -> Loaded:
        """The segments in force that can be trusted, and how many of them are the base. A tree
        without any starts from those of another tree, knowing nothing about its files.
        """
        for _ in range(_TRIES):
            before = self.identity()
            generation = self.generation()
            if generation.updated is None:
                generation = self._best_of_others()
            loaded = self._opened(generation)
            if before == self.identity():
                break
        return loaded

    def _opened(self, generation: Generation) -> Loaded:
        segments: list[Segment] = []
        base = generation.base
        pairs = zip(generation.segments, generation.rosters, strict=True)
        for number, (name, roster) in enumerate(pairs):
            try:
                segment = Segment(str(self.shelf.directory / name))
            except (OSError, DamagedSegment) as error:
                log.warning("a part of the index is set aside: %s", error)
                base -= number < generation.base
                continue
            known = read_roster(self.directory / roster, segment.files) if roster else None
            if known is not None:
                segment.roster, segment.roster_file = known, roster
            segments.append(segment)
        return segments, base, generation.updated

    def enrolled(self) -> EnrolledFiles | None:
        """The files that the rosters in force know; None where there are none."""
        return enrolled_by(self.generation(), self.directory, self.shelf.directory)

    def _best_of_others(self) -> Generation:
        """The generation of the tree that is most like ours, without its rosters."""
        if not self.shelf.is_shared:
            return Generation()
        try:
            others = [one for one in self.shelf.generations().values() if one.updated is not None]
        except OSError:
            return Generation()
        others.sort(key=lambda one: one.updated or 0.0, reverse=True)
        if len({one.segments for one in others}) > 1:
            likeness = _Likeness(self.shelf.directory, self._ids())
            others.sort(key=lambda one: -likeness.of(one))  # of equals the newest stays first
        if not others:
            return Generation()
        best = others[0]
        return replace(best, rosters=("",) * len(best.segments), updated=None)

    def new_path(self) -> str:
        """Where a new segment goes."""
        return self.shelf.new_path()

    def commit(self, segments: Sequence[Segment], base: int) -> float:
        """Put a generation in force, and remove what it does not name; the time of it."""
        rosters = [segment.roster_file or self._new_roster(segment) for segment in segments]
        generation = Generation(
            segments=tuple(os.path.basename(segment.path) for segment in segments),
            rosters=tuple(rosters),
            base=base,
            updated=time.time(),
            store=self._shared_name,
            workspace=self._workspace,
        )
        with self.shelf.held():
            for segment in segments:
                if not os.path.lexists(segment.path):  # removed by the tree that we have it from
                    raise DamagedSegment(segment.path, "gone")
            write_generation(self.directory, generation)
            for segment, roster in zip(segments, rosters, strict=True):
                segment.roster_file = roster
            self._sweep()
        return generation.updated or 0.0

    def _new_roster(self, segment: Segment) -> str:
        stem = os.path.basename(segment.path).partition(".")[0]
        name = f"{stem}.{secrets.token_hex(4)}{_ROSTER_SUFFIX}"
        write_roster(self.directory / name, segment.roster)
        return name

    def sweep(self) -> None:
        """Remove segments that do not count, and unfinished ones; for the writer alone."""
        with self.shelf.held():
            self._sweep()

    def _sweep(self) -> None:
        self.shelf.sweep()
        rosters = self.generation().rosters
        for entry in os.scandir(self.directory):
            if _ROSTER_SUFFIX in entry.name and entry.name not in rosters:
                with suppress(OSError):
                    os.unlink(entry.path)

    def size(self) -> int:
        """Bytes on disk, those of shared segments included."""
        return self.shelf.size(self.generation().segments)

    def free(self) -> int:
        """Bytes that could be written here."""
        return self.shelf.free()


class _Likeness:
    """How much of a tree the segments of other trees contain."""

    def __init__(self, directory: Path, ids: Any) -> None:
        self._directory = directory
        self._ids = ids
        self._known: dict[str, int] = {}

    def of(self, generation: Generation) -> int:
        """How many files of a generation have the content of one of ours."""
        return sum(map(self._in_segment, generation.segments))

    def _in_segment(self, name: str) -> int:
        if name not in self._known:
            self._known[name] = 0
            with suppress(OSError, DamagedSegment):
                segment = Segment(str(self._directory / name), is_checked=True)
                self._known[name] = int(np.isin(segment.short_ids, self._ids).sum())
        return self._known[name]


# ── the index on disk ────────────────────────────────────────────────────────────────────────────
# What the disk holds of an index that no running server has open.


@dataclass(frozen=True)
class OnDisk:
    """A complete index on disk; a starting server adds what changed since."""

    updated: float
    files: int | None
    """None where later segments replace files of earlier ones: only a server knows which."""
    blocks: int
    bytes: int
    """Those of shared segments included."""
    is_ranked: bool


def newest(directory: Path) -> OnDisk | None:
    """The index below `directory` that was put together last; None where none is complete.

    There is one for each set of directories that were searched, as described above.
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
        generation = read_generation(home)
        place = generation.store or home
        paths = [os.path.join(place, name) for name in generation.segments]
        segments = [Segment(path, is_checked=True) for path in paths]
    except (OSError, DamagedSegment):
        return None
    if generation.updated is None:
        return None
    is_base = generation.base == len(segments)
    return OnDisk(
        updated=generation.updated,
        files=sum(segment.files for segment in segments) if is_base else None,
        blocks=sum(segment.blocks for segment in segments),
        bytes=used_bytes(home, Path(place), generation.segments),
        is_ranked=_is_ranked(os.path.join(place, RANKED), generation),
    )


def _is_ranked(ranked: str, generation: Generation) -> bool:
    try:
        for name in generation.segments:
            read_manifest(os.path.join(ranked, name))
    except DamagedRanking:
        return False
    return True


def shared_by(directory: Path) -> set[Path]:
    """Where the indexes below `directory` keep segments that other trees use too."""
    found = set()
    for home in _homes(directory):
        with suppress(OSError):
            found.add(read_generation(home).store)
    return {Path(store) for store in found if store}


def sweep_shared(store: Path) -> None:
    """Remove the segments that no tree uses any more, after one was removed by hand."""
    with suppress(OSError, DamagedSegment):
        shelf = Shelf(store, store)  # of no tree: nothing here is its own
        with shelf.held():
            shelf.sweep()
            shelf.sweep_rankings()
