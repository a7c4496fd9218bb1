"""A worker that is lost in a long match is in nobody's way, and ends when nobody waits for it."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from flashgrep.errors import Cancelled
from flashgrep.search.pattern import PatternSpec
from flashgrep.search.result import SearchQuestion
from flashgrep.search.scan.fair_queue import ON_BEHALF
from flashgrep.search.scan.pool import SPARE_WORKERS, Pool
from flashgrep.search.scan.scan import DiskSearcher
from flashgrep.search.scan.scanner import INLINE_PREDICTABLE_BYTES
from flashgrep.tools.dispatch.call import Cancellation
from flashgrep.workspace.scope import Scope
from tests.faults.processes import is_alive, own_children, wait_until

HEAVY = PatternSpec(".*[a-h]" + 6 * ".{1000}" + "z")
LETTERS = bytes(97 + number % 16 for number in range(256))
LINE = random.Random(7).randbytes(32_000_000).translate(LETTERS)
"""One line without order, from a to p: RE2 would take minutes for it."""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "long.txt").write_bytes(LINE)
    (tmp_path / "short.txt").write_bytes(b"NEEDLE\n")
    (tmp_path / "large.txt").write_bytes(b"NEEDLE\n" + b"hay\n" * INLINE_PREDICTABLE_BYTES)
    return tmp_path


@pytest.fixture
def pool() -> Iterator[Pool]:
    workers = Pool(1)
    yield workers
    workers.close()


class Searching:
    """A search in a thread of its own, on behalf of a connection."""

    def __init__(self, tree: Path, pool: Pool, spec: PatternSpec, share: str) -> None:
        self.cancelled = Cancellation()
        self.found: list[str] = []
        self.failure: BaseException | None = None
        self._scope = Scope(str(tree))
        self._search = (pool, spec, share)
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        pool, spec, share = self._search
        ON_BEHALF.set(share)
        try:
            question, place = SearchQuestion(spec, "files"), self._scope.place(".")
            engine = DiskSearcher(self._scope, pool)
            found = engine.search(place, question, self.cancelled, lambda *_: None)
            self.found = [file.path for file in found.files()]
        except BaseException as error:
            self.failure = error

    def end(self) -> None:
        """Withdraw it, and wait until it has noticed."""
        self.cancelled.set()
        self.thread.join(120)
        assert not self.thread.is_alive()
        self._scope.close()


def is_lost(pool: Pool, count: int = 1) -> Callable[[], bool]:
    return lambda: len(pool._apart._held) == count


def test_a_cancelled_search_ends_the_process_that_is_lost_in_a_match(
    tree: Path, pool: Pool
) -> None:
    before = own_children()
    heavy = Searching(tree, pool, HEAVY, "one")
    try:
        wait_until(is_lost(pool), "worker that takes long")
        lost = own_children() - before
        assert any(map(is_alive, lost))
    finally:
        heavy.end()
    assert isinstance(heavy.failure, Cancelled)
    assert not any(map(is_alive, lost & own_children()))
    assert not pool._apart._held
    assert not pool._turns._held


@pytest.mark.thorough
def test_another_search_has_a_worker_while_all_are_lost_in_long_matches(
    tree: Path, pool: Pool
) -> None:
    heavies = [Searching(tree, pool, HEAVY, "one") for _ in range(4)]
    try:
        wait_until(is_lost(pool), "worker that takes long")
        light = Searching(tree, pool, PatternSpec("NEEDLE"), "two")
        light.thread.join(120)
        assert light.failure is None
        assert light.found == ["large.txt", "short.txt"]
        light.end()
    finally:
        for heavy in heavies:
            heavy.end()
    assert all(isinstance(heavy.failure, Cancelled) for heavy in heavies)
    assert not pool._apart._held
    assert not pool._turns._held


@pytest.mark.thorough
def test_no_more_processes_are_started_than_there_are_places(tree: Path, pool: Pool) -> None:
    before = own_children()
    heavies = [Searching(tree, pool, HEAVY, f"c{number}") for number in range(6)]
    try:
        wait_until(is_lost(pool), "worker that takes long")
        wait_until(lambda: not pool.has_waiters or len(pool._turns._held) == 1, "busy pool")
        alive = [pid for pid in own_children() if is_alive(pid) and pid not in before]
        assert len(alive) <= 2 + SPARE_WORKERS
    finally:
        for heavy in heavies:
            heavy.end()
