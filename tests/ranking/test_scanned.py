"""What a scan finds, ranked."""

from __future__ import annotations

import pytest

from flashgrep.ranking import scanned
from flashgrep.ranking.changed_files import Changed, OverlayRanking
from flashgrep.ranking.question import RankedFile, RankedQuestion
from flashgrep.ranking.scanned import rank_scanned

TEXTS = {
    "upload.c": "int upload(void)\n{\n}\n",
    "retry.c": "upload again\nretry\nupload\n" * 3,
    "net/big.c": "upload\n" + "other words\n" * 50,
    "x.c": "nothing\n" * 9,
}


def lines(texts: dict[str, str], *words: str) -> dict[str, dict[str, int]]:
    return {
        word: {path: text.count(word) for path, text in texts.items() if word in text}
        for word in words
    }


def ranked(question: str, texts: dict[str, str], *words: str) -> list[RankedFile]:
    sizes = {path: len(text) for path, text in texts.items()}
    found = lines(texts, *words)
    return rank_scanned(RankedQuestion(question), found, sizes, lambda path: texts[path].encode())


def test_scores_are_those_of_counting_every_file() -> None:
    found = ranked("retry upload", TEXTS, "retry", "upload")
    whole = OverlayRanking().count(Changed(path, None, text.encode) for path, text in TEXTS.items())
    expected = whole.search(RankedQuestion("retry upload"), 0, 0, lambda field, word: 0)
    assert [file.path for file in found] == [file.path for file in expected]
    assert [file.score for file in found] == pytest.approx([file.score for file in expected])


def test_a_file_is_found_by_its_name_alone() -> None:
    texts = TEXTS | {"zebra.c": "nothing\n"}
    assert [file.path for file in ranked("zebra", texts, "zebra")] == ["zebra.c"]


def test_candidates_that_cannot_be_read_for_their_size_follow_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scanned, "CANDIDATE_BYTES", 120)
    found = ranked("retry upload", TEXTS, "retry", "upload")
    assert {file.path for file in found} == {"upload.c", "retry.c", "net/big.c"}
    assert [file.score for file in found] == sorted((f.score for f in found), reverse=True)
