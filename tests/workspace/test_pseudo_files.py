"""No walk comes into `/proc`, `/sys` or `/dev` by itself."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from flashgrep.workspace.scope import Scope
from flashgrep.workspace.walk import REASON, is_made_up, is_made_up_place
from tests.tools.workshop import Workshop, workshop

WALL_SECONDS = 120


@pytest.fixture(params=["scanning", "indexed"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Workshop]:
    with workshop(tmp_path, no_index=request.param == "scanning") as made:
        made.file("here.py", "needle\n")
        made.file("d/there.py", "needle\n")
        if request.param == "indexed":
            wait_for_index(made)
        yield made


def wait_for_index(shop: Workshop) -> None:
    shop.application.start_index()
    wall = time.monotonic() + WALL_SECONDS
    while not shop.json("stats")["grep_ready"]:
        assert time.monotonic() < wall
        time.sleep(0.01)


PLACES = ["/proc/self/fd", "/proc", "/proc/self/task", "/sys", "/dev", "/dev/fd"]


@pytest.mark.thorough
@pytest.mark.parametrize("target", PLACES)
def test_a_search_follows_no_link_there_and_says_so(shop: Workshop, target: str) -> None:
    """`/proc/self/fd` leads to the server's own descriptor of `/`, and so to everything."""
    shop.link("d/made_up", target)
    *found, told = shop.lines("grep", pattern="needle")
    assert sorted(found) == ["d/there.py", "here.py"]
    assert told == f"(1 not searched: d/made_up: {REASON})"


def test_a_link_to_a_file_there_is_not_read(shop: Workshop) -> None:
    shop.link("version", "/proc/version")
    shop.link("null", "/dev/null")
    assert shop.lines("grep", pattern="Linux|needle", include="*n*")[-1] == (
        f"(1 not searched: version: {REASON})"
    )
    assert "Linux" not in shop.text("grep", pattern="Linux", output_mode="content")


def test_glob_finds_the_link_and_not_what_is_behind_it(shop: Workshop) -> None:
    shop.link("made_up", "/proc/self")
    assert shop.lines("glob", pattern="**", follow_symlinks=True, sort_by="path") == [
        "d/there.py",
        "here.py",
        f"(1 not read: made_up: {REASON})",
    ]
    assert "made_up" in shop.lines("glob", pattern="*", type="directory", follow_symlinks=True)


def test_a_tree_that_is_entered_by_a_link_is_left_where_the_kernel_begins(
    shop: Workshop, tmp_path: Path
) -> None:
    """A directory above `/proc` is an ordinary place; `/proc` itself is not, seen from there."""
    shop.link("top", "/")
    gitignore = "".join(f"/top/{name}\n" for name in os.listdir("/") if name != "proc")
    shop.file(".gitignore", gitignore)
    assert shop.lines("grep", pattern="needle|MemTotal")[-1] == (
        f"(1 not searched: top/proc: {REASON})"
    )


def test_what_is_named_as_path_is_searched_and_its_links_are_not(shop: Workshop) -> None:
    pid = os.getpid()
    assert shop.text("grep", pattern="^Pid:", path=f"/proc/{pid}/status", output_mode="count")
    assert "status" in shop.lines(
        "grep", pattern=f"^Pid:\\s{pid}$", path=f"/proc/{pid}", include="status"
    )
    assert "status" in shop.lines("glob", pattern="status", path=f"/proc/{pid}", max_depth=0)
    opened = shop.lines("grep", pattern="needle", path=f"/proc/{pid}/fd")
    assert not [line for line in opened if "here.py" in line]


def test_a_link_there_that_is_named_as_path_is_followed(shop: Workshop) -> None:
    """README: searched only if you name them, or a link to them."""
    shop.link("made_up", f"/proc/{os.getpid()}")
    status = {"pattern": "^Pid:", "include": "status"}
    assert "status" in shop.lines("grep", path="made_up", **status)
    assert "status" in shop.lines("glob", pattern="status", path="made_up", max_depth=0)
    assert not [line for line in shop.lines("grep", **status) if line.startswith("made_up/")]


def test_an_ordinary_memory_file_system_is_searched(shop: Workshop) -> None:
    shared = Path("/dev/shm")
    if not shared.is_dir():
        pytest.fail("this machine has no /dev/shm")
    place = shared / f"flashgrep-test-{os.getpid()}"
    place.mkdir()
    try:
        (place / "far.py").write_text("needle\n", encoding="utf-8")
        shop.link("shared", place)
        assert "shared/far.py" in shop.lines("grep", pattern="needle")
    finally:
        (place / "far.py").unlink()
        place.rmdir()


_MOUNTED = """
import os, sys
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from tests.tools.workshop import workshop
from tests.workspace.test_pseudo_files import wait_for_index
directory = Path(sys.argv[1])
for no_index in (True, False):
    with workshop(directory, no_index=no_index) as shop:
        if not no_index:
            wait_for_index(shop)
        print("|".join(shop.lines("grep", pattern="needle")))
"""


@pytest.mark.thorough
def test_one_that_is_mounted_in_the_workspace_is_left_out(tmp_path: Path) -> None:
    inside = tmp_path / "work" / "root" / "proc"
    inside.mkdir(parents=True)
    (tmp_path / "work" / "here.py").write_text("needle\n", encoding="utf-8")
    top = str(Path(__file__).parents[2])
    mounted = f'mount -t proc none "{inside}" && exec "$0" -c "$1" "$2" "$3"'
    command = ["unshare", "--mount", "--map-root-user", "--pid", "--fork", "sh", "-c", mounted]
    done = subprocess.run(
        [*command, sys.executable, _MOUNTED, str(tmp_path), top],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    told = f"here.py|(1 not searched: root/proc: {REASON})"
    assert done.stdout.splitlines() == [told, told], done.stderr


def test_places_are_known_by_path_and_by_file_system(tmp_path: Path) -> None:
    scope = Scope(str(tmp_path))
    try:
        made_up = ("/proc", "/proc/self", "/sys", "/dev", "/dev/pts", "/proc/version")
        ordinary = (str(tmp_path), "/", "/processes", "/dev/shm", "/etc/passwd")
        assert all(is_made_up_place(scope, place.encode()) for place in made_up)
        assert not any(is_made_up_place(scope, place.encode()) for place in ordinary)
        with Path("/proc/version").open("rb") as file:
            assert is_made_up(file.fileno(), b"/elsewhere")
    finally:
        scope.close()
