"""A listing that names known files by number has found what a plain listing has."""

from __future__ import annotations

import os
import time
from pathlib import Path
from random import Random

import pytest

from flashgrep.index.format.enrolled_files import EnrolledFiles
from flashgrep.index.format.header import read_header
from flashgrep.index.format.roster import RACY_SECONDS
from flashgrep.index.format.store import Store
from flashgrep.index.watch.changes import Identity, Tree
from flashgrep.index.watch.tracker import Tracker
from flashgrep.workspace.scope import Scope
from tests.index.edits import apply
from tests.index.thicket import Thicket
from tests.index.twins import haste, twins

SEEDS = (0, 1, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in (3, 4, 5)))
"""Trees in which something stays as it was."""


def indexed(top: Path, seed: int) -> tuple[Thicket, Store]:
    """A tree that was indexed in two steps, and changed afterwards."""
    tree = Thicket(top, Random(seed))
    tree.grow()
    time.sleep(RACY_SECONDS + 0.1)  # or no roster trusts a file
    with haste(), twins(top) as pair:
        pair.ready()
        for _ in range(8):
            apply(tree.edit())
        pair.folded()
    for _ in range(8):
        apply(tree.edit())
    (manifest,) = (top / "state" / "index").glob("*/manifest")
    return tree, Store(manifest.parent)


def both(tree: Thicket, enrolled: EnrolledFiles | None) -> tuple[Tree, Tree]:
    tracker = Tracker(Scope(str(tree.root)), os.fsencode(tree.root))
    return tracker.list_everything(lambda: False), tracker.list_everything(lambda: False, enrolled)


@pytest.mark.parametrize("seed", SEEDS)
def test_numbers_and_names_together_are_all_files(tmp_path: Path, seed: int) -> None:
    tree, store = indexed(tmp_path, seed)
    plain, found = both(tree, store.enrolled())
    segments, _, _ = store.load()
    names: dict[str, Identity] = {}
    for segment in segments:
        numbers = found.recognised.get(segment.path, [])
        names |= {segment.name(number): segment.identity(number) for number in numbers}
        assert not segment.racy[numbers].any()
    assert names
    assert names.keys().isdisjoint(found.files)
    assert names | found.files == plain.files
    for part in ("shared", "links", "directories", "unreadable", "above", "root"):
        assert getattr(found, part) == getattr(plain, part), part


@pytest.mark.parametrize("suffix", [".seg", ".roster"])
def test_what_is_damaged_recognises_nothing(tmp_path: Path, suffix: str) -> None:
    tree, store = indexed(tmp_path, 1)
    enrolled = store.enrolled()
    assert enrolled is not None
    for path in store.directory.glob(f"*{suffix}"):
        data = bytearray(path.read_bytes())
        at = len(data) // 2
        if suffix == ".seg":
            at = read_header(str(path), memoryview(data)).sections["names"][0]
        data[at] ^= 1
        path.write_bytes(data)
    plain, found = both(tree, EnrolledFiles.unpacked(enrolled.packed))
    assert not any(found.recognised.values())
    assert found.files == plain.files


def test_a_tree_without_rosters_has_no_enrolled_files(tmp_path: Path) -> None:
    assert Store(tmp_path / "index").enrolled() is None
