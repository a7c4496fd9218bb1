"""A large tree is listed while its index is being loaded, and nothing that happens then is lost."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from flashgrep.app import build
from flashgrep.errors import SettingsError
from flashgrep.ground import Ground, ground_ahead
from flashgrep.index.format.roster import RACY_SECONDS
from flashgrep.index.index import StartingIndex
from flashgrep.index.update.compactor import Compactor
from flashgrep.index.update.tree_state import TreeState
from flashgrep.index.watch import first_listing
from flashgrep.index.watch.changes import Tree
from flashgrep.index.watch.first_listing import FirstListing
from flashgrep.index.watch.listing import start_workers
from flashgrep.index.watch.tracker import Tracker
from flashgrep.settings import Settings
from flashgrep.system.child import Child
from flashgrep.tools.dispatch.caller import Caller
from flashgrep.workspace.scope import Scope
from tests.index.twins import haste, twins, wait_for


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """One that was indexed; of an index that is held to be large."""
    monkeypatch.setattr(first_listing, "_LARGE_BYTES", 0)
    work = tmp_path / "work"
    for number in range(60):
        place = work / f"a{number % 7}" / f"b{number % 3}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"f{number}.txt").write_text(f"hay {number}\n")
    (work / "gone.txt").write_text("needle_in_gone\n")
    time.sleep(RACY_SECONDS + 0.1)  # or no roster trusts a file
    with haste():
        with twins(tmp_path) as pair:
            pair.folded()
        yield work


def home(tree: Path) -> Path:
    (manifest,) = (tree.parent / "state" / "index").glob("*/manifest")
    return manifest.parent


def told(tree: Tree) -> dict[str, Any]:
    """A listing in order, without the numbers of its watches."""
    recognised = {segment: sorted(numbers) for segment, numbers in tree.recognised.items()}
    return {
        **vars(tree),
        "watched": sorted(tree.watched.values()),
        "recognised": recognised,
    }


def test_it_finds_what_a_listing_finds_and_gives_it_once(tree: Path) -> None:
    scope = Scope(str(tree))
    first = FirstListing(scope, home(tree), None)
    assert first.begin()
    assert first.tracker.fd is not None
    first.look_after()
    first.help()
    taken = first.take()
    assert taken is not None
    enrolled, found = taken
    assert found.recognised
    plain = Tracker(scope, os.fsencode(tree))
    plain.watch()
    assert told(found) == told(plain.list_everything(lambda: False, enrolled))
    assert first.take() is None
    for tracker in (first.tracker, plain):
        tracker.close()
    scope.close()


@pytest.mark.parametrize(
    "why", ["small", "new", "of another store", "damaged", "remote", "one core"]
)
def test_there_is_none_where_it_would_be_of_no_use(
    tree: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    directory, shared = home(tree), None
    if why == "small":
        monkeypatch.setattr(first_listing, "_LARGE_BYTES", 1 << 40)
    elif why == "new":
        directory = tree.parent / "nothing"
    elif why == "of another store":
        shared = directory
    elif why == "damaged":
        (directory / "manifest").write_bytes(b"{}\n0\n")
    elif why == "remote":
        monkeypatch.setattr(first_listing, "remote_mount", lambda _: "nfs")
    else:
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    scope = Scope(str(tree))
    first = FirstListing(scope, directory, shared)
    assert not first.begin()
    assert first.tracker.fd is None
    assert first.tracker._begun is None
    first.look_after()
    assert first.take() is None
    scope.close()


def settings(tree: Path, **others: Any) -> Settings:
    return Settings(workdir=str(tree), state_dir=str(tree.parent / "state"), **others)


def listed_ahead(tree: Path) -> tuple[Ground, list[Child]]:
    """A tree that is being listed, and the processes that do it."""
    workers: list[Child] = []

    def noted(inotify: Any) -> list[Child]:
        workers.extend(start_workers(inotify))
        return workers[:]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("flashgrep.index.watch.tracker.start_workers", noted)
        ground = ground_ahead(settings(tree), os.environ)
    assert ground is not None
    assert ground.ahead is not None
    assert workers
    return ground, workers


def have_ended(workers: list[Child]) -> bool:
    return all(worker._process.poll() is not None for worker in workers)


def test_a_server_that_ends_before_its_client_has_spoken_leaves_no_process(tree: Path) -> None:
    ground, workers = listed_ahead(tree)
    application = build(settings(tree), ground=ground)
    application.close()
    assert have_ended(workers)


def test_a_server_that_cannot_be_leaves_no_process(tree: Path) -> None:
    ground, workers = listed_ahead(tree)
    with pytest.raises(SettingsError):
        build(settings(tree, disable_tools=("nothing",)), ground=ground)
    assert have_ended(workers)
    assert ground.ahead is not None
    assert ground.ahead.first.tracker.fd is None


def test_nothing_is_listed_ahead_with_settings_that_are_refused_later(tree: Path) -> None:
    assert ground_ahead(settings(tree.parent / "nothing"), os.environ) is None
    (tree.parent / "state").chmod(0o755)
    assert ground_ahead(settings(tree), os.environ) is None
    with pytest.raises(SettingsError):
        build(settings(tree))


def test_without_an_index_nothing_is_listed_ahead(tree: Path) -> None:
    for others in ({"no_index": True}, {"deny_dir": ("other",)}):
        ground = ground_ahead(settings(tree, **others), os.environ)
        assert ground is not None
        assert ground.ahead is None
        ground.abandon()


@pytest.mark.parametrize("where", ["before the update begins", "while it is taken"])
def test_what_changes_after_the_tree_was_listed_is_found(
    tree: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """The kernel's queue is read before the first update begins: what is in it must count."""
    application = build(settings(tree), ground=ground_ahead(settings(tree), os.environ))
    index = application.services.index
    assert isinstance(index, StartingIndex)
    edited = False

    def edit() -> None:
        nonlocal edited
        if not edited:
            edited = True
            assert index._first is not None
            if index._first._thread is not None:
                index._first._thread.join()
            (tree / "new.txt").write_text("needle_in_new\n")
            (tree / "gone.txt").unlink()
            (tree / "deep" / "er").mkdir(parents=True)
            (tree / "deep" / "er" / "b.txt").write_text("needle_in_deep\n")

    begin, update = TreeState.begin_update, Compactor._rescan_all

    def begun(state: TreeState, is_listed: bool = False) -> Any:
        edit()
        return begin(state, is_listed)

    def rescanned(compactor: Compactor) -> Any:
        found = update(compactor)
        edit()
        return found

    if where == "before the update begins":
        monkeypatch.setattr(TreeState, "begin_update", begun)
    else:
        monkeypatch.setattr(Compactor, "_rescan_all", rescanned)
    taken: list[bool] = []
    take = FirstListing.take

    def noted(first: FirstListing) -> Any:
        found = take(first)
        taken.append(found is not None)
        return found

    monkeypatch.setattr(FirstListing, "take", noted)
    application.start_index()
    wait_for(lambda: index.status().grep_ready, lambda: f"{index.status()}")
    asked = {"pattern": "needle_in_", "output_mode": "content"}
    answer = anyio.run(application.toolbox.call, "grep", asked, Caller("test"))
    assert sorted(answer.text.replace("--\n", "").split("\n")) == [
        "deep/er/b.txt:1:needle_in_deep",
        "new.txt:1:needle_in_new",
    ]
    assert taken == [True]
    application.close()
