"""The directory of a knowledge base has one owner, and is not begun anew by mistake."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from flashgrep.errors import Conflict, NotFound, Unavailable
from flashgrep.notes.home import Home, Owned

OWNER = """
import sys; from pathlib import Path; from flashgrep.notes.home import Home
home = Home(Path(sys.argv[1])); home.own(); print("mine", flush=True); sys.stdin.read()
"""


def test_a_new_home_is_private_and_complete(tmp_path: Path) -> None:
    home = Home.create(tmp_path / "deep" / "kb")
    assert home.path.stat().st_mode & 0o777 == 0o700
    assert sorted(os.listdir(home.path)) == ["attachments", "notes.db"]


def test_a_directory_with_anything_in_it_is_left_alone(tmp_path: Path) -> None:
    Home.create(tmp_path / "kb")
    with pytest.raises(Conflict, match="not empty"):
        Home.create(tmp_path / "kb")
    (tmp_path / "file").write_text("x")
    with pytest.raises(Conflict, match="not empty"):
        Home.create(tmp_path)


def test_where_there_is_none_the_remedy_is_told(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="flashgrep kb init"):
        Home(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_others_can_write_is_refused(tmp_path: Path) -> None:
    home = Home.create(tmp_path / "kb")
    home.path.chmod(0o777)
    with pytest.raises(Unavailable, match="chmod go-w"):
        Home(home.path)


def test_one_process_owns_it_until_it_ends(tmp_path: Path) -> None:
    home = Home.create(tmp_path / "kb")
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(home.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"mine\n"
        with pytest.raises(Owned, match=f"pid {owner.pid}"):
            home.own()
        owner.kill()
        owner.wait()
        home.own()
    with pytest.raises(Owned, match=f"pid {os.getpid()}"):
        Home(home.path).own()
    home.disown()
    again = Home(home.path)
    again.own()
    again.disown()


def test_the_root_directory_is_refused_like_any_other_that_is_not_empty() -> None:
    with pytest.raises(NotFound, match="no knowledge base in /; make one in a new directory"):
        Home(Path("/"))
    with pytest.raises(Conflict, match="/ is not empty"):
        Home.create(Path("/"))
