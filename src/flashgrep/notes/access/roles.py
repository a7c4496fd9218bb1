"""Who somebody is and what they may do: authors, and roles on all notes or some folders.

    read      see notes and suggestions
    suggest   propose changes that somebody decides on; the role of agents
    write     change notes, make, move and delete them, decide on suggestions
    admin     all of that, and manage the knowledge base itself

Each role includes those before it. Where several grants cover a path, the highest counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Any, Final

from flashgrep.errors import InvalidParams
from flashgrep.notes.store import paths


class Role(IntEnum):
    """What somebody may do; greater includes smaller."""

    READ = 1
    SUGGEST = 2
    WRITE = 3
    ADMIN = 4

    @property
    def shown(self) -> str:
        """The role's name as people write it."""
        return self.name.lower()


def role_named(name: str) -> Role:
    """The role that people call so."""
    for role in Role:
        if role.shown == name:
            return role
    raise InvalidParams(
        f"no role is called {name!r}; there are {', '.join(role.shown for role in Role)}"
    )


@dataclass(frozen=True, slots=True)
class Grant:
    """A role on a folder and all below it; the folder "" is everything."""

    role: Role
    folder: str = ""

    def covers(self, path: str) -> bool:
        """Whether a note or folder is in it. Compared by whole names, in one Unicode form."""
        if not self.folder:
            return True
        wanted = paths.form_key(self.folder).split("/")
        return paths.form_key(path).strip("/").split("/")[: len(wanted)] == wanted


@dataclass(frozen=True, slots=True)
class Principal:
    """Somebody who makes requests, and what they were granted."""

    name: str
    grants: tuple[Grant, ...]

    def role_on(self, path: str) -> Role | None:
        """The role on a note or a folder; None: it is not to be seen."""
        return _highest(grant.role for grant in self.grants if grant.covers(path))

    def may(self, role: Role, path: str) -> bool:
        """Whether this role, or a higher one, was granted there."""
        found = self.role_on(path)
        return found is not None and found >= role

    def sees(self, path: str) -> bool:
        """Whether they may know that there is something at a path."""
        return self.role_on(path) is not None

    def is_anywhere(self, role: Role) -> bool:
        """Whether this role, or a higher one, was granted on anything at all."""
        return any(grant.role >= role for grant in self.grants)


def everywhere(name: str, role: Role) -> Principal:
    """Somebody with one role on all notes."""
    return Principal(name, (Grant(role),))


def _highest(roles: Iterable[Role]) -> Role | None:
    return max(roles, default=None)


# ── authors ──────────────────────────────────────────────────────────────────────────────────────
# Who an author is: a name, and what kind of caller goes by it.
#
# People and agents choose their names themselves, so two of different kinds may have the same one:
# a client without a token can call itself what a person's token is called. Lists and answers show
# the name; whether something is somebody's own is asked of both.
#
#     person   typed it in an editor, made or imported the note
#     token    an agent with a token: its name is TOKEN/CLIENT
#     local    an agent without one, on stdio or a unix socket: its name is CLIENT


UNKNOWN: Final = "unknown"
"""The author of anything without a recorded one."""


class AuthorKind(StrEnum):
    """The kind of a caller."""

    PERSON = "person"
    TOKEN = "token"  # noqa: S105
    LOCAL = "local"


@dataclass(frozen=True, slots=True)
class Author:
    """Somebody who writes."""

    name: str
    source: AuthorKind | None = None
    """None in what an older flashgrep has written, which knew the name alone."""

    def is_same(self, other: Author) -> bool:
        """Whether two are one, as far as that is known."""
        if self.name != other.name:
            return False
        return self.source is None or other.source is None or self.source is other.source


def source_named(value: Any) -> AuthorKind | None:
    """The kind that is stored as this; None for anything else."""
    try:
        return AuthorKind(value)
    except ValueError:
        return None
