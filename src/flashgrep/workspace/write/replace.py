"""Replaces a file's bytes, or leaves the file unchanged.

The common way is a temporary file beside the target, written, given the target's mode, owner,
extended attributes and ACL, synced, and renamed over it: at any moment the name holds all of the
old bytes or all of the new ones. A rename is impossible or wrong in some places, and there the
target is overwritten in place, its old bytes kept safe in an intent until the last byte is down:

    a bind-mounted file           rename answers EBUSY or EXDEV
    a directory we cannot write   the temporary file cannot be made (EACCES, EPERM, EROFS)
    another name (hard link)      a rename would split the two
    an owner or attribute we      a new file would lose it, the old one keeps it
    cannot give to a new file

O_TMPFILE was considered for the temporary file: it leaves nothing when we are killed. But
an unnamed file cannot replace a name, it needs one just before the rename, so the record is needed
all the same, and one way is simpler than two.

Two servers may edit one file. The last look at the target and the rename happen under a lock on
the directory (on the file itself, in place): the second one sees other bytes and gets
`TargetChanged`. Programs that know nothing of the lock are noticed by the file's status (inode,
size and times), taken before its bytes are compared and again as the last call before the rename
or the first byte in place. The remaining gaps:

    in place, the time of the write itself: what is appended meanwhile is cut off
    bytes changed without a change of size, within one tick of the file system's clock
    a file that was opened before the rename and is written after it: that is the old file

The last is the commonest, since a program that appends opens first and writes a moment later. So
the old file is held open, and what has been appended to it by the time the directory is synced is
appended to the new one. Anything written to it later is lost.
"""

from __future__ import annotations

import errno
import logging
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from typing import Final, NamedTuple

from flashgrep import limits
from flashgrep.errors import AccessDenied, FlashgrepError, IOFailure, from_os_error
from flashgrep.system import lock
from flashgrep.system.atomic import write_all
from flashgrep.workspace.scope import shown_name
from flashgrep.workspace.write.attributes import CannotKeep, copy_attributes
from flashgrep.workspace.write.intents import Intent, IntentRecord, sync_directory

log = logging.getLogger(__name__)

_NO_RENAME: Final = frozenset(
    (errno.EBUSY, errno.EXDEV, errno.EPERM, errno.EACCES, errno.EROFS, errno.EOPNOTSUPP)
)
_NO_PREALLOCATION: Final = frozenset((errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS))
_EXISTING: Final = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class TargetChanged(Exception):
    """The target is no longer what the new bytes were made from; read it again."""


@dataclass(frozen=True)
class ReplaceTarget:
    """A file to replace: an open directory, the name in it, and the real path of both."""

    parent_fd: int
    name: bytes
    path: bytes
    recovery_dir: bytes


@dataclass(frozen=True)
class ReplaceResult:
    """How a replacement went."""

    size: int
    in_place: bool


class _RenameImpossible(Exception):
    """A rename does not work here; nothing was changed."""


def replace_bytes(
    target: ReplaceTarget,
    data: bytes,
    original: os.stat_result | None,
    check: Callable[[], bool] | None = None,
    old: bytes | None = None,
) -> ReplaceResult:
    """Give `target` the bytes `data`; on any failure it keeps its old bytes, and the error is ours.

    `original` is the file's status, None for a new file. `check` is the last look, under the
    lock: when it says no, nothing is changed and `TargetChanged` is raised. With the `old` bytes,
    what is appended to them in the last moment is carried over.
    """
    try:
        return _replace(target, data, original, check, old)
    except OSError as error:
        raise _told(error, target) from error


def _replace(
    target: ReplaceTarget,
    data: bytes,
    original: os.stat_result | None,
    check: Callable[[], bool] | None,
    old: bytes | None,
) -> ReplaceResult:
    if original is not None and not _is_writable(target):
        raise AccessDenied(f"{shown_name(target.path)} is read-only for this server")
    if original is not None and original.st_nlink > 1:
        return _overwrite(target, data, original, check)
    try:
        if original is None or old is None:
            return _rename_over(target, data, original, check)
        with _carrying_over(target, old):
            return _rename_over(target, data, original, check)
    except _RenameImpossible as reason:
        if original is None:
            raise reason.__cause__ or reason from None
        return _overwrite(target, data, original, check)


def _is_writable(target: ReplaceTarget) -> bool:
    try:
        return os.access(target.name, os.W_OK, dir_fd=target.parent_fd, effective_ids=True)
    except NotImplementedError:
        return True


def _told(error: OSError, target: ReplaceTarget) -> FlashgrepError:
    ours = from_os_error(error, shown_name(target.path))
    if isinstance(ours, IOFailure):
        return IOFailure(f"{ours.message}. The file was left as it was.")
    return ours


# ── by rename ───────────────────────────────────────────────────────────────────────────────────


def _rename_over(
    target: ReplaceTarget,
    data: bytes,
    original: os.stat_result | None,
    check: Callable[[], bool] | None,
) -> ReplaceResult:
    temporary = b".flashgrep-" + secrets.token_hex(8).encode() + b".tmp"
    with _noted(target, temporary):
        fd = _temporary_file(target, temporary, original)
        try:
            write_all(fd, data)
            if original is not None:
                _keep_attributes(target, fd, original)
            os.fsync(fd)
            with locked(target.parent_fd):
                seen = _look(target, check)
                _require_unmoved(target, seen)
                _rename(target, temporary)
        except BaseException:
            _remove(target.parent_fd, temporary)
            raise
        finally:
            os.close(fd)
        sync_directory(target.parent_fd)
    return ReplaceResult(len(data), in_place=False)


@contextmanager
def _noted(target: ReplaceTarget, temporary: bytes) -> Iterator[None]:
    """Keeps a note of the temporary file while there may be one."""
    note = IntentRecord(
        os.fsdecode(os.path.dirname(target.path)), os.fsdecode(target.name), os.fsdecode(temporary)
    )
    try:
        intent = Intent(target.recovery_dir, note)
    except OSError as error:  # an unwritable state directory costs the clean-up, not the write
        log.warning("no note of a temporary file could be kept: %s", error)
        yield
        return
    try:
        intent.publish(durable=False)
        yield
    finally:
        intent.remove()


def _temporary_file(
    target: ReplaceTarget, temporary: bytes, original: os.stat_result | None
) -> int:
    # A new file gets what the umask or the directory's default ACL says, from the kernel itself.
    mode = 0o666 if original is None else 0o600
    try:
        return os.open(temporary, _NEW, mode, dir_fd=target.parent_fd)
    except OSError as error:
        raise _sorted_out(error) from error


def _keep_attributes(target: ReplaceTarget, fd: int, original: os.stat_result) -> None:
    source = os.open(target.name, os.O_RDONLY | _EXISTING, dir_fd=target.parent_fd)
    try:
        copy_attributes(source, fd, original)
    except CannotKeep as reason:
        raise _RenameImpossible from reason
    finally:
        os.close(source)


def _rename(target: ReplaceTarget, temporary: bytes) -> None:
    parent = target.parent_fd
    try:
        os.rename(temporary, target.name, src_dir_fd=parent, dst_dir_fd=parent)
    except OSError as error:
        raise _sorted_out(error) from error


def _sorted_out(error: OSError) -> Exception:
    return _RenameImpossible() if error.errno in _NO_RENAME else error


def _remove(parent_fd: int, name: bytes) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=parent_fd)


@contextmanager
def _carrying_over(target: ReplaceTarget, old: bytes) -> Iterator[None]:
    """Hold the old file while it is replaced, and save what was appended to it meanwhile."""
    held = os.open(target.name, os.O_RDONLY | _EXISTING, dir_fd=target.parent_fd)
    try:
        yield
        if os.fstat(held).st_size > len(old):
            now = b"".join(_pieces(held))
            if now.startswith(old) and not _is_same(held, target):
                _append(target, now[len(old) :])
    finally:
        os.close(held)


def _pieces(fd: int) -> Iterator[bytes]:
    while piece := os.read(fd, limits.CHUNK_BYTES):
        yield piece


def _is_same(fd: int, target: ReplaceTarget) -> bool:
    """Whether a name still holds an open file: then it was not replaced."""
    status, sight = os.fstat(fd), _sight(target)
    return (status.st_dev, status.st_ino) == (sight.device, sight.inode)


def _append(target: ReplaceTarget, late: bytes) -> None:
    flags = os.O_WRONLY | os.O_APPEND | _EXISTING
    try:
        fd = os.open(target.name, flags, dir_fd=target.parent_fd)
        try:
            write_all(fd, late)
            os.fsync(fd)
        finally:
            os.close(fd)
    except OSError as error:
        path = shown_name(target.path)
        log.warning("%d bytes that were appended to %s are lost: %s", len(late), path, error)


# ── in place ────────────────────────────────────────────────────────────────────────────────────


def _overwrite(
    target: ReplaceTarget,
    data: bytes,
    original: os.stat_result,
    check: Callable[[], bool] | None,
) -> ReplaceResult:
    fd = os.open(target.name, os.O_RDWR | _EXISTING, dir_fd=target.parent_fd)
    try:
        with locked(fd):
            status = os.fstat(fd)
            if status.st_ino != original.st_ino or not stat.S_ISREG(status.st_mode):
                raise TargetChanged
            seen = _look(target, check)
            _overwrite_kept(target, fd, data, status, seen)
    finally:
        os.close(fd)
    return ReplaceResult(len(data), in_place=True)


def _overwrite_kept(
    target: ReplaceTarget, fd: int, data: bytes, status: os.stat_result, seen: FileStat | None
) -> None:
    """Overwrite with the old bytes in an intent; when even putting them back fails, it stays."""
    note = IntentRecord(
        os.fsdecode(os.path.dirname(target.path)),
        os.fsdecode(target.name),
        target_inode=status.st_ino,
        old_size=status.st_size,
        new_size=len(data),
    )
    intent = Intent(target.recovery_dir, note)
    safe = True
    try:
        old_at = os.lseek(intent.fd, 0, os.SEEK_CUR)
        copy_bytes(fd, 0, intent.fd, old_at, status.st_size)
        os.lseek(intent.fd, old_at + status.st_size, os.SEEK_SET)
        write_all(intent.fd, data)
        intent.publish(durable=True)
        _require_unmoved(target, seen)
        try:
            write_in_place(fd, data, status)
        except BaseException:
            safe = False
            _put_back_or_tell(target, fd, intent.fd, old_at, status.st_size)
            safe = True
            raise
    finally:
        if safe:
            intent.remove()
        else:
            os.close(intent.fd)


def _put_back_or_tell(target: ReplaceTarget, fd: int, source: int, at: int, size: int) -> None:
    try:
        put_back(fd, source, at, size)
    except OSError as error:
        raise IOFailure(
            f"{os.strerror(error.errno or 0)}: {shown_name(target.path)} is half-written. Its old "
            "bytes are safe and are put back when the server starts again."
        ) from error


def write_in_place(fd: int, data: bytes, status: os.stat_result) -> None:
    """Overwrite an open file; space is claimed first, so a full disk is met before any change."""
    if len(data) > status.st_size:
        _claim(fd, status.st_size, len(data))
    os.lseek(fd, 0, os.SEEK_SET)
    write_all(fd, data)
    os.ftruncate(fd, len(data))
    if stat.S_IMODE(os.fstat(fd).st_mode) != stat.S_IMODE(status.st_mode):
        os.fchmod(fd, stat.S_IMODE(status.st_mode))  # a write clears setuid and setgid
    os.fsync(fd)


def _claim(fd: int, old_size: int, new_size: int) -> None:
    if not hasattr(os, "posix_fallocate"):
        return
    try:
        os.posix_fallocate(fd, old_size, new_size - old_size)
    except OSError as error:
        if error.errno not in _NO_PREALLOCATION:
            raise


def put_back(fd: int, source: int, at: int, size: int) -> None:
    """Give an open file the `size` bytes at `at` in `source`.

    Bytes that are right already are not written again: they may be all there is room for.
    """
    copy_bytes(source, at, fd, 0, size, only_changed=True)
    os.ftruncate(fd, size)
    os.fsync(fd)


def copy_bytes(
    source: int, source_at: int, sink: int, sink_at: int, size: int, only_changed: bool = False
) -> None:
    """Copy a range between open files in pieces."""
    done = 0
    while done < size:
        piece = os.pread(source, min(limits.CHUNK_BYTES, size - done), source_at + done)
        if not piece:
            break  # it shrank meanwhile
        if only_changed and os.pread(sink, len(piece), sink_at + done) == piece:
            done += len(piece)
        else:
            done += os.pwrite(sink, piece, sink_at + done)


# ── both ────────────────────────────────────────────────────────────────────────────────────────


def locked(fd: int) -> AbstractContextManager[None]:
    """Hold the lock of other flashgrep writers on an open file or directory.

    Another program may hold one forever, so after a while we continue without it: the last check
    still compares, the lock only closes the gap after it.
    """
    return lock.locked(fd, limits.LOCK_SECONDS)


class FileStat(NamedTuple):
    """The status of a name, enough to notice that it changed. All 0 if nothing is there."""

    device: int = 0
    inode: int = 0
    size: int = 0
    modified: int = 0
    changed: int = 0


def _look(target: ReplaceTarget, check: Callable[[], bool] | None) -> FileStat | None:
    """The last look at the bytes, with the status when it began; None without a `check`."""
    if check is None:
        return None
    seen = _sight(target)
    if not check():
        raise TargetChanged
    return seen


def _require_unmoved(target: ReplaceTarget, seen: FileStat | None) -> None:
    """The very last look: cheap, so that as little as possible happens after it."""
    if seen is not None and _sight(target) != seen:
        raise TargetChanged


def _sight(target: ReplaceTarget) -> FileStat:
    try:
        status = os.stat(target.name, dir_fd=target.parent_fd, follow_symlinks=False)
    except FileNotFoundError:
        return FileStat()
    return FileStat(
        device=status.st_dev,
        inode=status.st_ino,
        size=status.st_size,
        modified=status.st_mtime_ns,
        changed=status.st_ctime_ns,
    )
