"""Replacing a file: all of the new bytes or all of the old, and everything else as it was."""

from __future__ import annotations

import json
import os
import resource
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from flashgrep.errors import AccessDenied, FlashgrepError, IOFailure
from flashgrep.system.atomic import write_all
from flashgrep.workspace.write.intents import Intent, IntentRecord
from flashgrep.workspace.write.recovery import recover
from flashgrep.workspace.write.replace import (
    ReplaceResult,
    ReplaceTarget,
    TargetChanged,
    replace_bytes,
    write_in_place,
)

ACL = "system.posix_acl_access"
DEFAULT_ACL = "system.posix_acl_default"


def acl(*entries: tuple[int, int, int]) -> bytes:
    """An ACL as the kernel stores it: (tag, permissions, id) rows after a version."""
    rows = b"".join(
        tag.to_bytes(2, "little") + bits.to_bytes(2, "little") + number.to_bytes(4, "little")
        for tag, bits, number in entries
    )
    return b"\x02\0\0\0" + rows


# owner rw, user 1234 rw, group r, mask rw, other none
READER_ACL = acl(
    (1, 6, 2**32 - 1), (2, 6, 1234), (4, 4, 2**32 - 1), (16, 6, 2**32 - 1), (32, 0, 2**32 - 1)
)


class Bench:
    """A directory to write in, and the state directory beside it."""

    def __init__(self, root: Path) -> None:
        self.root = root / "files"
        self.root.mkdir()
        self.state = root / "state"
        self.fd = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY)

    def path(self, name: str = "file") -> Path:
        return self.root / name

    def target(self, name: str = "file") -> ReplaceTarget:
        return ReplaceTarget(
            self.fd, os.fsencode(name), os.fsencode(self.path(name)), os.fsencode(self.state)
        )

    def write(
        self, data: bytes, name: str = "file", check: Callable[[], bool] | None = None
    ) -> ReplaceResult:
        path = self.path(name)
        original = path.stat() if path.exists() else None
        return replace_bytes(self.target(name), data, original, check)

    def strays(self) -> list[str]:
        """Temporary files and notes that should not be there."""
        left = [name for name in os.listdir(self.root) if name.startswith(".flashgrep")]
        return left + (os.listdir(self.state) if self.state.exists() else [])


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    os.close(made.fd)


@pytest.mark.parametrize("old", [None, b"", b"old bytes that are longer than the new ones"])
@pytest.mark.parametrize("new", [b"", b"new", b"x" * 3_000_000])
def test_the_file_holds_the_new_bytes_and_nothing_is_left_behind(
    bench: Bench, old: bytes | None, new: bytes
) -> None:
    if old is not None:
        bench.path().write_bytes(old)
    assert bench.write(new) == ReplaceResult(len(new), in_place=False)
    assert bench.path().read_bytes() == new
    assert bench.strays() == []


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o664, 0o755, 0o777, 0o4755, 0o2755])
def test_the_mode_is_kept(bench: Bench, mode: int) -> None:
    bench.path().write_bytes(b"old")
    bench.path().chmod(mode)
    bench.write(b"new")
    assert stat.S_IMODE(bench.path().stat().st_mode) == mode


def test_a_new_file_gets_what_the_umask_says(bench: Bench) -> None:
    previous = os.umask(0o027)
    try:
        bench.write(b"new")
    finally:
        os.umask(previous)
    assert stat.S_IMODE(bench.path().stat().st_mode) == 0o640


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_the_owner_is_kept(bench: Bench) -> None:
    bench.path().write_bytes(b"old")
    os.chown(bench.path(), 1234, 2345)
    assert not bench.write(b"new").in_place
    status = bench.path().stat()
    assert (status.st_uid, status.st_gid) == (1234, 2345)


def test_extended_attributes_and_the_acl_are_kept(bench: Bench) -> None:
    bench.path().write_bytes(b"old")
    try:
        os.setxattr(bench.path(), "user.origin", b"a\0b")
        os.setxattr(bench.path(), ACL, READER_ACL)
    except OSError as error:
        pytest.skip(f"no extended attributes here: {error}")
    mode = bench.path().stat().st_mode
    assert not bench.write(b"new").in_place
    assert os.getxattr(bench.path(), "user.origin") == b"a\0b"
    assert os.getxattr(bench.path(), ACL) == READER_ACL
    assert bench.path().stat().st_mode == mode


def test_a_directorys_default_acl_does_not_reach_a_file_that_has_none(bench: Bench) -> None:
    bench.path().write_bytes(b"old")
    bench.path().chmod(0o640)
    try:
        os.setxattr(bench.root, DEFAULT_ACL, READER_ACL)
    except OSError as error:
        pytest.skip(f"no ACLs here: {error}")
    bench.write(b"new")
    assert ACL not in os.listxattr(bench.path())
    assert stat.S_IMODE(bench.path().stat().st_mode) == 0o640


def test_a_hard_link_keeps_both_names(bench: Bench) -> None:
    bench.path().write_bytes(b"old")
    os.link(bench.path(), bench.path("other"))
    for data in (b"a longer text than before", b"short", b""):
        assert bench.write(data) == ReplaceResult(len(data), in_place=True)
        assert bench.path("other").read_bytes() == data
    assert bench.path().stat().st_nlink == 2
    assert bench.strays() == []


@pytest.mark.parametrize("linked", [False, True])
def test_the_last_look_can_call_it_off(bench: Bench, linked: bool) -> None:
    bench.path().write_bytes(b"old")
    if linked:
        os.link(bench.path(), bench.path("other"))
    with pytest.raises(TargetChanged):
        bench.write(b"new", check=lambda: False)
    assert bench.path().read_bytes() == b"old"
    assert bench.strays() == []


@pytest.mark.parametrize("linked", [False, True])
def test_a_file_too_big_for_the_disk_leaves_the_old_bytes(bench: Bench, linked: bool) -> None:
    bench.path().write_bytes(b"old")
    if linked:
        os.link(bench.path(), bench.path("other"))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(IOFailure, match=r"File too large.*left as it was"):
            bench.write(b"x" * 200_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert bench.path().read_bytes() == b"old"
    assert bench.strays() == []


def test_an_unwritable_state_directory_costs_only_the_note(bench: Bench) -> None:
    bench.state.write_text("not a directory")
    bench.path().write_bytes(b"old")
    bench.write(b"new")
    assert bench.path().read_bytes() == b"new"
    os.link(bench.path(), bench.path("other"))
    with pytest.raises(FlashgrepError):  # in place there is no safety without it
        bench.write(b"newer")
    assert bench.path().read_bytes() == b"new"


# ── places where a rename does not work; each runs in a process of its own ──────────────────────

CHILD = """
import json, os, sys
from flashgrep.errors import FlashgrepError
from flashgrep.workspace.write.replace import ReplaceTarget, replace_bytes
directory, name, state, size, user = sys.argv[1:]
os.setresuid(int(user), int(user), int(user))
path = os.path.join(directory, name)
fd = os.open(directory, os.O_RDONLY)
original = os.stat(path) if os.path.exists(path) else None
target = ReplaceTarget(fd, name.encode(), path.encode(), state.encode())
try:
    told = {"in_place": replace_bytes(target, b"x" * int(size), original).in_place}
except FlashgrepError as error:
    told = {"code": error.code, "message": error.message}
told["holds"] = open(path, "rb").read(20).decode() if os.path.exists(path) else None
told["strays"] = [n for n in os.listdir(directory) if n.startswith(".flashgrep")]
print(json.dumps(told))
"""

READ_ONLY_BELOW = "mount --bind $PWD $PWD; cd $PWD;"
READ_ONLY = "mount -o remount,ro,bind $PWD"


def run_child(
    bench: Bench, mounts: str = "", name: str = "file", size: int = 5, user: int = os.geteuid()
) -> dict[str, object]:
    """Replace in a child, perhaps in a mount namespace of its own, perhaps as another user."""
    arguments = [sys.executable, "-c", CHILD, str(bench.root), name, str(bench.state), str(size)]
    arguments.append(str(user))
    if mounts:
        if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode:
            pytest.skip("mounting is not permitted here")
        arguments = ["unshare", "-m", "sh", "-ec", mounts + '\nexec "$@"', "sh", *arguments]
    done = subprocess.run(arguments, cwd=bench.root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told: dict[str, object] = json.loads(done.stdout)
    return told


def test_a_bind_mounted_file_is_written_in_place(bench: Bench) -> None:
    bench.path().write_bytes(b"below")
    bench.path("source").write_bytes(b"old")
    told = run_child(bench, "mount --bind source file")
    assert told == {"in_place": True, "holds": "xxxxx", "strays": []}
    assert bench.path("source").read_bytes() == b"xxxxx"
    assert bench.path().read_bytes() == b"below"


def test_a_file_that_was_read_is_written_from_its_start(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"old words")
    fd = os.open(file, os.O_RDWR)
    try:
        os.read(fd, 4)
        write_in_place(fd, b"new", os.fstat(fd))
    finally:
        os.close(fd)
    assert file.read_bytes() == b"new"


def test_a_writable_file_in_a_read_only_place_is_written_in_place(bench: Bench) -> None:
    bench.path().write_bytes(b"old")
    told = run_child(bench, f"{READ_ONLY_BELOW} mount --bind file file; {READ_ONLY}")
    assert told == {"in_place": True, "holds": "xxxxx", "strays": []}


def test_a_read_only_place_refuses_and_keeps_the_file(bench: Bench) -> None:
    bench.path().write_bytes(b"old")
    told = run_child(bench, READ_ONLY_BELOW + READ_ONLY)
    assert (told["code"], told["holds"], told["strays"]) == ("access_denied", "old", [])
    told = run_child(bench, READ_ONLY_BELOW + READ_ONLY, name="new")
    assert (told["code"], told["holds"]) == ("io_error", None)


@pytest.mark.parametrize("linked", [False, True])
def test_a_full_disk_leaves_the_old_bytes(bench: Bench, linked: bool) -> None:
    link = "&& ln file other" if linked else ""
    mounts = f"mount -t tmpfs -o size=1m none . && cd {bench.root} && printf old > file {link}"
    told = run_child(bench, mounts, size=3_000_000)
    assert (told["code"], told["holds"], told["strays"]) == ("io_error", "old", [])
    assert "No space left on device" in str(told["message"])


def test_a_disk_that_fills_up_half_way_gets_the_old_bytes_back(bench: Bench) -> None:
    """A sparse file becomes shorter and denser: no space can be claimed for it beforehand."""
    mounts = f"mount -t tmpfs -o size=1m none . && cd {bench.root} && truncate -s 3000000 file"
    told = run_child(bench, f"{mounts} && ln file other", size=2_500_000)
    assert (told["code"], told["holds"], told["strays"]) == ("io_error", "\0" * 20, [])
    assert "left as it was" in str(told["message"])
    assert bench.strays() == []


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become someone else")
def test_a_file_in_a_directory_we_cannot_write_is_written_in_place() -> None:
    with tempfile.TemporaryDirectory() as root:
        Path(root).chmod(0o755)
        bench = Bench(Path(root))
        os.close(bench.fd)
        bench.state.mkdir()
        bench.state.chmod(0o777)
        bench.path().write_bytes(b"old")
        bench.path().chmod(0o666)
        told = run_child(bench, user=65534)
        assert told == {"in_place": True, "holds": "xxxxx", "strays": []}
        bench.path().chmod(0o444)
        told = run_child(bench, user=65534)
        assert (told["code"], told["holds"]) == ("access_denied", "xxxxx")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become someone else")
def test_an_owner_we_cannot_give_to_a_new_file_is_kept_by_writing_in_place() -> None:
    with tempfile.TemporaryDirectory() as root:
        Path(root).chmod(0o755)
        bench = Bench(Path(root))
        os.close(bench.fd)
        for directory in (bench.root, bench.state):
            directory.mkdir(exist_ok=True)
            directory.chmod(0o777)
        bench.path().write_bytes(b"old")
        bench.path().chmod(0o666)
        told = run_child(bench, user=65534)
        assert told == {"in_place": True, "holds": "xxxxx", "strays": []}
        assert bench.path().stat().st_uid == 0


def test_a_read_only_file_is_refused(bench: Bench) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write anything")
    bench.path().write_bytes(b"old")
    bench.path().chmod(0o444)
    with pytest.raises(AccessDenied, match="read-only"):
        bench.write(b"new")


# ── what the next start does ────────────────────────────────────────────────────────────────────


def leave_note(bench: Bench, old: bytes, new: bytes, now: bytes) -> None:
    """The traces of a server that died while it wrote in place."""
    bench.path().write_bytes(now)
    note = IntentRecord(
        str(bench.root),
        "file",
        target_inode=bench.path().stat().st_ino,
        old_size=len(old),
        new_size=len(new),
    )
    intent = Intent(os.fsencode(bench.state), note)
    write_all(intent.fd, old + new)
    intent.publish(durable=True)
    os.close(intent.fd)


@pytest.mark.parametrize(
    ("old", "new", "now", "after"),
    [
        (b"aaaa", b"bbbb", b"aaaa", b"aaaa"),  # not begun
        (b"aaaa", b"bbbb", b"bbbb", b"bbbb"),  # finished
        (b"aaaa", b"bbbb", b"bbaa", b"aaaa"),  # torn
        (b"aaaa", b"bbbb", b"abba", b"aaaa"),  # torn by pages in another order
        (b"aaaa", b"bb", b"bbaa", b"aaaa"),  # written, not yet cut
        (b"aa", b"bbbb", b"bb\0\0", b"aa"),  # space claimed, half written
        (b"aa", b"bbbb", b"aa\0\0", b"aa"),  # space claimed only
        (b"aaaa", b"bbbb", b"bbXa", b"bbXa"),  # someone else's since
        (b"aaaa", b"bbbb", b"aaaaaaaa", b"aaaaaaaa"),
        (b"", b"bbbb", b"bb\0\0", b""),
    ],
)
def test_only_a_torn_file_is_put_back(
    bench: Bench, old: bytes, new: bytes, now: bytes, after: bytes
) -> None:
    leave_note(bench, old, new, now)
    done = recover(os.fsencode(bench.state))
    assert bench.path().read_bytes() == after
    assert done.restored == (after != now)
    foreign = after == now and now not in (old, new)
    assert [name.endswith(".kept") for name in bench.strays()] == [True] * foreign


def test_another_file_under_the_same_name_is_left_alone(bench: Bench) -> None:
    leave_note(bench, b"aaaa", b"bbbb", b"bbaa")
    other = bench.path("other")
    other.write_bytes(b"bbaa")
    other.rename(bench.path())
    assert recover(os.fsencode(bench.state)).restored == 0
    assert bench.path().read_bytes() == b"bbaa"


def test_a_stray_temporary_file_is_removed_and_a_living_writers_is_not(bench: Bench) -> None:
    names = (".flashgrep-dead.tmp", ".flashgrep-live.tmp")
    for name in names:
        bench.path(name).write_bytes(b"half")
    dead, live = (
        Intent(os.fsencode(bench.state), IntentRecord(str(bench.root), "file", name))
        for name in names
    )
    dead.publish(durable=False)
    live.publish(durable=False)
    os.close(dead.fd)
    assert recover(os.fsencode(bench.state)).temporaries == 1
    assert not bench.path(names[0]).exists()
    assert bench.path(names[1]).exists()
    live.remove()
    assert bench.strays() == [names[1]]


def test_a_note_that_is_no_note_is_thrown_away(bench: Bench) -> None:
    bench.state.mkdir()
    (bench.state / "0.intent").write_bytes(b"\xff not json\n")
    (bench.state / "1.new").write_bytes(b"{")
    recover(os.fsencode(bench.state))
    assert bench.strays() == []


def test_recovery_of_nothing_is_nothing(tmp_path: Path) -> None:
    done = recover(os.fsencode(tmp_path / "never made"))
    assert (done.temporaries, done.restored, done.kept) == (0, 0, 0)
