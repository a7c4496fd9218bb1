"""Where segments are: in a tree's own directory, or shared by all trees of one repository.

    <shelf>/
        *.seg           segments, each written once and named after the tree that wrote it
        ranked/         their ranked indexes
        trees/<tag>     of a shared one: for each tree that uses it, the directory of its manifest
        lock            of a shared one: held (flock) while a manifest is put in place, or while
                        what no manifest names is removed

Segments never change, so trees can read and write them without coordination. A segment is removed
once no manifest names it; the manifest of a workspace that is gone does not count. A segment that a
tree is still writing is in no manifest either: it is younger than the tree's own manifest, and
somebody holds the tree's lock.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import secrets
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from flashgrep.index.format.header import DamagedSegment
from flashgrep.index.format.manifest import MANIFEST, TAG_CHARS, Generation, read_generation
from flashgrep.ranking.format import DRAFT_SUFFIX, VIEW_PREFIX
from flashgrep.system.atomic import make_private, open_own, replace_file
from flashgrep.system.lock import is_locked, locked, open_lock_file

log = logging.getLogger(__name__)

LOCK: Final = "lock"
RANKED: Final = "ranked"
_TREES: Final = "trees"
_SUFFIX: Final = ".seg"


def tag_of(directory: Path) -> str:
    """A name for a tree: that of its index."""
    return hashlib.blake2b(os.fsencode(directory), digest_size=TAG_CHARS // 2).hexdigest()


class Shelf:
    """The directory of segments that a tree uses."""

    def __init__(self, home: Path, shared: Path | None) -> None:
        """`home` is the directory of the tree's manifest; without `shared`, its segments' too."""
        self.home = home
        self.directory = shared or home
        self.is_shared = shared is not None
        self.tag = tag_of(home)
        self.make()

    def make(self) -> None:
        """Make what is not there; what others can write is refused."""
        for directory in {self.home, self.directory}:
            make_private(directory)
            status = os.lstat(directory)
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
                raise DamagedSegment(str(directory), "not a directory of ours")
            if status.st_mode & 0o022:
                raise DamagedSegment(str(directory), "others can write it")

    def new_path(self) -> str:
        """Where a new segment goes."""
        return str(self.directory / f"{self.tag}{secrets.token_hex(8)}{_SUFFIX}")

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other trees from removing segments; alone, there is none."""
        if not self.is_shared:
            yield
            return
        descriptor = open_lock_file(self.directory / LOCK)
        try:
            with locked(descriptor):
                yield
        finally:
            os.close(descriptor)

    # ── trees ───────────────────────────────────────────────────────────────────────────────────

    def join(self) -> None:
        """Have our manifest count; before anything is written here."""
        if self.is_shared:
            place = self.directory / _TREES / self.tag
            make_private(place.parent)
            if not place.exists():
                replace_file(place, [json.dumps({"directory": str(self.home)}).encode()])

    def homes(self) -> dict[str, Path]:
        """The directories of the trees that use this shelf, by tag."""
        if not self.is_shared:
            return {self.tag: self.home}
        found: dict[str, Path] = {}
        with suppress(FileNotFoundError):
            for entry in os.scandir(self.directory / _TREES):
                if (home := _home(entry.path)) is not None and tag_of(home) == entry.name:
                    found[entry.name] = home
        return found

    def generations(self) -> dict[str, Generation]:
        """What each of those trees uses; of a workspace that is gone, nothing."""
        homes = self.homes()
        read = {tag: read_generation(home) for tag, home in homes.items()}
        return {
            tag: used
            for tag, used in read.items()
            if tag == self.tag or _is_there(used) or is_locked(homes[tag] / LOCK)
        }

    # ── left-overs ──────────────────────────────────────────────────────────────────────────────

    def sweep(self) -> None:
        """Remove segments that count for no tree, and what killed writers have left.

        Called with the shelf held, by a tree's writer that is writing no segment.
        """
        try:
            generations = self.generations()
        except OSError as error:
            log.warning("segments that nobody uses stay for now: %s", error)
            return
        used = {name for each in generations.values() for name in each.segments}
        for entry in os.scandir(self.directory):
            if _SUFFIX in entry.name and entry.name not in used:
                with suppress(OSError):
                    if self._is_loose(entry.name, entry.stat(follow_symlinks=False).st_mtime_ns):
                        os.unlink(entry.path)
        self._forget(generations)
        if self.home != self.directory:
            _clear(self.home)

    def sweep_rankings(self) -> None:
        """Remove the rankings of segments that are gone; those in use are their trees' business."""
        with suppress(FileNotFoundError):
            for entry in os.scandir(self.directory / RANKED):
                if self.is_left_over(entry.name):
                    shutil.rmtree(entry.path, ignore_errors=True)

    def _is_loose(self, name: str, written_ns: int | None = None) -> bool:
        """Whether nobody is at work on a file that no manifest names."""
        tag = name[:TAG_CHARS]
        if tag == self.tag or not self.is_shared:
            return True
        home = _home(self.directory / _TREES / tag)
        if home is None or not is_locked(home / LOCK):
            return True
        return written_ns is not None and written_ns < _committed_ns(home)

    def _forget(self, generations: dict[str, Generation]) -> None:
        """Forget trees that are gone."""
        for tag, home in self.homes().items() if self.is_shared else ():
            if tag not in generations and not is_locked(home / LOCK):
                with suppress(OSError):
                    os.unlink(self.directory / _TREES / tag)

    def is_left_over(self, name: str) -> bool:
        """Whether something among the rankings is nobody's: what is not that of a segment is one
        that is just written, or put together to be read."""
        if name.startswith(VIEW_PREFIX):
            return self._is_loose(name.removeprefix(VIEW_PREFIX))
        key, _, tag = name.removesuffix(DRAFT_SUFFIX).partition(_SUFFIX + ".")
        if tag:
            return self._is_loose(tag)
        return not (self.directory / key).exists()

    # ── sizes ───────────────────────────────────────────────────────────────────────────────────

    def size(self, segments: tuple[str, ...]) -> int:
        """Bytes on disk of what a tree uses, what it shares included."""
        return used_bytes(self.home, self.directory, segments)

    def all_bytes(self) -> int:
        """Bytes on disk of everything here."""
        return _size(self.directory)

    def free(self) -> int:
        """Bytes that could be written here."""
        return shutil.disk_usage(self.directory).free


def used_bytes(home: Path, directory: Path, segments: Iterable[str]) -> int:
    """Bytes on disk of a tree's own files and of its segments, which may be shared."""
    if directory == home:
        return _size(home)
    own = [directory / name for name in segments]
    ranked = [directory / RANKED / name.name for name in own]
    return sum(map(_size, [home, *own, *ranked]))


def _home(path: str | Path) -> Path | None:
    """The directory that an entry of the trees names; None where it is not one of ours."""
    try:
        with open_own(path) as file:
            return Path(json.load(file)["directory"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _committed_ns(home: Path) -> int:
    """When a tree's manifest was put in place; it was writing no segment then."""
    try:
        return os.lstat(home / MANIFEST).st_mtime_ns
    except OSError:
        return 0


def _is_there(generation: Generation) -> bool:
    """Whether the workspace of a generation still exists, as far as can be said."""
    try:
        os.lstat(generation.workspace)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _clear(home: Path) -> None:
    """Remove what a tree had kept by itself before it shared."""
    for entry in os.scandir(home):
        if entry.name.endswith(_SUFFIX) and not entry.is_dir(follow_symlinks=False):
            with suppress(OSError):
                os.unlink(entry.path)
        elif entry.name == RANKED and entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path, ignore_errors=True)


def _size(place: Path) -> int:
    """Bytes on disk of a file, or of a directory with all below it."""
    total = 0
    with suppress(OSError):
        total += 0 if place.is_dir() else os.lstat(place).st_blocks * 512
    for root, _, files in os.walk(place):
        for name in files:
            with suppress(OSError):
                total += os.lstat(os.path.join(root, name)).st_blocks * 512
    return total
