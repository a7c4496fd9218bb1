"""Our own state directory: private, checked, and one token for all servers of a workspace."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from flashgrep.errors import SettingsError
from flashgrep.system.state import (
    StateDirectory,
    StateUnavailable,
    state_path,
    workspace_id,
)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


IDS = [
    (b"/home/me/project", "project-"),
    (b"/srv/a b\xff\n", "a_b-"),
    (b"/", "root-"),
    (b"/x/" + b"n" * 200, "n" * 40 + "-"),
    (b"/x/..hidden", "hidden-"),
]


@pytest.mark.parametrize(("path", "start"), IDS)
def test_a_workspace_has_a_readable_and_unique_name(path: bytes, start: str) -> None:
    name = workspace_id(path)
    assert name.startswith(start)
    assert name != workspace_id(path + b"/other/" + path)
    assert "/" not in name


def test_equal_tails_do_not_share_state() -> None:
    assert workspace_id(b"/a/project") != workspace_id(b"/b/project")


# --state-dir, XDG_CACHE_HOME → where
PLACES = [
    ("/given", "/cache", "/given"),
    ("", "/cache", "/cache/flashgrep/w-"),
    ("", "relative", "{home}/.cache/flashgrep/w-"),
    ("", "", "{home}/.cache/flashgrep/w-"),
]


@pytest.mark.parametrize(("given", "cache", "expected"), PLACES)
def test_where_state_lives(given: str, cache: str, expected: str) -> None:
    environment = {"XDG_CACHE_HOME": cache} if cache else {}
    home = os.path.expanduser("~")
    assert str(state_path(given, b"/w", environment)).startswith(expected.format(home=home))


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_directory_and_token_are_private_whatever_the_umask(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        state = StateDirectory(tmp_path / "a" / "b" / "state")
        token = state.token()
    finally:
        os.umask(before)
    assert (mode(state.path), mode(state.token_path)) == (0o700, 0o600)
    assert len(token) >= 43
    assert os.listdir(state.path) == ["token"]


def test_the_token_outlives_the_server(tmp_path: Path) -> None:
    token = StateDirectory(tmp_path / "s").token()
    assert StateDirectory(tmp_path / "s").token() == token


def test_servers_that_start_together_agree_on_one_token(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        tokens = set(pool.map(lambda _: StateDirectory(tmp_path / "s").token(), range(64)))
    assert len(tokens) == 1
    assert os.listdir(tmp_path / "s") == ["token"]


@pytest.mark.parametrize("bits", [0o720, 0o702, 0o777])
def test_a_directory_others_can_write_is_refused_with_the_remedy(tmp_path: Path, bits: int) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s").chmod(bits)
    with pytest.raises(SettingsError, match="chmod 700"):
        StateDirectory(tmp_path / "s")


def test_a_token_others_can_write_is_refused(tmp_path: Path) -> None:
    state = StateDirectory(tmp_path / "s")
    state.token()
    state.token_path.chmod(0o606)
    with pytest.raises(SettingsError, match="chmod 600"):
        state.token()


def test_a_token_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    state = StateDirectory(tmp_path / "s")
    (tmp_path / "elsewhere").write_text("known", encoding="utf-8")
    state.token_path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SettingsError):
        state.token()


def test_an_empty_token_is_refused(tmp_path: Path) -> None:
    state = StateDirectory(tmp_path / "s")
    state.token_path.touch(0o600)
    with pytest.raises(SettingsError, match="empty"):
        state.token()


def test_a_file_in_the_way_makes_state_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(StateUnavailable, match="--state-dir"):
            StateDirectory(path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_directory_of_another_user_is_refused(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir(mode=0o700)
    os.chown(tmp_path / "s", 65534, 65534)
    with pytest.raises(SettingsError, match="another user"):
        StateDirectory(tmp_path / "s")
