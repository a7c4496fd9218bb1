"""Resolving equals `os.path.realpath`, the slow and obvious definition, on any tree of links."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from flashgrep.workspace import safe_open
from flashgrep.workspace.safe_open import STEP, resolve

NAMES = ("a", "b", "c")
component = st.sampled_from([*NAMES, *NAMES, ".", "..", "missing", ""])
path_text = st.lists(component, min_size=1, max_size=7).map("/".join)
place_text = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join)
kind = st.sampled_from(["file", "directory", "directory", "link", "link", "absolute link"])
entries = st.lists(st.tuples(place_text, kind, path_text), max_size=12)


@pytest.fixture(scope="module")
def slash() -> Iterator[int]:
    fd = os.open("/", STEP)
    yield fd
    os.close(fd)


def _build(top: str, tree: list[tuple[str, str, str]]) -> None:
    """Make what can be made; an entry that another one excludes is left out."""
    for place, what, target in tree:
        path = os.path.join(top, place)
        try:
            if what == "file":
                os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
            elif what == "directory":
                os.makedirs(path, exist_ok=True)
            else:
                os.symlink(target if what == "link" else os.path.join(top, target), path)
        except OSError:
            continue


@pytest.mark.parametrize("fallback", [False, True], ids=["openat2", "components"])
@settings(max_examples=2_000 if os.environ.get("FLASHGREP_HEAVY") else 40, deadline=None)
@given(tree=entries, asked=path_text)
@example(tree=[("a", "directory", ""), ("a/b", "link", ".."), ("a/c", "file", "")], asked="a/b/a/c")
@example(tree=[("a", "link", "b"), ("b", "link", "a")], asked="a/c")
@example(tree=[("a", "link", "missing/c")], asked="a/b")
@example(tree=[("a", "file", "")], asked="a/../b")
@example(tree=[("a", "link", "..")], asked="a/missing")
@example(tree=[("b", "file", ""), ("a", "link", "b/")], asked="a")
@example(tree=[("b", "file", ""), ("c", "link", "b/."), ("a", "link", "c")], asked="a")
@example(tree=[("b", "directory", ""), ("b/c", "file", ""), ("a", "link", "b/")], asked="a/c")
def test_resolving_equals_realpath(
    slash: int, fallback: bool, tree: list[tuple[str, str, str]], asked: str
) -> None:
    before, safe_open.has_openat2 = safe_open.has_openat2, safe_open.has_openat2 and not fallback
    try:
        with tempfile.TemporaryDirectory(prefix="flashgrep-links-") as directory:
            top = os.path.realpath(directory)
            _build(top, tree)
            _compare(slash, os.path.join(top, asked))
    finally:
        safe_open.has_openat2 = before


def _compare(slash: int, path: str) -> None:
    """What we call meaningless, the kernel does too; all else is what realpath says.

    realpath takes no notice of a slash at the end of a link's text, so what we find is also asked
    of the kernel. A slash at the end of the path itself is the caller's to judge.
    """
    try:
        ours = os.fsdecode(resolve(slash, os.fsencode(path)))
    except OSError:
        with pytest.raises(OSError) as kernel:
            os.stat(path)
        assert kernel.value.errno in (errno.ELOOP, errno.ENOENT, errno.ENOTDIR)
    else:
        assert ours == os.path.realpath(path)
        if os.path.lexists(ours) and not path.endswith(("/", "/.")):
            assert os.path.exists(path)


@pytest.mark.usefixtures("way")
def test_a_chain_of_forty_links_is_followed_and_one_more_is_not(slash: int, tmp_path: Path) -> None:
    (tmp_path / "0").write_text("end", encoding="utf-8")
    for number in range(1, 42):
        (tmp_path / str(number)).symlink_to(str(number - 1))
    forty = os.fsencode(tmp_path / "40")
    assert resolve(slash, forty) == os.fsencode(tmp_path / "0")
    assert (tmp_path / "40").read_text(encoding="utf-8") == "end"  # as the kernel does
    for judge in (lambda: resolve(slash, os.fsencode(tmp_path / "41")), (tmp_path / "41").stat):
        with pytest.raises(OSError) as caught:
            judge()
        assert caught.value.errno == errno.ELOOP


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("depth", [1, 2, 3, 4, 5])
def test_a_dangling_link_leads_where_it_points_at_any_depth(
    slash: int, tmp_path: Path, depth: int
) -> None:
    at = tmp_path / "inside"
    for _ in range(depth):
        at = at / "d"
    at.mkdir(parents=True)
    (at / "link").symlink_to("../" * (depth + 1) + "outside/new/file")
    found = resolve(slash, os.fsencode(at / "link"))
    assert found == os.fsencode(tmp_path / "outside" / "new" / "file")


@pytest.mark.usefixtures("way")
def test_links_of_proc_are_followed_by_their_text(slash: int) -> None:
    """`/proc/self/root` is a door to everything: it must be judged by where it leads."""
    assert resolve(slash, b"/proc/self/root/etc") == os.fsencode(os.path.realpath("/etc"))
    assert resolve(slash, b"/proc/self/cwd") == os.fsencode(os.path.realpath(os.getcwd()))


@pytest.mark.usefixtures("way")
def test_a_path_of_ten_thousand_bytes_is_resolved(slash: int, tmp_path: Path) -> None:
    """`os.path.realpath` sees nothing past 4,096 bytes; a link down there counts all the same."""
    depth = 45
    current = os.open(tmp_path, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d" * 220, dir_fd=current)
        following = os.open("d" * 220, os.O_RDONLY, dir_fd=current)
        os.close(current)
        current = following
    os.symlink("/etc", "out", dir_fd=current)
    os.close(current)
    deep = os.fsencode(tmp_path) + (b"/" + b"d" * 220) * depth
    assert len(deep) > 9_900
    assert resolve(slash, deep + b"/missing") == deep + b"/missing"
    assert resolve(slash, deep + b"/out/passwd") == os.fsencode(os.path.realpath("/etc/passwd"))
    assert resolve(slash, deep + b"/..") == deep[: -len(b"/" + b"d" * 220)]


@pytest.mark.usefixtures("way")
def test_no_descriptor_is_left_behind(slash: int, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "link").symlink_to("a/../b/c")
    (tmp_path / "a").mkdir()
    before = len(os.listdir("/proc/self/fd"))
    for name in ("loop", "link", "a/../a", "missing/../x", "a/b/c", "../.."):
        try:
            resolve(slash, os.fsencode(tmp_path) + b"/" + name.encode())
        except OSError:
            continue
    assert len(os.listdir("/proc/self/fd")) == before
