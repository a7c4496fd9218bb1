"""Paths ranked by a few letters: found exactly, best first."""

from __future__ import annotations

import random

import pytest

from flashgrep.tools.format.fuzzy_names import ranked

LETTERS = "aeginrstAEGINRST/_.-ß9"


def has_in_order(path: str, typed: str) -> bool:
    """The definition."""
    letters = iter(path.lower())
    return all(letter in letters for letter in typed.lower() if not letter.isspace())


@pytest.mark.parametrize("seed", range(5))
def test_exactly_the_paths_with_the_letters_in_order_are_found(seed: int) -> None:
    choose = random.Random(seed)
    paths = sorted(
        {"".join(choose.choices(LETTERS, k=choose.randrange(1, 20))) for _ in range(300)}
    )
    for _ in range(100):
        typed = "".join(choose.choices(LETTERS + " ", k=choose.randrange(0, 5)))
        found, total = ranked(paths, typed, 1_000)
        assert sorted(found) == [path for path in paths if has_in_order(path, typed)]
        assert total == len(found)
        assert ranked(paths, typed, 3)[0] == found[:3] or total > 200


ORDER = [
    # what is typed, and paths, the best first
    (
        "read",
        ["read.py", "tools/read.py", "x/reader.py", "x/can_read.py", "x/bread.py", "x/r_e_a_d.c"],
    ),
    ("ab", ["x/ab", "x/ab_longer", "ab/x", "x/a/b"]),
    ("gsr", ["get_slice_rows.py", "gaseous_rain.py"]),
    ("tp", ["x/ThePage.ts", "x/tape.ts"]),
    ("x/ab", ["x/ab.c", "y/x/ab.c", "x/a_b.c"]),
]


@pytest.mark.parametrize(("typed", "paths"), ORDER)
def test_the_better_path_comes_first(typed: str, paths: list[str]) -> None:
    assert ranked(sorted(paths), typed, 50)[0] == paths


def test_nothing_typed_gives_the_first_paths() -> None:
    assert ranked(["b", "a"], "  ", 1) == (["b"], 2)


def test_a_long_hostile_text_takes_no_time() -> None:
    paths = ["a" * 300 + "/" + "a" * 300 for _ in range(200)]
    assert ranked(paths, "a" * 10_000 + "b", 50)[1] == 200
    assert ranked(paths, "a" * 150 + "b", 50)[1] == 0
