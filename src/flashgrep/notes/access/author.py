"""Who an author is: a name, and what kind of caller goes by it.

People and agents choose their names themselves, so two of different kinds may have the same one: a
client without a token can call itself what a person's token is called. Lists and answers show the
name; whether something is somebody's own is asked of both.

    person   typed it in an editor, made or imported the note
    token    an agent with a token: its name is TOKEN/CLIENT
    local    an agent without one, on stdio or a unix socket: its name is CLIENT
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

UNKNOWN: Final = "unknown"
"""Whose something is where nobody recorded it."""


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
