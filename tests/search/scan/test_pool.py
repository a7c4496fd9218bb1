"""Workers are handed out, come back, and are not lost to a moment in which none could start."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from flashgrep.errors import IOFailure
from flashgrep.search.pattern import PatternSpec
from flashgrep.search.result import Item, ScanRequest
from flashgrep.search.scan.pool import NoWorker, Pool, Worker
from flashgrep.search.scan.scan import Scan
from flashgrep.workspace.scope import Scope
from tests.scarcity import no_more_files


@pytest.fixture
def pool() -> Iterator[Pool]:
    workers = Pool(2)
    yield workers
    workers.close()


def test_a_key_that_interrupts_the_server_does_not_reach_its_workers(pool: Pool) -> None:
    """A terminal sends SIGINT to the server's whole group, and a worker may not be up yet."""
    worker = pool.borrow(0)
    assert worker is not None
    assert os.getpgid(worker.pid) != os.getpgrp()
    pool.give_back(worker)


def test_workers_that_could_not_be_started_can_be_later(pool: Pool) -> None:
    with no_more_files():
        for wait in (0.0, 0.0, 0.01, 0.01):  # more often than there are places
            with pytest.raises(IOFailure) as refused:
                pool.borrow(wait)
            assert refused.value.message == (
                "No search process could be started: Too many open files. Search again in a "
                "moment; if it stays so, raise the limit of processes or open files"
            )
    first, second = pool.borrow(0), pool.borrow(0)
    assert first is not None
    assert second is not None
    assert pool.borrow(0) is None
    pool.give_back(first)
    pool.give_back(second)


def test_one_who_waits_is_called_where_another_could_not_start(pool: Pool) -> None:
    first, second = pool.borrow(0), pool.borrow(0)
    assert first is not None
    assert second is not None
    pool.discard(first)
    with no_more_files(), pytest.raises(NoWorker):
        pool.borrow(1)
    third = pool.borrow(1)
    assert third is not None
    pool.give_back(second)
    pool.give_back(third)


class OnlyOne(Pool):
    """Has two places, and is given a process for one of them."""

    started = 0

    def _started(self) -> Worker:
        self.started += 1
        if self.started == 1:
            return super()._started()
        raise NoWorker("no more")


def test_a_search_goes_on_with_the_workers_it_has(tmp_path: Path) -> None:
    names = [f"d{number}" for number in range(6)]
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "f").write_text("needle\n", encoding="utf-8")
    scope, pool = Scope(str(tmp_path)), OnlyOne(2)
    try:
        request = ScanRequest(os.fsencode(tmp_path), PatternSpec("needle"), "lines", scope.packed)
        scan = Scan(request, scope, pool, False, lambda *_: None)
        scan._queue([Item(name, os.fsencode(tmp_path / name)) for name in names])
        while scan._has_more():
            scan._feed()
            scan._collect()
        assert [file.path for file in scan.files()] == [f"{name}/f" for name in names]
        assert pool.started > 1
    finally:
        pool.close()
        scope.close()
