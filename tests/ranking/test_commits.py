"""What commits say for the files that they changed."""

from __future__ import annotations

import pytest

from flashgrep.ranking.commits import MOST_FILES, Commit, CommitWords, heard
from flashgrep.ranking.question import RankedFile, RankedQuestion, forms, stem

QUESTION = RankedQuestion("retry failed uploads")


def commit(subject: str, *files: str, changed: int = 0) -> Commit:
    return Commit(subject, files, changed or len(files))


OTHERS = [commit(f"number {number}", f"other{number}.c") for number in range(20)]


def test_a_subject_that_is_like_the_question_speaks_for_the_files_of_its_commit() -> None:
    words = CommitWords([commit("Retries of an upload that fails", "net/send.c"), *OTHERS])
    assert words.shares(QUESTION) == {"net/send.c": 1.0}


def test_half_a_question_is_worth_little() -> None:
    commits = [commit("retry failed uploads", "a.c"), commit("retry the login", "b.c"), *OTHERS]
    shares = CommitWords(commits).shares(QUESTION)
    assert shares["a.c"] == 1.0
    assert 0 < shares["b.c"] < 0.1


def test_a_commit_of_many_files_says_less_for_each_and_of_too_many_nothing() -> None:
    commits = [
        commit("retry failed uploads", "a.c"),
        commit("retry failed uploads", "b.c", "c.c", changed=4),
        commit("retry failed uploads", "d.c", changed=MOST_FILES + 1),
        commit("retry failed uploads"),
        *OTHERS,
    ]
    assert CommitWords(commits).shares(QUESTION) == pytest.approx(
        {"a.c": 1, "b.c": 0.5, "c.c": 0.5}
    )


def test_every_commit_of_a_file_counts() -> None:
    commits = [*[commit("retry failed uploads", "a.c")] * 2, commit("retry failed uploads", "b.c")]
    assert CommitWords([*commits, *OTHERS]).shares(QUESTION) == {"a.c": 1.0, "b.c": 0.5}


def test_what_a_path_says_a_file_is_counts_here_too() -> None:
    words = CommitWords([commit("retry failed uploads", "a.c", "CHANGELOG.md"), *OTHERS])
    shares = words.shares(QUESTION)
    assert shares["CHANGELOG.md"] == pytest.approx(QUESTION.path_weight("CHANGELOG.md"))


def test_words_of_the_request_count_half() -> None:
    commits = [commit("fix it", "a.c"), commit("the parser", "b.c"), *OTHERS]
    shares = CommitWords(commits).shares(RankedQuestion("fix parser"))
    assert shares["b.c"] == 1.0
    assert shares["a.c"] == pytest.approx(0.5**3)


def test_the_best_file_of_the_commits_gains_a_third_of_the_best_score() -> None:
    files = [RankedFile("x.c", 10.0), RankedFile("a.c", 8.0), RankedFile("b.c", 7.0)]
    words = CommitWords([commit("retry failed uploads", "a.c", "gone.c"), *OTHERS])
    found = heard(QUESTION, files, words)
    assert [(file.path, file.score) for file in found] == [
        ("a.c", 11.5),
        ("x.c", 10.0),
        ("b.c", 7.0),
    ]


@pytest.mark.parametrize("commits", [None, CommitWords([]), CommitWords(OTHERS)])
def test_without_a_commit_that_has_a_word_of_the_question_nothing_changes(
    commits: CommitWords | None,
) -> None:
    files = [RankedFile("x.c", 10.0), RankedFile("a.c", 8.0)]
    assert heard(QUESTION, files, commits) == files
    assert heard(QUESTION, [], commits) == []


@pytest.mark.parametrize(
    "words",
    [
        "load loads loading loaded loader",
        "create creates creating created",
        "map maps mapping mapped mapper",
        "retry retries",
        "connect connections connected",
    ],
)
def test_the_forms_of_a_word_have_one_stem(words: str) -> None:
    assert len(set(map(stem, words.split()))) == 1


@pytest.mark.parametrize("word", ["a", "x86", "für", "_", ""])
def test_what_is_no_english_word_is_its_own_stem(word: str) -> None:
    assert stem(word) == word
    assert forms(word)[0] == word
