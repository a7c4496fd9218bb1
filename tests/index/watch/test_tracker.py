"""Every change of a watched tree is reported to the next question, with its place."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from flashgrep.index.watch.changes import (
    IN_CREATE,
    IN_ISDIR,
    IN_Q_OVERFLOW,
    Changes,
    Inotify,
    InotifyEvent,
    Tree,
    is_below,
    parents,
)
from flashgrep.index.watch.tracker import Tracker
from flashgrep.workspace.scope import Scope


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "work"
    (place / "d" / "e").mkdir(parents=True)
    for name in ("a", "d/b", "d/e/c"):
        (place / name).write_text("x\n")
    (tmp_path / "outside").mkdir()
    return place


@pytest.fixture
def tracker(root: Path) -> Iterator[Tracker]:
    scope = Scope(str(root))
    made = Tracker(scope, os.fsencode(root))
    made.watch()
    made.list_tree("", (), (), lambda: False)
    made.changes()
    yield made
    made.close()
    scope.close()


EDITS: list[tuple[str, Callable[[Path], object], set[str], set[str]]] = [
    ("write", lambda r: (r / "a").write_text("y"), {"a"}, set()),
    ("new file", lambda r: (r / "d/n").write_text("y"), {"d/n"}, set()),
    ("truncate", lambda r: os.truncate(r / "d/b", 0), {"d/b"}, set()),
    ("touch", lambda r: os.utime(r / "a", (0, 0)), {"a"}, set()),
    ("mode", lambda r: os.chmod(r / "a", 0o600), {"a"}, set()),
    ("remove", lambda r: (r / "d/e/c").unlink(), {"d/e/c"}, set()),
    ("rename", lambda r: (r / "a").rename(r / "d/z"), {"a", "d/z"}, set()),
    ("link", lambda r: (r / "l").symlink_to("a"), {"l"}, set()),
    ("second name", lambda r: os.link(r / "a", r / "d/h"), {"d/h"}, set()),
    ("bytes", lambda r: Path(os.fsdecode(os.fsencode(r) + b"/\xff")).touch(), {"\udcff"}, set()),
    ("new directory", lambda r: (r / "n").mkdir(), set(), {"n"}),
    ("remove directory", lambda r: shutil.rmtree(r / "d/e"), {"d/e/c"}, {"d/e"}),
    ("move directory", lambda r: (r / "d").rename(r / "m"), set(), {"d", "m"}),
    ("move away", lambda r: (r / "d").rename(r.parent / "outside/d"), set(), {"d"}),
    ("mode of a directory", lambda r: os.chmod(r / "d/e", 0o700), set(), {"d/e"}),
    ("rules", lambda r: (r / "d/.gitignore").write_text("b\n"), set(), {"d"}),
    ("rules of the root", lambda r: (r / ".gitignore").write_text("b\n"), set(), {""}),
    ("our own drafts", lambda r: (r / ".flashgrep-1").write_text("x"), set(), set()),
]


@pytest.mark.parametrize(
    ("edit", "entries", "subtrees"), [row[1:] for row in EDITS], ids=[row[0] for row in EDITS]
)
def test_what_is_reported_of_a_change(
    root: Path,
    tracker: Tracker,
    edit: Callable[[Path], object],
    entries: set[str],
    subtrees: set[str],
) -> None:
    edit(root)
    changes = tracker.changes()
    assert changes.entries == entries
    assert changes.subtrees == subtrees
    assert not changes.lost
    assert not tracker.changes()  # told once


def test_a_moved_directory_is_reported_under_its_new_name_once_it_is_listed(
    root: Path, tracker: Tracker
) -> None:
    (root / "d").rename(root / "m")
    tracker.changes()
    tree = tracker.list_tree("m", (), (), lambda: False)
    tracker.forget("d", tree.directories)
    (root / "m" / "e" / "c").write_text("y\n")
    assert tracker.changes().entries == {"m/e/c"}


def test_what_happens_in_a_moved_directory_while_it_is_listed_is_reported_under_its_new_name(
    root: Path, tracker: Tracker
) -> None:
    (root / "d").rename(root / "m")
    tracker.changes()
    asked: list[Changes] = []

    def another_asks() -> bool:
        """Called after each directory: something is changed there, and a search wants to know."""
        (root / "m" / "b").write_text("y\n")
        (root / "m" / "e" / "c").write_text("y\n")
        asked.append(tracker.changes())
        return False

    tracker.list_tree("m", (), (), another_asks)
    assert asked
    told = Changes()
    for changes in (*asked, tracker.changes()):
        told.add(changes)
    assert {"m/b", "m/e/c"} <= told.entries


def test_a_directory_that_has_left_tells_nothing_once_it_is_forgotten(
    root: Path, tracker: Tracker
) -> None:
    (root / "d").rename(root.parent / "outside" / "d")
    assert tracker.changes().subtrees == {"d"}
    tracker.forget("d", {})
    (root.parent / "outside" / "d" / "b").write_text("y\n")
    assert not tracker.changes()


def test_a_listing_holds_what_a_search_looks_at(root: Path) -> None:
    (root / ".gitignore").write_text("*.o\nbuild/\n")
    for name in ("x.o", "build/y", "node_modules/z", ".git/config", "d/e/w"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("x\n")
    (root / "link").symlink_to("a")
    os.link(root / "a", root / "d" / "same")
    os.mkfifo(root / "pipe")
    scope = Scope(str(root))
    tracker = Tracker(scope, os.fsencode(root))
    try:
        tree = tracker.list_tree("", (), (), lambda: False)
    finally:
        tracker.close()
        scope.close()
    assert set(tree.files) == {".gitignore", "a", "d/b", "d/e/c", "d/e/w", "d/same"}
    assert set(tree.directories) == {"", "d", "d/e"}
    assert set(tree.links) == {"link"}
    assert set(tree.shared) == {"a", "d/same"}


def test_too_many_changes_are_reported_as_such(root: Path, tracker: Tracker) -> None:
    limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    names = [root / str(n) for n in range(2)]
    for at in range(limit + 10):  # neighbours must differ, or the kernel joins them
        os.utime(root / "a") if at % 2 else names[at // 2 % 2].touch()
    assert tracker.changes().lost
    assert not tracker.changes().lost


def test_events_of_the_kernel_are_read_whole(tmp_path: Path) -> None:
    inotify = Inotify()
    directory = os.open(tmp_path, os.O_RDONLY)
    try:
        number = inotify.watch(directory)
        assert inotify.watch(directory) == number
        assert inotify.drain() == []
        names = [b"f" * length for length in range(1, 256)]
        for name in names:
            os.mkdir(os.fsencode(tmp_path) + b"/" + name)
        events = inotify.drain()
        assert [event.name for event in events] == names
        assert {event.mask for event in events} == {IN_CREATE | IN_ISDIR}
        inotify.unwatch(number)
        inotify.unwatch(number)
        (tmp_path / "later").touch()
        assert not any(event.mask & IN_Q_OVERFLOW or event.name for event in inotify.drain())
    finally:
        os.close(directory)
        inotify.close()


@pytest.mark.parametrize(
    ("path", "directory", "expected"),
    [
        ("a/b", "a", True),
        ("a", "a", True),
        ("ab", "a", False),
        ("a", "a/b", False),
        ("a", "", True),
    ],
)
def test_below(path: str, directory: str, expected: bool) -> None:
    assert is_below(path, directory) is expected


def test_parents_and_touch() -> None:
    assert list(parents("a/b/c")) == ["a/b/c", "a/b", "a", ""]
    changes = Changes({"x"}, {"d"})
    assert changes.touch("x")
    assert changes.touch("d/e")
    assert not changes.touch("de")


def test_an_event_of_a_directory_that_began_to_be_listed_meanwhile_is_kept(
    tracker: Tracker, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "n" / "sub").mkdir(parents=True)
    assert tracker.changes().subtrees == {"n"}
    inotify = tracker._inotify
    assert inotify is not None
    drained = inotify.drain
    is_listed, may_go_on = threading.Event(), threading.Event()

    def stopped() -> bool:  # asked when n is listed and what is below is not
        is_listed.set()
        assert may_go_on.wait(120)
        return False

    with ThreadPoolExecutor() as threads:

        def drain() -> list[InotifyEvent]:
            listings.append(threads.submit(tracker.list_tree, "n", (), (), stopped))
            assert is_listed.wait(120)
            (root / "n" / "meanwhile").write_text("x")
            return drained()

        listings: list[Future[Tree]] = []
        monkeypatch.setattr(inotify, "drain", drain)
        first = tracker.changes()
        monkeypatch.setattr(inotify, "drain", drained)
        may_go_on.set()
        listed = listings[0].result()
    assert "n/meanwhile" in first.entries | tracker.changes().entries | set(listed.files)


def test_a_directory_that_vanished_between_two_looks_has_no_entries(
    tracker: Tracker, root: Path
) -> None:
    """A search that knows of a change there continues; the directory's end is reported next."""
    chains = tracker.chains(())
    listing = tracker.entries("d", ["b", "e", "none"], chains, ())
    assert listing is not None
    assert (listing.files, listing.directories) == (["b"], ["e"])
    shutil.rmtree(root / "d")
    assert tracker.entries("d", ["b", "e"], chains, ()) is None
    assert tracker.changes().touch("d/b")
