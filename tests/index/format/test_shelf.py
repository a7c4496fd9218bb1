"""Segments that trees of one repository share: nobody's are removed, and only those."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from flashgrep.index.format.header import DamagedSegment
from flashgrep.index.format.segment import Segment
from flashgrep.index.format.store import Store, newest, shared_by, sweep_shared
from tests.index.segments import made


class Family:
    """Trees that share a directory of segments."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.shared = top / "shared"

    def tree(self, name: str) -> Store:
        (self.top / name).mkdir(exist_ok=True)
        return Store(self.top / "state" / "index" / name, self.shared, str(self.top / name))

    def segment(self, store: Store, text: bytes = b"x\n", name: str = "a") -> Segment:
        path = store.new_path()
        segment = made(self.top, {name: text})
        os.rename(segment.path, path)
        moved = Segment(path)
        moved.roster = segment.roster
        return moved

    def committed(self, name: str, *texts: bytes) -> Store:
        """A tree with a segment of each text."""
        store = self.tree(name)
        assert store.lock()
        store.commit([self.segment(store, text) for text in texts], len(texts))
        return store

    def segments(self) -> set[str]:
        return {name for name in os.listdir(self.shared) if ".seg" in name}


@pytest.fixture
def family(tmp_path: Path) -> Family:
    return Family(tmp_path)


def named(store: Store) -> set[str]:
    return set(store.generation().segments)


def test_a_new_tree_begins_with_the_segments_of_another_and_knows_no_file(family: Family) -> None:
    first = family.committed("first", b"1\n", b"2\n")
    second = family.tree("second")
    segments, base, updated = second.load()
    assert {os.path.basename(one.path) for one in segments} == named(first)
    assert (base, updated) == (2, None)
    assert all((one.status == -1).all() and not one.roster_file for one in segments)
    own, _, _ = first.load()
    assert all((one.status >= 0).all() and one.roster_file for one in own)


def test_of_several_trees_the_one_that_is_most_alike_is_taken(family: Family) -> None:
    family.committed("other", b"5\n", b"6\n")
    alike = family.committed("alike", b"1\n", b"2\n")
    family.committed("newest", b"3\n", b"4\n")
    wanted = made(family.top, {"a": b"2\n"})
    third = Store(
        family.top / "state" / "third", family.shared, str(family.top), lambda: wanted.short_ids
    )
    assert {os.path.basename(one.path) for one in third.load()[0]} == named(alike)


def test_a_segment_stays_while_any_tree_names_it(family: Family) -> None:
    first = family.committed("first", b"1\n")
    second = family.tree("second")
    assert second.lock()
    shared, base, _ = second.load()
    second.commit(shared, base)
    old = named(first)
    for name in old:
        os.utime(family.shared / name, ns=(0, 0))  # long ago
    first.commit([family.segment(first, b"new\n")], 1)
    assert family.segments() == old | named(first)
    assert named(second) == old
    second.commit([family.segment(second, b"other\n")], 1)
    assert family.segments() == named(first) | named(second)


def test_the_segments_of_a_workspace_that_is_gone_go(family: Family) -> None:
    first, second = family.committed("first", b"1\n"), family.committed("second", b"2\n")
    (family.top / "second").rmdir()
    first.sweep()
    assert family.segments() == named(first) | named(second)  # its server still runs
    second.close()
    first.sweep()
    assert family.segments() == named(first)
    assert os.listdir(family.shared / "trees") == [first.shelf.tag]


def test_the_segments_of_an_index_that_was_deleted_go(family: Family) -> None:
    first, second = family.committed("first", b"1\n"), family.committed("second", b"2\n")
    second.close()
    shutil.rmtree(second.directory)
    first.sweep()
    assert family.segments() == named(first)


def test_a_manifest_cannot_name_what_another_tree_has_removed(family: Family) -> None:
    first = family.committed("first", b"1\n")
    second = family.tree("second")
    assert second.lock()
    taken, base, _ = second.load()
    first.commit([family.segment(first, b"new\n")], 1)
    with pytest.raises(DamagedSegment, match="gone"):
        second.commit(taken, base)
    assert second.generation().updated is None
    second.commit([], 0)
    assert second.load()[0] == []


WRITER = """
import sys
from pathlib import Path
from flashgrep.index.format.store import Store
store = Store(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
assert store.lock()
path = store.new_path()
for suffix in ("", ".new", ".pack"):
    open(path + suffix, "wb").close()
print(path, flush=True)
sys.stdin.read()
"""


def test_what_another_tree_is_just_writing_stays_until_its_writer_is_killed(
    family: Family,
) -> None:
    first = family.committed("first", b"1\n")
    (family.top / "second").mkdir()
    places = [family.top / "state" / "index" / "second", family.shared, family.top / "second"]
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, *map(str, places)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as writer:
        assert writer.stdout is not None
        unfinished = os.path.basename(writer.stdout.readline().decode().strip())
        first.sweep()
        drafts = {unfinished + suffix for suffix in ("", ".new", ".pack")}
        assert family.segments() == named(first) | drafts
        writer.kill()
        writer.wait()
    first.sweep()
    assert family.segments() == named(first)


def test_rankings_go_with_their_segments_and_drafts_with_their_writers(family: Family) -> None:
    first, second = family.committed("first", b"1\n"), family.committed("second", b"2\n")
    (own,) = named(first)
    (other,) = named(second)
    shelf, tag = first.shelf, second.shelf.tag
    assert not shelf.is_left_over(own)
    assert not shelf.is_left_over(other)
    assert shelf.is_left_over("0" * 32 + ".seg")
    live = [f"{own}.{tag}.new", f"view-{tag}abc"]
    assert not any(map(shelf.is_left_over, live))
    assert shelf.is_left_over(f"{own}.{shelf.tag}.new")
    second.close()
    assert all(map(shelf.is_left_over, live))


def test_a_tree_that_begins_to_share_removes_what_it_had(family: Family) -> None:
    home = family.top / "state" / "index" / "first"
    alone = Store(home)
    alone.lock()
    alone.commit([family.segment(alone)], 1)
    (home / "ranked").mkdir()
    alone.close()
    assert {name.endswith(".seg") for name in os.listdir(home)} == {True, False}
    sharing = family.tree("first")
    assert sharing.generation().updated is None
    assert sharing.lock()
    assert set(os.listdir(home)) == {"lock", "manifest"}


def test_removing_an_index_by_hand_leaves_what_others_use(family: Family) -> None:
    first, second = family.committed("first", b"1\n"), family.committed("second", b"2\n")
    for store in (first, second):
        store.close()
        for name in named(store):
            (family.shared / "ranked" / name).mkdir(parents=True)
    assert shared_by(family.top / "state" / "index") == {family.shared}
    shutil.rmtree(second.directory)
    sweep_shared(family.shared)
    assert family.segments() == named(first)
    assert set(os.listdir(family.shared / "ranked")) == named(first)


def test_what_is_on_disk_is_told_of_a_tree_that_shares(family: Family) -> None:
    family.committed("first", b"1\n", b"2\n")
    found = newest(family.top / "state" / "index")
    assert found is not None
    assert (found.files, found.blocks, found.is_ranked) == (2, 2, False)
    assert found.bytes == family.tree("first").size()
    assert family.tree("first").size() >= sum(
        os.stat(family.shared / name).st_blocks * 512 for name in family.segments()
    )


@pytest.mark.parametrize("mode", [0o770, 0o707])
def test_a_shared_directory_that_others_can_write_is_not_used(family: Family, mode: int) -> None:
    family.shared.mkdir()
    os.chmod(family.shared, mode)
    with pytest.raises(DamagedSegment):
        family.tree("first")
