"""Resolves and opens the user's files; nothing outside `workspace` does
(`tests/test_primitives.py`).

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
import posixpath
import stat
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from flashgrep import limits
from flashgrep.errors import InvalidParams

if TYPE_CHECKING:
    from flashgrep.workspace.scope import Scope

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
"""What an open answers when a link or a gap has replaced part of the resolved path."""

open_in: Final = os.open
"""Open a name in an open directory: `open_in(name, REGULAR, dir_fd=directory)`, or `DIRECTORY`.

A link is refused. Not a function of Python's, because a scan does this for every file: a call more
is 5 % of what a file costs. What is opened with `REGULAR` may not be a regular file: a caller that
must know asks `fstat`, or opens with `open_regular`.
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
    if b"\0" in path:  # C would open what precedes it, which was not checked
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

    Its status is read by name first: opening a device can have side effects.
    """
    status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    if not stat.S_ISREG(status.st_mode):
        raise InvalidParams("it is a link" if stat.S_ISLNK(status.st_mode) else "it is not a file")
    file = open_in(name, REGULAR, dir_fd=directory)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise InvalidParams("it is not a file")
    return file


# ── places that a person named ──────────────────────────────────────────────────────────────────


def open_folder(path: Named) -> int:
    """Open a directory that a setting or the command line names: links to it are followed."""
    return os.open(path, DIRECTORY & ~os.O_NOFOLLOW)


def open_named(path: Named, *, may_wait: bool) -> int:
    """Open a file that a setting or the command line names: links to it are followed.

    A pipe is read as a file is only where the caller `may_wait`.
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


# ── resolving a path ─────────────────────────────────────────────────────────────────────────────
# Turns a path with links and dots into the one place it names, component by component.
#
# `os.path.realpath` does this by path text: it is slower (46 µs), fails above 4,096 bytes, and
# forgets which part was missing. Here each component is looked at from the descriptor of its
# directory. The result is a claim, not a permission: `safe_open` still opens it through no link.
#
# Within a scope, the way is judged and not only its end, or the answer would reveal what is
# outside: `OUTSIDE/dir/../../ws/a.py` leads somewhere if `dir` exists. So `..` is not taken from a
# place outside, and nothing is looked up from a denied one, whether or not it exists. A link that
# is outside is followed all the same, with the `..` in its text: `/home` may be one, and its target
# was chosen by an administrator, not by a caller.


_LINKS = 40  # as the kernel
_UNREADABLE = frozenset({errno.ENOENT, errno.EACCES, errno.ENOTDIR, errno.ENAMETOOLONG})


class Beyond(Exception):
    """The path leads outside and cannot continue from there; whether it exists stays hidden."""


class Denied(Exception):
    """The path leads through a denied place; whether that exists stays hidden."""


@dataclass(frozen=True)
class _ResolveStep:
    """A component still to be looked at."""

    name: bytes
    trusted: bool = False
    """It comes from a link outside: no caller has chosen it."""


def resolve(root: int, path: bytes, bounds: Scope | None = None) -> bytes:
    """The real path of absolute `path`; what does not exist (yet) is kept as it is named.

    Raises OSError: ELOOP for a chain of links without end, ENOENT for `..` after a gap, ENOTDIR
    for a link whose text ends in `/` and leads to a file. Raises `Beyond` and `Denied`.
    """
    is_judged = bounds is not None and b".." in path.split(b"/")
    if not is_judged and is_free_of_links(root, path.lstrip(b"/")):
        return b"/" + posixpath.normpath(path).lstrip(b"/")
    return _Walk(root, bounds).run(path)


def rises_outside(bounds: Scope, path: bytes) -> bool:
    """Whether `..` is taken from a place outside, by the names alone: nothing is looked at."""
    names: list[bytes] = []
    for name in path.split(b"/"):
        if name == b"..":
            if not bounds.knows(b"/" + b"/".join(names)):
                return True
            del names[-1:]
        elif name not in (b"", b"."):
            names.append(name)
    return False


class _Walk:
    """One resolution: where we are, by name and by descriptor."""

    def __init__(self, root: int, bounds: Scope | None) -> None:
        self.root = root
        self.bounds = bounds
        self.left = False
        """Whether the path has led outside: errors from then on are not revealed."""
        self.names: list[bytes] = []
        self.at = root
        self.links = 0
        self.wants_directory = False

    def run(self, path: bytes) -> bytes:
        pending = deque(map(_ResolveStep, path.split(b"/")))
        try:
            while pending:
                step = pending.popleft()
                if step.name in (b"", b"."):
                    continue
                if step.name == b"..":
                    self._up(step.trusted)
                elif not self._down(step.name, pending):
                    return self._with_missing([step.name, *(rest.name for rest in pending)])
            self._check_kind()
            return self._path()
        except OSError as error:
            if self.left:
                raise Beyond from error
            raise
        finally:
            self._move(self.root)

    def _path(self, *more: bytes) -> bytes:
        return b"/" + b"/".join([*self.names, *more])

    def _down(self, name: bytes, pending: deque[_ResolveStep]) -> bool:
        """Step into `name`, or follow it if it is a link; False where nothing can be seen."""
        if self.bounds is not None and not self.left:
            self.left = not self.bounds.knows(self._path(name))
        try:
            target = _link_target(name, self.at)
            if target is not None:
                self._follow(name, target, pending)
                return True
            flags = STEP if _go_on(pending) else _ANY
            following = os.open(name, flags, dir_fd=self.at)
        except OSError as error:
            if error.errno in _UNREADABLE:
                return False
            raise
        self._move(following)
        self.names.append(name)
        return True

    def _follow(self, name: bytes, target: bytes, pending: deque[_ResolveStep]) -> None:
        trusted = False
        if self.bounds is not None:
            link = self._path(name)
            _judge_denied(self.bounds, link)
            trusted = not self.bounds.contains(link)
        self.links += 1
        if self.links > _LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), target)
        if target.endswith((b"/", b"/.")) and not _go_on(pending):
            self.wants_directory = True
        pending.extendleft(_ResolveStep(part, trusted) for part in reversed(target.split(b"/")))
        if target.startswith(b"/"):
            self.names.clear()
            self._move(self.root)

    def _check_kind(self) -> None:
        if self.wants_directory and not stat.S_ISDIR(os.fstat(self.at).st_mode):
            raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), b"/".join(self.names))

    def _up(self, trusted: bool) -> None:
        self._judge_rising(self._path(), trusted)
        if self.names:
            self.names.pop()
            self._move(open_beneath(self.root, b"/".join(self.names), STEP))

    def _with_missing(self, rest: list[bytes]) -> bytes:
        names = [name for name in rest if name not in (b"", b".")]
        if b".." in names:
            self._judge_rising(self._path(*names[: names.index(b"..")]), trusted=False)
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), b"/".join(names))
        return self._path(*names)

    def _judge_rising(self, path: bytes, trusted: bool) -> None:
        """Refuse `..` from a place that must not be revealed."""
        if self.bounds is None:
            return
        _judge_denied(self.bounds, path)
        if not trusted and not self.bounds.knows(path):
            raise Beyond

    def _move(self, following: int) -> None:
        if self.at != self.root:
            os.close(self.at)
        self.at = following


_ANY = O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


def _judge_denied(bounds: Scope, path: bytes) -> None:
    """Refuse a denied place in the words for it, or, outside, in those for all that is outside."""
    if bounds.denies(path):
        raise Denied if bounds.contains(path) else Beyond


def _go_on(pending: deque[_ResolveStep]) -> bool:
    """Whether a component is left that leads anywhere."""
    return any(rest.name not in (b"", b".") for rest in pending)


def _link_target(name: bytes, directory: int) -> bytes | None:
    try:
        return os.readlink(name, dir_fd=directory)
    except OSError as error:
        if error.errno == errno.EINVAL:
            return None
        raise
