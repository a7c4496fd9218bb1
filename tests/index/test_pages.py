"""A page is that of the whole answer, whoever matched it, and costs no more than it shows."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from flashgrep.index.answer import kept_scans, newest_pages, sought, walk_pages
from flashgrep.index.answer.indexed_search import IndexedScan
from flashgrep.index.answer.newest_pages import NewestPages
from flashgrep.index.answer.walk_pages import WalkPages
from flashgrep.index.format import segment_set
from flashgrep.index.update.compactor import Compactor
from flashgrep.index.update.rescan import NO_RACY_FILES
from tests.index.twins import Twins, haste, twins

HAY = b"a line of hay, some forty bytes of it\n"
LINES_A_PIECE = 16_384 // len(HAY)


def grow(top: Path, chance: Random, numbers: Iterable[int]) -> None:
    """Files of none to nine pieces, with a needle here and there, on few pieces or on many."""
    for number in numbers:
        count = LINES_A_PIECE * chance.choice([0, 1, 2, 9])
        lines = [HAY] * count
        for at in range(count):
            if chance.random() < chance.choice([0.0, 0.0005, 0.01]):
                lines[at] = b"needle %d and needle\n" % at
        (top / "work" / f"f{number:02}.txt").write_bytes(b"".join(lines))


@pytest.fixture(scope="module")
def top(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the tree is."""
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def pair(top: Path) -> Any:
    """Twins over a tree that has changed since: some of it is in another segment."""
    chance = Random(3)
    (top / "work").mkdir()
    grow(top, chance, range(12))
    for number in range(12):  # each is as old as what it leads to, and elsewhere in the walk
        os.symlink(f"f{number:02}.txt", top / "work" / f"f{5 * number % 12:02}.link")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            Compactor, "racy_files", lambda *_: NO_RACY_FILES
        )  # reading again joins the segments
        with haste(), twins(top) as both:
            grow(top, chance, (2, 5, 6, 11, 13))
            both.folded()
            view = both.index._state.view
            assert view is not None
            assert 0 < view.snapshot.base < len(view.snapshot.segments)
            assert view.sure_aliases
            yield both


def stepping(monkeypatch: pytest.MonkeyPatch, clock: Any) -> list[str]:
    """Small steps, each timed by a clock of ours; who matched each is noted."""
    monkeypatch.setattr(sought, "INDEX_FEW_PIECES", 0)
    monkeypatch.setattr(walk_pages, "FIRST_PIECES", 1)
    monkeypatch.setattr(walk_pages, "FIRST_TEXTS", 1)
    monkeypatch.setattr(newest_pages, "FIRST_FILES", 1)
    monkeypatch.setattr(newest_pages, "_LOOK", 2)
    monkeypatch.setattr(segment_set, "_LONGEST", 1)
    for module in (walk_pages, newest_pages):
        monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=clock))
    noted: list[str] = []
    for kind, name in STEPS:
        whole = getattr(kind, name)

        def step(*arguments: Any, name: str = name, whole: Any = whole) -> Any:
            noted.append(name)
            return whole(*arguments)

        monkeypatch.setattr(kind, name, step)
    return noted


HERE, SHARED, NEWEST_HERE, NEWEST_SHARED = "_go_on", "matched_by_others", "_here", "_by_others"
STEPS: list[tuple[type, str]] = [
    (walk_pages._WalkPart, HERE),
    (WalkPages, SHARED),
    (NewestPages, NEWEST_HERE),
    (NewestPages, NEWEST_SHARED),
]


FILE_PAGES: list[dict[str, Any]] = [
    {"head_limit": limit, "offset": offset, **more}
    for limit, offset in [(1, 0), (3, 0), (3, 3), (3, 6), (50, 0), (0, 2), (2, 100)]
    for more in ({}, {"include": "f0*"}, {"path": "f07.txt"})
]
PAGES: list[dict[str, Any]] = [
    {"head_limit": limit, "offset": offset, **more}
    for limit, offset in [(1, 0), (5, 0), (5, 40), (30, 3), (250, 0), (10_000, 0)]
    for more in ({}, {"context": 1}, {"only_matching": True}, {"path": "f07.txt"})
]


MANY = pytest.param("h(ay|ey)", marks=pytest.mark.thorough)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("pattern", ["needle", r"n[a-z]+e \d+", "^needle", MANY, "absent"])
def test_a_page_is_that_of_a_scan(
    pair: Twins, monkeypatch: pytest.MonkeyPatch, pattern: str, seed: int
) -> None:
    chance = Random(seed)
    now = itertools.accumulate(iter(lambda: chance.choice([0.0, 0.0, 50.0]), None))
    noted = stepping(monkeypatch, lambda: next(now))
    for asked in PAGES:
        pair.agree(pattern=pattern, output_mode="content", **asked)
    if pattern.startswith("n"):  # of the others much is found at once, or nothing
        assert {HERE, SHARED} <= set(noted)


@pytest.mark.parametrize("multiline", [False, True])
@pytest.mark.parametrize("mode", ["files_with_matches", "count"])
@pytest.mark.parametrize("pattern", ["needle", r"n[a-z]+e \d+7", MANY, "absent"])
def test_a_page_of_files_is_that_of_a_scan(
    pair: Twins, monkeypatch: pytest.MonkeyPatch, pattern: str, mode: str, multiline: bool
) -> None:
    chance = Random(7)
    now = itertools.accumulate(iter(lambda: chance.choice([0.0, 0.0, 50.0]), None))
    noted = stepping(monkeypatch, lambda: next(now))
    for number, asked in itertools.product(range(2), FILE_PAGES):
        given = {"pattern": pattern, "output_mode": mode, "multiline": multiline, **asked}
        assert pair.agree(**given), number
    if pattern == "needle":
        names = {NEWEST_HERE, NEWEST_SHARED} if mode == "files_with_matches" else {HERE, SHARED}
        assert names <= set(noted)


def test_a_page_that_is_found_at_once_needs_nobody_else(
    pair: Twins, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = itertools.count(0, 50)
    noted = stepping(monkeypatch, lambda: next(ticks))
    pair.agree(pattern="hay", output_mode="content", head_limit=10)
    assert noted == [HERE] * 2  # of the base, and of what has changed


def test_a_few_candidates_are_matched_here_however_long_they_take(
    pair: Twins, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = itertools.count(0, 50)
    noted = stepping(monkeypatch, lambda: next(ticks))
    monkeypatch.setattr(sought, "INDEX_FEW_PIECES", 1_000)
    for mode in ("files_with_matches", "count", "content"):
        pair.agree(pattern="needle", output_mode=mode, head_limit=1_000)
    assert set(noted) == {HERE}


# ── how far a page looks, and the next one ───────────────────────────────────────────────────────


@pytest.fixture
def matched(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How many bytes the search that was answered last has matched in all of its pages."""
    scans: list[Any] = []
    whole = IndexedScan.answered

    def answered(scan: IndexedScan) -> None:
        scans.append(scan)
        whole(scan)

    monkeypatch.setattr(IndexedScan, "answered", answered)
    monkeypatch.setattr(sought, "INDEX_FEW_PIECES", 0)
    monkeypatch.setattr(walk_pages, "FIRST_PIECES", 1)
    monkeypatch.setattr(newest_pages, "FIRST_FILES", 1)
    monkeypatch.setattr(segment_set, "_LONGEST", 1)
    return lambda: int(scans[-1].matched_bytes)


@pytest.mark.parametrize("mode", ["files_with_matches", "count", "content"])
def test_the_next_page_goes_on_where_the_last_one_ended(
    pair: Twins, matched: Callable[[], int], mode: str
) -> None:
    limit = 300 if mode == "content" else 2
    asked = {"pattern": "hay", "output_mode": mode, "head_limit": limit}
    sizes = []
    for page in range(4):
        pair.agree(**asked, offset=page * limit)
        sizes.append(matched())
    pair.agree(**asked | {"head_limit": 10_000_000})
    whole = matched()
    assert sizes[0] < whole / 2  # it has stopped
    assert sizes == sorted(sizes)
    assert sizes[-1] <= whole  # nothing was matched twice


def test_no_page_pays_for_those_after_it(tmp_path: Path, matched: Callable[[], int]) -> None:
    (tmp_path / "work").mkdir()
    for number in range(200):
        (tmp_path / "work" / f"{number:03}.txt").write_bytes(10 * HAY)
    with haste(), twins(tmp_path) as pair:
        pair.folded()
        sizes = [0]
        for page in range(30):
            asked = {"pattern": "hay", "output_mode": "count", "head_limit": 5, "offset": 5 * page}
            pair.answer("grep", False, asked)
            sizes.append(matched())
    costs = [after - before for before, after in itertools.pairwise(sizes)]
    assert 0 < max(costs) <= 2 * costs[0]


def test_a_change_of_the_tree_ends_what_was_kept(pair: Twins, top: Path) -> None:
    asked = {"pattern": "hay", "head_limit": 2}
    first = pair.agree(**asked)
    (top / "work" / "f00.txt").write_bytes(HAY)  # now the newest
    second = pair.agree(**asked, offset=2)
    assert first.splitlines()[1] in second.splitlines()


@pytest.mark.usefixtures("matched")
def test_only_a_few_searches_are_kept_and_none_of_an_older_view(pair: Twins, top: Path) -> None:
    pair.folded()
    kept = pair.index._kept
    for number in range(10):
        pair.agree(pattern=f"ha[y{number}]", head_limit=1)
    assert len(kept._scans) == kept_scans.KEPT_EACH
    (top / "work" / "f01.txt").write_bytes(HAY)
    pair.agree(pattern="nowhere at all")
    assert not kept._scans
    pair.agree(pattern="hay")
    assert not kept._scans  # all of it was answered


@pytest.mark.usefixtures("matched")
def test_what_would_take_much_memory_is_not_kept(
    pair: Twins, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair.folded()
    pair.index._kept.clear()  # of those that other tests left
    pair.agree(pattern="hay", output_mode="content", head_limit=100)
    assert pair.index._kept._scans
    monkeypatch.setattr(kept_scans, "KEPT_BYTES", 1_000)
    pair.agree(pattern="hay", output_mode="content", head_limit=100)
    assert not pair.index._kept._scans


def test_an_answer_that_fills_its_budget_is_not_searched_to_the_end(
    pair: Twins, matched: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for application in (pair.indexed, pair.plain):
        small = replace(application.settings, max_output_chars=40)
        monkeypatch.setattr(application, "settings", small)
    told = pair.agree(pattern="hay", output_mode="content")
    cut = matched()
    assert "output cut" in told
    pair.agree(pattern="hay", output_mode="content", head_limit=10_000_000, offset=10_000_000)
    assert cut < matched() / 2


def test_a_step_that_others_help_with_is_no_more_than_is_likely_to_be_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "work").mkdir()
    for number in range(400):  # all are candidates, and one in ten is found
        text = b"needle %d\n" % (7 if number % 10 == 3 else 8)
        (tmp_path / "work" / f"{number:03}.txt").write_bytes(text)
    steps: list[int] = []
    whole = NewestPages._by_others

    def noted(pages: NewestPages, files: Any, cancelled: Any) -> None:
        matched, found = pages._matched, len(pages.found)
        likely = (
            (21 - found) * matched / found if found else 400
        )  # one more shows that there is more
        assert len(files) <= max(newest_pages.FIRST_FILES, likely)
        steps.append(len(files))
        whole(pages, files, cancelled)

    with haste(), twins(tmp_path) as both:
        ticks = itertools.count(0, 50)
        stepping(monkeypatch, lambda: next(ticks))
        monkeypatch.setattr(newest_pages, "FIRST_FILES", 8)
        monkeypatch.setattr(NewestPages, "_by_others", noted)
        both.agree(pattern=r"needle [0-7]$", head_limit=20)
    assert len(steps) > 1
    assert sum(steps) < 300
