"""create_file and write: whole files, their parents, and what they may write over."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.tools.conftest import Desk

BOTH = pytest.mark.parametrize("tool", ["create_file", "write"])


@BOTH
def test_a_new_file_is_made_with_its_parents_and_reported(desk: Desk, tool: str) -> None:
    told = desk.text(tool, path="deep/er/a.txt", content="h\u00e9llo\r\n")
    assert told == "File created: deep/er/a.txt (8 bytes)"
    assert (desk.root / "deep/er/a.txt").read_bytes() == "h\u00e9llo\r\n".encode()
    assert [name for name in os.listdir(desk.root / "deep/er") if name != "a.txt"] == []


@BOTH
def test_a_new_file_gets_the_modes_of_the_umask(desk: Desk, tool: str) -> None:
    previous = os.umask(0o022)
    try:
        desk.text(tool, path="d/a", content="")
    finally:
        os.umask(previous)
    assert stat.S_IMODE((desk.root / "d/a").stat().st_mode) == 0o644


def test_create_file_overwrites_whatever_stands_there(desk: Desk) -> None:
    file = desk.file("a.sh", "old content")
    file.chmod(0o755)
    assert desk.text("create_file", path="a.sh", content="new").startswith("File overwritten: a.sh")
    assert file.read_text() == "new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o755


def test_create_file_overwrites_even_a_file_over_the_limit(desk: Desk) -> None:
    file = desk.file("a", "x" * 100)
    desk.set(max_file_size=50)
    desk.text("create_file", path="a", content="small")
    assert file.read_text() == "small"


def test_write_over_an_unread_file_is_refused_and_after_a_read_done(desk: Desk) -> None:
    file = desk.file("a", "old")
    told = desk.refused("write", "not_read", file_path="a", content="new")
    assert told.startswith("File has not been read yet. Read it first before writing to it.")
    assert file.read_text() == "old"
    desk.text("read", file_path="a")
    assert desk.text("write", file_path="a", content="new") == "File has been updated: a (3 bytes)"
    desk.text("write", file_path="a", content="newer")
    assert file.read_text() == "newer"


def test_write_over_a_file_that_changed_since_is_a_conflict(desk: Desk) -> None:
    file = desk.file("a", "old")
    desk.text("read", file_path="a")
    file.write_text("someone else's")
    assert desk.refused("write", "conflict", file_path="a", content="new") == (
        "File has been modified since read, either by the user or by a linter. Read it again "
        "before attempting to write it."
    )
    assert file.read_text() == "someone else's"
    file.write_text("old")
    desk.text("write", file_path="a", content="new")


def test_write_needs_no_read_where_the_setting_says_never(desk: Desk) -> None:
    file = desk.file("a", "old")
    desk.set(require_view_before_edit="false")
    desk.text("write", file_path="a", content="new")
    assert file.read_text() == "new"


def test_a_binary_file_that_was_looked_at_may_be_written_over(desk: Desk) -> None:
    desk.file("a", b"\0" * 10)
    desk.text("read", file_path="a")
    desk.text("write", file_path="a", content="text")


@BOTH
def test_what_is_no_file_is_refused(desk: Desk, tool: str) -> None:
    (desk.root / "d").mkdir()
    os.mkfifo(desk.root / "pipe")
    desk.file("file", "")
    desk.refused(tool, "invalid_params", path="d", content="x")
    desk.refused(tool, "invalid_params", path="new/", content="x")
    desk.refused(tool, "invalid_params", path="pipe", content="x")
    desk.refused(tool, "not_found", path="file/below", content="x")
    assert not (desk.root / "new").exists()


@BOTH
def test_content_over_the_limit_is_refused_and_nothing_made(desk: Desk, tool: str) -> None:
    desk.set(max_file_size=10)
    desk.refused(tool, "too_large", path="d/a", content="x" * 11)
    assert os.listdir(desk.root) == []
    desk.text(tool, path="d/a", content="x" * 10)


@BOTH
def test_nothing_is_written_outside_the_scope(desk: Desk, tool: str) -> None:
    inside = desk.root / "inside"
    inside.mkdir()
    outside = desk.root / "outside"
    outside.mkdir()
    (inside / "link").symlink_to(outside)
    (inside / "dangling").symlink_to(outside / "not yet")
    desk.confine(allow=(str(inside),), deny=("**/secret",))
    for path in ("outside/a", "inside/../outside/a", "inside/link/a", "inside/dangling"):
        desk.refused(tool, "access_denied", path=path, content="x")
    desk.refused(tool, "access_denied", path="inside/secret/a", content="x")
    assert os.listdir(outside) == []
    desk.text(tool, path="inside/fine/a", content="x")


def test_a_dangling_link_inside_the_scope_makes_its_target(desk: Desk) -> None:
    (desk.root / "link").symlink_to("target")
    desk.text("create_file", path="link", content="x")
    assert (desk.root / "target").read_text() == "x"
    assert (desk.root / "link").is_symlink()
