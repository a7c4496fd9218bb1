"""Of a literal the rarest grams are looked up, and of anything else all."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashgrep.index.format.segment import Segment
from flashgrep.index.plan.gram_tree import GramTree, _first_apart, apart_first
from flashgrep.index.plan.planner import plan
from flashgrep.search.pattern import PatternSpec
from tests.index.segments import block_bytes, made


def grams(tree: GramTree) -> list[str]:
    return [int(low).to_bytes(4, "big").decode("ascii") for low in tree.lows]


@pytest.fixture
def pilot(tmp_path: Path) -> Segment:
    """`abcd` is in twenty blocks, `efgh` in ten, `cdef` in one: all of `abcdefgh` in none."""
    others = ["."] * 400  # so that postings are lists, which have different lengths
    texts = ["abcd"] * 20 + ["efgh"] * 10 + ["cdef"] + others
    with block_bytes(1):
        return made(tmp_path, {f"f{at:03}": f"{text}\n".encode() for at, text in enumerate(texts)})


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("abcd", "abcd"),
        ("abcdefg", "abcd bcde cdef defg"),
        # five grams: bcde and defg are nowhere, then cdef, then efgh, which is apart from
        # the first; abcd is the commonest
        ("abcdefgh", "bcde cdef defg efgh"),
        ("0123456789", "0123 1234 2345 4567"),  # none anywhere: the first, one apart, the next
        ("abcdefgh|efghabcd", "bcde cdef defg efgh fgha ghab habc efgh"),
    ],
)
def test_the_rarest_grams_of_a_literal_are_looked_up(
    pilot: Segment, pattern: str, expected: str
) -> None:
    found = grams(GramTree(plan(PatternSpec(pattern)), pilot))
    assert sorted(found) == sorted(expected.split())


def test_without_a_segment_to_ask_all_are() -> None:
    assert grams(GramTree(plan(PatternSpec("abcdefgh")))) == [
        "abcd",
        "bcde",
        "cdef",
        "defg",
        "efgh",
    ]


def test_of_literals_with_a_class_between_them_a_few_more_are_and_no_class_that_is_common(
    tmp_path: Path,
) -> None:
    spec = PatternSpec(r"abcdefg[0-9]hijklmn")
    texts = ["abcd", "hijk"] + [f"efg{digit}" for digit in range(10) for _ in range(40)]
    with block_bytes(1):
        pilot = made(tmp_path, {f"f{at:03}": text.encode() for at, text in enumerate(texts)})
    found = grams(GramTree(plan(spec), pilot))
    assert {"bcde", "defg", "ijkl"} < set(found)  # there are none of these
    assert "efg0" not in found  # the first of ten
    assert "efg0" in grams(GramTree(plan(spec)))


def test_a_class_that_is_as_rare_as_the_literals_is_looked_up(tmp_path: Path) -> None:
    texts = ["abcdefg hijklmn"] * 20 + ["defg1hij"]
    with block_bytes(1):
        pilot = made(tmp_path, {f"f{at:03}": text.encode() for at, text in enumerate(texts)})
    found = grams(GramTree(plan(PatternSpec(r"abcdefg[0-9]hijklmn")), pilot))
    assert "efg0" in found


def test_of_classes_that_are_nearly_everywhere_one_is_looked_up(tmp_path: Path) -> None:
    letters = "abcdefghijklmnop"
    text = "".join(f"{a}{b}={b}{a}" for a in letters for b in letters).encode()
    with block_bytes(1):
        pilot = made(tmp_path, {f"f{at}": text for at in range(8)})
    spec = PatternSpec("[a-p][a-p]=[a-p][a-p]")
    plain, with_pilot = GramTree(plan(spec)), GramTree(plan(spec), pilot)
    assert len(with_pilot.firsts) == 1 < len(plain.firsts)


def test_a_class_found_by_going_back_is_looked_up_where_it_is_rare(tmp_path: Path) -> None:
    often = "".join(f"{letter}++{letter}" for letter in "abcdefghijklmnop").encode()
    once = {f"f{at:03}": b"a++ b" if at == 5 else b"." for at in range(400)}
    with block_bytes(1):
        everywhere = made(tmp_path, {f"f{at}": often for at in range(8)}, "1.seg")
        somewhere = made(tmp_path, once, "2.seg")
    alone, beside = plan(PatternSpec(r"[a-p]+\+\+")), plan(PatternSpec(r"abcd.*[a-p]+\+\+"))
    assert GramTree(alone, somewhere).root is not None
    assert "a++\0" in grams(GramTree(beside, somewhere))
    assert GramTree(alone, everywhere).root is None  # all blocks are candidates
    assert "a++\0" not in grams(GramTree(beside, everywhere))
    either = plan(PatternSpec(r"[a-p]+\+\+|abcd"))
    assert GramTree(either, everywhere).root is None
    assert GramTree(either, somewhere).root is not None


def test_places_are_those_in_the_literal(pilot: Segment) -> None:
    tree = GramTree(plan(PatternSpec("abcdefgh")), pilot)
    assert tree.root is not None
    assert [leaf.place for leaf in tree.root.leaves] == [1, 2, 3, 4]


def test_what_stands_near_comes_behind_what_stands_apart() -> None:
    assert apart_first([5, 6, 1, 9, 0], lambda a, b: abs(a - b) < 4) == [5, 1, 9, 6, 0]


@given(places=st.permutations(range(24)), count=st.integers(0, 24))
def test_the_first_that_are_apart_are_those_of_all(places: list[int], count: int) -> None:
    some = places[:count]
    apart = apart_first(some, lambda one, other: abs(one - other) < 4)
    assert _first_apart(some, 4) == apart[:4]
