"""The open is the check: `openat2` and the component walk answer alike, and through no link."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from flashgrep.workspace import safe_open
from flashgrep.workspace.safe_open import DIRECTORY, MOVED, O_PATH, REGULAR, STEP, open_beneath

LONG = b"n" * 250
NUMBERS = (*MOVED, errno.EISDIR, errno.ENAMETOOLONG, errno.EINVAL, errno.ENXIO)

FILES = ["file", "./file", "dir/inner", "dir//inner", "dir/./inner", "dir/sub/deep"]
REFUSED = [
    ("link to a file", "link-file"),
    ("link to a directory", "link-dir/inner"),
    ("link that comes back in", "link-round/file"),
    ("link out, absolute", "link-out/secret"),
    ("link out, relative", "link-up/outside/secret"),
    ("link in the middle", "dir/link-up/outside/secret"),
    ("dangling link", "dangling"),
    ("loop", "loop"),
    ("loop in the middle", "loop/file"),
    ("link of /proc", "magic/etc/passwd"),
    ("up", ".."),
    ("up and out", "../outside/secret"),
    ("down, up and out", "dir/../../outside/secret"),
    ("missing", "missing"),
    ("missing directory", "missing/file"),
    ("file as directory", "file/x"),
    ("name too long", "x" * 300),
]


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[int]:
    """A directory with files, links of every kind, and a secret beside it."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "dir" / "sub").mkdir(parents=True)
    outside.mkdir()
    for path in ("file", "dir/inner", "dir/sub/deep"):
        (root / path).write_text(path, encoding="utf-8")
    (outside / "secret").write_text("secret", encoding="utf-8")
    links = {
        "link-file": "file",
        "link-dir": "dir",
        "link-round": "../root",
        "link-out": str(outside),
        "link-up": "..",
        "dir/link-up": "../..",
        "dangling": "nowhere",
        "loop": "loop",
        "magic": "/proc/self/root",
    }
    for name, target in links.items():
        (root / name).symlink_to(target)
    fd = os.open(root, STEP)
    yield fd
    os.close(fd)


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, 1000)
    finally:
        os.close(fd)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("path", FILES)
def test_a_file_below_is_opened(tree: int, path: str) -> None:
    expected = path.replace("./", "").replace("//", "/")
    assert _read(open_beneath(tree, path.encode(), REGULAR)).decode() == expected


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("path", [path for _, path in REFUSED], ids=[why for why, _ in REFUSED])
def test_nothing_is_opened_through_a_link_or_upwards(tree: int, path: str) -> None:
    with pytest.raises(OSError) as caught:
        os.close(open_beneath(tree, path.encode(), REGULAR))
    assert caught.value.errno in NUMBERS


@pytest.mark.parametrize("flags", [REGULAR, DIRECTORY, STEP, O_PATH | os.O_NOFOLLOW])
def test_both_ways_answer_alike(tree: int, flags: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if not safe_open.has_openat2:
        pytest.skip("this kernel has no openat2")
    paths = [*FILES, *(path for _, path in REFUSED), "dir", "dir/sub", ".", "", "link-dir"]
    by_kernel = {path: _answer(tree, path, flags) for path in paths}
    monkeypatch.setattr(safe_open, "has_openat2", False)
    by_components = {path: _answer(tree, path, flags) for path in paths}
    assert by_kernel == by_components


def _answer(tree: int, path: str, flags: int) -> str:
    """The inode that was opened, or why none was; how a link is refused may differ."""
    try:
        fd = open_beneath(tree, path.encode(), flags)
    except OSError as error:
        links = (errno.ELOOP, errno.EXDEV, errno.ENOTDIR)
        return "refused" if error.errno in links else errno.errorcode[error.errno or 0]
    try:
        return f"inode {os.fstat(fd).st_ino}"
    finally:
        os.close(fd)


@pytest.mark.usefixtures("way")
def test_a_link_itself_can_be_looked_at(tree: int) -> None:
    fd = open_beneath(tree, b"link-out", O_PATH | os.O_NOFOLLOW)
    try:
        assert os.readlink("", dir_fd=fd).endswith("/outside")
    finally:
        os.close(fd)


@pytest.mark.usefixtures("way")
def test_a_new_file_is_not_made_through_a_dangling_link(tree: int) -> None:
    with pytest.raises(OSError):
        open_beneath(tree, b"dangling", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    assert "nowhere" not in os.listdir(f"/proc/self/fd/{tree}")


@pytest.mark.usefixtures("way")
def test_a_path_longer_than_the_kernel_takes_is_opened_in_pieces(tree: int) -> None:
    depth = 30
    _make_deep(tree, depth)
    path = b"/".join([LONG] * depth)
    assert len(path) > 4096
    assert _read(open_beneath(tree, path + b"/bottom", REGULAR)) == b"deep"
    with pytest.raises(FileNotFoundError):
        open_beneath(tree, path + b"/missing", REGULAR)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("level", [1, 15, 16, 17, 29, 30])
def test_a_link_anywhere_in_a_long_path_is_refused(tree: int, level: int) -> None:
    depth = 30
    _make_deep(tree, depth)
    parent = open_beneath(tree, b"/".join([LONG] * (level - 1)), DIRECTORY)
    os.rename(LONG, b"moved", src_dir_fd=parent, dst_dir_fd=parent)
    os.symlink(b"moved", LONG, dir_fd=parent)
    os.close(parent)
    with pytest.raises(OSError) as caught:
        open_beneath(tree, b"/".join([LONG] * depth) + b"/bottom", REGULAR)
    assert caught.value.errno in MOVED


def _make_deep(tree: int, depth: int) -> None:
    current = os.dup(tree)
    for _ in range(depth):
        os.mkdir(LONG, dir_fd=current)
        following = os.open(LONG, DIRECTORY, dir_fd=current)
        os.close(current)
        current = following
    fd = os.open(b"bottom", os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=current)
    os.write(fd, b"deep")
    os.close(fd)
    os.close(current)


@pytest.mark.usefixtures("way")
def test_a_name_over_4000_bytes_is_too_long_not_a_crash(tree: int) -> None:
    with pytest.raises(OSError) as caught:
        open_beneath(tree, b"x" * 5000, REGULAR)
    assert caught.value.errno == errno.ENAMETOOLONG


def test_a_nul_is_never_handed_to_the_kernel(tree: int) -> None:
    """C ends a text at a NUL: what was judged and what was opened would be two things."""
    if not safe_open.has_openat2:
        pytest.skip("this kernel has no openat2")
    with pytest.raises(OSError) as caught:
        open_beneath(tree, b"file\0.txt", REGULAR)
    assert caught.value.errno == errno.EINVAL


@pytest.mark.usefixtures("way")
def test_a_pipe_or_socket_is_opened_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        root = os.open(tmp_path, STEP)
        try:
            os.close(open_beneath(root, b"fifo", REGULAR))
            with pytest.raises(OSError) as caught:
                open_beneath(root, b"socket", REGULAR)
        finally:
            os.close(root)
    assert caught.value.errno == errno.ENXIO


@pytest.mark.usefixtures("way")
def test_no_descriptor_is_left_behind(tree: int) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for path in [*FILES, *(path for _, path in REFUSED)]:
        try:
            os.close(open_beneath(tree, path.encode(), REGULAR))
        except OSError:
            continue
    assert len(os.listdir("/proc/self/fd")) == before


def test_the_environment_turns_openat2_off_in_a_child() -> None:
    code = "from flashgrep.workspace import safe_open; print(safe_open.has_openat2)"
    environment = {**os.environ, "FLASHGREP_NO_OPENAT2": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
