"""Git's index is read as git reads it, or not at all."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from flashgrep.index.git.git_index import GitEntries, read_index
from flashgrep.index.git.repository import repository_of
from tests.index.git.repositories import Repo

FLIPS = 3_000 if os.environ.get("FLASHGREP_HEAVY") else 200
FILES = {
    "a.txt": b"one\n",
    "empty": b"",
    "d/deep/b.c": b"two\n",
    "d/deep/bb.c": b"three\n",
    "ä ö\udcff": b"four\n",
    "long/" + "x" * 200 + "/" + "y" * 200: b"five\n",
}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "repo")
    made.commit(FILES)
    return made


def told(repo: Repo) -> dict[bytes, bytes]:
    """Path and id of every entry, as git tells them."""
    rows = repo.git("ls-files", "--stage", "-z").encode("utf-8", "surrogateescape").split(b"\0")
    pairs = [row.split(b"\t", 1) for row in rows if row]
    return {name: bytes.fromhex(head.split()[1].decode()) for head, name in pairs}


def held(entries: GitEntries | None) -> dict[bytes, bytes]:
    assert entries is not None
    rows = [row.tobytes() for row in entries.ids]
    return dict(zip(entries.names, rows, strict=True))


def read(repo: Repo) -> GitEntries | None:
    return read_index(repo.found)


@pytest.mark.parametrize("version", [2, 3, 4])
def test_every_version_is_read(repo: Repo, version: int) -> None:
    repo.git("update-index", "--index-version", str(version))
    if version == 3:  # which is written only where an entry needs it
        repo.write({"new": b"x\n"})
        repo.git("add", "--intent-to-add", "new")
    assert (repo.top / ".git" / "index").read_bytes()[7] == version
    expected = told(repo)
    expected.pop(b"new", None)
    assert held(read(repo)) == expected
    assert len(expected) == len(FILES)


def test_the_status_is_that_of_the_files(repo: Repo) -> None:
    entries = read(repo)
    assert entries is not None
    for name, row in zip(entries.names, entries.status.tolist(), strict=True):
        status = os.lstat(os.fsencode(repo.top) + b"/" + name)
        assert row[0] * 10**9 + row[1] == status.st_ctime_ns
        assert row[2] * 10**9 + row[3] == status.st_mtime_ns
        assert (row[5], row[9]) == (status.st_ino & 0xFFFFFFFF, status.st_size)
    assert entries.written_ns == os.stat(repo.found.index_path).st_mtime_ns


def test_a_repository_of_sha_256_is_read(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo", "--object-format=sha256")
    repo.commit(FILES)
    assert repo.found.hash_name == "sha256"
    assert held(read(repo)) == told(repo)
    assert {len(one) for one in told(repo).values()} == {32}


def test_an_index_without_a_checksum_is_read(repo: Repo) -> None:
    """As git writes it with `index.skipHash`."""
    index = repo.top / ".git" / "index"
    index.write_bytes(index.read_bytes()[:-20] + bytes(20))
    assert held(read(repo)) == told(repo)


# ── entries that say nothing ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("mark", ["--assume-unchanged", "--skip-worktree"])
def test_what_git_was_told_to_take_for_unchanged_is_left_out(repo: Repo, mark: str) -> None:
    repo.git("update-index", mark, "a.txt")
    assert b"a.txt" not in held(read(repo))
    assert b"empty" in held(read(repo))


def test_conflicts_links_and_submodules_are_left_out(repo: Repo, tmp_path: Path) -> None:
    (repo.top / "link").symlink_to("a.txt")
    repo.git("add", "link")
    other = Repo(tmp_path / "other")
    other.commit({"x": b"x\n"})
    repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other.top), "s")
    blob = repo.git("hash-object", "-w", "--stdin", text="other\n").strip()
    rows = "".join(f"100644 {blob} {stage}\td/deep/b.c\n" for stage in (1, 2, 3))
    repo.git("rm", "--quiet", "--cached", "d/deep/b.c")
    repo.git("update-index", "--index-info", text=rows)
    assert set(held(read(repo))) == {*map(os.fsencode, FILES), b".gitmodules"} - {b"d/deep/b.c"}
    entries = read(repo)
    assert entries is not None
    assert {b"link", b"s", b"d/deep/b.c"} <= set(entries.all_names)


# ── an index that is not used ───────────────────────────────────────────────────────────────────


def test_a_split_index_is_not_used(repo: Repo) -> None:
    repo.git("update-index", "--split-index")
    assert read(repo) is None


def test_a_sparse_index_is_not_used(repo: Repo) -> None:
    repo.git("sparse-checkout", "init", "--cone", "--sparse-index")
    assert b"sdir" in (repo.top / ".git" / "index").read_bytes()
    assert read(repo) is None


def test_no_index_and_no_repository_are_nothing(repo: Repo) -> None:
    os.unlink(repo.found.index_path)
    assert read(repo) is None
    os.mkdir(repo.found.index_path)
    assert read(repo) is None


@pytest.mark.parametrize("version", [2, 4])
@pytest.mark.parametrize("is_summed", [True, False])
def test_a_damaged_index_is_not_used_and_harms_nobody(
    repo: Repo, version: int, is_summed: bool
) -> None:
    """Without a checksum other entries may come out: never an error, nor all of memory."""
    repo.git("update-index", "--index-version", str(version))
    index = repo.top / ".git" / "index"
    whole = index.read_bytes() if is_summed else index.read_bytes()[:-20] + bytes(20)
    chance = Random(1)
    for _ in range(FLIPS):
        data = bytearray(whole)
        if chance.random() < 0.3:
            del data[chance.randrange(len(data)) :]
        else:
            data[chance.randrange(len(data) - 20)] ^= 1 << chance.randrange(8)
        index.write_bytes(data)
        found = read(repo)
        assert found is None or not is_summed


# ── where a repository is ───────────────────────────────────────────────────────────────────────


def test_a_worktree_shares_what_git_shares(repo: Repo, tmp_path: Path) -> None:
    other = repo.worktree(tmp_path / "other")
    assert other.found.common == repo.found.common == repo.found.private
    assert other.found.private != other.found.common
    assert held(read(other)) == told(other) == told(repo)


def test_a_directory_in_a_working_tree_is_in_its_repository(repo: Repo) -> None:
    below = replace(repo.found, prefix=b"d/deep/")
    assert repository_of(os.fsencode(repo.top / "d" / "deep")) == below


def test_a_place_outside_of_every_repository_is_in_none(tmp_path: Path) -> None:
    assert subprocess.run(["git", "rev-parse"], cwd=tmp_path, check=False).returncode
    assert repository_of(os.fsencode(tmp_path)) is None
    for text in (b"gitdir: nowhere\n", b"gitdir:", b"nonsense", b""):
        (tmp_path / ".git").write_bytes(text)
        assert repository_of(os.fsencode(tmp_path)) is None
