"""The token that `serve` prints for agents: one for each workspace that has these notes beside it.

    PATH/agents/WORKSPACE   0600, the secret and a newline, replaced as a whole; PATH/agents is 0700

It is a token as any other, of the role suggest on all notes, and listed and revoked as those are.
Its secret is kept, other than theirs, because it is printed at each start. On the files of that
workspace it opens what the server's own token opens; that is the server's affair, which knows it
by its secret.

Once revoked it stays dead: the next start makes another one, with another secret. So does a start
that finds no secret, or one that is none of ours.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import Final

from flashgrep.errors import Conflict, Unavailable, from_os_error
from flashgrep.notes.access.roles import Role
from flashgrep.notes.access.tokens import Tokens, new_secret
from flashgrep.system.atomic import is_ours_alone, open_own, replace_file

DIRECTORY: Final = "agents"
NAME: Final = "agent"
"""What it is called, which is how authors' names begin; with a number where that is taken."""
_BYTES: Final = 4_096


@dataclass(frozen=True)
class AgentToken:
    """A token for agents, and where its secret is kept."""

    name: str
    secret: str
    path: Path


def agent_token(home: Path, workspace: str) -> AgentToken:
    """The token for the agents of a workspace, made where there is none that counts."""
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
        with suppress(Unavailable):  # not kept as it should be: told by the start that needs it
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
