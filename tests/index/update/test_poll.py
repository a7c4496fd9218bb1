"""A look at everything by numbers finds what one by names finds."""

from __future__ import annotations

import os
import time
from pathlib import Path
from random import Random

import pytest

from flashgrep.index.answer.view import IndexView
from flashgrep.index.format.roster import RACY_SECONDS
from flashgrep.index.update.rescan import enrolled_files, poll
from flashgrep.index.watch.changes import Changes
from flashgrep.index.watch.tracker import Tracker
from flashgrep.workspace.scope import Scope
from tests.index.edits import apply
from tests.index.thicket import Thicket
from tests.index.twins import Twins, haste, twins

SEEDS = (0, 1, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in (2, 3)))


def compared(work: Path, view: IndexView, home: Path) -> Changes:
    """What a poll finds, which must be the same both ways."""
    tracker = Tracker(Scope(str(work)), os.fsencode(work))
    snapshot = view.snapshot
    assert enrolled_files(snapshot.segments, snapshot.base, home) is not None
    by_number = poll(tracker, view, lambda: False, home)
    assert by_number == poll(tracker, view, lambda: False)
    return by_number


def folded(pair: Twins) -> tuple[IndexView, Path]:
    """What is known once all is in segments, and where the rosters are."""
    pair.ready()
    pair.folded()
    view = pair.index.view
    assert view is not None
    return view, pair.index._directory


@pytest.mark.parametrize("seed", SEEDS)
def test_random_edits_are_found_both_ways(tmp_path: Path, seed: int) -> None:
    tree = Thicket(tmp_path, Random(seed))
    tree.grow()
    time.sleep(RACY_SECONDS + 0.1)  # or no roster trusts a file
    with haste(), twins(tmp_path) as pair:
        folded(pair)
        for _ in range(6):
            apply(tree.edit())
        view, home = folded(pair)
    for _ in range(6):
        apply(tree.edit())
        compared(tree.root, view, home)


def test_a_file_that_is_ignored_no_more_is_found(tmp_path: Path) -> None:
    """Own promise: it is as its roster knows it, but nothing in the view says that it is there."""
    work = tmp_path / "work"
    work.mkdir()
    names = ("a.txt", "b.txt", "c.py")
    for name in names:
        text = "x\n" * (99 if name == "c.py" else 1)  # or the base is built anew without the others
        (work / name).write_text(text, encoding="utf-8")
        os.utime(work / name, (1_700_000_000, 1_700_000_000))
    time.sleep(RACY_SECONDS + 0.1)  # or no roster trusts a file
    with haste(), twins(tmp_path) as pair:
        folded(pair)
        (work / ".gitignore").write_text("*.txt\n", encoding="utf-8")
        view, home = folded(pair)
    assert view.snapshot.files == 2
    assert any(segment.files > int(alive.sum()) for segment, alive in view.snapshot.parts())
    (work / ".gitignore").unlink()
    assert {"a.txt", "b.txt"} <= compared(work, view, home).entries
