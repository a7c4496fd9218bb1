"""--verify-index: every answer of the index is compared with the disk, and a difference is told."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from flashgrep.search.result import Item, Report, SearchQuestion, SearchResult
from flashgrep.search.scan.fair_queue import CancelFlag
from flashgrep.search.scan.pool import Pool
from flashgrep.search.scan.scan import DiskSearcher, Scan
from flashgrep.search.scan.scanner import scan_request
from flashgrep.workspace.scope import ResolvedPath, Scope
from tests.tools.workshop import Workshop, workshop


class OldIndex:
    """An index that has not noticed what changed: it answers from an older copy of the tree."""

    def __init__(self, scope: Scope, pool: Pool, copy: Path) -> None:
        self._scope = scope
        self._pool = pool
        self._copy = bytes(copy)
        self.wanted: list[int] = []

    def search(
        self, where: ResolvedPath, question: SearchQuestion, cancelled: CancelFlag, report: Report
    ) -> SearchResult | None:
        self.wanted.append(question.wanted)
        there = replace(scan_request(self._scope, where, question), root=self._copy)
        scan = Scan(there, self._scope, self._pool, cancelled, report)
        scan.run([Item("", self._copy)])
        return scan

    def is_ready(self) -> bool:
        return True


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Workshop]:
    """A workshop whose index still has the tree as it is when `remembered` is called."""
    with workshop(tmp_path, no_index=True) as made:
        made.files("a.txt", "b.txt", "c.txt", data="x\nx\n")
        yield made


def remembered(shop: Workshop, verify: bool = True) -> OldIndex:
    """Let the index know the tree as it is now, and never again."""
    copy = shop.root.parent / "copy"
    shutil.copytree(shop.root, copy)
    scope, pool = shop.application.services.scope, Pool(1)
    index = OldIndex(scope, pool, copy)
    shop.application.services.search.close()
    shop.application.services.search = DiskSearcher(scope, pool, index, verify=verify)
    return index


def last(shop: Workshop, **arguments: object) -> str:
    return shop.lines("grep", pattern="x", **arguments)[-1]


def test_an_index_that_agrees_adds_nothing(shop: Workshop) -> None:
    remembered(shop)
    for mode in ("files_with_matches", "content", "count"):
        for limit in (0, 2):
            told = shop.text("grep", pattern="x", output_mode=mode, head_limit=limit)
            assert "differs" not in told


def test_a_file_the_index_lacks_is_told_and_logged(
    shop: Workshop, caplog: pytest.LogCaptureFixture
) -> None:
    remembered(shop)
    shop.file("d.txt", "x\n")
    with caplog.at_level(logging.ERROR, "flashgrep.search.scan.scan"):
        told = shop.lines("grep", pattern="x", output_mode="count")
    assert told == [
        *["a.txt:2", "b.txt:2", "c.txt:2", "d.txt:1"],
        "(the index differs from the disk in 1 files: d.txt:1)",
    ]
    assert "verify-index: the index differs from the disk in 1 files: d.txt:1" in caplog.text


def test_a_file_the_index_invents_is_told(shop: Workshop) -> None:
    remembered(shop)
    (shop.root / "b.txt").unlink()
    told = last(shop, output_mode="count")
    assert told == "(the index differs from the disk in 1 files: b.txt:2)"


def test_another_count_is_told_as_both(shop: Workshop) -> None:
    remembered(shop)
    shop.file("b.txt", "x\n")
    told = last(shop, output_mode="count")
    assert told == "(the index differs from the disk in 2 files: b.txt:1, b.txt:2)"


def test_a_page_is_compared_as_far_as_it_was_searched(shop: Workshop) -> None:
    """What the disk was not asked for is no difference."""
    index = remembered(shop)
    (shop.root / "c.txt").unlink()
    told = last(shop, output_mode="content", head_limit=1)
    assert told == "(more; next: offset 1)"
    shop.file("a.txt", "x\n")
    told = last(shop, output_mode="content", head_limit=1)
    told_of = "in 3 files: a.txt:1, a.txt:2, b.txt:1"
    assert told == f"(more; next: offset 1; the index differs from the disk {told_of})"
    assert index.wanted == [2, 2]


def test_a_page_of_files_is_compared_in_its_order(shop: Workshop) -> None:
    for at, name in enumerate(("a.txt", "b.txt", "c.txt")):
        os.utime(shop.root / name, (at, at))
    remembered(shop)
    assert last(shop, head_limit=2) == "(more; next: offset 2)"
    os.utime(shop.root / "a.txt", (9, 9))
    told = last(shop, head_limit=2)
    assert "the index differs from the disk in 4 files: a.txt:0, a.txt:9000000000" in told


def test_a_last_count_that_no_page_shows_may_be_incomplete(shop: Workshop) -> None:
    remembered(shop)
    shop.file("c.txt", "x\n")
    assert last(shop, output_mode="count", head_limit=2) == "(more; next: offset 2)"
    assert "differs" in last(shop, output_mode="count", head_limit=3)


def test_without_the_setting_the_index_is_believed(shop: Workshop) -> None:
    index = remembered(shop, verify=False)
    shop.file("d.txt", "x\n")
    assert shop.lines("grep", pattern="x", output_mode="count") == ["a.txt:2", "b.txt:2", "c.txt:2"]
    last(shop, output_mode="content", head_limit=1)
    assert index.wanted == [1877, 2]  # what the budget may hold, and the page


def test_the_setting_reaches_the_search(tmp_path: Path) -> None:
    with workshop(tmp_path, verify_index=True) as shop:
        assert shop.application.services.search._verify
    with workshop(tmp_path) as shop:
        assert not shop.application.services.search._verify
