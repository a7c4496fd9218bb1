"""The ranking of changed files: kept between questions, and the same as one made for the moment."""

from __future__ import annotations

import threading
import time
from collections import Counter
from random import Random

import pytest

from flashgrep.ranking.changed_files import Changed, ChangedFiles, OverlayRanking, counted
from flashgrep.ranking.format import text_fields
from flashgrep.ranking.question import (
    FORM_WEIGHT,
    INITIALS_WEIGHT,
    PREFIX_WEIGHT,
    REQUEST_WEIGHT,
    REQUEST_WORDS,
    WEIGHTS,
    WHOLE_WEIGHT,
    RankedQuestion,
    forms,
    frequency,
    prefixes,
    rarity,
)
from flashgrep.ranking.words import tokens

WORDS = ["load", "loader", "loading", "retry", "upload", "parse", "header"]
WORDS += ["cache_line", "readCopy", "update", "rcu", "elf"]
QUESTIONS = [
    "loading retry",
    "read copy update",
    "cacheLine parse_header",
    "retries",
    "update",
    "u",
]
DOCUMENTS, TEXT_BYTES = 40, 4_000


def count_of(field: str, word: str) -> int:
    """What a snapshot could have told."""
    return (len(word) * 7 + len(field)) % 30


class Plain:
    """The score of each file, word by word: what the arrays have to come to."""

    def __init__(self, files: dict[str, str]) -> None:
        self.files = {path: self._fields(path, text) for path, text in files.items()}
        self.sizes = {path: len(text.encode()) for path, text in files.items()}
        self.total = DOCUMENTS + len(files)
        self.average = (TEXT_BYTES + sum(self.sizes.values())) / self.total

    @staticmethod
    def _fields(path: str, text: str) -> dict[str, Counter[str]]:
        return {
            name: Counter(value.lower().split() if name == "whole" else tokens(value.encode()))
            for name, value in text_fields(path, text.encode()).items()
        }

    def scores(self, text: str) -> dict[str, float]:
        asked = RankedQuestion(text)
        found = {path: self._score(path, asked) * asked.path_weight(path) for path in self.files}
        return {path: score for path, score in found.items() if score > 0}

    def _score(self, path: str, asked: RankedQuestion) -> float:
        found = 0.0
        for word in asked.words:
            share = REQUEST_WEIGHT if word in REQUEST_WORDS and len(asked.words) > 1 else 1.0
            for field, weight in WEIGHTS.items():
                others = [
                    FORM_WEIGHT * self._term(path, field, form, word) for form in forms(word)[1:]
                ]
                found += share * weight * max([self._term(path, field, word), *others])
            for field in ("name", "path"):
                best = [self._term(path, field, prefix) for prefix in prefixes(word)]
                found += share * PREFIX_WEIGHT * WEIGHTS[field] * max(best, default=0.0)
        for word in asked.compounds:
            found += WHOLE_WEIGHT * self._term(path, "whole", word)
        for word in asked.initials:
            found += sum(w * self._term(path, field, word) for field, w in INITIALS_WEIGHT.items())
        return found

    def _term(self, path: str, field: str, word: str, of: str | None = None) -> float:
        count = self.files[path][field][word]
        if not count:
            return 0.0
        length = self.sizes[path] / self.average if field in ("body", "defs") else 1.0
        rare = min(self._rarity(field, word), self._rarity(field, of or word))
        return rare * frequency(count, length)

    def _rarity(self, field: str, word: str) -> float:
        here = sum(word in fields[field] for fields in self.files.values())
        return rarity(self.total, min(count_of(field, word) + here, self.total))


def changed(files: dict[str, str]) -> list[Changed]:
    return [Changed(path, text, text.encode) for path, text in files.items()]


def scores(overlay: ChangedFiles, text: str) -> dict[str, float]:
    found = overlay.search(RankedQuestion(text), DOCUMENTS, TEXT_BYTES, count_of)
    assert [file.score for file in found] == sorted((f.score for f in found), reverse=True)
    return {file.path: file.score for file in found}


def made_up(chance: Random) -> str:
    words = chance.choices(WORDS, k=chance.randrange(12))
    return "".join(f"def {word}(x):\n    {word} loads\n" for word in words)


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each file was counted."""
    seen: Counter[str] = Counter()

    def counting(path: str, text: bytes) -> object:
        seen[path] += 1
        return counted(path, text)

    monkeypatch.setattr("flashgrep.ranking.changed_files.counted", counting)
    return seen


def test_what_is_kept_scores_as_what_is_counted_anew(counts: Counter[str]) -> None:
    """Files come, change and go; after each step the answers are those of a plain count."""
    chance = Random(5)
    ranking, files = OverlayRanking(), dict[str, str]()
    versions = 0
    for step in range(40):
        for _ in range(chance.choice((0, 1, 1, 2, 9))):
            path = f"{chance.choice(('src', 'tests', 'elf'))}/{chance.choice(WORDS)}{step % 9}.py"
            if path in files and chance.random() < 0.4:
                del files[path]
            else:
                text = made_up(chance)
                versions += files.get(path) != text
                files[path] = text
        overlay = ranking.count(changed(files))
        assert overlay.files == len(files)
        assert all(map(overlay.holds, files))
        expected = Plain(files)
        for text in chance.sample(QUESTIONS, 2):
            assert scores(overlay, text) == pytest.approx(expected.scores(text))
    assert 0 < sum(counts.values()) <= versions  # each version once at most


def test_a_file_is_counted_once_per_version(counts: Counter[str]) -> None:
    ranking = OverlayRanking()
    for version in ("zebra one", "zebra one", "two"):
        overlay = ranking.count(changed({"f.py": version, "other.py": "zebra"}))
        assert ("f.py" in scores(overlay, "zebra")) == ("zebra" in version)
    assert counts == {"f.py": 2, "other.py": 1}


def test_a_file_read_right_after_a_change_is_read_again(counts: Counter[str]) -> None:
    """Within one step of the clock it may have changed again without a new time."""
    ranking = OverlayRanking()
    now = time.time_ns()
    for moment in (now + 10**9, now + 10**9, now - 10**9, now - 10**9):
        ranking.count([Changed("f.py", "same", b"zebra".upper, moment)])
    assert counts == {"f.py": 3}


def test_an_overlay_at_hand_does_not_change_with_the_next() -> None:
    ranking = OverlayRanking()
    before = ranking.count(changed({"a.py": "zebra", "b.py": "zebra"}))
    after = ranking.count(changed({"b.py": "horse"}))
    assert set(scores(before, "zebra")) == {"a.py", "b.py"}
    assert scores(after, "zebra") == {}
    assert set(scores(after, "horse")) == {"b.py"}


def test_what_is_held_does_not_grow_over_many_changes() -> None:
    """Own promise: versions that are gone leave memory, and lots stay few."""
    ranking = OverlayRanking()
    files = {f"f{n}.py": f"zebra number{n}\n" for n in range(30)}
    sizes = []
    for step in range(200):
        files[f"f{step % 30}.py"] = f"zebra step{step}\n"
        overlay = ranking.count(changed(files))
        assert len(overlay.paths) <= 2 * len(files)
        assert len(overlay.lots) <= 8
        sizes.append(sum(map(len, overlay.lots)))
    assert max(sizes[100:]) <= max(sizes[:100])
    assert len(scores(overlay, "zebra")) == 30
    assert ranking.count([]).files == 0
    assert sum(map(len, ranking.count([]).lots)) == 0


def test_nothing_is_left_when_it_is_cleared(counts: Counter[str]) -> None:
    ranking = OverlayRanking()
    ranking.count(changed({"a.py": "zebra"}))
    ranking.clear()
    assert not ranking.count([]).lots
    assert set(scores(ranking.count(changed({"a.py": "zebra"})), "zebra")) == {"a.py"}
    assert counts == {"a.py": 2}


def test_questions_that_come_together_count_once(counts: Counter[str]) -> None:
    ranking = OverlayRanking()
    files = {f"f{n}.py": "zebra\n" * n for n in range(40)}
    begun = threading.Barrier(4)
    found: list[ChangedFiles] = []

    def ask() -> None:
        begun.wait()
        found.append(ranking.count(changed(files)))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    run_all(threads)
    assert [overlay.files for overlay in found] == [40] * 4
    assert set(counts.values()) == {1}


def run_all(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
