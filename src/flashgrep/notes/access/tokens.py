"""Tokens: secrets that stand for a name and a role, their file, and the token for agents.

They have their own file (`tokens.json`), outside the database: a terminal can revoke one while a
server owns the notes, without asking the server, which notices at the next call by the file's
status. They are not part of a backup either: restoring one would revive tokens revoked since.

A secret has 256 random bits, so a plain hash of it cannot be reversed by guessing.

The token that `serve` prints for agents: one for each workspace that has these notes beside it.

    PATH/agents/WORKSPACE   0600, the secret and a newline, replaced as a whole; PATH/agents is 0700

It is a token like any other, with the role suggest on all notes, listed and revoked like the rest.
Unlike theirs, its secret is kept, because it is printed at each start. On the files of that
workspace it opens what the server's own token opens; the server recognises it by its secret.

Once revoked it stays dead: the next start makes another one, with another secret. So does a start
that finds no secret, or one that is not ours.

The file of tokens: what is in it, and how it is replaced.

PATH/tokens.json   0600, replaced as a whole
    {"format": 1, "tokens": [{"name", "hash", "role", "folders", "made", "expires"}, …]}
        hash     SHA-256 of the secret in hex; the secret itself is nowhere
        folders  where the role holds; [""] is everything
        made     milliseconds since 1970; expires the same, or null for never
PATH/tokens.lock   held (flock) by the process that changes it
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import Any, Final

from flashgrep import limits
from flashgrep.errors import (
    Conflict,
    InvalidParams,
    IOFailure,
    NotFound,
    Unavailable,
    from_os_error,
)
from flashgrep.notes.access.roles import Grant, Principal, Role, role_named
from flashgrep.notes.access.token_uses import TokenUses
from flashgrep.notes.store import paths
from flashgrep.system.atomic import is_ours_alone, open_own, replace_file
from flashgrep.system.clock import milliseconds
from flashgrep.system.lock import lock, open_lock_file
from flashgrep.system.own_file import FileStatus, read_own, status_of
from flashgrep.system.watching import Watching

log = logging.getLogger(__name__)


# ── token file ───────────────────────────────────────────────────────────────────────────────────


FILE: Final = "tokens.json"
LOCK: Final = "tokens.lock"
_FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class Token:
    """A token as it is listed: all but its secret."""

    name: str
    hash: str
    role: Role
    folders: tuple[str, ...]
    made: int
    expires: int | None

    def is_expired(self, now: int) -> bool:
        """Whether its time is over, in milliseconds since 1970."""
        return self.expires is not None and self.expires <= now

    @property
    def principal(self) -> Principal:
        """Who uses it, and what they may do."""
        return Principal(self.name, tuple(Grant(self.role, folder) for folder in self.folders))


def checked_folder(folder: str) -> str:
    """A folder as grants have it: without slashes around it; "" for everything."""
    stripped = folder.strip("/")
    if stripped:
        # A folder can be whatever a note in it could have before its name.
        paths.checked(stripped + "/a" + paths.ENDING)
    return stripped


def encoded(tokens: Sequence[Token]) -> bytes:
    """The file's bytes."""
    rows = [
        {
            "name": one.name,
            "hash": one.hash,
            "role": one.role.shown,
            "folders": list(one.folders),
            "made": one.made,
            "expires": one.expires,
        }
        for one in tokens
    ]
    return json.dumps({"format": _FORMAT, "tokens": rows}, indent=1).encode() + b"\n"


def read(path: Path) -> dict[str, Token]:
    """The tokens of a file that is ours alone; anything else is refused, not taken for none."""
    data = read_own(path, "chmod go-w it")
    try:
        held: Any = json.loads(data)
        if held["format"] != _FORMAT:
            raise Unavailable(
                f"{path} has format {held['format']}; use the flashgrep that wrote it"
            )
        tokens = [_token(one) for one in held["tokens"]]
    except (ValueError, KeyError, TypeError, AttributeError, InvalidParams) as error:
        raise IOFailure(f"{path} is damaged ({error}); remove it and make new tokens") from None
    return {token.hash: token for token in tokens}


def _token(held: Any) -> Token:
    expires = held["expires"]
    return Token(
        name=str(held["name"]),
        hash=str(held["hash"]),
        role=role_named(held["role"]),
        folders=tuple(checked_folder(one) for one in held["folders"]),
        made=int(held["made"]),
        expires=None if expires is None else int(expires),
    )


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Be the one who changes the tokens."""
    descriptor = open_lock_file(path)
    try:
        lock(descriptor)
        yield
    finally:
        os.close(descriptor)


# ── tokens ───────────────────────────────────────────────────────────────────────────────────────


_SECRET_BYTES: Final = 32
_MARK: Final = "fgkb_"
"""Prefix of every secret, so that a leaked one can be recognised."""
_NAME: Final = re.compile(r"[^\W_][\w .@-]*", re.ASCII)
_NAME_CHARS: Final = 64

TokenState = tuple[int, frozenset[str]]
"""How often the file was found changed, and the hashes of the tokens that count.

The hashes alone would not do: a token that came and went between two looks leaves them as they
were, and so does one that was given another role or folder; both may have a connection open.
"""


class Tokens:
    """The tokens of a knowledge base, for any thread and any process of its user."""

    def __init__(self, home: Path, now: Callable[[], int] = milliseconds) -> None:
        """Those of the knowledge base in a directory; there may be none yet."""
        self._path = home / FILE
        self._lock_path = home / LOCK
        self._now = now
        self._guard = threading.Lock()
        self._status: FileStatus | None = None
        self._by_hash: dict[str, Token] = {}
        self._readings = 0
        self._watching = Watching(
            self.state, "flashgrep-tokens", "no token counts until this is mended"
        )
        self.uses = TokenUses(home, lambda: {one.name for one in self._known().values()})
        """When each was used last."""

    # ── asking ──────────────────────────────────────────────────────────────────────────────────

    def principal(self, secret: str) -> Principal | None:
        """Who a secret belongs to; None where it is unknown, revoked or expired."""
        token = self.standing(_hash(secret))
        return token.principal if token else None

    def standing(self, key: str) -> Token | None:
        """The token with a hash, unless it was revoked or has expired."""
        token = self._known().get(key)
        return None if token is None or token.is_expired(self._now()) else token

    def find(self, secret: str) -> Token | None:
        """The token with a secret, unless it was revoked; it may have expired."""
        return self._known().get(_hash(secret))

    def listed(self) -> list[Token]:
        """All tokens that were not revoked, expired ones included, by name."""
        return sorted(self._known().values(), key=lambda token: token.name)

    def last_uses(self) -> dict[str, int | None]:
        """The tokens by name, and when each was used last, in milliseconds since 1970."""
        used = self.uses.all()
        return {one.name: self.uses.last(one.name, one.made, used) for one in self.listed()}

    def state(self) -> TokenState:
        """What is valid now: a different value means that somebody's rights changed."""
        now, known = self._now(), self._known()
        return self._readings, frozenset(
            key for key, one in known.items() if not one.is_expired(now)
        )

    def watch(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call a listener, from a thread of ours, whenever a token came, went or expired.

        A listener with an open connection then asks `principal` again. Gives the way to stop.
        """
        return self._watching.add(listener)

    # ── changing ────────────────────────────────────────────────────────────────────────────────

    def make(
        self,
        name: str,
        role: Role,
        folder: str | Sequence[str] = "",
        expires: int | None = None,
        secret: str | None = None,
    ) -> str:
        """A new token; its secret, a new one if none is given, is returned here and never again.

        It is for all notes without a `folder`; one in a sequence must have a name.
        """
        folders = ("",) if folder == "" else _checked_folders(folder)
        secret = secret or new_secret()
        made = self._now()
        token = Token(
            name=checked_name(name),
            hash=_hash(secret),
            role=role,
            folders=folders,
            made=made,
            expires=expires,
        )
        if token.is_expired(made):
            raise InvalidParams(f"the token {name} would have expired already; give a later time")
        with self._changing() as tokens:
            if any(one.name == name for one in tokens):
                raise Conflict(
                    f"there is a token {name} already; revoke it first, or choose another name"
                )
            tokens.append(token)
        return secret

    def revoke(self, name: str) -> Token:
        """Revoke a token; its next call is refused."""
        with self._changing() as tokens:
            found = next((one for one in tokens if one.name == name), None)
            if found is None:
                known = ", ".join(sorted(one.name for one in tokens)) or "none"
                raise NotFound(f"there is no token {name}; there are: {known}")
            tokens.remove(found)
        return found

    @contextmanager
    def _changing(self) -> Iterator[list[Token]]:
        """The tokens, to be changed by one process at a time, and written if nothing is raised."""
        try:
            with locked(self._lock_path):
                tokens = self.listed()
                yield tokens
                replace_file(self._path, [encoded(tokens)])
        except OSError as error:
            raise from_os_error(error, str(self._path)) from None
        self._watching.look()

    # ── the file ────────────────────────────────────────────────────────────────────────────────

    def _known(self) -> dict[str, Token]:
        with self._guard:
            status = status_of(self._path)
            if status != self._status:
                self._by_hash = read(self._path) if status else {}
                self._status = status
                self._readings += 1
            return self._by_hash


def new_secret() -> str:
    """A secret for a token."""
    return _MARK + secrets.token_urlsafe(_SECRET_BYTES)


def checked_name(name: str) -> str:
    """The name, if a token can have it: it becomes the author of what is done with the token."""
    if len(name) > _NAME_CHARS or not _NAME.fullmatch(name) or name != name.strip():
        raise InvalidParams(
            f"{name[: limits.QUOTED_CHARS]!r} is not a valid token name; use ASCII letters, "
            f"digits and any of _ . @ - and spaces between, at most {_NAME_CHARS}, beginning with "
            "a letter or digit"
        )
    return name


def _checked_folders(given: str | Sequence[str]) -> tuple[str, ...]:
    folders = (given,) if isinstance(given, str) else tuple(given)
    if not folders:
        raise InvalidParams("a token is for some folder; leave the folder out for all notes")
    for folder in folders:
        paths.check_named(folder)
    return tuple(checked_folder(folder) for folder in folders)


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


# ── the token for agents ─────────────────────────────────────────────────────────────────────────


DIRECTORY: Final = "agents"
NAME: Final = "agent"
"""The token's name, with which authors' names begin; with a number if that is taken."""
_BYTES: Final = 4_096


@dataclass(frozen=True)
class AgentToken:
    """A token for agents, and where its secret is kept."""

    name: str
    secret: str
    path: Path


def agent_token(home: Path, workspace: str) -> AgentToken:
    """The token for the agents of a workspace, made if there is no valid one."""
    tokens, path = Tokens(home), home / DIRECTORY / workspace
    secret = _read(path)
    token = tokens.find(secret) if secret else None
    if token is not None:
        return AgentToken(token.name, secret, path)
    secret = new_secret()
    _write(path, secret)  # first: one that was made and not kept could be revoked only
    return AgentToken(_made(tokens, secret), secret, path)


def workspaces(home: Path) -> Iterator[tuple[str, str]]:
    """The secrets that are kept, and which workspace each is for."""
    try:
        names = sorted(os.listdir(home / DIRECTORY))
    except FileNotFoundError:
        return
    except OSError as error:
        raise from_os_error(error, str(home / DIRECTORY)) from None
    for name in names:
        with suppress(Unavailable):  # not kept as it should be: the start that needs it says so
            if not name.startswith(".") and (secret := _read(home / DIRECTORY / name)):
                yield secret, name


def _made(tokens: Tokens, secret: str) -> str:
    for name in chain([NAME], (f"{NAME}-{number}" for number in count(2))):
        try:
            tokens.make(name, Role.SUGGEST, secret=secret)
        except Conflict:
            continue
        return name
    raise AssertionError("there is always another number")


def _read(path: Path) -> str:
    """The secret in a file that is ours alone; empty where there is none."""
    try:
        opened = open_own(path)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise from_os_error(error, str(path)) from None
    with opened as file:
        if not is_ours_alone(os.fstat(file.fileno()), 0o077):
            raise Unavailable(f"{path} is not for its owner alone; revoke that token and remove it")
        return file.read(_BYTES).decode("ascii", "replace").strip()


def _write(path: Path, secret: str) -> None:
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        replace_file(path, [f"{secret}\n".encode()])
    except OSError as error:
        raise from_os_error(error, str(path)) from None
