"""A snapshot finds names, stretches and places in walk order as a plain sorted list would."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashgrep.index.answer.view import IndexSnapshot, snapshot
from flashgrep.index.watch.changes import is_below
from flashgrep.search.result import walk_key
from tests.index.segments import made

_PARTS = st.lists(st.sampled_from(["a", "a.b", "b", "c", "b\x01", "é", "\udcff", "z"]), max_size=3)


def in_order(names: list[str]) -> list[str]:
    return sorted(names, key=lambda name: [os.fsencode(part) for part in name.split("/")])


@st.composite
def layers(draw: st.DrawFn) -> tuple[list[str], list[str]]:
    """Names of the base, and of what came later: no name is a directory of another."""
    names = draw(st.lists(_PARTS.filter(bool).map("/".join), max_size=14, unique=True))
    files = [n for n in names if not any(other.startswith(n + "/") for other in names)]
    cut = draw(st.integers(0, len(files)))
    return files[:cut], files[cut:]


def put_together(directory: Path, base: list[str], later: list[str]) -> IndexSnapshot:
    """The base in two segments, the rest in one; a name of the base may come again."""
    ordered = in_order(base)
    middle = len(ordered) // 2
    parts = [ordered[:middle], ordered[middle:], in_order(later)]
    segments = [
        made(directory, dict.fromkeys(part, b"x\n"), f"{at}.seg") for at, part in enumerate(parts)
    ]
    return snapshot(segments, 2, [np.ones(segment.files, bool) for segment in segments])


@settings(max_examples=60, deadline=None)
@given(layers(), _PARTS.map("/".join))
def test_like_a_sorted_list(
    tmp_path_factory: pytest.TempPathFactory, names: tuple[list[str], list[str]], asked: str
) -> None:
    base, later = names
    snap = put_together(tmp_path_factory.mktemp("s"), base, later)
    assert snap.files == len(base) + len(later)
    by_rank = sorted(
        (int(rank), segment.name(file))
        for segment, ranks in zip(snap.segments, snap.ranks, strict=True)
        for file, rank in enumerate(ranks)
    )
    assert [name for _, name in by_rank] == in_order(base + later)
    for name in [*base, *later, asked]:
        found = [snap.segments[place.segment].name(place.file) for place in snap.find(name)]
        assert found == ([name] if name in base + later else [])
    for number, segment in enumerate(snap.segments):
        first, past = snap.stretch(number, asked)
        all_names = segment.all_names()
        below = [n for n in all_names if not asked or n.startswith(asked + "/")]
        assert all_names[first:past] == below


@settings(max_examples=60, deadline=None)
@given(layers(), st.data())
def test_without_kills_names_and_subtrees_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory,
    names: tuple[list[str], list[str]],
    data: st.DataObject,
) -> None:
    files = [*names[0], *names[1]]
    snap = put_together(tmp_path_factory.mktemp("s"), *names)
    killed = data.draw(st.lists(st.sampled_from(files or ["a"]), max_size=3))
    subtrees = data.draw(st.lists(_PARTS.map("/".join), max_size=2))
    later = snap.without(killed, subtrees)
    dead = {n for n in files if n in killed or any(is_below(n, s) for s in subtrees)}
    alive = {s.name(file) for s, mask in later.parts() for file in mask.nonzero()[0].tolist()}
    assert alive == set(files) - dead
    assert snap.files == len(files)  # a snapshot never changes


def test_a_file_in_no_segment_stands_between_those_that_are(tmp_path: Path) -> None:
    snap = put_together(tmp_path, ["a", "c", "e/f", "g"], [])
    ranks = {
        s.name(f): int(r)
        for s, rs in zip(snap.segments, snap.ranks, strict=True)
        for f, r in enumerate(rs)
    }
    for name in ["0", "a/x", "b", "d", "e/a", "e/z", "z"]:
        before = {known for known, rank in ranks.items() if rank < snap.rank(name)}
        assert before == {known for known in ranks if walk_key(known) < walk_key(name)}
