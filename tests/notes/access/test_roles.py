"""Roles: what covers what."""

from __future__ import annotations

import unicodedata

import pytest

from flashgrep.errors import InvalidParams
from flashgrep.notes.access.roles import Grant, Principal, Role, everywhere, role_named

ANN = Principal(
    "ann", (Grant(Role.READ), Grant(Role.WRITE, "Team"), Grant(Role.SUGGEST, "Team/Public"))
)

COVERED = [
    ("Note.md", Role.READ),
    ("Team", Role.WRITE),
    ("Team/Note.md", Role.WRITE),
    ("Team/Public/Note.md", Role.WRITE),
    ("Teamwork/Note.md", Role.READ),
    ("Other/Team/Note.md", Role.READ),
    ("team/Note.md", Role.READ),
    ("", Role.READ),
]


@pytest.mark.parametrize(("path", "role"), COVERED)
def test_the_highest_grant_that_covers_a_path_counts(path: str, role: Role) -> None:
    assert ANN.role_on(path) is role
    assert ANN.may(role, path)
    assert not ANN.may(Role(role + 1), path)


def test_where_nothing_is_granted_nothing_is_seen() -> None:
    bob = Principal("bob", (Grant(Role.ADMIN, "Own"),))
    assert bob.role_on("Else.md") is None
    assert not bob.may(Role.READ, "Else.md")
    assert not bob.may(Role.READ, "")
    assert bob.is_anywhere(Role.WRITE)
    assert not ANN.is_anywhere(Role.ADMIN)


def test_a_folder_is_the_same_in_any_unicode_form() -> None:
    grant = Grant(Role.WRITE, unicodedata.normalize("NFD", "Büro"))
    assert grant.covers(unicodedata.normalize("NFC", "Büro/Note.md"))


def test_everywhere_is_one_role_on_all() -> None:
    assert everywhere("x", Role.SUGGEST).role_on("Any/Where.md") is Role.SUGGEST
    assert everywhere("x", Role.SUGGEST).role_on("") is Role.SUGGEST


def test_roles_have_names_and_others_are_refused() -> None:
    assert [role_named(role.shown) for role in Role] == list(Role)
    with pytest.raises(InvalidParams, match="read, suggest, write, admin"):
        role_named("owner")
