"""What other processes match because it may take long is what is matched here."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from flashgrep.errors import Cancelled
from flashgrep.index.answer.match import Hits
from flashgrep.index.answer.match_pool import KillableMatching
from flashgrep.index.format.segment_set import Work
from flashgrep.search.match_lines import line_matcher
from flashgrep.search.pattern import PatternSpec
from flashgrep.search.result import SearchQuestion
from tests.index.twins import Twins, haste, twins

WILD = ["a.{0,40}c", "[ab]{3}b[abc]{12}", "^.{12}a", "x.{20}y"]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twins]:
    top = tmp_path_factory.mktemp("top")
    work = top / "work"
    (work / "sub").mkdir(parents=True)
    for number in range(30):
        lines = [("ab" * (number % 7) + "cab" * (line % 5)) + f" {line}" for line in range(20)]
        (work / f"f{number:02}.txt").write_text("\n".join(lines) + "\n")
    (work / "sub" / "long.txt").write_text("abc" * 30_000 + "\nshort\n")
    (work / "sub" / "link.txt").symlink_to("../f06.txt")
    with haste(ranked=False), twins(top) as pair:
        pair.ready()
        pair.folded()
        yield pair


@pytest.fixture(autouse=True)
def nothing_long_here() -> Iterator[None]:
    """Whatever may take long is done by processes, if it is only a byte."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("flashgrep.search.pattern.HERE_SECONDS", 0.0)
        line_matcher.cache_clear()
        yield
    line_matcher.cache_clear()


@pytest.mark.parametrize("pattern", WILD)
@pytest.mark.parametrize("mode", ["files_with_matches", "content", "count"])
@pytest.mark.parametrize(
    "further", [{}, {"head_limit": 7, "offset": 3}, {"multiline": True}, {"case_insensitive": True}]
)
def test_an_index_and_a_scan_answer_alike(
    both: Twins, pattern: str, mode: str, further: dict[str, object]
) -> None:
    before = both.by_index
    text = both.agree(pattern=pattern, output_mode=mode, **further)
    assert both.by_index == before + 1
    assert text


def test_single_matches_and_lines_around_are_shown_alike(both: Twins) -> None:
    both.agree(pattern="a.{0,9}c", output_mode="content", only_matching=True)
    both.agree(pattern="a.{12,15}c", output_mode="content", context=1)
    both.agree("query", text="a.{0,11}c", mode="regex")


def test_the_answers_are_those_of_matching_here(both: Twins) -> None:
    away = both.agree(pattern="b.{0,31}c", output_mode="content")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("flashgrep.search.pattern.HERE_SECONDS", 1e6)
        line_matcher.cache_clear()
        assert both.agree(pattern="b.{0,31}c", output_mode="content") == away


def test_a_search_whose_segments_were_replaced_takes_the_new_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    for number in range(3):
        (work / f"f{number}.txt").write_text("abc\n")
    match = KillableMatching.match
    searches = 0

    def late(self: KillableMatching, given: Sequence[Work]) -> list[Hits]:
        nonlocal searches
        searches += 1
        if searches == 1:
            turn = 0
            while os.path.exists(given[0].segment.path):  # until it is compacted into another
                turn += 1
                (work / "f0.txt").write_text(f"abc\nabc\n{turn}\n")
                (work / "f1.txt").write_text(f"abd\n{turn}\n")
                pair.folded()
        return match(self, given)

    with haste(ranked=False), twins(tmp_path) as pair:
        pair.ready()
        pair.folded()
        monkeypatch.setattr(KillableMatching, "match", late)
        before = pair.by_index
        pair.agree(pattern="a.{0,40}c", output_mode="count")
        assert searches == 2
        assert pair.by_index == before + 1


@pytest.mark.thorough
def test_a_cancelled_search_is_ended_while_others_match(tmp_path: Path) -> None:
    """The match would take minutes, so it is at work at any moment."""
    letters = bytes(97 + number % 16 for number in range(256))
    (tmp_path / "work").mkdir()
    line = random.Random(7).randbytes(3_000_000).translate(letters)
    (tmp_path / "work" / "long.txt").write_bytes(line)
    with haste(ranked=False), twins(tmp_path) as pair:
        pair.ready()
        pair.folded()
        engine = pair.indexed.services.search
        place = pair.indexed.services.scope.place(".")
        question = SearchQuestion(PatternSpec(".*[a-h]" + 6 * ".{1000}" + "z"), "lines")

        class WithdrawnAtWork:
            def __bool__(self) -> bool:
                return bool(engine.pool._turns._held)

        with pytest.raises(Cancelled):
            engine.search(place, question, WithdrawnAtWork(), lambda *_: None)
        assert not engine.pool._turns._held
