"""Postings say of every key which blocks hold it, however they are packed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from random import Random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from flashgrep.index.format import postings as postings_module
from flashgrep.index.format.postings import bitmap_bytes, marked
from flashgrep.index.update.grams import block_keys, inverted

CASES = 20_000 if os.environ.get("FLASHGREP_HEAVY") else 100
Blocks = list[set[int]]


def written(blocks: Blocks) -> tuple[list[int], list[tuple[int, int]], np.ndarray]:
    """Keys, where the postings of each are, and the postings."""
    keys, offsets, postings = inverted([np.array(sorted(b), np.uint32) for b in blocks])
    places = list(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True))
    return keys.tolist(), places, postings


def holding(postings: np.ndarray, places: Sequence[tuple[int, int]], blocks: int) -> set[int]:
    starts = np.array([start for start, _ in places], np.int64)
    ends = np.array([end for _, end in places], np.int64)
    return set(np.flatnonzero(marked(postings, starts, ends, blocks)).tolist())


def sparse(most: int, keys: int) -> st.SearchStrategy[Blocks]:
    """Many blocks, most of them empty: steps of every size."""

    @st.composite
    def build(draw: st.DrawFn) -> Blocks:
        count = draw(st.integers(1, most))
        blocks: Blocks = [set() for _ in range(count)]
        for key in draw(st.lists(st.integers(0, 2**32 - 1), max_size=keys, unique=True)):
            for at in draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=20)):
                blocks[at].add(key)
        return blocks

    return build()


@settings(max_examples=CASES, deadline=None)
@given(st.one_of(sparse(20, 6), sparse(3_000, 6)))
@example([])
@example([set()])
@example([{0}, {0, 2**32 - 1}])
@example([{7} if at in (0, 255, 510, 764, 1_020) else set() for at in range(3_000)])
@example([{7} if at in (255, 65_534) else set() for at in range(65_535)])
def test_every_key_has_the_blocks_that_hold_it(blocks: Blocks) -> None:
    keys, places, postings = written(blocks)
    assert keys == sorted(set().union(*blocks))
    for key, place in zip(keys, places, strict=True):
        expected = {at for at, block in enumerate(blocks) if key in block}
        assert holding(postings, [place], len(blocks)) == expected
    assert holding(postings, places, len(blocks)) == {at for at, b in enumerate(blocks) if b}


@pytest.mark.parametrize("long_bytes", [0, 8, 256])
def test_neighbours_are_copied_in_one_go_or_gathered(
    monkeypatch: pytest.MonkeyPatch, long_bytes: int
) -> None:
    monkeypatch.setattr(postings_module, "_LONG_BYTES", long_bytes)
    chance = Random(3)
    for _ in range(100):
        blocks = [{key for key in range(40) if chance.random() < 0.02} for _ in range(900)]
        keys, places, postings = written(blocks)
        low, high = sorted(chance.sample(range(len(keys) + 1), 2))
        for chosen in (range(low, high), sorted(chance.sample(range(len(keys)), 5))):
            wanted = {keys[at] for at in chosen}
            found = holding(postings, [places[at] for at in chosen], len(blocks))
            assert found == {at for at, block in enumerate(blocks) if block & wanted}


def test_a_posting_is_never_longer_than_one_bit_per_block() -> None:
    blocks = [{1, *([2] if at % 2 else []), *([3] if at % 300 == 0 else [])} for at in range(3_000)]
    _, places, _ = written(blocks)
    assert [end - start for start, end in places[:2]] == [bitmap_bytes(3_000)] * 2
    assert places[2][1] - places[2][0] < 25


def test_a_hundred_thousand_postings_are_read_in_one_go() -> None:
    """Their numbers add up to more than 32 bits hold."""
    last = 65_000
    postings = np.tile(np.array([last & 0xFF, last >> 8], np.uint8), 100_000)
    starts = np.arange(100_000) * 2
    assert np.flatnonzero(marked(postings, starts, starts + 2, 65_535)).tolist() == [last]


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        (b"", []),
        (b"abc", []),
        (b"abcd", [b"abcd"]),
        (b"aaaaaa\n", [b"aaa\n", b"aaaa"]),
        (b"\xff\xff\xff\xff\x00", [b"\xff\xff\xff\x00", b"\xff\xff\xff\xff"]),
    ],
)
def test_the_keys_of_a_block_are_its_distinct_grams(text: bytes, keys: list[bytes]) -> None:
    found = block_keys(np.frombuffer(text, np.uint8)).tolist()
    assert found == [int.from_bytes(key, "big") for key in keys]
