"""The commits of a workspace, as git tells them."""

from __future__ import annotations

import os
import stat
import subprocess
import time
from pathlib import Path

import pytest

from flashgrep.index.git import log
from flashgrep.index.git.log import CommitHistory, commits_of
from flashgrep.index.git.repository import repository_of
from flashgrep.ranking.commits import Commit, CommitWords
from flashgrep.ranking.question import RankedQuestion
from tests.index.git.repositories import Repo, environment

_WALL_SECONDS = 120


@pytest.fixture(autouse=True)
def _no_settings_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    config = tmp_path / "home" / ".gitconfig"
    config.parent.mkdir()
    config.touch()
    monkeypatch.setenv("HOME", str(config.parent))


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "work")
    commit(made, "Send what is queued", {"net/send.c": b"1"})
    commit(
        made,
        "Retry failed uploads",
        {"net/send.c": b"2", "net/ä b.c": b"1"},
    )
    return made


def commit(repo: Repo, subject: str, files: dict[str, bytes]) -> None:
    repo.write(files)
    repo.git("add", "--all")
    repo.git("commit", "--quiet", "--allow-empty", "--message", subject)


def told(place: Path) -> list[Commit]:
    workdir = os.path.realpath(os.fsencode(place))
    repository = repository_of(workdir)
    assert repository is not None
    return list(commits_of(repository, workdir))


def spoken_for(words: CommitWords | None, question: str) -> set[str]:
    assert words is not None
    return set(words.shares(RankedQuestion(question)))


def once_read(history: CommitHistory, question: str, expected: set[str]) -> None:
    end = time.monotonic() + _WALL_SECONDS
    while spoken_for(history.words(), question) != expected:
        assert time.monotonic() < end, spoken_for(history.words(), question)
        time.sleep(0.01)


# ── what git says ───────────────────────────────────────────────────────────────────────────────


def test_the_newest_commits_come_first_with_the_files_they_changed(repo: Repo) -> None:
    assert told(repo.top) == [
        Commit("Retry failed uploads", ["net/send.c", "net/ä b.c"], 2),
        Commit("Send what is queued", ["net/send.c"], 1),
    ]


def test_a_repository_without_commits_has_none_and_nothing_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    made = Repo(tmp_path / "new")
    assert told(made.top) == []
    assert not caplog.records
    commit(made, "First", {"a.c": b"1"})
    assert [one.subject for one in told(made.top)] == ["First"]
    made.git("pack-refs", "--all")
    assert [one.subject for one in told(made.top)] == ["First"]


def test_names_are_those_of_the_workspace_and_the_files_of_all_are_counted(repo: Repo) -> None:
    commit(repo, "Outside of it", {"other.c": b"1"})
    commit(repo, "In and out", {"other.c": b"2", "net/send.c": b"3"})
    assert told(repo.top / "net")[:2] == [
        Commit("In and out", ["send.c"], 2),
        Commit("Retry failed uploads", ["send.c", "ä b.c"], 2),
    ]


def test_bytes_that_are_no_text_are_the_names_that_searches_have(repo: Repo) -> None:
    (repo.top / os.fsdecode(b"net/\xff.c")).write_bytes(b"")
    commit(repo, "Odd", {})
    assert told(repo.top)[0] == Commit("Odd", ["net/\udcff.c"], 1)


def test_a_log_that_is_too_long_ends_with_its_last_whole_commit(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "_CHUNK", 60)
    monkeypatch.setattr(log, "_LOG_BYTES", 59)
    assert [one.subject for one in told(repo.top)] == ["Retry failed uploads"]


def test_a_worktree_has_the_commits_of_its_own_head(repo: Repo, tmp_path: Path) -> None:
    beside = repo.worktree(tmp_path / "beside")
    commit(beside, "Only here", {"new.c": b"1"})
    assert told(beside.top)[0].subject == "Only here"
    assert told(repo.top)[0].subject == "Retry failed uploads"


def test_a_shallow_clone_has_what_was_cloned(repo: Repo, tmp_path: Path) -> None:
    url = repo.top.as_uri()
    subprocess.run(["git", "clone", "-q", "--depth", "1", url, str(tmp_path / "c")], check=True)
    assert [one.subject for one in told(tmp_path / "c")] == ["Retry failed uploads"]


def test_what_a_partial_clone_lacks_is_not_fetched(repo: Repo, tmp_path: Path) -> None:
    repo.git("config", "uploadpack.allowFilter", "true")
    clone = ["git", "clone", "-q", "--no-checkout", "--filter=tree:0", repo.top.as_uri()]
    subprocess.run([*clone, str(tmp_path / "c")], check=True)
    marker = tmp_path / "was fetched"
    fetcher = script(tmp_path / "fetcher", f"touch '{marker}'; exit 1")
    config = ["git", "-C", str(tmp_path / "c"), "config"]
    subprocess.run([*config, "remote.origin.uploadpack", fetcher], check=True)
    assert told(tmp_path / "c") == []
    assert not marker.exists()


def test_no_program_that_the_repository_names_is_run(repo: Repo, tmp_path: Path) -> None:
    marker = tmp_path / "was run"
    signature = "-----BEGIN PGP SIGNATURE-----\\n\\nx\\n-----END PGP SIGNATURE-----\\n"
    signer = script(
        tmp_path / "signer",
        f"touch '{marker}'\nprintf '\\n[GNUPG:] SIG_CREATED ' >&2\nprintf '%b' '{signature}'",
    )
    repo.git("config", "gpg.program", signer)
    repo.git("commit", "--quiet", "--allow-empty", "--gpg-sign", "--message", "Signed")
    assert marker.exists()
    marker.unlink()
    for name in ("core.fsmonitor", "core.pager", "diff.external", "core.sshCommand"):
        repo.git("config", name, signer)
    repo.git("config", "log.showSignature", "true")
    repo.git("config", "alias.log", f"!{signer}")
    assert told(repo.top)[0].subject == "Signed"
    assert not marker.exists()
    run = ["git", "log", "-1", "--format=%s"]
    subprocess.run(run, cwd=repo.top, check=True, capture_output=True)
    assert marker.exists(), "the repository would have run it"


def script(place: Path, text: str) -> str:
    place.write_text(f"#!/bin/sh\n{text}\n")
    place.chmod(stat.S_IRWXU)
    return str(place)


ODD = {
    "log.follow": "true",
    "log.showRoot": "false",
    "diff.relative": "true",
    "diff.orderFile": "/nowhere",
    "i18n.logOutputEncoding": "UTF-16",
}


@pytest.mark.parametrize("name", ODD)
def test_settings_change_nothing_of_what_is_told(repo: Repo, name: str) -> None:
    commit(repo, "In and out", {"other.c": b"1", "net/send.c": b"3"})
    before = told(repo.top / "net")
    assert [len(one.files) for one in before] == [1, 2, 1]
    repo.git("config", name, ODD[name])
    assert told(repo.top / "net") == before


def test_variables_that_lead_git_elsewhere_are_not_passed_on(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Repo(tmp_path / "other")
    commit(other, "Of another repository", {"x.c": b"1"})
    monkeypatch.setenv("GIT_DIR", str(other.top / ".git"))
    assert told(repo.top)[0].subject == "Retry failed uploads"


# ── following HEAD ──────────────────────────────────────────────────────────────────────────────


def test_the_words_follow_head(repo: Repo) -> None:
    history = CommitHistory(os.fsencode(repo.top))
    once_read(history, "retry uploads", {"net/send.c", "net/ä b.c"})
    before = history.words()
    assert history.words() is before, "HEAD stayed where it was"
    commit(repo, "Retry downloads", {"net/receive.c": b"1"})
    once_read(history, "retry downloads", {"net/send.c", "net/ä b.c", "net/receive.c"})
    repo.git("pack-refs", "--all")
    repo.git("checkout", "--quiet", "--detach", "HEAD~2")
    once_read(history, "queued", {"net/send.c"})
    once_read(history, "retry uploads", set())
    repo.git("checkout", "--quiet", "-")
    once_read(history, "retry downloads", {"net/send.c", "net/ä b.c", "net/receive.c"})


def test_packed_branches_are_followed(repo: Repo) -> None:
    repo.git("pack-refs", "--all")
    history = CommitHistory(os.fsencode(repo.top))
    once_read(history, "queued", {"net/send.c"})
    commit(repo, "Queued twice", {"queue.c": b"1"})
    repo.git("pack-refs", "--all")
    once_read(history, "queued", {"net/send.c", "queue.c"})


def test_outside_a_repository_and_in_one_that_may_not_be_read_there_are_none(
    repo: Repo, tmp_path: Path
) -> None:
    assert CommitHistory(os.fsencode(tmp_path / "home")).words() is None
    refused = CommitHistory(os.fsencode(repo.top), lambda path: not path.endswith(b"/.git"))
    assert refused.words() is None


def test_without_git_there_are_none(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "home"))
    history = CommitHistory(os.fsencode(repo.top))
    assert history.words() is None
    assert history.words() is None, "and it is not tried again"


def test_a_damaged_repository_is_none(repo: Repo) -> None:
    for place in (repo.top / ".git" / "objects").rglob("*"):
        if place.is_file():
            place.chmod(0o600)
            place.write_bytes(b"")
    history = CommitHistory(os.fsencode(repo.top))
    words = history.words()
    assert words is None or spoken_for(words, "retry uploads queued") == set()
