"""The file of tokens: what is in it, and how it is replaced.

PATH/tokens.json   0600, replaced as a whole
    {"format": 1, "tokens": [{"name", "hash", "role", "folders", "made", "expires"}, …]}
        hash     SHA-256 of the secret in hex; the secret itself is nowhere
        folders  where the role holds; [""] is everything
        made     milliseconds since 1970; expires the same, or null for never
PATH/tokens.lock   held (flock) by whoever changes it
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from flashgrep.errors import InvalidParams, IOFailure, Unavailable, from_os_error
from flashgrep.notes.access.roles import Grant, Principal, Role, role_named
from flashgrep.notes.store import paths
from flashgrep.system.atomic import is_ours_alone, open_own
from flashgrep.system.lock import lock, open_lock_file

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
        """Whom it stands for."""
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
    told = [
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
    return json.dumps({"format": _FORMAT, "tokens": told}, indent=1).encode() + b"\n"


def read(path: Path) -> dict[str, Token]:
    """The tokens of a file that is ours alone; anything else is refused, not taken for none."""
    try:
        with open_own(path) as file:
            status = os.fstat(file.fileno())
            data = file.read()
    except OSError as error:
        raise from_os_error(error, str(path)) from None
    if not is_ours_alone(status):
        raise Unavailable(f"{path} can be written by others; look who did, then chmod go-w it")
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
