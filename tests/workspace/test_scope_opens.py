"""What is opened in a scope: regular files only, where they are now, and parents made inside."""

from __future__ import annotations

import contextlib
import os
import socket
import stat

import pytest

from flashgrep.errors import AccessDenied, FlashgrepError, InvalidParams, NotFound
from flashgrep.workspace.safe_open import REGULAR
from flashgrep.workspace.scope import ResolvedPath
from tests.workspace.reach import World, code, read

pytestmark = pytest.mark.usefixtures("way")

# ── what is no file ─────────────────────────────────────────────────────────────────────────────


def test_pipes_and_sockets_are_refused_at_once(world: World) -> None:
    os.mkfifo(world.ws / "fifo")
    scope = world.scope()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(world.ws / "socket"))
        for name in ("fifo", "socket"):
            assert scope.kind(scope.place(name)) == "other"
            with pytest.raises(InvalidParams, match="not a regular file"):
                scope.open_regular(scope.place(name))
            with pytest.raises(InvalidParams, match="not a regular file"):
                scope.open_regular(scope.place(name), write=True)


@pytest.mark.parametrize("path", ["/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/random"])
def test_devices_are_refused_at_once(world: World, path: str) -> None:
    if not os.path.exists(path):
        pytest.skip("no such device here")
    with pytest.raises(InvalidParams, match="not a regular file"):
        read(world.scope(allow=()), path)


@pytest.mark.parametrize("path", ["/proc/self/status", "/proc/self/mem", "/proc/self/environ"])
def test_files_of_proc_answer_at_once(world: World, path: str) -> None:
    """They are regular files of size 0: read or refused, never waited for."""
    scope = world.scope(allow=())
    with contextlib.suppress(FlashgrepError, OSError):
        read(scope, path)


def test_a_pipe_put_in_place_of_a_file_is_not_waited_for(world: World) -> None:
    """Looked at as a file, opened as a pipe: the open does not block, and the result is checked."""
    world.file(world.ws / "a.txt")
    scope = world.scope()
    place = scope.place("a.txt")
    (world.ws / "a.txt").unlink()
    os.mkfifo(world.ws / "a.txt")
    fd = scope.open(place, REGULAR)
    assert stat.S_ISFIFO(os.fstat(fd).st_mode)
    os.close(fd)
    with pytest.raises(InvalidParams):
        scope.open_regular(place)


# ── a tree that moves ───────────────────────────────────────────────────────────────────────────


def test_a_directory_that_became_a_link_out_is_judged_anew(world: World) -> None:
    world.file(world.ws / "src" / "s")
    world.file(world.outside / "s", "secret")
    scope = world.scope()
    place = scope.place("src/s")
    (world.ws / "src").rename(world.ws / "was-src")
    world.link("src", world.outside)
    with pytest.raises(AccessDenied):
        scope.open_regular(place)
    with pytest.raises(AccessDenied):
        scope.open_parent(place)
    with pytest.raises((AccessDenied, OSError)):
        scope.open_real(place.path, REGULAR)


def test_a_directory_that_became_a_link_inside_is_followed(world: World) -> None:
    world.file(world.ws / "src" / "s")
    world.file(world.ws / "new" / "s", "moved")
    scope = world.scope()
    place = scope.place("src/s")
    (world.ws / "src").rename(world.ws / "was-src")
    world.link("src", "new")
    fd, _ = scope.open_regular(place)
    assert os.read(fd, 100) == b"moved"
    os.close(fd)
    parent, now = scope.open_parent(place)
    os.close(parent)
    assert now.path == os.fsencode(world.ws / "new" / "s")


def test_a_file_is_denied_where_its_directory_leads_now(world: World) -> None:
    """The directory alone may be free while the file in it is denied."""
    world.file(world.ws / "src" / "key")
    world.file(world.ws / "vault" / "key", "secret")
    scope = world.scope("**/vault/key")
    place = scope.place("src/key")
    (world.ws / "src").rename(world.ws / "was-src")
    world.link("src", "vault")
    with pytest.raises(AccessDenied):
        scope.open_regular(place)
    with pytest.raises(AccessDenied):
        scope.open_parent(place)


# ── making parents ──────────────────────────────────────────────────────────────────────────────


def test_missing_parents_are_made_inside_the_scope(world: World) -> None:
    scope = world.scope()
    fd, now = scope.open_parent(scope.place("one/two/three/file"), create=True)
    os.close(fd)
    assert now == ResolvedPath("one/two/three/file", os.fsencode(world.ws / "one/two/three/file"))
    assert (world.ws / "one/two/three").is_dir()


def test_parents_are_not_made_unless_asked(world: World) -> None:
    scope = world.scope()
    with pytest.raises(NotFound):
        scope.open_parent(scope.place("one/file"))
    assert not (world.ws / "one").exists()


@pytest.mark.parametrize("path", ["../outside/new/file", "door/new/file", "dangling/file"])
def test_no_parent_is_made_outside(world: World, path: str) -> None:
    world.link("door", world.outside)
    world.link("dangling", world.outside / "new")
    scope = world.scope()
    with pytest.raises(AccessDenied):
        scope.open_parent(scope.place(path), create=True)
    assert os.listdir(world.outside) == []


def test_a_link_that_appears_while_parents_are_made_leads_nowhere(world: World) -> None:
    scope = world.scope()
    place = scope.place("one/two/file")
    world.link("one", world.outside)
    with pytest.raises(AccessDenied):
        scope.open_parent(place, create=True)
    assert os.listdir(world.outside) == []


def test_the_allowed_directory_itself_is_no_file(world: World) -> None:
    scope = world.scope()
    with pytest.raises(InvalidParams, match="directory"):
        scope.open_parent(scope.place("."))


def test_no_descriptor_is_left_behind(world: World) -> None:
    world.file(world.ws / "a.txt")
    os.mkfifo(world.ws / "fifo")
    world.link("out", world.outside)
    scope = world.scope("**/denied")
    before = len(os.listdir("/proc/self/fd"))
    for path in ("a.txt", "fifo", "src", "out/x", "denied", "missing/x", "a.txt/", ".."):
        code(scope, path)
        with contextlib.suppress(FlashgrepError):
            os.close(scope.open_parent(scope.place(path), create=True)[0])
    assert len(os.listdir("/proc/self/fd")) == before
