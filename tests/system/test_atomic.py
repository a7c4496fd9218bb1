"""A file of our own is the old one or the new one, and never something between."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from flashgrep.system.atomic import put_in_place


def test_the_new_one_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_bytes(b"old")
    put_in_place(target, [b"ne", b"w"], tmp_path / ".draft")
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["file"]


def test_one_that_cannot_be_written_leaves_the_old_one_and_no_draft(tmp_path: Path) -> None:
    def cut_short() -> Iterator[bytes]:
        yield b"ne"
        raise OSError("the source is gone")

    target = tmp_path / "file"
    target.write_bytes(b"old")
    with pytest.raises(OSError, match="the source is gone"):
        put_in_place(target, cut_short(), tmp_path / ".draft")
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_draft_that_somebody_else_has_put_there_is_not_written_to(tmp_path: Path) -> None:
    bait = tmp_path / "bait"
    bait.write_bytes(b"untouched")
    (tmp_path / ".draft").symlink_to(bait)
    with pytest.raises(FileExistsError):
        put_in_place(tmp_path / "file", [b"new"], tmp_path / ".draft")
    assert bait.read_bytes() == b"untouched"
