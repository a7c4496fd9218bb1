"""A listing shared with processes is the listing of one, and leaves no process running."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from flashgrep import limits
from flashgrep.errors import Cancelled
from flashgrep.index.format.enrolled_files import STATUS, EnrolledTable
from flashgrep.index.watch.changes import Tree, identity
from flashgrep.index.watch.listing import (
    MODULE,
    Lister,
    SharedListing,
    Waiting,
    _are_enrolled,
    _statuses,
    list_tree,
)
from flashgrep.index.watch.tracker import Tracker
from flashgrep.system.child import Child, readable
from flashgrep.workspace.scope import Scope
from tests.index.twins import wait_for

RULES = {".gitignore": "*.o\n", "d3/.gitignore": "!x.o\nsub/\n", "d5/sub/.gitignore": "f*\n"}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Enough directories to share, with rules, links and second names."""
    place = tmp_path_factory.mktemp("tree")
    for number in range(30):
        for below in ("", "sub", "sub/deep"):
            directory = place / f"d{number}" / below
            directory.mkdir()
            (directory / f"f{number}").write_text("x\n")
            (directory / "x.o").write_text("x\n")
        (place / f"d{number}" / "link").symlink_to("sub")
    for name, text in RULES.items():
        (place / name).write_text(text)
    os.link(place / "d1/f1", place / "d2/sub/second")
    (place / os.fsdecode(b"d4/\xff\n")).write_text("x\n")
    return place


@pytest.fixture
def sharing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flashgrep.index.watch.listing.LIST_INLINE_SECONDS", 0)
    monkeypatch.setattr(limits, "SLICE_SECONDS", 0)  # here: one directory, and back to the others


@contextmanager
def tracking(root: Path, watches: bool = True) -> Iterator[Tracker]:
    scope = Scope(str(root))
    tracker = Tracker(scope, os.fsencode(root))
    if watches:
        tracker.watch()
    try:
        yield tracker
    finally:
        tracker.close()
        scope.close()


def listed(tracker: Tracker) -> Tree:
    return tracker.list_everything(lambda: False)


def begun(tracker: Tracker, is_free: bool = True) -> list[Child]:
    """The processes of a listing that has begun."""
    assert tracker.begin_listing(None, lambda: is_free)
    assert tracker._begun is not None
    return list(tracker._begun.shared.workers.values())


def told(tree: Tree) -> dict[str, object]:
    """All of a listing but the numbers of its watches, which the kernel gives in any order."""
    return {**vars(tree), "watched": sorted(tree.watched.values())}


def listed_here(root: Path, watches: bool) -> dict[str, object]:
    with pytest.MonkeyPatch.context() as patch, tracking(root, watches) as tracker:
        patch.setattr("flashgrep.index.watch.listing.LIST_INLINE_SECONDS", 3_600)
        return told(listed(tracker))


def test_a_slice_that_is_over_lists_one_directory_and_leaves_the_others(root: Path) -> None:
    scope = Scope(str(root))
    lister = Lister(scope=scope, root=os.fsencode(root), inotify=None, above=())
    tree, rest = lister.run([Waiting("d0", ()), Waiting("d1", ())], lambda: True)
    scope.close()
    assert list(tree.directories) == ["d1"]
    assert [place.shown for place in rest] == ["d0", "d1/sub"]


def test_files_that_went_before_they_were_looked_at_are_left_out(root: Path) -> None:
    opened = os.open(root / "d1", os.O_RDONLY)
    try:
        names, statuses = _statuses(opened, [".gone", "f1", "gone", "x.o"])
    finally:
        os.close(opened)
    assert names == ["f1", "x.o"]
    assert [status.st_ino for status in statuses] == [
        os.lstat(root / "d1" / name).st_ino for name in names
    ]


@pytest.mark.parametrize("numbers", [(0, 1, 2), (0, 2, 3)], ids=["neighbours", "apart"])
@pytest.mark.parametrize("change", ["none", "written", "another name", "unknown"])
def test_a_directory_is_recognised_at_once_only_if_each_file_is_as_it_was(
    tmp_path: Path, numbers: tuple[int, ...], change: str
) -> None:
    names = ["a", "b", "c"]
    rows = bytearray(4 * STATUS.size)
    for name, number in zip(names, numbers, strict=True):
        (tmp_path / name).write_text(name)
        STATUS.pack_into(rows, number * STATUS.size, *identity(os.lstat(tmp_path / name)))
    known = {f"d/{name}": number for name, number in zip(names, numbers, strict=True)}
    if change == "written":
        (tmp_path / "b").write_text("longer")
    elif change == "another name":
        os.link(tmp_path / "c", tmp_path / "z")
        row = identity(os.lstat(tmp_path / "c"))
        STATUS.pack_into(rows, numbers[2] * STATUS.size, *row)
    elif change == "unknown":
        del known["d/a"]
    tree, table = Tree(), EnrolledTable("segment", known, bytes(rows))
    statuses = [os.lstat(tmp_path / name) for name in names]
    assert _are_enrolled(tree, "d/", names, statuses, table) is (change == "none")
    assert tree.recognised == ({"segment": list(numbers)} if change == "none" else {})


def has_ended(worker: Child) -> bool:
    return worker._process.poll() is not None


@pytest.mark.parametrize("watches", [True, False], ids=["watched", "unwatched"])
@pytest.mark.parametrize("begins", [True, False], ids=["begun", "not begun"])
@pytest.mark.usefixtures("sharing")
def test_a_shared_listing_is_the_one_done_here(root: Path, watches: bool, begins: bool) -> None:
    with tracking(root, watches) as tracker:
        if begins:
            begun(tracker)
        tree = listed(tracker)
    assert told(tree) == listed_here(root, watches)
    assert len(tree.directories) > 80
    assert len(tree.watched) == (len(tree.directories) if watches else 0)


@pytest.mark.usefixtures("sharing")
@pytest.mark.parametrize("processes", [1, 0])
def test_while_a_server_starts_the_processes_list_and_where_there_are_none_it_lists_itself(
    root: Path, monkeypatch: pytest.MonkeyPatch, processes: int
) -> None:
    here: list[int] = []
    run = Lister.run

    def counted(lister: Lister, *arguments: Any) -> Any:
        here.append(1)
        return run(lister, *arguments)

    with tracking(root) as tracker:
        lister = tracker._lister((), None)
        workers = [Child(MODULE, (tracker.fd or 0,)) for _ in range(processes)]
        shared = SharedListing(lister, workers, lambda: False)
        shared.begin(Waiting("", ()))
        monkeypatch.setattr(Lister, "run", counted)
        tree = list_tree(lister, [Waiting("", ())], lambda: False, shared)
        monkeypatch.setattr(Lister, "run", run)
    assert told(tree) == {**listed_here(root, True), "root": (0, 0)}
    assert bool(here) is not bool(processes)
    wait_for(lambda: all(map(has_ended, workers)), lambda: "a process is still there")


@pytest.mark.usefixtures("sharing")
def test_a_change_of_a_directory_that_a_process_listed_is_reported(root: Path) -> None:
    with tracking(root) as tracker:
        begun(tracker)
        listed(tracker)
        tracker.changes()
        names = {f"d{number}/f{number}" for number in range(30)}
        for name in names:
            os.utime(root / name)
        assert tracker.changes().entries == names


@pytest.mark.usefixtures("sharing")
def test_a_listing_that_is_stopped_ends_its_processes(root: Path) -> None:
    with tracking(root) as tracker:
        workers = begun(tracker)
        with pytest.raises(Cancelled):
            tracker.list_everything(lambda: True)
        assert all(has_ended(worker) for worker in workers)


def test_a_tracker_that_is_closed_ends_the_listing_that_it_began(root: Path) -> None:
    with tracking(root) as tracker:
        workers = begun(tracker)
        assert len(workers) == min(len(os.sched_getaffinity(0)), limits.BUILDERS) - 1
        assert not any(has_ended(worker) for worker in workers)
    assert all(has_ended(worker) for worker in workers)


def test_a_listing_that_has_begun_keeps_what_happens_before_it_is_taken(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The watches are told with the listing: until then nobody knows whose an event is."""
    monkeypatch.setattr("flashgrep.index.watch.listing._FIRST_SECONDS", 60)
    with tracking(root) as tracker:
        begun(tracker)
        shared = tracker._begun
        assert shared is not None
        assert readable(shared.shared.workers, 60)  # the listing is there, and all is watched
        os.utime(root / "d7" / "f7")
        assert not tracker.changes()
        listed(tracker)
        assert tracker.changes().entries == {"d7/f7"}
