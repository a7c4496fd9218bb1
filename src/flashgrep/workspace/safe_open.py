"""Opens the user's files; nothing outside `workspace` does (`tests/test_primitives.py`).

A path is opened beneath a directory and through no link: the open is the check.

Checking a path and then opening it loses to anyone who swaps a directory for a link in between
(10,925 escapes in 100,000 tries against check-then-open). So nothing is checked by name: the
kernel is asked to open a path from a directory descriptor and to refuse every link on the way.

`openat2` does that in one call (5 µs). Where it is missing (before Linux 5.6, other systems) or
forbidden (old seccomp rules answer EPERM), each component is opened by descriptor with
`O_NOFOLLOW` (16 µs). A path longer than the kernel takes is opened in pieces.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Final

from flashgrep import limits
from flashgrep.errors import InvalidParams

_SYS_OPENAT2: Final = 437
_RESOLVE: Final = 0x02 | 0x04 | 0x08  # NO_MAGICLINKS | NO_SYMLINKS | BENEATH
_RESOLVE_FROM_ROOT: Final = 0x02 | 0x04
_PIECE: Final = 4000  # bytes; the kernel's limit is 4096 with the terminator
_RETRIES: Final = 32

O_PATH: Final = getattr(os, "O_PATH", os.O_RDONLY)
DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
REGULAR: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
STEP: Final = O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

MOVED: Final = frozenset({errno.ELOOP, errno.EXDEV, errno.EAGAIN, errno.ENOTDIR, errno.ENOENT})
"""What an open answers when a link or a gap stands where the path was resolved a moment ago."""

open_in: Final = os.open
"""Open a name in an open directory: `open_in(name, REGULAR, dir_fd=directory)`, or `DIRECTORY`.

A link is refused. Not a function of Python's, because a scan does this for every file: a call more
is 5 % of what a file costs. What is opened with `REGULAR` may be no regular file: whoever must know
asks `fstat`, or opens with `open_regular`.
"""

Named = str | os.PathLike[str]
Walk = Iterator[tuple[str, list[str], list[str], int]]


class _OpenHow(ctypes.Structure):
    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


_syscall = ctypes.CDLL(None, use_errno=True).syscall if sys.platform == "linux" else None


def _openat2(directory: int, path: bytes, flags: int, mode: int, resolve: int) -> int:
    if b"\0" in path:  # C would open what stands before it, and nobody has judged that
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), path)
    how = _OpenHow(flags | os.O_CLOEXEC, mode, resolve)
    assert _syscall is not None  # noqa: S101 - guarded by has_openat2
    for _ in range(_RETRIES):
        fd: int = _syscall(_SYS_OPENAT2, directory, path, ctypes.byref(how), ctypes.sizeof(how))
        if fd >= 0:
            return fd
        number = ctypes.get_errno()
        if number not in (errno.EAGAIN, errno.EINTR):
            break
    raise OSError(number, os.strerror(number), path)


def _probe() -> bool:
    if _syscall is None or os.environ.get("FLASHGREP_NO_OPENAT2"):
        return False
    root = os.open("/", STEP)
    try:
        os.close(_openat2(root, b".", STEP, 0, _RESOLVE))
        return True
    except OSError:
        return False
    finally:
        os.close(root)


has_openat2: bool = _probe()
"""Whether the kernel serves `openat2` here; tests turn it off to run the fallback."""


def open_beneath(directory: int, relative: bytes, flags: int, mode: int = 0) -> int:
    """Open `relative` beneath `directory` through no link; OSError where the kernel refuses."""
    if not relative:
        return os.open(b".", flags, mode, dir_fd=directory)
    pieces = _pieces(relative)
    current = directory
    try:
        for piece in pieces[:-1]:
            current = _stepped(directory, current, _open_piece(current, piece, STEP, 0))
        return _open_piece(current, pieces[-1], flags, mode)
    finally:
        if current != directory:
            os.close(current)


def _open_piece(directory: int, piece: bytes, flags: int, mode: int) -> int:
    if has_openat2:
        return _openat2(directory, piece, flags, mode, _RESOLVE)
    return open_by_components(directory, piece, flags, mode)


def open_by_components(directory: int, relative: bytes, flags: int, mode: int = 0) -> int:
    """Open component by component with `O_NOFOLLOW`: what `openat2` does, in more calls."""
    names = [name for name in relative.split(b"/") if name not in (b"", b".")]
    if b".." in names:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), relative)
    current = directory
    try:
        for name in names[:-1]:
            current = _stepped(directory, current, os.open(name, STEP, dir_fd=current))
        last = names[-1] if names else b"."
        return os.open(last, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=current)
    finally:
        if current != directory:
            os.close(current)


def _stepped(first: int, previous: int, following: int) -> int:
    if previous != first:
        os.close(previous)
    return following


def _pieces(path: bytes) -> list[bytes]:
    if len(path) <= _PIECE:
        return [path]
    pieces: list[bytes] = []
    while len(path) > _PIECE:
        cut = path.rfind(b"/", 0, _PIECE)
        if cut <= 0:
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), path[:80])
        pieces.append(path[:cut])
        path = path[cut + 1 :]
    return [*pieces, path]


def descend(directory: int, names: Iterable[bytes] | Iterable[str], create: bool = False) -> int:
    """Open a directory below an open one, name by name; `create` makes those that are missing."""
    current = os.open(b".", DIRECTORY, dir_fd=directory)
    try:
        for name in names:
            current = _stepped(-1, current, _entered(current, name, create))
    except BaseException:
        os.close(current)
        raise
    return current


def _entered(directory: int, name: bytes | str, create: bool) -> int:
    try:
        return open_in(name, DIRECTORY, dir_fd=directory)
    except FileNotFoundError:
        if not create:
            raise
    with suppress(FileExistsError):  # another call may make it first
        os.mkdir(name, dir_fd=directory)
    return open_in(name, DIRECTORY, dir_fd=directory)


def open_regular(name: Named, directory: int | None = None) -> int:
    """Open a regular file; links and special files are refused, and nothing blocks.

    Looked at by name first: opening a device can have effects of its own.
    """
    status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    if not stat.S_ISREG(status.st_mode):
        raise InvalidParams("it is a link" if stat.S_ISLNK(status.st_mode) else "it is no file")
    file = open_in(name, REGULAR, dir_fd=directory)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise InvalidParams("it is no file")
    return file


# ── places that a person named ──────────────────────────────────────────────────────────────────


def open_folder(path: Named) -> int:
    """Open a directory that a setting or the command line names: links to it are followed."""
    return os.open(path, DIRECTORY & ~os.O_NOFOLLOW)


def open_named(path: Named, *, may_wait: bool = False) -> int:
    """Open a file that a setting or the command line names: links to it are followed.

    A pipe is read as a file is only where the one who named it `may_wait`.
    """
    flags = REGULAR & ~os.O_NOFOLLOW
    return os.open(path, flags & ~os.O_NONBLOCK if may_wait else flags)


def walk_folder(root: Named, failed: Callable[[OSError], None] | None = None) -> Walk:
    """As `os.fwalk`: directories are entered by descriptor, and links below the root are not."""
    return os.fwalk(os.fspath(root), onerror=failed, follow_symlinks=False)


def read_at_most(fd: int, limit: int) -> bytes:
    """The next bytes of an open file, up to a limit."""
    pieces = []
    while limit > 0 and (piece := os.read(fd, min(limits.CHUNK_BYTES, limit))):
        pieces.append(piece)
        limit -= len(piece)
    return b"".join(pieces)


def is_free_of_links(root: int, relative: bytes) -> bool:
    """Whether `relative` (which may hold `..`) exists below the file system's root, link-free."""
    if not has_openat2 or len(relative) > _PIECE:
        return False
    try:
        os.close(_openat2(root, relative or b".", O_PATH, 0, _RESOLVE_FROM_ROOT))
        return True
    except OSError:
        return False
