"""The unix socket in the workspace: private from its first moment, and ours to remove.

The workspace is not trusted: `.flashgrep` may be a link to anywhere. So the directory is opened
without following links and checked by descriptor, and everything happens below that descriptor
(`/proc/self/fd/N/name`), which also allows paths longer than the 108 bytes of a socket address.
The socket is bound under a draft name with mode 0600 and renamed into place; a lock on the
directory lets two servers that start together see each other.
"""

from __future__ import annotations

import errno
import logging
import os
import secrets
import socket
import stat
import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from flashgrep.errors import SettingsError
from flashgrep.settings import Settings
from flashgrep.system.lock import locked
from flashgrep.workspace import scope
from flashgrep.workspace.safe_open import DIRECTORY, open_folder, open_in

log = logging.getLogger(__name__)

OWN_DIRECTORY = os.fsdecode(scope.OWN_DIRECTORY)
SOCKET_NAME = "mcp.sock"
_BACKLOG = 512
_ADDRESS_BYTES = 107


class UnixSocket:
    """A bound socket file, and the directory descriptor it is removed through."""

    def __init__(self, directory: int, path: Path, listener: socket.socket) -> None:
        self.path = path
        self.listener = listener
        self._directory = directory
        self._identity = _identity(os.stat(path.name, dir_fd=directory, follow_symlinks=False))

    def close(self) -> None:
        """Stop listening and remove the file, unless another server has put its own there."""
        self.listener.close()
        self.remove()
        os.close(self._directory)

    def remove(self) -> None:
        """Remove only the file: no new client finds the socket, which still listens."""
        with suppress(FileNotFoundError):
            status = os.stat(self.path.name, dir_fd=self._directory, follow_symlinks=False)
            if _identity(status) == self._identity:
                os.unlink(self.path.name, dir_fd=self._directory)


def socket_path(settings: Settings, workdir: str) -> Path:
    """The path of `--socket`, or the one in the workspace."""
    if settings.socket:
        return Path(os.path.abspath(settings.socket))
    return Path(workdir) / OWN_DIRECTORY / SOCKET_NAME


def bind_unix(settings: Settings, workdir: str, *, is_expected: bool = False) -> UnixSocket | None:
    """The socket of `--socket`; None where it is off, or a default that cannot be bound.

    `is_expected`: another server of the workspace has it, which is not worth a warning.
    """
    if settings.socket.lower() == "none":
        return None
    path = socket_path(settings, workdir)
    try:
        return _bind(open_folder(path.parent) if settings.socket else _own_directory(workdir), path)
    except OSError as error:
        reason = f"unix socket {path}: {error.strerror or error}"
        if settings.socket:
            raise SettingsError(f"--socket: {reason}; choose another path, or none") from None
        is_known = is_expected and error.errno == errno.EADDRINUSE
        log.log(logging.DEBUG if is_known else logging.WARNING, "%s; this listener is off", reason)
        return None


def reach_unix(settings: Settings, workdir: str, seconds: float) -> socket.socket:
    """A connection to the server of a workspace, with the same distrust as where it is bound.

    FileNotFoundError where there is none; any other OSError says in its words what is odd. The
    connection waits at most `seconds` for anything.
    """
    path = socket_path(settings, workdir)
    if settings.socket:
        return reach_at(path, seconds)
    with _opened(workdir) as parent:
        directory = _enter(parent)
    try:
        return _connected(directory, path, seconds)
    finally:
        os.close(directory)


def bind_at(path: Path) -> UnixSocket:
    """A socket at a path in a directory that is ours; OSError where it cannot be."""
    return _bind(open_folder(path.parent), path)


def reach_at(path: Path, seconds: float) -> socket.socket:
    """A connection to the process that listens there, if it is our own user's; as `reach_unix`."""
    with _opened(path.parent) as directory:
        return _connected(directory, path, seconds)


def _connected(directory: int, path: Path, seconds: float) -> socket.socket:
    status = os.stat(path.name, dir_fd=directory, follow_symlinks=False)
    if not stat.S_ISSOCK(status.st_mode):
        raise OSError(errno.ENOTSOCK, "something that is not a socket is there")
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(seconds)
        connection.connect(_address(directory, path, path.name))
        if not peer_is_us(connection):
            raise OSError(errno.EPERM, "it belongs to another user")
    except BaseException:
        connection.close()
        raise
    return connection


def _own_directory(workdir: str) -> int:
    """A descriptor of `.flashgrep/`, made 0700 if need be; never through a link."""
    with _opened(workdir) as parent:
        with suppress(FileExistsError):
            os.mkdir(OWN_DIRECTORY, 0o700, dir_fd=parent)
        directory = _enter(parent)
    try:
        _make_private(directory)
    except BaseException:
        os.close(directory)
        raise
    return directory


def _enter(parent: int) -> int:
    """A descriptor of the `.flashgrep/` in a directory; it must be ours, and not a link."""
    try:
        directory = open_in(OWN_DIRECTORY, DIRECTORY, dir_fd=parent)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise OSError(errno.ENOTDIR, f"{OWN_DIRECTORY} is a link or not a directory") from None
        raise
    if os.fstat(directory).st_uid != os.geteuid():
        os.close(directory)
        raise OSError(errno.EPERM, f"{OWN_DIRECTORY} belongs to another user")
    return directory


def _make_private(directory: int) -> None:
    if stat.S_IMODE(os.fstat(directory).st_mode) != 0o700:
        os.fchmod(directory, 0o700)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with suppress(FileExistsError):
        descriptor = os.open(".gitignore", flags, 0o600, dir_fd=directory)
        try:
            os.write(descriptor, b"*\n")
        finally:
            os.close(descriptor)


def _bind(directory: int, path: Path) -> UnixSocket:
    """Bind `path`, whose directory is open as `directory`; takes that descriptor over."""
    with ExitStack() as undoing:
        undoing.callback(os.close, directory)
        listener = undoing.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        with locked(directory):
            _refuse_living(directory, path)
            _bind_private(listener, directory, path)
            bound = UnixSocket(directory, path, listener)
        undoing.pop_all()
    listener.setblocking(False)
    return bound


def _refuse_living(directory: int, path: Path) -> None:
    """Refuse to replace anything but a dead socket."""
    try:
        status = os.stat(path.name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(status.st_mode):
        raise OSError(errno.EEXIST, "something that is not a socket is there; remove it")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        try:
            probe.connect(_address(directory, path, path.name))
        except (ConnectionRefusedError, FileNotFoundError):
            return
        except TimeoutError:
            pass
    raise OSError(errno.EADDRINUSE, "another server answers there")


def _bind_private(listener: socket.socket, directory: int, path: Path) -> None:
    draft = f".{secrets.token_hex(6)}"
    before = os.umask(0o177)
    try:
        listener.bind(_address(directory, path, draft))
    finally:
        os.umask(before)
    try:
        listener.listen(_BACKLOG)
        os.rename(draft, path.name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        os.unlink(draft, dir_fd=directory)
        raise


def _address(directory: int, path: Path, name: str) -> str:
    through = f"/proc/self/fd/{directory}/{name}"
    if os.path.isdir(f"/proc/self/fd/{directory}"):
        return through
    plain = str(path.with_name(name))
    if len(os.fsencode(plain)) > _ADDRESS_BYTES:
        raise OSError(errno.ENAMETOOLONG, f"longer than {_ADDRESS_BYTES} bytes")
    return plain


def peer_is_us(connection: socket.socket) -> bool:
    """Whether the process at the other end runs as our own user; root is another one."""
    size = struct.calcsize("3i")
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    uid: int = struct.unpack("3i", credentials)[1]
    return uid == os.geteuid()


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


@contextmanager
def _opened(path: str | Path) -> Iterator[int]:
    descriptor = open_folder(path)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
