"""Processes that help a search match find what it would find alone, whatever becomes of them."""

from __future__ import annotations

import os
import re
import select
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashgrep.errors import Cancelled
from flashgrep.index.answer import match_pool
from flashgrep.index.answer.match import Hits
from flashgrep.index.answer.match_pool import Matchers, matched_here
from flashgrep.index.format.header import DamagedSegment
from flashgrep.index.format.segment import Segment
from flashgrep.index.format.segment_set import Runs, Texts, Work
from flashgrep.search.match_count import Counter
from flashgrep.search.pattern import PatternSpec
from flashgrep.search.result import Counting
from flashgrep.system.child import Child
from tests.index.segments import block_bytes, made
from tests.scarcity import no_more_files

PATIENCE_MS = 30_000
WORDS = [b"alpha beta\n", b"beta\n", b"\n", b"gamma alpha alpha\n", b"Alpha\n", b"delta\n"]
ALPHA = PatternSpec("alpha")
Found = list[tuple[list[int], list[int]]]


def files(seed: int) -> dict[str, bytes]:
    """A few files, each of several pieces."""
    contents = {}
    for number in range(9):
        lines = [WORDS[(seed + number * line * line) % len(WORDS)] for line in range(number * 3)]
        contents[f"f{number}"] = b"".join(lines)
    return contents


@pytest.fixture(scope="module")
def segments(tmp_path_factory: pytest.TempPathFactory) -> list[Segment]:
    return [segment_in(tmp_path_factory.mktemp("segment"), seed) for seed in range(3)]


def segment_in(directory: Path, seed: int = 1) -> Segment:
    with block_bytes(40):
        return made(directory, files(seed))


def runs_of(segment: Segment, step: int = 3) -> Runs:
    """All pieces, in stretches of a few."""
    firsts = np.arange(0, segment.pieces, step)
    return Runs(segment, firsts, np.minimum(firsts + step, segment.pieces))


def texts_of(segment: Segment) -> Texts:
    return Texts(segment, np.arange(segment.files))


def plain(hits: Sequence[Hits]) -> Found:
    return [(found.tolist(), counts.tolist()) for found, counts in hits]


class Uncancelled:
    def __bool__(self) -> bool:
        return False


class CalledOnAsking:
    """Does something each time it is asked, and then says what that gave."""

    def __init__(self, call: Callable[[int], bool]) -> None:
        self._call = call
        self._asked = 0

    def __bool__(self) -> bool:
        self._asked += 1
        return self._call(self._asked)


def welcomed(matchers: Matchers) -> list[Child]:
    """The processes, once all have said that they are there."""
    for worker in list(matchers._starting):
        poll = select.poll()
        poll.register(worker.out, select.POLLIN)
        assert poll.poll(PATIENCE_MS)
    with matchers.some() as workers:
        return list(workers)


def pid(worker: Child) -> int:
    return worker._process.pid


def has_ended(worker: Child) -> bool:
    return worker._process.poll() is not None


def kill(worker: Child) -> None:
    """Kill a process, and wait until it is dead; its parent still has to notice."""
    os.kill(pid(worker), signal.SIGKILL)
    os.waitid(os.P_PID, pid(worker), os.WEXITED | os.WNOWAIT)


@contextmanager
def crew_of(count: int) -> Iterator[tuple[Matchers, list[Child]]]:
    matchers = Matchers(count)
    matchers.start()
    try:
        workers = welcomed(matchers)
        assert len(workers) == count
        yield matchers, workers
    finally:
        matchers.close()


@pytest.fixture(scope="module")
def crews() -> Iterator[list[Matchers]]:
    """With no process, with one, and with two; nothing takes too long, however busy the machine."""
    with crew_of(1) as (one, _), crew_of(2) as (two, _), pytest.MonkeyPatch.context() as patch:
        for name in ("HERE_SECONDS", "PORTION_SECONDS"):
            patch.setattr(f"flashgrep.search.pattern.{name}", 600.0)
        yield [Matchers(0), one, two]


def found_by(
    matchers: Matchers,
    work: Sequence[Work],
    spec: PatternSpec = ALPHA,
    counting: Counting = "lines",
    cancelled: CalledOnAsking | None = None,
) -> Found:
    flag = Uncancelled() if cancelled is None else cancelled
    return plain(matchers.match(spec, Counter(spec, counting), False, work, flag))


def found_here(work: Sequence[Work], spec: PatternSpec = ALPHA) -> Found:
    return plain(list(matched_here(Counter(spec, "lines"), False, work, Uncancelled())))


# ── the same answer ─────────────────────────────────────────────────────────────────────────────

PATTERNS = ["alpha", "a", "alpha|delta", "beta$", "^$", r"\Aalpha", "x*", "no such", "[a-d]+a"]
COUNTINGS: list[Counting] = ["files", "lines", "matches", "parts"]


@settings(max_examples=150, deadline=None)
@given(
    pattern=st.sampled_from(PATTERNS),
    folded=st.booleans(),
    multiline=st.booleans(),
    counting=st.sampled_from(COUNTINGS),
    is_dense=st.booleans(),
    chosen=st.lists(st.tuples(st.integers(0, 2), st.integers(1, 9)), max_size=8),
)
def test_processes_find_what_is_found_here(
    crews: list[Matchers],
    segments: list[Segment],
    pattern: str,
    folded: bool,
    multiline: bool,
    counting: Counting,
    is_dense: bool,
    chosen: list[tuple[int, int]],
) -> None:
    spec = PatternSpec(pattern, folded, multiline)
    work: list[Work] = [
        texts_of(segments[number]) if multiline else runs_of(segments[number], step)
        for number, step in chosen
    ]
    counter = Counter(spec, counting)
    expected = plain(list(matched_here(counter, is_dense, work, Uncancelled())))
    for matchers in crews:
        found = matchers.match(spec, counter, is_dense, work, Uncancelled())
        assert plain(found) == expected


def test_where_no_process_is_idle_a_search_does_everything_itself(segments: list[Segment]) -> None:
    work = [runs_of(segment) for segment in segments]
    with crew_of(1) as (matchers, [worker]):
        os.kill(pid(worker), signal.SIGSTOP)  # it never answers
        with matchers.some() as taken:
            assert taken == [worker]
            assert found_by(matchers, work) == found_here(work)
        os.kill(pid(worker), signal.SIGCONT)
        assert welcomed(matchers) == [worker]


# ── processes that die, and searches that are withdrawn ─────────────────────────────────────────


def test_a_process_killed_at_work_is_replaced_and_the_answer_is_right(
    segments: list[Segment],
) -> None:
    work = [runs_of(segment) for segment in segments]
    with crew_of(2) as (matchers, workers):
        os.kill(pid(workers[0]), signal.SIGSTOP)  # so that it cannot have answered

        def killing(asked: int) -> bool:
            if asked == 1:
                kill(workers[0])
            return False

        found = found_by(matchers, work, cancelled=CalledOnAsking(killing))
        assert found == found_here(work)
        assert has_ended(workers[0])
        again = welcomed(matchers)
        assert len(again) == 2
        assert workers[0] not in again
        assert found_by(matchers, work) == found
        assert not any(has_ended(worker) for worker in again)


def test_a_process_killed_while_it_was_idle_leaves_the_answer_right(
    segments: list[Segment],
) -> None:
    work = [runs_of(segment) for segment in segments]
    with crew_of(1) as (matchers, [worker]):
        kill(worker)
        assert found_by(matchers, work) == found_here(work)
        assert found_by(matchers, work) == found_here(work)


def test_a_process_killed_while_it_was_idle_is_replaced(segments: list[Segment]) -> None:
    work = [runs_of(segment) for segment in segments]
    with crew_of(1) as (matchers, [worker]):
        kill(worker)
        found_by(matchers, work)
        again = welcomed(matchers)
        assert len(again) == 1
        assert worker not in again


def test_a_search_cancelled_before_it_began_leaves_the_next_one_right(
    segments: list[Segment],
) -> None:
    work = [runs_of(segment) for segment in segments]
    with crew_of(1) as (matchers, _):
        with pytest.raises(Cancelled):
            found_by(matchers, work, cancelled=CalledOnAsking(lambda _: True))
        assert found_by(matchers, work[:2]) == found_here(work[:2])
        assert len(welcomed(matchers)) == 1
        assert found_by(matchers, work) == found_here(work)


def test_a_process_that_does_not_come_back_after_a_cancel_is_replaced(
    segments: list[Segment],
) -> None:
    work = [runs_of(segments[0]), runs_of(segments[0])]
    with crew_of(1) as (matchers, [worker]):
        os.kill(pid(worker), signal.SIGSTOP)
        with pytest.raises(Cancelled):
            found_by(matchers, work, cancelled=CalledOnAsking(lambda asked: asked > 1))
        assert has_ended(worker)
        again = welcomed(matchers)
        assert len(again) == 1
        assert worker not in again
        assert found_by(matchers, work) == found_here(work)


# ── damage ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("place", [0, 2], ids=["in our own share", "in the share of a process"])
@pytest.mark.parametrize("kind", [runs_of, texts_of], ids=["stretches", "texts"])
def test_a_damaged_piece_is_reported_by_the_path_of_its_segment(
    segments: list[Segment], tmp_path: Path, place: int, kind: Callable[[Segment], Work]
) -> None:
    damaged = segment_in(tmp_path)
    start = int(damaged.starts[1])
    whole = damaged.buffer[start]
    spec = PatternSpec("alpha", multiline=kind is texts_of)
    work = [kind(segment) for segment in segments]
    work[place] = kind(damaged)
    with crew_of(1) as (matchers, _):
        flip(damaged.path, start, whole ^ 1)
        with pytest.raises(DamagedSegment) as refusal:
            found_by(matchers, work, spec)
        assert refusal.value.path == damaged.path
        flip(damaged.path, start, whole)
        assert len(welcomed(matchers)) == 1
        assert found_by(matchers, work, spec) == found_here(work, spec)


def flip(path: str, at: int, byte: int) -> None:
    with open(path, "r+b") as file:
        file.seek(at)
        file.write(bytes([byte]))


# ── the end ─────────────────────────────────────────────────────────────────────────────────────


def resident(worker: Child, path: str) -> int:
    """Kilobytes of a file that a process holds in memory."""
    total, is_of_file = 0, False
    for line in Path(f"/proc/{pid(worker)}/smaps").read_text().splitlines():
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            is_of_file = line.endswith(path)
        elif is_of_file and line.startswith("Rss:"):
            total += int(line.split()[1])
    return total


def test_idle_processes_let_their_pages_go_and_take_them_up_again(segments: list[Segment]) -> None:
    work = [runs_of(segments[0]), runs_of(segments[1])]
    with crew_of(1) as (matchers, [worker]):
        found = found_by(matchers, work)
        assert resident(worker, segments[1].path) > 0
        matchers.release()
        worker.send(("hello",))
        assert worker.receive() == ("hello",)  # what was sent before has been done
        assert resident(worker, segments[1].path) == 0
        assert found_by(matchers, work) == found


def test_a_process_that_is_dead_when_it_should_let_go_is_replaced() -> None:
    with crew_of(1) as (matchers, [worker]):
        kill(worker)
        matchers.release()
        assert has_ended(worker)
        again = welcomed(matchers)
        assert len(again) == 1
        assert worker not in again


def test_no_process_is_left_after_the_end_and_a_search_does_everything_itself(
    segments: list[Segment],
) -> None:
    work = [runs_of(segment) for segment in segments]
    with crew_of(2) as (matchers, workers):
        matchers.close()
        assert all(has_ended(worker) for worker in workers)
        matchers.start()
        assert welcomed(matchers) == []
        assert found_by(matchers, work) == found_here(work)
        matchers.release()
        matchers.close()


def test_processes_that_have_not_said_a_word_end_too() -> None:
    matchers = Matchers(1)
    matchers.start()
    starting = list(matchers._starting)
    assert len(starting) == 1
    matchers.close()
    assert all(has_ended(worker) for worker in starting)


def test_a_process_at_work_ends_when_it_comes_back() -> None:
    with crew_of(1) as (matchers, [worker]):
        with matchers.some() as taken:
            assert taken == [worker]
            matchers.close()
            assert not has_ended(worker)
        assert has_ended(worker)


def test_a_process_that_died_before_its_first_word_is_replaced_by_the_next_search(
    segments: list[Segment], monkeypatch: pytest.MonkeyPatch
) -> None:
    matchers = Matchers(1)
    with monkeypatch.context() as patched:
        patched.setattr(match_pool, "_MODULE", "base64")  # reads to the end before it says a word
        matchers.start()
    try:
        (unborn,) = matchers._starting
        kill(unborn)
        assert welcomed(matchers) == []
        found_by(matchers, [runs_of(segments[0])])
        (another,) = welcomed(matchers)
        assert pid(another) != pid(unborn)
    finally:
        matchers.close()


def test_the_first_search_that_could_use_processes_starts_none_while_it_runs(
    segments: list[Segment], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flashgrep.index.answer.match_pool.MATCHERS_REST_SECONDS", 3600.0)
    matchers = Matchers(1)
    try:
        found_by(matchers, [runs_of(segments[0])])
        assert welcomed(matchers) == []
        assert matchers._later is not None
        matchers._later.function()  # what it does when the time has come
        (one,) = welcomed(matchers)
        found_by(matchers, [runs_of(segments[0])])
        assert welcomed(matchers) == [one]
    finally:
        matchers.close()
    assert not matchers._later.is_alive() or matchers._later.finished.is_set()


def test_segments_that_the_writer_has_taken_away_are_matched_by_whoever_has_them(
    tmp_path: Path,
) -> None:
    segments = [segment_in(tmp_path / str(seed), seed) for seed in range(3)]
    work = [runs_of(segment) for segment in segments]
    expected = found_here(work)
    with crew_of(2) as (matchers, workers):
        for segment in segments:
            os.unlink(segment.path)
        assert found_by(matchers, work) == expected
        assert welcomed(matchers) == workers


def test_processes_that_could_not_be_started_are_started_by_a_later_search(
    segments: list[Segment],
) -> None:
    work = [runs_of(segment) for segment in segments]
    matchers = Matchers(2)
    try:
        with no_more_files():
            matchers.start()
            assert found_by(matchers, work) == found_here(work)
        assert found_by(matchers, work) == found_here(work)
        workers = welcomed(matchers)
        assert len(workers) == 2
        kill(workers[0])
        with no_more_files():
            assert found_by(matchers, work) == found_here(work)
        assert found_by(matchers, work) == found_here(work)
        assert len(welcomed(matchers)) == 2
    finally:
        matchers.close()
