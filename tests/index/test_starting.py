"""A search that began on the disk goes over to the index as soon as that is ready."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from flashgrep.app import Application, build
from flashgrep.index.answer.indexed_search import IndexedScan
from flashgrep.index.index import StartingIndex
from flashgrep.search.pattern import PatternSpec
from flashgrep.search.result import SearchQuestion
from flashgrep.search.scan.scan import Scan
from flashgrep.search.scan.scanner import INLINE_PREDICTABLE_BYTES
from flashgrep.settings import Settings
from tests.index.twins import haste, wait_for
from tests.search import oracle

NEEDLE = PatternSpec("needle")
LINES = SearchQuestion(NEEDLE, "lines")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Application]:
    work = tmp_path / "work"
    work.mkdir()
    for number in range(20):
        (work / f"f{number:02}.txt").write_text(f"hay {number}\nneedle {number}\n")
    # Left to a worker, so that the search is not over in its first moment.
    (work / "large.txt").write_bytes(b"hay\n" * INLINE_PREDICTABLE_BYTES + b"needle\n")
    with haste(ranked=False):
        application = build(Settings(workdir=str(work), state_dir=str(tmp_path / "state")))
        yield application
        application.close()


class ReadyInTheMiddle:
    """Asked, between two turns of a search, whether it was withdrawn: the index is started then."""

    def __init__(self, server: Application) -> None:
        self._server = server
        self.asked = 0

    def __bool__(self) -> bool:
        self.asked += 1
        if self.asked == 1:
            index = self._server.services.index
            self._server.start_index()
            wait_for(lambda: index.status().grep_ready, lambda: f"not ready: {index.status()}")
        return False


@pytest.mark.thorough
def test_a_search_that_scans_ends_by_the_index_once_that_is_ready(server: Application) -> None:
    place = server.services.scope.place(".")
    middle = ReadyInTheMiddle(server)
    found = server.services.search.search(place, LINES, middle, lambda *_: None)
    assert middle.asked
    assert isinstance(found, IndexedScan)
    rows = [(file.path, file.count) for file in found.files()]
    assert rows == oracle.counts(Path(server.settings.workdir), NEEDLE)
    assert not server.services.search.pool._turns._held


def test_a_search_of_what_the_index_has_not_goes_on_where_it_was(
    server: Application, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.txt").write_text("needle\n")
    (outside / "b.txt").write_bytes(b"hay\n" * INLINE_PREDICTABLE_BYTES + b"needle\n")
    place = server.services.scope.place(str(outside))
    middle = ReadyInTheMiddle(server)
    found = server.services.search.search(place, LINES, middle, lambda *_: None)
    assert middle.asked
    assert isinstance(found, Scan)
    assert [file.path for file in found.files()] == ["a.txt", "b.txt"]


def test_an_index_that_was_never_begun_leaves_the_search_alone(server: Application) -> None:
    assert isinstance(server.services.index, StartingIndex)
    place = server.services.scope.place(".")
    found = server.services.search.search(place, LINES, False, lambda *_: None)
    assert isinstance(found, Scan)
