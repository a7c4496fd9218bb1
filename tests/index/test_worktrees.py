"""Trees of one repository share what their files have in common, and answer each for itself."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

from flashgrep.index.format.manifest import read_generation
from flashgrep.index.format.segment import Segment
from flashgrep.index.update.builders import Builders, BuildFailed, BuildJob, Built
from flashgrep.index.update.ranked_index import key_of
from flashgrep.index.update.rescan import NO_RACY_FILES
from tests.index.git.repositories import Repo, environment
from tests.index.twins import Twins, haste, twins, wait_for

LINK = ".git"
"""In a further tree a file that says where the repository is: it is searched as any other."""
FILES = {f"d{at % 7}/f{at:03}.txt": b"needle %d\nhay\n" % at for at in range(150)}


class Family:
    """A repository in `top/main/work` and further trees, over one cache."""

    def __init__(self, top: Path, *options: str) -> None:
        self.top = top
        self.main = Repo(top / "main" / "work", *options)
        self.main.commit(FILES)
        self.environment = {**environment(top), "XDG_CACHE_HOME": str(top / "cache")}

    def worktree(self, name: str, *arguments: str) -> Repo:
        (self.top / name).mkdir()
        return self.main.worktree(self.top / name / "work", *arguments)

    @contextmanager
    def served(self, repo: Repo, **settings: Any) -> Iterator[Twins]:
        with twins(repo.top.parent, environment=self.environment, **settings) as pair:
            pair.folded()
            yield pair

    @property
    def store(self) -> Path:
        (found,) = (self.top / "cache" / "flashgrep" / "repositories").iterdir()
        return found

    def used(self) -> set[str]:
        """The segments that count: a server that was closed may have left another, half read."""
        homes = [json.loads(each.read_bytes())["directory"] for each in self.trees.iterdir()]
        return {name for home in homes for name in read_generation(Path(home)).segments}

    @property
    def trees(self) -> Path:
        return self.store / "trees"

    def segments(self) -> set[str]:
        return {name for name in os.listdir(self.store) if name.endswith(".seg")}


@pytest.fixture(autouse=True)
def quickly(request: pytest.FixtureRequest) -> Iterator[None]:
    with haste(ranked="ranking" in request.node.name):
        yield


@pytest.fixture
def family(tmp_path: Path) -> Family:
    return Family(tmp_path)


@pytest.fixture
def read_files(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that building processes were given."""
    names: list[str] = []
    real = Builders.build

    def noted(builders: Builders, jobs: list[BuildJob], done: Any) -> list[Built]:
        names.extend(name for job in jobs for name in job.names)
        return real(builders, jobs, done)

    monkeypatch.setattr(Builders, "build", noted)
    return names


def answers(pair: Twins) -> None:
    """Whatever is asked, the index says what a scan says, and it was the index that was asked."""
    before = pair.by_index
    for pattern in ("needle", r"needle \d*7$", "edited", "only here", "hay|straw"):
        pair.agree(pattern=pattern, output_mode="count")
        pair.agree(pattern=pattern, output_mode="content", head_limit=20)
    pair.agree("glob", pattern="**/*")
    assert pair.by_index == before + 10


def racy_are_read(pair: Twins) -> None:
    state = pair.index._state
    wait_for(lambda: state.racy is NO_RACY_FILES, lambda: f"racy: {state.racy}")
    pair.folded()


# ── without reading, without building ───────────────────────────────────────────────────────────


def test_a_second_tree_answers_without_a_file_being_read(
    family: Family, read_files: list[str]
) -> None:
    with family.served(family.main) as pair:
        answers(pair)
    first = family.segments()
    other = family.worktree("other")
    other.settle()
    read_files.clear()
    with family.served(other) as pair:
        answers(pair)
        racy_are_read(pair)
        assert set(read_files) == {LINK}
        assert len(family.segments() - first) == 1
    read_files.clear()
    with family.served(other) as pair:  # and the next server knows the files by their status
        answers(pair)
    assert read_files == []


@pytest.mark.thorough
@pytest.mark.parametrize("hash_name", ["sha1", "sha256"])
def test_a_second_tree_that_is_too_new_to_believe_is_read_and_not_built(
    tmp_path: Path, read_files: list[str], hash_name: str
) -> None:
    family = Family(tmp_path, f"--object-format={hash_name}")
    with family.served(family.main) as pair:
        answers(pair)
    first = family.segments()
    other = family.worktree("other")
    index = other.found.index_path
    os.utime(index, ns=(0, 0))  # as if every file had been written with it
    read_files.clear()
    with family.served(other) as pair:
        answers(pair)
        assert set(read_files) >= set(FILES)
        racy_are_read(pair)
        (own,) = family.segments() - first
        assert Segment(str(family.store / own)).all_names() == [LINK]


def test_of_a_tree_that_differs_only_the_difference_is_built(
    family: Family, read_files: list[str]
) -> None:
    with family.served(family.main) as pair:
        answers(pair)
    first = family.used()
    other = family.worktree("other")
    other.write({"d1/f001.txt": b"only here 1\n", "new.txt": b"only here 2\n"})
    os.unlink(other.top / "d2" / "f002.txt")
    other.settle()
    read_files.clear()
    with family.served(other) as pair:
        answers(pair)
        assert set(read_files) == {LINK, "d1/f001.txt", "new.txt"}
        assert family.segments() > first
        assert "only here 2" in pair.agree(pattern="only here", output_mode="content")
    with family.served(family.main) as pair:
        answers(pair)
        assert pair.agree(pattern="only here") == "No matches found"


@pytest.mark.thorough
def test_going_to_another_branch_and_back_builds_nothing_twice(family: Family) -> None:
    repo = family.main
    repo.git("checkout", "--quiet", "-b", "other")
    repo.commit({name: b"only here %d\n" % at for at, name in enumerate(sorted(FILES)[:40])})
    with family.served(repo) as pair:
        racy_are_read(pair)
        repo.git("checkout", "--quiet", "-")
        answers(pair)
        pair.folded()
        racy_are_read(pair)
        for branch in ("other", "-"):
            repo.git("checkout", "--quiet", branch)
            answers(pair)
            pair.folded()
            answers(pair)
        racy_are_read(pair)
        answers(pair)
    segments = [Segment(str(family.store / name)) for name in family.segments()]
    held = [each for one in segments for each in zip(one.all_names(), one.all_ids(), strict=True)]
    assert len(held) == len(set(held))
    assert len(held) >= len(FILES) + 40


@pytest.mark.thorough
def test_a_touched_file_is_read_and_not_built(family: Family, read_files: list[str]) -> None:
    with family.served(family.main) as pair:
        racy_are_read(pair)
        before = family.segments()
        read_files.clear()
        (family.main.top / "d1" / "f001.txt").touch()
        pair.folded()
        racy_are_read(pair)
        assert set(read_files) == {"d1/f001.txt"}
        assert family.segments() == before
        answers(pair)


@pytest.mark.parametrize("is_edited", [False, True])
def test_while_the_last_files_are_read_the_others_are_answered_from_the_index(
    family: Family, monkeypatch: pytest.MonkeyPatch, is_edited: bool
) -> None:
    """And where reading fails, it is tried again."""
    monkeypatch.setattr("flashgrep.index.update.tree_state.FOLD_RETRY_SECONDS", 0.1)
    with family.served(family.main) as pair:
        answers(pair)
    other = family.worktree("other")
    other.write({"d1/f001.txt": b"only here 1\n", "new.txt": b"only here 2\n"})
    other.settle()
    real, may_read, failures = Builders.build, threading.Event(), [BuildFailed("no memory")]

    def late(builders: Builders, jobs: list[BuildJob], done: Any) -> list[Built]:
        may_read.wait()
        if failures:
            raise failures.pop()
        return real(builders, jobs, done)

    monkeypatch.setattr(Builders, "build", late)
    with twins(other.top.parent, environment=family.environment) as pair:
        try:
            status = pair.index.status()
            assert (status.state, status.grep_ready) == ("building", True)
            answers(pair)
            if is_edited:
                other.write({"d1/f001.txt": b"edited\n", "newer.txt": b"only here\n"})
                answers(pair)
        finally:
            may_read.set()
        pair.folded()
        assert not failures
        view = pair.index._state.view
        assert view is not None
        assert not view.entries
        assert pair.index.status().state == "ready"
        answers(pair)


# ── side by side ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.thorough
def test_trees_are_edited_side_by_side_and_each_answers_for_itself(family: Family) -> None:
    chance = Random(3)
    other = family.worktree("other")
    with family.served(family.main) as first, family.served(other) as second:
        for turn in range(12):
            pair, repo = chance.choice([(first, family.main), (second, other)])
            name = chance.choice(sorted(FILES))
            text = chance.choice([FILES[name], b"edited %d\n" % turn, b"only here\n"])
            (repo.top / name).write_bytes(text)
            if chance.random() < 0.3:
                (repo.top / f"new{turn}").write_bytes(b"edited\n")
            answers(pair)
            if chance.random() < 0.5:
                pair.folded()
            answers(first)
            answers(second)


def ranked(pair: Twins) -> set[str]:
    """The segments of a tree, once all are ranked."""
    racy_are_read(pair)

    def keys() -> set[str]:
        view = pair.index._state.view
        return set() if view is None else {key_of(segment) for segment in view.snapshot.segments}

    wait_for(lambda: keys() and pair.index._ranks.keys == keys(), lambda: f"not ranked: {keys()}")
    return keys()


@pytest.mark.thorough
def test_the_ranking_is_shared_too(family: Family) -> None:
    with family.served(family.main) as pair:
        first = ranked(pair)
        written = {name: os.stat(family.store / "ranked" / name).st_ino for name in first}
    with family.served(family.worktree("other")) as pair:
        assert ranked(pair) > first
        for name, inode in written.items():
            assert os.stat(family.store / "ranked" / name).st_ino == inode
        text, code, _ = pair.answer("query", False, {"text": "needle 7"})
        assert code is None
        assert "f007.txt" in text


@pytest.mark.thorough
def test_a_tree_whose_files_a_filter_turns_around_answers_what_is_on_disk(family: Family) -> None:
    repo = family.main
    repo.git("config", "filter.rot.clean", "tr a-z n-za-m")
    repo.git("config", "filter.rot.smudge", "tr a-z n-za-m")
    with family.served(repo) as pair:
        answers(pair)
    other = family.worktree("other")
    other.write({".gitattributes": b"*.txt filter=rot\n"})
    other.git("rm", "-r", "--quiet", "--cached", "d1", "d2")
    other.git("reset", "--quiet")
    shutil.rmtree(other.top / "d1")
    shutil.rmtree(other.top / "d2")
    other.git("checkout", "--", "d1", "d2")
    other.settle()
    assert (other.top / "d1" / "f001.txt").read_bytes() == b"arrqyr 1\nunl\n"
    with family.served(other) as pair:
        answers(pair)
        assert "d1/f001.txt" in pair.agree(pattern="arrqyr 1$")


def spoilt(repo: Repo) -> None:
    index = Path(os.fsdecode(repo.found.index_path))
    data = bytearray(index.read_bytes())
    data[len(data) // 2] ^= 1
    index.write_bytes(data)


def without_git(repo: Repo) -> None:
    os.unlink(repo.top / LINK)
    os.mkfifo(repo.top / LINK)


CONE = ("d0", "d1", "d2", "d3", "d4")
STATES: dict[str, Callable[[Repo], object]] = {
    "version 4": lambda repo: repo.git("update-index", "--index-version", "4"),
    "a split index": lambda repo: repo.git("update-index", "--split-index"),
    "a sparse index": lambda repo: repo.git("sparse-checkout", "set", "--sparse-index", *CONE),
    "taken for unchanged": lambda repo: repo.git(
        "update-index", "--assume-unchanged", "d1/f001.txt", "d2/f002.txt"
    ),
    "left out by git": lambda repo: repo.git(
        "update-index", "--skip-worktree", "d1/f001.txt", "d2/f002.txt"
    ),
    "a damaged index": spoilt,
    "a repository that is gone": lambda repo: shutil.rmtree(repo.found.private),
    "a pipe in git's place": without_git,
}


@pytest.mark.thorough
@pytest.mark.parametrize("state", STATES)
def test_whatever_git_knows_of_a_tree_it_answers_what_is_on_disk(
    family: Family, state: str
) -> None:
    with family.served(family.main) as pair:
        answers(pair)
    other = family.worktree("other")
    other.settle()
    STATES[state](other)
    for name in ("d1/f001.txt", "d2/f002.txt"):  # as many bytes, and the times they had
        path = other.top / name
        before = path.stat()
        path.write_bytes(path.read_bytes().replace(b"needle", b"edited"))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with family.served(other) as pair:
        answers(pair)
        assert pair.agree(pattern="edited", output_mode="count") == "d1/f001.txt:1\nd2/f002.txt:1"


# ── who shares ──────────────────────────────────────────────────────────────────────────────────


def test_a_tree_without_git_and_one_with_a_state_directory_share_nothing(
    family: Family, tmp_path: Path
) -> None:
    plain = tmp_path / "plain" / "work"
    shutil.copytree(family.main.top, plain, ignore=shutil.ignore_patterns(".git"))
    with twins(tmp_path / "plain", environment=family.environment) as pair:
        answers(pair)
    with twins(tmp_path / "main") as pair:
        answers(pair)
    assert not (tmp_path / "cache" / "flashgrep" / "repositories").exists()


def test_when_a_worktree_is_removed_what_it_alone_used_goes(family: Family) -> None:
    other = family.worktree("other")
    with family.served(family.main) as pair:
        answers(pair)
    first = family.used()
    with family.served(other) as pair:
        other.write({f"big{at}": b"only here %d\n" % at for at in range(5)})
        pair.folded()
    assert family.segments() > first
    family.main.git("worktree", "remove", "--force", str(other.top))
    with family.served(family.main) as pair:
        (family.main.top / "new").write_bytes(b"edited\n")
        pair.folded()
        answers(pair)
        other_tags = {name[:16] for name in family.segments()} - {name[:16] for name in first}
        assert other_tags == set()
