"""A page of lines is the same whether its files were matched here, by others, or by both."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from flashgrep.index.answer import indexed_search
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
def pair(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Twins over a tree that has changed since: some of it is in another segment."""
    top, chance = tmp_path_factory.mktemp("pages"), Random(3)
    (top / "work").mkdir()
    grow(top, chance, range(12))
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
            yield both


def stepping(monkeypatch: pytest.MonkeyPatch, clock: Any) -> list[str]:
    """Small portions, each timed by a clock of ours; who matched each step is noted."""
    monkeypatch.setattr("flashgrep.index.answer.indexed_search.INDEX_FEW_PIECES", 0)
    monkeypatch.setattr("flashgrep.index.answer.indexed_search.INDEX_INLINE_BYTES", 20_000)
    monkeypatch.setattr(segment_set, "_LONGEST", 1)
    monkeypatch.setattr(indexed_search, "time", SimpleNamespace(perf_counter=clock))
    noted: list[str] = []
    for name in ("_by_one", "_by_all"):
        whole = getattr(indexed_search.IndexedScan, name)

        def step(*arguments: Any, name: str = name, whole: Any = whole) -> Any:
            noted.append(name)
            return whole(*arguments)

        monkeypatch.setattr(indexed_search.IndexedScan, name, step)
    return noted


PAGES: list[dict[str, Any]] = [
    {"head_limit": limit, "offset": offset, **more}
    for limit, offset in [(1, 0), (5, 0), (5, 40), (30, 3), (250, 0), (10_000, 0)]
    for more in ({}, {"context": 1}, {"only_matching": True}, {"path": "f07.txt"})
]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("pattern", ["needle", r"n[a-z]+e \d+", "^needle", "h(ay|ey)", "absent"])
def test_a_page_is_that_of_a_scan(
    pair: Twins, monkeypatch: pytest.MonkeyPatch, pattern: str, seed: int
) -> None:
    chance = Random(seed)
    now = itertools.accumulate(iter(lambda: chance.choice([0.0, 0.0, 50.0]), None))
    noted = stepping(monkeypatch, lambda: next(now))
    for asked in PAGES:
        pair.agree(pattern=pattern, output_mode="content", **asked)
    if pattern.startswith("n"):  # of the others much is found at once, or nothing
        assert {"_by_one", "_by_all"} <= set(noted)


def test_a_page_that_is_found_at_once_needs_nobody_else(
    pair: Twins, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = itertools.count(0, 50)
    noted = stepping(monkeypatch, lambda: next(ticks))
    pair.agree(pattern="hay", output_mode="content", head_limit=10)
    assert noted == ["_by_one"] * 2  # of the base, and of what has changed
