"""A listing shared with processes is the listing of one, and leaves no process running."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from flashgrep import limits
from flashgrep.errors import Cancelled
from flashgrep.index.watch.changes import Tree
from flashgrep.index.watch.listing import Lister, Waiting
from flashgrep.index.watch.tracker import Tracker
from flashgrep.system.child import Child
from flashgrep.workspace.scope import Scope

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
def tracking(
    root: Path, watches: bool = True, is_started: Callable[[], bool] = lambda: True
) -> Iterator[Tracker]:
    scope = Scope(str(root))
    tracker = Tracker(scope, os.fsencode(root), is_started)
    if watches:
        tracker.watch()
    try:
        yield tracker
    finally:
        tracker.close()
        scope.close()


def listed(tracker: Tracker) -> Tree:
    return tracker.list_tree("", (), (), lambda: False)


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
    assert list(tree.directories) == ["d0"]
    assert sorted(place.shown for place in rest) == ["d0/sub", "d1"]


def has_ended(worker: Child) -> bool:
    return worker._process.poll() is not None


@pytest.mark.parametrize("watches", [True, False], ids=["watched", "unwatched"])
@pytest.mark.parametrize("expects", [True, False], ids=["expected", "unexpected"])
@pytest.mark.usefixtures("sharing")
def test_a_shared_listing_is_the_one_done_here(root: Path, watches: bool, expects: bool) -> None:
    with tracking(root, watches) as tracker:
        if expects:
            tracker.expect_listing()
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

    monkeypatch.setattr(Lister, "run", counted)
    with tracking(root, is_started=lambda: False) as tracker:
        inherited = (tracker.fd or 0,)
        tracker._listers = [
            Child("flashgrep.index.watch.listing", inherited) for _ in range(processes)
        ]
        tree = listed(tracker)
    assert told(tree) == listed_here(root, True)
    assert (len(here) <= 2) is bool(processes)  # the first look, and that of `listed_here`


@pytest.mark.usefixtures("sharing")
def test_a_change_of_a_directory_that_a_process_listed_is_reported(root: Path) -> None:
    with tracking(root) as tracker:
        tracker.expect_listing()
        listed(tracker)
        tracker.changes()
        names = {f"d{number}/f{number}" for number in range(30)}
        for name in names:
            os.utime(root / name)
        assert tracker.changes().entries == names


def test_a_listing_that_needed_no_process_ends_those_that_were_expected(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flashgrep.index.watch.listing.LIST_INLINE_SECONDS", 3_600)
    with tracking(root) as tracker:
        tracker.expect_listing()
        workers = list(tracker._listers or ())
        assert not any(has_ended(worker) for worker in workers)
        listed(tracker)
        assert all(has_ended(worker) for worker in workers)


@pytest.mark.usefixtures("sharing")
def test_a_listing_that_is_stopped_ends_its_processes(root: Path) -> None:
    with tracking(root) as tracker:
        tracker.expect_listing()
        workers = list(tracker._listers or ())
        asked = iter(range(10))
        with pytest.raises(Cancelled):
            tracker.list_tree("", (), (), lambda: next(asked) > 4)
        assert all(has_ended(worker) for worker in workers)


def test_a_tracker_that_expected_a_listing_leaves_no_process(root: Path) -> None:
    with tracking(root) as tracker:
        tracker.expect_listing()
        workers = list(tracker._listers or ())
        assert len(workers) == min(len(os.sched_getaffinity(0)), limits.BUILDERS) - 1
    assert all(has_ended(worker) for worker in workers)
