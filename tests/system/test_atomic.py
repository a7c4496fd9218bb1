"""A file of our own is the old one or the new one, and never something between."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from flashgrep.system.atomic import (
    create_first,
    is_ours_alone,
    put_in_place,
    replace_file,
    replacing,
)


def test_the_new_one_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_bytes(b"old")
    replace_file(target, [b"ne", b"w"])
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
        replace_file(target, cut_short())
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_draft_that_somebody_else_has_put_there_is_not_written_to(tmp_path: Path) -> None:
    bait, target = tmp_path / "bait", tmp_path / "file"
    bait.write_bytes(b"untouched")
    (tmp_path / ".draft").symlink_to(bait)
    replace_file(target, [b"new"], tmp_path / ".draft")
    assert bait.read_bytes() == b"untouched"
    assert target.read_bytes() == b"new"
    assert not target.is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["bait", "file"]


def test_a_draft_of_a_killed_process_is_written_anew(tmp_path: Path) -> None:
    (tmp_path / ".draft").write_bytes(b"a long draft that was cut sh")
    replace_file(tmp_path / "file", [b"new"], tmp_path / ".draft")
    assert (tmp_path / "file").read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["file"]


def test_a_file_is_replaced_beneath_an_open_directory_wherever_that_was_moved(
    tmp_path: Path,
) -> None:
    (tmp_path / "before").mkdir()
    directory = os.open(tmp_path / "before", os.O_RDONLY | os.O_DIRECTORY)
    try:
        (tmp_path / "before").rename(tmp_path / "after")
        with replacing("file", directory=directory, mode=0o640, is_durable=False) as file:
            file.write(b"new")
    finally:
        os.close(directory)
    assert (tmp_path / "after" / "file").read_bytes() == b"new"
    assert os.listdir(tmp_path / "after") == ["file"]


def test_of_two_that_create_a_file_the_first_one_stands(tmp_path: Path) -> None:
    create_first(tmp_path / "file", b"first")
    create_first(tmp_path / "file", b"second")
    assert (tmp_path / "file").read_bytes() == b"first"
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["file"]


def test_a_finished_directory_takes_a_name_that_is_free(tmp_path: Path) -> None:
    (tmp_path / "draft").mkdir()
    (tmp_path / "draft" / "file").write_bytes(b"new")
    put_in_place(tmp_path / "draft", tmp_path / "place")
    assert (tmp_path / "place" / "file").read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["place"]


@pytest.mark.parametrize(
    ("mode", "is_ours"),
    [(0o600, True), (0o755, True), (0o4755, True), (0o620, False), (0o602, False)],
)
def test_a_file_that_others_can_read_and_not_write_is_ours_alone(
    tmp_path: Path, mode: int, is_ours: bool
) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"")
    file.chmod(mode)
    assert is_ours_alone(file.stat()) is is_ours
