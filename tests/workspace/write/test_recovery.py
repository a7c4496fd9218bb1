"""Recovery in a tree that is deep, or has moved since the writer died."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from flashgrep.workspace.write.intents import Intent, IntentRecord
from flashgrep.workspace.write.recovery import recover

pytestmark = pytest.mark.usefixtures("way")

TEMPORARY = ".flashgrep-0123456789abcdef.tmp"


@pytest.fixture
def top(tmp_path: Path) -> Iterator[Path]:
    made = Path(os.path.realpath(tmp_path)) / "top"
    made.mkdir()
    yield made
    subprocess.run(["rm", "-rf", str(made)], check=True)


def _abandon(state: Path, note: IntentRecord, data: bytes = b"") -> None:
    """An intent whose writer is dead: on disk, and locked by nobody."""
    intent = Intent(os.fsencode(state), note)
    os.write(intent.fd, data)
    intent.publish(durable=False)
    os.close(intent.fd)


def _deep(top: Path, name: str, depth: int) -> tuple[str, int]:
    """A directory whose path is longer than the kernel takes, and a descriptor of it."""
    current = os.open(top, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=current)
        following = os.open(name, os.O_RDONLY, dir_fd=current)
        os.close(current)
        current = following
    return str(top) + f"/{name}" * depth, current


@pytest.mark.parametrize("name", ["d" * 200, os.fsdecode(b"\xff" * 200)], ids=["ascii", "bytes"])
def test_a_stray_file_is_found_however_deep(top: Path, tmp_path: Path, name: str) -> None:
    path, fd = _deep(top, name, 80)
    try:
        assert len(path) > 16_000
        os.close(os.open(TEMPORARY, os.O_CREAT | os.O_WRONLY, dir_fd=fd))
        _abandon(tmp_path / "state", IntentRecord(path, "file", TEMPORARY))
        assert recover(os.fsencode(tmp_path / "state")).temporaries == 1
        assert os.listdir(fd) == []
        assert os.listdir(tmp_path / "state") == []
    finally:
        os.close(fd)


def test_a_torn_file_is_put_back_however_deep(top: Path, tmp_path: Path) -> None:
    path, fd = _deep(top, "d" * 200, 30)
    try:
        target = os.open("file", os.O_CREAT | os.O_RDWR, dir_fd=fd)
        os.write(target, b"new.old.")
        inode = os.fstat(target).st_ino
        note = IntentRecord(path, "file", target_inode=inode, old_size=8, new_size=8)
        _abandon(tmp_path / "state", note, b"old.old." + b"new.new.")
        assert recover(os.fsencode(tmp_path / "state")).restored == 1
        assert os.pread(target, 100, 0) == b"old.old."
        os.close(target)
    finally:
        os.close(fd)


def test_a_directory_that_became_a_link_is_not_followed(top: Path, tmp_path: Path) -> None:
    """What the link leads to was never ours."""
    (top / "elsewhere").mkdir()
    (top / "elsewhere" / TEMPORARY).write_text("theirs", encoding="utf-8")
    (top / "elsewhere" / "file").write_text("new.old.", encoding="utf-8")
    inode = (top / "elsewhere" / "file").stat().st_ino
    (top / "here").symlink_to("elsewhere")
    _abandon(tmp_path / "state", IntentRecord(str(top / "here"), "file", TEMPORARY))
    torn = IntentRecord(str(top / "here"), "file", target_inode=inode, old_size=8, new_size=8)
    _abandon(tmp_path / "state", torn, b"old.old." + b"new.new.")
    done = recover(os.fsencode(tmp_path / "state"))
    assert (done.temporaries, done.restored, done.kept) == (0, 0, 1)
    assert (top / "elsewhere" / TEMPORARY).read_text(encoding="utf-8") == "theirs"
    assert (top / "elsewhere" / "file").read_text(encoding="utf-8") == "new.old."


def test_a_directory_that_is_gone_ends_the_matter(top: Path, tmp_path: Path) -> None:
    _abandon(tmp_path / "state", IntentRecord(str(top / "gone"), "file", TEMPORARY))
    assert recover(os.fsencode(tmp_path / "state")).temporaries == 0
    assert os.listdir(tmp_path / "state") == []
