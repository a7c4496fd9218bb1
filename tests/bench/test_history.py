"""Questions from a history: what is asked, what counts as right, and how a list is graded."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from bench.__main__ import split_paths
from bench.corpus import Corpus
from bench.effort import Effort
from bench.history_questions import asked, check_out, is_source, questions_of
from tests.warm import warm_subprocesses

from bench import history, served

SUBJECTS = [
    ("fix(net): retry the failed uploads (#123)", "retry the failed uploads"),
    ("Retry uploads in src/net.py when `send` fails", "Retry uploads in when send fails"),
    ("[net] Module of keys: retry is called twice", "retry is called twice"),
    ("use strings.Cut in parser.go, see https://x.y/z.", "use strings.Cut in , see"),
    ("reduce time from 2064 bytes to 64", "reduce time from 2064 bytes to 64"),
]


@pytest.mark.parametrize(("subject", "question"), SUBJECTS)
def test_a_question_does_not_give_the_answer_away(subject: str, question: str) -> None:
    assert asked(subject) == question


def test_only_sources_can_be_right() -> None:
    right = ["src/_pytest/runner.py", "latest/a.go", "src/a.c", "lib/contest.rs"]
    wrong = ["a.md", "tests/a.py", "a_test.go", "src/ServerTest.java", "docs/conf.py", "x.json"]
    assert [path for path in right + wrong if is_source(path)] == right


def test_a_list_is_graded_by_where_the_right_files_stand() -> None:
    assert history.grade(["a", "b"], {"a"}) == (1.0, 1.0, 1.0)
    assert history.grade(["b", "a"], {"a"})[1:] == (0.5, 1.0)
    assert history.grade([*"bcdef", "a"], {"a"})[1:] == (1 / 6, 0.0)
    assert history.grade([], {"a"}) == (0.0, 0.0, 0.0)
    assert history.grade(["a", "b"], {"a", "b"}).ndcg == 1.0


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone whose later commits change one file each."""
    place = tmp_path_factory.mktemp("clone")
    _git(place, "init", "-q")
    for number in range(4):
        (place / f"part{number}.py").write_text(f"def thing_{number}():\n    pass\n")
    _git(place, "add", "-A")
    _git(place, "commit", "-qm", "begin")
    for number in range(4):
        with (place / f"part{number}.py").open("a") as file:
            file.write("# more\n")
        _git(place, "commit", "-qam", f"make the thing_{number} say more (#{number})")
    (place / "README.md").write_text("more\n")
    _git(place, "add", "-A")
    _git(place, "commit", "-qm", "say more about all of it")
    return place


def _git(place: Path, *words: str) -> None:
    names = {f"GIT_{who}_{what}": "a@b.c" for who in ("AUTHOR", "COMMITTER") for what in NAMED}
    environment = {**os.environ, **names, "GIT_CONFIG_GLOBAL": os.devnull}
    subprocess.run(["git", "-C", str(place), *words], check=True, env=environment)


NAMED = ("NAME", "EMAIL")


def test_the_same_questions_are_made_again(repository: Path, tmp_path: Path) -> None:
    made = questions_of(repository)
    assert made == questions_of(repository)
    assert [(one.text, one.files) for one in made.questions] == [
        (f"make the thing_{number} say more", (f"part{number}.py",)) for number in range(4)
    ]
    check_out(made, tmp_path / "tree")
    assert "# more" not in (tmp_path / "tree" / "part3.py").read_text()
    said = subprocess.run(
        ["git", "-C", str(tmp_path / "tree"), "log", "--format=%s"], check=True, capture_output=True
    )
    assert said.stdout == b"begin\n"


@pytest.mark.thorough
def test_a_named_repository_is_measured(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with warm_subprocesses(served):
        section = history.measure(Corpus(tmp_path, "none"), Effort(paths=(str(repository),)))
    (table,) = section.tables
    assert [row[2:9] for row in table.rows] == [
        ["4 of 4", *["1.000"] * 6],
        ["4", *["1.000"] * 6],
    ]
    assert "seed" in section.text[0]


def test_without_a_repository_it_says_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="--only history"):
        history.measure(Corpus(tmp_path, "none"), Effort())
    with pytest.raises(SystemExit, match="git rev-list failed"):
        history.measure(Corpus(tmp_path, "none"), Effort(paths=(str(tmp_path),)))


def test_what_follows_history_are_paths() -> None:
    assert split_paths(["files", "history", "../a", "b"]) == (["files", "history"], ["../a", "b"])
    assert split_paths(["history", "files", "../a"]) == (["history", "files"], ["../a"])
    assert split_paths(["files", "no"]) == (["files", "no"], [])
