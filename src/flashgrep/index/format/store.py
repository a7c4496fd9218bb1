"""The index on disk: segments, and the manifest that says which of them count.

    <state directory>/index/<hash of what is searched>/     0700
        lock        held (flock) by the one process that writes here
        manifest    one line of JSON, one line with its crc32 in hex:
                    {"format": 2, "base": 3, "segments": ["a1….seg", …], "updated": seconds}
        *.seg       segments (see `segment`); those the manifest does not name are left-overs

A new generation is a set of complete segments and then a manifest put in place by one rename. So a
crash at any moment leaves the generation before it, and what is not whole is never read. Anything
that is not as it was written is thrown away and built again: the index is a copy of the workspace.
"""

from __future__ import annotations

import json
import logging
import os
import re
import secrets
import shutil
import stat
import time
import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from flashgrep.index.format.segment import DamagedSegment, Segment
from flashgrep.ranking.format import DamagedRanking, read_manifest
from flashgrep.system.atomic import make_private, open_own, replace_file
from flashgrep.system.lock import open_lock_file, try_lock

log = logging.getLogger(__name__)

FORMAT: Final = 2
"""2: sequences that RE2 would take for characters are hidden in the packs (`search.decode`)."""
MANIFEST: Final = "manifest"
_LARGE_BYTES: Final = 64 * 1024 * 1024
_NAME: Final = re.compile(r"[0-9a-f]{16}\.seg")


Loaded = tuple[list[Segment], int, float | None]
"""Segments, how many of them are the base, and when they were put together."""


@dataclass(frozen=True)
class Generation:
    """The segments that count, and when they were put together."""

    segments: tuple[str, ...] = ()
    base: int = 0
    updated: float | None = None


class Store:
    """The directory of one index."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._lock: int | None = None
        self._make()

    def _make(self) -> None:
        make_private(self.directory)
        status = os.lstat(self.directory)
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            raise DamagedSegment(str(self.directory), "not a directory of ours")
        if status.st_mode & 0o022:
            raise DamagedSegment(str(self.directory), "others can write it")

    # ── one writer ──────────────────────────────────────────────────────────────────────────────

    def lock(self) -> bool:
        """Become the one writer, unless another process is."""
        if self._lock is not None and not self._is_in_place(self._lock):
            self.close()  # the cache was cleared: ours locks nothing
        if self._lock is None:
            self._make()
            descriptor = open_lock_file(self.directory / "lock")
            if not try_lock(descriptor):
                os.close(descriptor)
                return False
            self._lock = descriptor
            self.sweep()  # a writer that was killed has left files here
        return True

    def _is_in_place(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), os.lstat(self.directory / "lock"))
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
        """The generation in force; an empty one where there is none that can be trusted."""
        try:
            with open_own(self.directory / MANIFEST) as file:
                text = file.read()
        except OSError:
            return Generation()
        body, _, checksum = text.partition(b"\n")
        if checksum.strip() != b"%08x" % zlib.crc32(body):
            log.warning("the index's manifest is damaged; building anew")
            return Generation()
        try:
            return _read(json.loads(body))
        except (ValueError, KeyError, TypeError, RecursionError):
            log.warning("the index's manifest is not understood; building anew")
            return Generation()

    def load(self) -> Loaded:
        """The segments in force that can be trusted, and how many of them are the base."""
        generation = self.generation()
        segments: list[Segment] = []
        base = generation.base
        for number, name in enumerate(generation.segments):
            try:
                segments.append(Segment(str(self.directory / name)))
            except (OSError, DamagedSegment) as error:
                log.warning("a part of the index is set aside: %s", error)
                base -= number < generation.base
        return segments, base, generation.updated

    def new_path(self) -> str:
        """Where a new segment goes."""
        return str(self.directory / f"{secrets.token_hex(8)}.seg")

    def commit(self, segments: Sequence[Segment], base: int) -> float:
        """Put a generation in force, and remove what it does not name; the time of it."""
        updated = time.time()
        names = [os.path.basename(segment.path) for segment in segments]
        data = {"format": FORMAT, "base": base, "segments": names, "updated": updated}
        body = json.dumps(data).encode()
        text = body + b"\n%08x\n" % zlib.crc32(body)
        replace_file(self.directory / MANIFEST, [text], self.directory / f"{MANIFEST}.new")
        self.sweep()
        return updated

    def sweep(self) -> None:
        """Remove segments that do not count, and unfinished ones; for the writer alone."""
        names = self.generation().segments
        for entry in os.scandir(self.directory):
            if ".seg" in entry.name and entry.name not in names:
                with suppress(OSError):
                    os.unlink(entry.path)

    def is_large(self) -> bool:
        """Whether listing the tree takes several processes."""
        return self.size() > _LARGE_BYTES

    def size(self) -> int:
        """Bytes on disk."""
        total = 0
        for root, _, files in os.walk(self.directory):
            for name in files:
                with suppress(OSError):
                    total += os.lstat(os.path.join(root, name)).st_blocks * 512
        return total

    def free(self) -> int:
        """Bytes that could be written here."""
        return shutil.disk_usage(self.directory).free


def _read(data: Any) -> Generation:
    """A generation out of a manifest; ValueError and the like where it is not one of ours."""
    if data["format"] != FORMAT:
        return Generation()
    names, base = tuple(data["segments"]), int(data["base"])
    if not all(_NAME.fullmatch(name) for name in names) or not 0 <= base <= len(names):
        raise ValueError("names or base out of range")
    return Generation(names, base, float(data["updated"]))


# ── the index on disk ────────────────────────────────────────────────────────────────────────────
# What the disk holds of an index that no running server has open.


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
        generation = Store(home).generation()
        paths = [os.path.join(home, name) for name in generation.segments]
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
        is_ranked=_is_ranked(home, generation),
    )


def _is_ranked(home: Path, generation: Generation) -> bool:
    try:
        for name in generation.segments:
            read_manifest(os.path.join(home, "ranked", name))
    except DamagedRanking:
        return False
    return True
