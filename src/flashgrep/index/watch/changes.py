"""What changes in a tree: the names and states of its files, and inotify by ctypes.

Draining our own descriptor at the start of a query sees every change made before it, and costs
about a microsecond when there is none. A library that watches in another thread cannot promise
that.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import dropwhile
from typing import Final, NamedTuple

from flashgrep.workspace.scope import is_within
from flashgrep.workspace.walk import Ruled

Identity = tuple[int, int, int, int]
Rules = tuple[tuple[bytes, bytes], ...]
"""Rule files: the directory and the text of each."""


def identity(status: os.stat_result) -> Identity:
    """What identifies a file's content: size, times, inode."""
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def joined(directory: str, name: str) -> str:
    """The path of an entry; the root is the empty path."""
    return f"{directory}/{name}" if directory else name


def real_path(root: bytes, shown: str) -> bytes:
    """The real path of a shown one."""
    return root.rstrip(b"/") + b"/" + os.fsencode(shown) if shown else root


def is_below(shown: str, directory: str) -> bool:
    """Whether a path is a directory or below it."""
    return not directory or shown == directory or shown.startswith(directory + "/")


def parents(shown: str) -> Iterator[str]:
    """A path and every directory above it, the root included."""
    while shown:
        yield shown
        shown = shown.rpartition("/")[0]
    yield ""


@dataclass
class Changes:
    """What happened since the last look."""

    entries: set[str] = field(default_factory=set)
    subtrees: set[str] = field(default_factory=set)
    lost: str = ""
    """Why more may have happened than was reported; empty if nothing more has."""

    def add(self, other: Changes) -> None:
        """Take in what happened later."""
        self.entries |= other.entries
        self.subtrees |= other.subtrees
        self.lost = self.lost or other.lost

    def touch(self, path: str) -> bool:
        """Whether a path is among what happened, or in a subtree that is."""
        return path in self.entries or any(is_below(path, subtree) for subtree in self.subtrees)

    def __bool__(self) -> bool:
        return bool(self.entries or self.subtrees or self.lost)


@dataclass
class Tree:
    """A listing of what a search looks at, of the whole root or of a part."""

    files: dict[str, Identity] = field(default_factory=dict)
    shared: dict[str, Identity] = field(default_factory=dict)
    """Files with several names: a change through another one raises no event here."""
    links: dict[str, str | None] = field(default_factory=dict)
    """Symbolic links, and the path in the tree each leads to; None where that is not certain."""
    directories: dict[str, Ruled] = field(default_factory=dict)
    """Every directory, with those on the way to it, itself included, that hold rule files."""
    watched: dict[int, str] = field(default_factory=dict)
    """The directory of each watch."""
    unreadable: set[str] = field(default_factory=set)
    """Directories that exist and cannot be listed: a search has to say so."""
    above: Rules = ()
    """The rule files above the root."""
    root: tuple[int, int] = (0, 0)
    """Device and inode of the root."""
    recognised: dict[str, list[int]] = field(default_factory=dict)
    """Files that are as their rosters know them, by segment and number; not among `files`."""

    def add_file(self, path: str, status: os.stat_result) -> None:
        """Add a file."""
        self.files[path] = identity(status)
        if status.st_nlink != 1:
            self.shared[path] = identity(status)

    def take(self, other: Tree) -> None:
        """Add another part of the tree."""
        self.files.update(other.files)
        self.shared.update(other.shared)
        self.links.update(other.links)
        self.directories.update(other.directories)
        self.watched.update(other.watched)
        self.unreadable |= other.unreadable
        for segment, numbers in other.recognised.items():
            self.recognised.setdefault(segment, []).extend(numbers)

    def drop(self, subtree: str) -> None:
        """Forget a directory and all below it."""
        self.directories = {d: r for d, r in self.directories.items() if not is_below(d, subtree)}
        self.links = {d: t for d, t in self.links.items() if not is_below(d, subtree)}
        self.shared = {n: i for n, i in self.shared.items() if not is_below(n, subtree)}


def link_target(link: str, name: bytes, directory: int | None = None) -> str | None:
    """Where a link leads, as a path in the tree; `name` is its path from an open directory."""
    try:
        return led_to(link, os.fsdecode(os.readlink(name, dir_fd=directory)))
    except OSError:
        return None


def led_to(link: str, text: str) -> str | None:
    """Where a link's text leads, as a path in the tree, if no other link is on the way.

    Whether none is shows later: every directory on the way must be one of the tree's own.
    """
    parts = [part for part in text.split("/") if part not in ("", ".")]
    if text.startswith("/") or ".." in list(dropwhile(lambda part: part == "..", parts)):
        return None  # what is left of x/.. is for the kernel to say: x may be a link
    if text.endswith(("/", "/.")):
        return None  # depends on the target being a directory, which may change
    path = os.path.normpath(os.path.join(os.path.dirname(link), text))
    if path == ".":
        return ""
    return None if path == ".." or path.startswith("../") else path


# ── inotify ──────────────────────────────────────────────────────────────────────────────────────


IN_MODIFY: Final = 0x2
IN_ATTRIB: Final = 0x4
IN_CLOSE_WRITE: Final = 0x8
IN_MOVED_FROM: Final = 0x40
IN_MOVED_TO: Final = 0x80
IN_CREATE: Final = 0x100
IN_DELETE: Final = 0x200
IN_DELETE_SELF: Final = 0x400
IN_MOVE_SELF: Final = 0x800
IN_UNMOUNT: Final = 0x2000
IN_Q_OVERFLOW: Final = 0x4000
IN_IGNORED: Final = 0x8000
IN_ONLYDIR: Final = 0x01000000
IN_ISDIR: Final = 0x40000000
CHANGES: Final = (
    IN_MODIFY
    | IN_ATTRIB
    | IN_CLOSE_WRITE
    | IN_MOVED_FROM
    | IN_MOVED_TO
    | IN_CREATE
    | IN_DELETE
    | IN_DELETE_SELF
    | IN_MOVE_SELF
)
_EVENT: Final = struct.Struct("iIII")
_BUFFER: Final = 256 * 1024


class InotifyEvent(NamedTuple):
    """Something happened to `name` in the directory of a watch."""

    watch: int
    mask: int
    name: bytes


class WatchLimit(Exception):
    """The kernel allows no more watches."""


class Inotify:
    """One queue of changes; another process's, if given its descriptor."""

    def __init__(self, fd: int | None = None) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self.fd: int = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC) if fd is None else fd
        if self.fd < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), "inotify")

    def watch(self, directory: int) -> int:
        """Watch an open directory; the same directory gives the same number."""
        path = f"/proc/self/fd/{directory}".encode()
        number: int = self._libc.inotify_add_watch(self.fd, path, CHANGES | IN_ONLYDIR)
        if number < 0:
            raise WatchLimit(os.strerror(ctypes.get_errno()))
        return number

    def unwatch(self, number: int) -> None:
        """Stop watching; harmless where the watch has ended."""
        self._libc.inotify_rm_watch(self.fd, number)

    def drain(self) -> list[InotifyEvent]:
        """Everything that has happened since the last call."""
        events: list[InotifyEvent] = []
        while True:
            try:
                data = os.read(self.fd, _BUFFER)
            except BlockingIOError:
                return events
            at = 0
            while at < len(data):
                watch, mask, _, length = _EVENT.unpack_from(data, at)
                at += _EVENT.size
                events.append(InotifyEvent(watch, mask, data[at : at + length].rstrip(b"\0")))
                at += length

    def close(self) -> None:
        """Close the descriptor; every watch ends with it."""
        os.close(self.fd)


# ── file systems ─────────────────────────────────────────────────────────────────────────────────
# File systems report every change if all changes pass through this kernel.


_REMOTE: Final = frozenset(
    {"9p", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "fuse", "gfs2", "glusterfs", "gpfs"}
    | {"lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs"}
)
_TABLE: Final = "/proc/self/mountinfo"


def remote_mount(root: bytes) -> str:
    """The kind of a file system at or below `root` that others can change unseen; or empty."""
    try:
        with open(_TABLE, "rb") as table:
            mounts = list(_mounts(table.read()))
    except OSError:
        return ""
    here = max((m for m in mounts if is_within(root, m[0])), key=lambda m: len(m[0]), default=None)
    below = [m for m in mounts if is_within(m[0], root)]
    for _, kind in [*([here] if here else []), *below]:
        if kind in _REMOTE or kind.startswith("fuse."):
            return kind
    return ""


def _mounts(table: bytes) -> Iterator[tuple[bytes, str]]:
    """Mount point and file system of each line; spaces in paths are written in octal."""
    for line in table.splitlines():
        place, _, rest = line.partition(b" - ")
        fields = place.split()
        if len(fields) > 4 and rest:
            point = fields[4].decode("unicode_escape", "replace").encode("latin-1", "replace")
            yield os.path.normpath(point), rest.split()[0].decode("ascii", "replace")
