"""The token for agents: the same at each start, another one after it was revoked."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from flashgrep.errors import Unavailable
from flashgrep.notes.access.roles import Role
from flashgrep.notes.access.tokens import DIRECTORY, Tokens, agent_token, workspaces
from flashgrep.notes.home import Home


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return Home.create(tmp_path / "kb").path


def test_it_is_made_once_for_a_workspace_and_has_the_role_suggest(home: Path) -> None:
    made = agent_token(home, "here")
    assert agent_token(home, "here") == made
    assert (made.name, made.path) == ("agent", home / DIRECTORY / "here")
    principal = Tokens(home).principal(made.secret)
    assert principal is not None
    assert principal.may(Role.SUGGEST, "Any/Note.md")
    assert not principal.is_anywhere(Role.WRITE)
    other = agent_token(home, "there")
    assert (other.name, other.secret == made.secret) == ("agent-2", False)
    assert dict(workspaces(home)) == {made.secret: "here", other.secret: "there"}


def test_nobody_else_can_read_it(home: Path) -> None:
    made = agent_token(home, "here")
    assert stat.S_IMODE(os.stat(made.path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(made.path.parent).st_mode) == 0o700
    made.path.chmod(0o640)
    with pytest.raises(Unavailable, match="not for its owner alone"):
        agent_token(home, "here")
    assert dict(workspaces(home)) == {}


def test_one_that_was_revoked_stays_dead_and_another_is_made(home: Path) -> None:
    made = agent_token(home, "here")
    Tokens(home).revoke("agent")
    again = agent_token(home, "here")
    assert (again.name, again.secret == made.secret) == ("agent", False)
    assert Tokens(home).principal(made.secret) is None
    assert agent_token(home, "here") == again


def test_a_name_that_is_taken_is_left_to_who_has_it(home: Path) -> None:
    theirs = Tokens(home).make("agent", Role.WRITE)
    made = agent_token(home, "here")
    assert (made.name, made.secret == theirs) == ("agent-2", False)


@pytest.mark.parametrize("kept", ["", "nonsense\n", "fgkb_unknown\n"])
def test_what_is_kept_and_is_no_token_is_replaced(home: Path, kept: str) -> None:
    path = agent_token(home, "here").path
    Tokens(home).revoke("agent")
    path.write_text(kept, encoding="ascii")
    made = agent_token(home, "here")
    assert Tokens(home).principal(made.secret) is not None
    assert path.read_text(encoding="ascii") == made.secret + "\n"
