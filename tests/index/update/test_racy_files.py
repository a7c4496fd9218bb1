"""Files that were read right after a change are read again, so that other servers trust them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from flashgrep.index.answer.view import IndexView, snapshot
from flashgrep.index.format.roster import RACY_SECONDS, Roster
from flashgrep.index.format.segment import Segment
from flashgrep.index.update import rescan
from flashgrep.index.update.rescan import (
    NO_RACY_FILES,
    RacyFiles,
    awaited_files,
    racy_files,
    without,
)
from flashgrep.index.update.writer import write_segment
from flashgrep.workspace.scope import Scope
from tests.index.twins import Twins, haste, twins, wait_for

FILES = 20
SECOND = 1_000_000_000


@pytest.fixture(autouse=True)
def quickly() -> Iterator[None]:
    with haste():
        yield


@pytest.fixture
def work(tmp_path: Path) -> Path:
    place = tmp_path / "work"
    place.mkdir()
    for at in range(FILES):
        (place / f"f{at:02}").write_text(f"needle {at}\n")
    return place


def racy(view: IndexView | None) -> list[str]:
    """The files that a view answers from segments that only their writer trusts."""
    assert view is not None
    return [
        segment.name(file)
        for segment, alive in zip(view.snapshot.segments, view.snapshot.alive, strict=True)
        for file in (alive & segment.racy).nonzero()[0].tolist()
    ]


def is_whole(pair: Twins) -> bool:
    """Whether everything is answered from the segments."""
    view = pair.index._state.view
    return view is not None and view.snapshot.files == FILES and not view.entries


@pytest.mark.thorough
def test_a_second_server_is_ready_on_a_tree_that_was_written_a_moment_ago(
    tmp_path: Path, work: Path
) -> None:
    with twins(tmp_path, reads=True) as pair:  # which waits until it is
        wait_for(lambda: is_whole(pair), lambda: f"{pair.index._state.view}")
        assert not racy(pair.index._state.view)
        status = pair.indexed.services.index.status()
        assert (status.state, status.progress) == ("ready", 1.0)
        assert pair.agree("grep", pattern="needle 7").startswith("f07")
        assert pair.by_index == 1


@pytest.mark.thorough
def test_a_second_server_that_is_ready_soon_takes_the_last_files_from_the_index_too(
    tmp_path: Path, work: Path
) -> None:
    with twins(tmp_path) as first:
        wait_for(lambda: not racy(first.index._state.view), lambda: f"{first.index._state.view}")
        (work / "f03").write_text("needle again\n")
        with twins(tmp_path) as second:
            wait_for(lambda: is_whole(second), lambda: f"{second.index._state.view}")
            assert "again" in second.agree("grep", pattern="needle a", output_mode="content")


@pytest.mark.thorough
def test_while_files_are_read_again_the_index_answers_and_stays_ready(
    tmp_path: Path, work: Path
) -> None:
    with twins(tmp_path) as pair:
        index = pair.index
        seen = []

        def is_trusted() -> bool:
            status = index.status()
            seen.append((status.state, status.grep_ready, status.progress, status.total_files))
            assert index._state.view is not None
            assert not index._state.view.entries
            return not racy(index._state.view)

        wait_for(is_trusted, lambda: f"not trusted: {racy(index._state.view)}")
        assert set(seen) == {("ready", True, 1.0, FILES)}


@pytest.mark.thorough
def test_what_is_read_again_is_what_is_there_by_then(tmp_path: Path, work: Path) -> None:
    with twins(tmp_path) as pair:
        for turn in range(5):
            (work / "f05").write_text(f"needle {turn}!\n")
            pair.folded()
        wait_for(lambda: not racy(pair.index._state.view), lambda: f"{pair.index._state.view}")
        assert "needle 4!" in pair.agree("grep", pattern="!", output_mode="content")


# ── when ────────────────────────────────────────────────────────────────────────────────────────


def is_in(seconds: float, made: Callable[[], RacyFiles]) -> bool:
    """Whether files are looked at again in so many seconds, however long it takes to say that."""
    before = time.monotonic()
    found = made()
    return bool(found.names) and before <= found.at - seconds <= time.monotonic()


def test_a_writer_waits_for_its_newest_file(tmp_path: Path, work: Path) -> None:
    scope, path = Scope(str(work)), str(tmp_path / "a.seg")
    files = [(name, scope.workdir + b"/" + name.encode()) for name in ("f01", "f02")]

    rosters = []

    def is_read_at_once() -> bool:
        for name, _ in files:
            (work / name).touch()
        written = write_segment(scope, files, path)
        status = np.frombuffer(written.status, np.int64).reshape(-1, 4)
        rosters.append(Roster(status, np.frombuffer(written.racy, np.uint8) != 0))
        return bool(rosters[-1].racy.all())

    wait_for(is_read_at_once, lambda: "the machine is too slow")
    segment = Segment(path)
    segment.roster = rosters[-1]
    view = IndexView(snapshot([segment], 1, [np.ones(2, bool)]))
    newest = int(segment.status[:, 2].max())
    assert racy_files(view, lambda: newest).names == {"f01", "f02"}
    assert is_in(RACY_SECONDS, lambda: racy_files(view, lambda: newest))
    assert is_in(RACY_SECONDS / 2, lambda: racy_files(view, lambda: newest + SECOND // 2))
    assert racy_files(view, lambda: newest + 5 * SECOND).is_due()
    assert (
        racy_files(view, lambda: newest - 120 * SECOND) is NO_RACY_FILES
    )  # the clock was set back
    assert racy_files(without(view, frozenset({"f01", "f02"})), lambda: newest) is NO_RACY_FILES


@pytest.mark.parametrize("age", [0, 7, 100])
def test_a_reader_waits_for_the_writer_ever_longer(age: int) -> None:
    at = 1_000 * SECOND
    missing = {"old": (1, 1, at - 500 * SECOND, 1), "new": (1, 1, at, 1)}
    wait = max(rescan.FOLD_LATEST_SECONDS, age)
    assert is_in(wait, lambda: awaited_files(missing, lambda: at + age * SECOND))


def test_a_reader_does_not_wait_for_ever_nor_for_files_of_the_future() -> None:
    at = 1_000 * SECOND
    missing = {"old": (1, 1, at - 500 * SECOND, 1), "new": (1, 1, at, 1)}
    assert awaited_files(missing, lambda: at + 700 * SECOND) is NO_RACY_FILES
    assert awaited_files(missing, lambda: at - 120 * SECOND).names == {"old"}
    assert awaited_files({}) is NO_RACY_FILES
