"""What other files say for a file."""

from __future__ import annotations

import pytest

from flashgrep.ranking.evidence import WITNESSES, supported
from flashgrep.ranking.question import RankedFile, RankedQuestion

QUESTION = RankedQuestion("retry upload")


def scores(question: RankedQuestion, own: dict[str, float]) -> dict[str, float]:
    """Scores with what others say, from scores before the factors of the paths."""
    files = [RankedFile(path, score * question.path_weight(path)) for path, score in own.items()]
    files.sort(key=lambda file: (-file.score, file.path))
    found = supported(question, files)
    assert [file.score for file in found] == sorted((f.score for f in found), reverse=True)
    return {file.path: file.score for file in found}


def test_a_test_speaks_for_the_file_it_is_named_after() -> None:
    found = scores(QUESTION, {"a/upload.py": 1.0, "b/retry.py": 1.1, "tests/test_upload.py": 2.0})
    assert found["a/upload.py"] == pytest.approx(1.0 + 0.2 * 2.0)
    assert found["b/retry.py"] == 1.1
    assert found["tests/test_upload.py"] == 2.0 * QUESTION.path_weight("tests/test_upload.py")


def test_the_best_of_several_tests_counts_and_none_for_another_test() -> None:
    found = scores(QUESTION, {"a/upload.go": 1.0, "b/upload_test.go": 2.0, "c/upload_test.go": 3.0})
    assert found["a/upload.go"] == pytest.approx(1.0 + 0.2 * 3.0)
    weight = QUESTION.path_weight("b/upload_test.go")
    assert found["b/upload_test.go"] == pytest.approx(2.0 * weight)


def test_headers_and_data_of_tests_speak_for_nobody() -> None:
    own = {"a/upload.c": 1.0, "include/upload.h": 2.0, "tests/upload.json": 3.0}
    assert scores(QUESTION, own)["a/upload.c"] == 1.0


def test_the_three_best_files_beside_it_speak_for_a_file() -> None:
    own = {f"net/{name}.c": float(at) for at, name in enumerate("abcde", 1)} | {"x.c": 1.0}
    found = scores(QUESTION, own)
    assert found["net/a.c"] == pytest.approx(1 + 0.3 * (5 + 4 + 3) / 3)
    assert found["net/e.c"] == pytest.approx(5 + 0.3 * (4 + 3 + 2) / 3)
    assert found["net/c.c"] == pytest.approx(3 + 0.3 * (5 + 4 + 2) / 3)
    assert found["x.c"] == 1.0


def test_prose_and_tests_beside_a_file_do_not_speak_for_it() -> None:
    own = {"net/upload.c": 1.0, "net/README.md": 4.0, "net/test_all.c": 4.0, "net/a.json": 4.0}
    assert scores(QUESTION, own)["net/upload.c"] == 1.0


def test_a_question_for_tests_has_them_first() -> None:
    own = {"a/upload.py": 1.0, "tests/test_upload.py": 1.5}
    assert list(scores(RankedQuestion("tests of the upload"), own)) == [
        "tests/test_upload.py",
        "a/upload.py",
    ]


def test_files_far_down_stay_as_they_are() -> None:
    files = [RankedFile(f"{at}/a.c", 1000.0 - at) for at in range(WITNESSES)]
    rest = [RankedFile("0/b.c", 1.0), RankedFile("0/c.c", 0.5)]
    assert supported(QUESTION, [*files, *rest]) == [*files, *rest]
    assert supported(QUESTION, []) == []
