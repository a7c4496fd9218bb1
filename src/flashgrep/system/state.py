"""Our own state on disk: one private directory per workspace, and the token kept in it.

    $XDG_CACHE_HOME/flashgrep/<readable tail>-<hash of the real path>/    0700
        token                                                            0600
    $XDG_CACHE_HOME/flashgrep/repositories/                              0700
        what the trees of one repository share (`index.format.shelf`)

The workspace's own `.flashgrep/` is not used for this: the workspace may be read-only, shared or
hostile. A directory that others can read or write is refused: it holds copies of the workspace's
text, and whoever can write there chooses the token. Its mode is not changed: it may be intended in
a directory given with --state-dir.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shlex
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from flashgrep.errors import SettingsError
from flashgrep.system.atomic import create_first, make_private, open_own

TOKEN_FILE = "token"  # noqa: S105 - the name of the file, not a token
_TOKEN_BYTES = 32
_TAIL_CHARS = 40


def workspace_id(workdir: bytes) -> str:
    """A name for a workspace: the end of its real path to be read, a hash to be unique."""
    tail = os.path.basename(workdir).decode("utf-8", "replace")
    readable = re.sub(r"[^A-Za-z0-9._-]+", "_", tail).strip("._")[:_TAIL_CHARS] or "root"
    return f"{readable}-{hashlib.blake2b(workdir, digest_size=8).hexdigest()}"


def state_path(given: str, workdir: bytes, environment: Mapping[str, str]) -> Path:
    """Where the state of a workspace lives; nothing is made."""
    if given:
        return Path(os.path.abspath(given))
    return state_root(environment) / workspace_id(workdir)


def repositories_path(environment: Mapping[str, str]) -> Path:
    """Where trees of one repository keep what they share, for each repository."""
    return state_root(environment) / "repositories"


def state_root(environment: Mapping[str, str]) -> Path:
    """Where the state of all workspaces lives, unless --state-dir says otherwise."""
    cache = environment.get("XDG_CACHE_HOME", "")
    # The XDG rules: a relative value is to be ignored.
    root = Path(cache) if os.path.isabs(cache) else Path(os.path.expanduser("~")) / ".cache"
    return root / "flashgrep"


class StateUnavailable(SettingsError):
    """There is no place for state here; whatever needs none still works."""


class StateDirectory:
    """A private directory that exists, is ours, and that no other user can read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        _make(path)
        _check(path, os.stat(path))

    @property
    def token_path(self) -> Path:
        return self.path / TOKEN_FILE

    def token(self) -> str:
        """The generated token; made once, and the same for servers that start together."""
        with suppress(FileNotFoundError):
            return self._read_token()
        try:
            create_first(self.token_path, f"{secrets.token_urlsafe(_TOKEN_BYTES)}\n".encode())
        except OSError as error:
            raise SettingsError(
                f"the token cannot be kept in {self.path} ({error.strerror}); "
                "name another place with --state-dir, or give a --token"
            ) from None
        return self._read_token()

    def _read_token(self) -> str:
        try:
            opened = open_own(self.token_path)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise SettingsError(f"{self.token_path}: {error.strerror}; remove it") from None
        with opened as file:
            _check(self.token_path, os.fstat(file.fileno()))
            token = file.read(4096).decode().strip()
        if not token:
            raise SettingsError(f"{self.token_path} is empty; remove it and start again")
        return token


def _make(path: Path) -> None:
    try:
        make_private(path)
        if not path.is_dir():
            raise NotADirectoryError(f"{path} is not a directory")
    except OSError as error:
        reason = error.strerror or str(error)
        raise StateUnavailable(
            f"the state directory {path} cannot be made ({reason}); name another with --state-dir"
        ) from None


def _check(path: Path, status: os.stat_result) -> None:
    if status.st_uid != os.geteuid():
        raise SettingsError(
            f"{path} belongs to another user (uid {status.st_uid}); name another with --state-dir"
        )
    mode = stat.S_IMODE(status.st_mode)
    if mode & 0o077:
        verb = "written" if mode & 0o022 else "read"
        wanted = "700" if stat.S_ISDIR(status.st_mode) else "600"
        raise SettingsError(
            f"{path} can be {verb} by others (mode {mode:04o}); "
            f"run {shlex.join(['chmod', wanted, str(path)])}, or name another with --state-dir"
        )
