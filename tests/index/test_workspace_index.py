"""The index at work: quiet when nothing happens, gone when closed, honest about how far it is."""

from __future__ import annotations

import errno
import mmap
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from flashgrep.app import build
from flashgrep.index.format.store import Store
from flashgrep.index.update import updater
from flashgrep.index.update.builders import Builders, Built
from flashgrep.index.update.compactor import Compactor
from flashgrep.index.update.ranked_index import key_of
from flashgrep.index.update.rescan import NO_RACY_FILES
from flashgrep.ranking.format import DamagedRanking
from flashgrep.ranking.ranking import Ranking
from flashgrep.settings import Settings
from tests.faults.processes import is_alive, own_children
from tests.index.twins import Twins, haste, twins, wait_for

IDLE_SECONDS = 1.5


@pytest.fixture(autouse=True)
def quickly() -> Iterator[None]:
    with haste(ranked=True):
        yield


@pytest.fixture
def work(tmp_path: Path) -> Path:
    place = tmp_path / "work"
    place.mkdir()
    for at in range(20):
        (place / f"f{at:02}").write_text(f"needle {at}\n")
    return place


def own_threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name.startswith("flashgrep")}


def switches(task: int) -> int:
    """How often a thread has gone to sleep by itself."""
    for line in Path(f"/proc/self/task/{task}/status").read_text().splitlines():
        if line.startswith("voluntary_ctxt_switches"):
            return int(line.split()[1])
    raise AssertionError("the kernel does not count")


def all_switches() -> dict[int, int]:
    """Of every thread but this one."""
    tasks = map(int, os.listdir("/proc/self/task"))
    return {task: switches(task) for task in tasks if task != threading.get_native_id()}


def settled(pair: Twins) -> None:
    """Wait until everything is built, the ranked index too, and what was read right after it was
    written has been read again."""
    index = pair.index
    wait_for(lambda: index._state.racy is NO_RACY_FILES, lambda: f"racy: {index._state.racy}")

    def is_ranked() -> bool:
        segments = index._state.view.snapshot.segments if index._state.view else ()
        return index.status().query_ready and index._ranks.keys == set(map(key_of, segments))

    wait_for(is_ranked, lambda: f"not ranked: {index.status()}")
    pair.folded()


def test_a_new_server_checks_the_ranking_of_an_earlier_one_once_a_question_is_asked(
    tmp_path: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first moments are for searches; a question ends the rest, whatever is left of it."""
    with twins(tmp_path) as pair:
        settled(pair)
    monkeypatch.setattr("flashgrep.index.update.ranked_index.RANK_REST_SECONDS", 3_600)
    with twins(tmp_path) as pair:
        status = pair.indexed.services.index.status
        wait_for(lambda: status().grep_ready, lambda: f"not ready for grep: {status()}")
        assert not status().query_ready
        pair.answer("query", False, {"text": "needle"})
        wait_for(lambda: status().query_ready, lambda: f"not ready for queries: {status()}")


@pytest.mark.thorough
def test_nothing_wakes_while_nothing_changes(tmp_path: Path, work: Path) -> None:
    with twins(tmp_path) as pair:
        settled(pair)
        pair.agree("grep", pattern="needle 7")
        wait_for(lambda: _sleeps_for(0.3), lambda: "it does not come to rest")
        before = all_switches()
        time.sleep(IDLE_SECONDS)  # the time is what is measured over
        after = all_switches()
        assert {task: after[task] - count for task, count in before.items()} == dict.fromkeys(
            before, 0
        )
        (work / "new").write_text("needle\n")
        assert "new" in pair.agree("grep", pattern="needle$")


def _sleeps_for(seconds: float) -> bool:
    before = all_switches()
    time.sleep(seconds)
    return all_switches() == before


def test_close_ends_every_thread_and_process(tmp_path: Path, work: Path) -> None:
    threads, processes = set(threading.enumerate()), own_children()
    with twins(tmp_path) as pair:
        settled(pair)
        pair.agree("grep", pattern="needle")
    assert set(threading.enumerate()) <= threads
    assert own_children() <= processes


def test_close_while_it_builds_ends_everything_too(tmp_path: Path, work: Path) -> None:
    for at in range(100):
        (work / f"g{at}").write_text("word " * 20_000)
    processes, threads = own_children(), own_threads()
    for pause in (0.0, 0.05, 0.3):
        application = build(Settings(workdir=str(work), state_dir=str(tmp_path / "state")))
        application.start_index()
        time.sleep(pause)
        started = own_children() - processes
        application.close()
        assert own_threads() <= threads
        assert not [pid for pid in started if is_alive(pid)]


def test_an_index_that_never_began_is_closed_and_says_so(tmp_path: Path, work: Path) -> None:
    application = build(Settings(workdir=str(work), state_dir=str(tmp_path / "state")))
    assert application.services.index.status().reason == "not started"
    application.close()


def test_status_tells_what_there_is(tmp_path: Path, work: Path) -> None:
    (work / ".gitignore").write_text("f0*\n")
    with twins(tmp_path) as pair:
        settled(pair)
        status = pair.indexed.services.index.status()
        assert (status.state, status.grep_ready, status.progress) == ("ready", True, 1.0)
        assert status.total_files == 11  # ten files and the rules
        assert status.total_chunks >= 1
        assert status.index_size_bytes > 1_000
        assert status.last_update is not None
        assert abs(status.last_update - time.time()) < 3_600
        assert (status.freshness, status.reason) == ("watching", "")
        (work / "f01").unlink()
        (work / "g").write_text("x\n")
        pair.folded()
        assert pair.indexed.services.index.status().total_files == 12
        assert pair.plain.services.index.status().reason == "switched off"


def test_progress_goes_from_nothing_to_all(tmp_path: Path, work: Path) -> None:
    for at in range(100):
        (work / f"g{at}").write_text("word " * 20_000)
    application = build(Settings(workdir=str(work), state_dir=str(tmp_path / "state")))
    seen: list[float] = []
    try:
        application.start_index()

        def is_ready() -> bool:
            status = application.services.index.status()
            seen.append(status.progress)
            return status.grep_ready

        wait_for(is_ready, lambda: f"not ready: {seen[-3:]}")
    finally:
        application.close()
    assert seen[0] == 0.0
    assert seen == sorted(seen)
    assert application.services.index.status().state != "ready"


def test_a_ready_index_is_at_full_progress_also_while_a_change_is_folded_in(
    tmp_path: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, float]] = []
    real = Builders.build

    def looking(builders: Builders, jobs: Any, done: Callable[[float], None]) -> list[Built]:
        def look(count: float) -> None:
            done(count)
            status = pair.index.status()
            seen.append((status.state, status.progress))

        look(0.0)
        return real(builders, jobs, look)

    with twins(tmp_path) as pair:
        settled(pair)
        monkeypatch.setattr(Builders, "build", looking)
        (work / "f01").write_text("another needle\n")
        pair.folded()
        assert set(seen) == {("ready", 1.0)}


def test_an_index_that_begins_anew_is_at_no_progress(tmp_path: Path, work: Path) -> None:
    with twins(tmp_path) as pair:
        settled(pair)
        index = pair.index
        with index._state._changed:  # before anything can be done about it
            index._state.lose("a test wants it")
            status = index.status()
        assert (status.state, status.grep_ready, status.progress) == ("building", False, 0.0)
        pair.ready()
        status = index.status()
        assert (status.state, status.progress) == ("ready", 1.0)


# ── what no event tells ─────────────────────────────────────────────────────────────────────────


@contextmanager
def mapped(path: Path) -> Iterator[mmap.mmap]:
    """A file in memory: what is written there raises no event before the map is closed."""
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        yield memory


def test_a_write_through_a_memory_map_is_never_shown_wrong(tmp_path: Path, work: Path) -> None:
    with twins(tmp_path) as pair, mapped(work / "f07") as memory:
        pair.folded()
        for text in (b"needle !", b"needle ?", b"needle 7"):
            memory[: len(text)] = text
            memory.flush()
            for mode in ("content", "count", "files_with_matches"):
                pair.agree("grep", pattern="needle", output_mode=mode)
                indexed, plain = pair.both("grep", True, {"pattern": "needle", "output_mode": mode})
                assert indexed == plain
            pair.agree("grep", pattern="needle$|7|!", output_mode="content", context=1)


def test_a_write_through_a_memory_map_is_found_after_a_sweep(
    tmp_path: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flashgrep.index.update.tree_state.POLL_SECONDS", 0.01)
    with twins(tmp_path) as pair, mapped(work / "f07") as memory:
        pair.folded()
        memory[:6] = b"NEEDLE"
        memory.flush()

        def is_found() -> bool:
            text, _, _ = pair.both("grep", False, {"pattern": "NEEDLE"})[0]
            return bool(text == "f07")

        wait_for(is_found, lambda: "no sweep came")


# ── damage ──────────────────────────────────────────────────────────────────────────────────────


def damage(tmp_path: Path, near: bytes, distance: int) -> Path:
    """Change a byte of the pack some way after a text; gives the segment."""
    for path in (tmp_path / "state" / "index").rglob("*.seg"):
        data = path.read_bytes()
        place = data.find(near)
        if place >= 0:
            with path.open("r+b") as file:
                file.seek(place + distance)
                file.write(bytes([data[place + distance] ^ 1]))
            return path
    raise AssertionError("no segment holds it")


@pytest.mark.parametrize(
    "asked",
    [
        {"pattern": "hit", "context": 30},
        {"pattern": "hit|yyyy", "only_matching": True},
        {"pattern": "x.hit", "multiline": True},
    ],
)
def test_damage_is_answered_around_and_built_again(
    tmp_path: Path, work: Path, asked: dict[str, Any]
) -> None:
    (work / "large").write_text(("x" * 99 + "\n") * 320 + "hit\n" + ("y" * 99 + "\n") * 700)
    with twins(tmp_path) as pair:
        pair.folded()
        broken = damage(tmp_path, b"hit\n", 2_000)
        pair.agree("grep", output_mode="content", path=".", **asked)
        pair.agree("grep", output_mode="count", pattern="yyyy")
        wait_for(lambda: not broken.exists(), lambda: "the damaged segment is still in use")
        pair.folded()
        before = pair.by_index
        pair.agree("grep", output_mode="content", **asked)
        assert pair.by_index == before + 1


PASSING = [
    ("a full disk at the last step", Store, "commit", OSError(errno.ENOSPC, "full")),
    ("no further thread", Builders, "build", RuntimeError("can't start new thread")),
    ("no memory", Compactor, "update", MemoryError()),
    ("a defect of ours", Compactor, "_found", IndexError("a defect")),
    ("one without a word", Compactor, "_found", AssertionError()),
]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("where", "what", "error"), [row[1:] for row in PASSING], ids=[row[0] for row in PASSING]
)
def test_an_index_that_failed_for_a_moment_goes_on(
    tmp_path: Path,
    work: Path,
    monkeypatch: pytest.MonkeyPatch,
    where: type,
    what: str,
    error: Exception,
) -> None:
    monkeypatch.setattr("flashgrep.index.update.tree_state.FOLD_RETRY_SECONDS", 0.1)
    with twins(tmp_path) as pair:
        settled(pair)
        failures = _failing_once(monkeypatch, where, what, error)
        reasons: list[str] = []
        monkeypatch.setattr(pair.index._state, "lose", _noted(pair.index._state.lose, reasons))
        for turn in range(3):  # added, changed, and joined with what was there
            (work / f"new{turn}").write_text("needle new\n")
            (work / "f03").write_text(f"needle changed {turn}\n")
            assert f"new{turn}" in pair.agree("grep", pattern="needle (new|changed)")
            pair.folded()
        assert failures == [error]
        assert "f03" in pair.agree("grep", pattern="changed 2")
        status = pair.indexed.services.index.status()
        assert (status.state, status.grep_ready, status.reason) == ("ready", True, "")
        assert all(reasons)  # an empty one would lose nothing
        assert pair.index._state.debounce._failures == 0  # the next one is a first one again


def _noted(done: Callable[[str], None], reasons: list[str]) -> Callable[[str], None]:
    def noted(reason: str) -> None:
        reasons.append(reason)
        done(reason)

    return noted


def _failing_once(
    monkeypatch: pytest.MonkeyPatch, where: Any, what: str, error: Exception
) -> list[Exception]:
    """Have something fail the next time it is done; gives the list in which that is noted."""
    done = getattr(where, what)
    failures: list[Exception] = []

    def fails(*arguments: Any) -> Any:
        if not failures:
            failures.append(error)
            raise error
        return done(*arguments)

    monkeypatch.setattr(where, what, fails)
    return failures


@pytest.mark.thorough
def test_a_look_at_everything_that_failed_is_taken_another_time(
    tmp_path: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with twins(tmp_path) as pair:
        settled(pair)
        failures = _failing_once(monkeypatch, updater, "poll", OSError("a listing process died"))
        monkeypatch.setattr("flashgrep.index.update.tree_state.POLL_SECONDS", 0.0)
        pair.agree("grep", pattern="needle")
        wait_for(lambda: bool(failures), lambda: "nothing was looked at")
        status = pair.indexed.services.index.status()
        assert (status.state, status.grep_ready) == ("ready", True)
        (work / "new").write_text("needle new\n")
        assert "new" in pair.agree("grep", pattern="needle new")


@pytest.mark.thorough
def test_an_index_whose_directory_was_cleared_is_made_again(tmp_path: Path, work: Path) -> None:
    with twins(tmp_path) as pair:
        settled(pair)
        kept = next(tmp_path.rglob("manifest")).parent
        shutil.rmtree(kept, ignore_errors=True)  # a ranking of before may just be deleted, too
        assert not kept.exists()
        (work / "new").write_text("needle new\n")
        assert "new" in pair.agree("grep", pattern="needle")
        pair.folded()
        assert (kept / "manifest").is_file()
        assert "new" in pair.agree("grep", pattern="needle new")
        status = pair.indexed.services.index.status()
        assert (status.state, status.grep_ready) == ("ready", True)
    with twins(tmp_path) as pair:  # and is whole
        settled(pair)
        assert "new" in pair.agree("grep", pattern="needle new")


@pytest.mark.thorough
def test_a_ranked_index_that_turns_out_damaged_is_there_again_without_any_change(
    tmp_path: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with twins(tmp_path) as pair:
        settled(pair)
        failures = _failing_once(monkeypatch, Ranking, "search", DamagedRanking("cut short"))
        pair.agree("query", text="needle 7")  # both by a scan
        assert len(failures) == 1
        status = pair.indexed.services.index.status
        wait_for(lambda: status().query_ready, lambda: f"not ready for queries: {status()}")
        assert "f07" in str(pair.answer("query", False, {"text": "needle 7"}))


def test_a_reader_answers_questions_once_the_writer_has_ranked(
    tmp_path: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flashgrep.index.update.ranked_index.RANK_LOOK_SECONDS", 0.0)
    with twins(tmp_path) as pair:
        settled(pair)
        ranks = pair.index._ranks
        monkeypatch.setattr(ranks, "_writes", False)  # as a second server on the same state
        ranks._tree.close()
        assert pair.answer("query", False, {"text": "needle 7"})
        assert ranks.is_ready


@pytest.mark.thorough
def test_a_reader_is_ready_for_questions_where_an_earlier_writer_has_ranked(
    tmp_path: Path, work: Path
) -> None:
    with twins(tmp_path) as pair:
        settled(pair)
    with twins(tmp_path, reads=True) as pair:
        status = pair.indexed.services.index.status
        wait_for(lambda: status().query_ready, lambda: f"not ready for queries: {status()}")
