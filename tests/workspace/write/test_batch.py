"""An unfinished batch is undone by the next start; someone's later work is left alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from flashgrep.system.atomic import write_all
from flashgrep.workspace.write.intents import FileChange, Intent, IntentRecord, promised
from flashgrep.workspace.write.recovery import recover
from flashgrep.workspace.write.replace import ReplaceTarget, replace_bytes


class Scene:
    """Three files and a state directory."""

    def __init__(self, top: Path) -> None:
        self.recovery = os.fsencode(top / "recovery")
        self.paths = [top / "one", top / "sub" / "two", top / os.fsdecode(b"\xffthree")]
        (top / "sub").mkdir()
        for number, path in enumerate(self.paths):
            path.write_bytes(b"old %d\n" % number)
        self.changes = [
            FileChange(os.fsencode(path), b"old %d\n" % number, b"new and longer %d\n" % number)
            for number, path in enumerate(self.paths)
        ]

    def replace(self, change: FileChange) -> None:
        directory, name = os.path.split(change.path)
        parent = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            target = ReplaceTarget(parent, name, change.path, self.recovery)
            replace_bytes(target, change.new, os.stat(change.path))
        finally:
            os.close(parent)

    def die_after(self, count: int) -> None:
        """Replace `count` files in a process that ends inside the batch."""
        child = os.fork()
        if child == 0:
            try:
                with promised(self.recovery, self.changes):
                    for change in self.changes[:count]:
                        self.replace(change)
                    os._exit(0)
            finally:
                os._exit(1)
        assert os.waitpid(child, 0)[1] == 0

    def contents(self) -> list[bytes]:
        return [path.read_bytes() for path in self.paths]

    def notes(self) -> list[bytes]:
        return [os.path.splitext(name)[1] for name in os.listdir(self.recovery)]


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_a_batch_that_ends_well_leaves_nothing_behind(scene: Scene) -> None:
    with promised(scene.recovery, scene.changes):
        for change in scene.changes:
            scene.replace(change)
    assert scene.notes() == []
    assert recover(scene.recovery).undone == 0
    assert scene.contents() == [change.new for change in scene.changes]


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_an_unfinished_batch_is_undone(scene: Scene, count: int) -> None:
    scene.paths[0].chmod(0o750)
    scene.die_after(count)
    assert scene.notes() == [b".intent"]
    assert recover(scene.recovery).undone == count
    assert scene.contents() == [change.old for change in scene.changes]
    assert scene.paths[0].stat().st_mode & 0o777 == 0o750
    assert scene.notes() == []
    assert recover(scene.recovery).undone == 0


def test_later_work_stands_and_the_old_bytes_are_kept(scene: Scene) -> None:
    scene.die_after(3)
    scene.paths[1].write_text("by hand\n")
    done = recover(scene.recovery)
    assert (done.undone, done.kept) == (2, 1)
    assert scene.contents() == [scene.changes[0].old, b"by hand\n", scene.changes[2].old]
    assert scene.notes() == [b".kept"]


def test_a_file_that_is_gone_or_a_link_is_left_alone(scene: Scene, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(scene.changes[1].new)
    scene.die_after(3)
    scene.paths[0].unlink()
    scene.paths[1].unlink()
    scene.paths[1].symlink_to(victim)
    assert recover(scene.recovery).undone == 1
    assert victim.read_bytes() == scene.changes[1].new
    assert not scene.paths[0].exists()


def test_a_batch_of_a_living_server_is_left_alone(scene: Scene) -> None:
    with promised(scene.recovery, scene.changes):
        scene.replace(scene.changes[0])
        child = os.fork()
        if child == 0:
            os._exit(recover(scene.recovery).undone)
        assert os.waitpid(child, 0)[1] == 0
        assert scene.paths[0].read_bytes() == scene.changes[0].new


def test_a_promise_that_could_not_be_kept_waits_for_the_next_start(scene: Scene) -> None:
    with promised(scene.recovery, scene.changes) as promise:
        scene.replace(scene.changes[0])
        promise.is_kept = True
    assert recover(scene.recovery).undone == 1
    assert scene.contents() == [change.old for change in scene.changes]


def test_a_file_torn_in_place_is_whole_before_the_batch_is_undone(scene: Scene) -> None:
    """The kill came while the second file was overwritten in place, half of it new."""
    scene.die_after(1)
    change = scene.changes[1]
    status = os.stat(change.path)
    directory, name = (os.fsdecode(part) for part in os.path.split(change.path))
    note = IntentRecord(directory, name, "", status.st_ino, len(change.old), len(change.new))
    intent = Intent(scene.recovery, note)
    write_all(intent.fd, change.old + change.new)
    intent.publish(durable=False)
    os.close(intent.fd)
    scene.paths[1].write_bytes(change.new[:5] + change.old[5:])
    done = recover(scene.recovery)
    assert (done.restored, done.undone, done.kept) == (1, 1, 0)
    assert scene.contents() == [change.old for change in scene.changes]
    assert scene.notes() == []
