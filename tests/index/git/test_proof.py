"""What git's index is believed about a file, and what not."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from flashgrep.index.git.proof import blob_ids
from flashgrep.index.update.recognition import found_by_id
from tests.index.git.repositories import Repo, environment
from tests.index.segments import made

FILES = {"a.txt": b"one\n", "b.rot": b"two\n", "d/c.rot": b"three\n", "d/e/f.txt": b"four\n"}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    found = Repo(tmp_path / "repo")
    found.commit(FILES)
    return found


def proven(repo: Repo, given: dict[str, str] | None = None) -> set[str]:
    """The files whose id is known; each is right."""
    found = blob_ids(repo.found, repo.statuses(), given or environment(repo.top))
    for name, one in found.items():
        assert one == repo.id_of(name), name
    return set(found)


def test_files_that_are_as_git_left_them_are_known(repo: Repo) -> None:
    repo.write({"new": b"untracked\n"})
    assert proven(repo) == set(FILES)


def test_a_workspace_in_the_tree_has_its_own_names(repo: Repo) -> None:
    files = {n.removeprefix("d/"): s for n, s in repo.statuses().items() if n.startswith("d/")}
    below = replace(repo.found, prefix=b"d/")
    found = blob_ids(below, files, environment(repo.top))
    assert found == {"c.rot": repo.id_of("d/c.rot"), "e/f.txt": repo.id_of("d/e/f.txt")}


@pytest.mark.parametrize("keeps_times", [False, True])
def test_a_changed_file_is_not_known_whatever_its_size_and_times(
    repo: Repo, keeps_times: bool
) -> None:
    path = repo.top / "a.txt"
    before = path.stat()
    path.write_bytes(b"ONE\n")
    if keeps_times:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    now = path.stat().st_ctime_ns
    os.utime(repo.found.index_path, ns=(now, now + 10**9))  # so that it is not by being too new
    assert proven(repo) == set(FILES) - {"a.txt"}


def test_an_entry_as_old_as_the_index_is_racy(repo: Repo) -> None:
    changed = (repo.top / "a.txt").stat().st_ctime_ns
    for later in (-1, 0, 10_000_000):
        os.utime(repo.found.index_path, ns=(changed, changed + later))
        assert "a.txt" not in proven(repo)
    os.utime(repo.found.index_path, ns=(changed, changed + 30_000_000))
    assert "a.txt" in proven(repo)


def test_on_a_clock_of_whole_seconds_entries_are_racy_for_longer(repo: Repo) -> None:
    changed = (repo.top / "a.txt").stat().st_ctime_ns
    second = 1_000_000_000
    index = repo.found.index_path
    os.utime(index, ns=(0, changed // second * second + 2 * second))
    assert "a.txt" not in proven(repo)
    os.utime(index, ns=(0, changed // second * second + 4 * second))
    assert "a.txt" in proven(repo)


def test_an_entry_that_git_has_spoilt_is_not_known(repo: Repo) -> None:
    """Git writes a size of 0 for what it takes for racy: an empty file must not pass for it."""
    index = repo.top / ".git" / "index"
    data = bytearray(index.read_bytes())
    (repo.top / "a.txt").write_bytes(b"")
    at = data.index(b"a.txt") - 62
    status = (repo.top / "a.txt").stat()
    numbers = (
        (0, status.st_ctime_ns // 10**9),
        (4, status.st_ctime_ns % 10**9),
        (8, status.st_mtime_ns // 10**9),
        (12, status.st_mtime_ns % 10**9),
        (36, 0),
    )
    for place, number in numbers:
        data[at + place : at + place + 4] = number.to_bytes(4, "big")
    index.write_bytes(data[:-20] + bytes(20))
    os.utime(index, ns=(0, status.st_mtime_ns + 10**9))
    files = repo.statuses()
    found = blob_ids(repo.found, files, environment(repo.top))
    assert found["a.txt"] != repo.id_of("a.txt")  # so the size has to tell
    segment = made(repo.top.parent, {"a.txt": FILES["a.txt"]})
    alive = [np.zeros(1, bool)]
    assert "a.txt" in found_by_id([segment], alive, {"a.txt": files["a.txt"]}, found)
    assert not alive[0].any()


# ── conversions ─────────────────────────────────────────────────────────────────────────────────


ROT = {"filter.rot.clean": "tr a-z n-za-m", "filter.rot.smudge": "tr a-z n-za-m"}
OTHERS = {"a.txt", "d/e/f.txt"}


def rotten(repo: Repo) -> None:
    """Have git convert what the attribute `filter=rot` is set for, and check it out anew."""
    for name, value in ROT.items():
        repo.git("config", name, value)
    repo.git("rm", "--quiet", "--cached", "-r", ".")
    repo.commit()


SOURCES = {
    "a pattern of the end": {".gitattributes": b"*.rot filter=rot\n"},
    "a pattern of a path": {".gitattributes": b"/b.rot filter=rot\nd/**/c.rot text filter=rot\n"},
    "a quoted one": {".gitattributes": b'"*.rot" filter=rot\n'},
    "a class": {".gitattributes": b"*.[r]ot filter=rot\n"},
    "a macro": {".gitattributes": b"[attr]odd -diff filter=rot\n*.rot odd\n"},
    "a macro of a macro": {
        ".gitattributes": b"[attr]odder odd\n[attr]odd filter=rot\n*.rot odder\n"
    },
    "an encoding": {".gitattributes": b"*.rot working-tree-encoding=UTF-16LE\n"},
    "behind a mark of UTF-8": {
        ".gitattributes": b"\xef\xbb\xbfb.rot filter=rot\nc.rot filter=rot\n"
    },
    "behind a carriage return": {".gitattributes": b"*.rot\rfilter=rot\n"},
    "in two directories": {
        ".gitattributes": b"b.rot filter=rot\n",
        "d/.gitattributes": b"*.rot filter=rot\n",
    },
    "an ignored attribute file": {
        ".gitignore": b".gitattributes\n",
        ".gitattributes": b"*.rot filter=rot\n",
    },
    "in the repository": {".git/info/attributes": b"*.rot filter=rot\n"},
}
SETTINGS = {
    "by a setting": b"[core]\n\tattributesFile = %s/.git/elsewhere\n",
    "with a comment": b"[core]\n\tattributesFile = %s/.git/elsewhere#which\n",
    "behind two sections": b'[a "]"] [core] attributesFile = %s/.git/elsewhere\n',
    "behind a mark of UTF-8": b"\xef\xbb\xbf[core]\n\tattributesFile = %s/.git/elsewhere\n",
}


@pytest.mark.parametrize("source", SOURCES)
def test_a_file_that_a_filter_converts_is_not_known(repo: Repo, source: str) -> None:
    """Content of the same size: nothing but the attribute tells that it is other content."""
    repo.write(SOURCES[source])
    if source == "an encoding":
        repo.write({"b.rot": "two\n".encode("utf-16-le"), "d/c.rot": "x\n".encode("utf-16-le")})
    are_unknown(repo)
    if source != "a class":  # which could mean anything
        assert set(blob_ids(repo.found, repo.statuses(), environment(repo.top))) >= OTHERS


@pytest.mark.parametrize("setting", SETTINGS)
def test_attributes_that_a_setting_names_count(repo: Repo, setting: str) -> None:
    """However it is spelled: git reads them."""
    more = SETTINGS[setting] % os.fsencode(repo.top)
    repo.write({".git/elsewhere": b"*.rot filter=rot\n", ".git/config.more": more})
    repo.git("config", "include.path", "config.more")
    are_unknown(repo)


def are_unknown(repo: Repo) -> None:
    """What git turns around is not known."""
    rotten(repo)
    known = blob_ids(repo.found, repo.statuses(), environment(repo.top))
    assert set(known) & {"b.rot", "d/c.rot"} == set()
    staged = repo.git("ls-files", "--stage", "b.rot").split()[1]
    assert bytes.fromhex(staged) != repo.id_of("b.rot")  # or the test tests nothing


def test_settings_that_a_variable_names_count(repo: Repo) -> None:
    repo.write({".git/mine": b"[core]\n\tattributesFile = %s/.git/a\n" % os.fsencode(repo.top)})
    repo.write({".git/a": b"*.rot filter=rot\n"})
    given = environment(repo.top) | {"GIT_CONFIG_GLOBAL": str(repo.top / ".git" / "mine")}
    assert proven(repo, given) == OTHERS


def test_an_id_that_git_writes_over_another_is_not_known(repo: Repo) -> None:
    """`$Id: …$` becomes as long a text with the id of the blob."""
    blob = b"$Id: " + b"1" * 40 + b" $\n"
    repo.commit({"b.rot": blob})
    repo.commit({".gitattributes": b"*.rot ident\n"})
    os.unlink(repo.top / "b.rot")
    repo.git("checkout", "--", "b.rot")
    repo.settle()
    now = (repo.top / "b.rot").read_bytes()
    assert (len(now), now != blob) == (len(blob), True)  # or the test tests nothing
    assert set(proven(repo)) == OTHERS | {".gitattributes"}


def test_a_filter_for_all_users_counts(repo: Repo) -> None:
    home = repo.top / ".git" / "home" / ".config" / "git"
    home.mkdir(parents=True)
    (home / "attributes").write_bytes(b"*.rot filter=rot\n")
    assert proven(repo) == OTHERS


def test_an_attribute_file_that_is_gone_may_have_said_anything(repo: Repo) -> None:
    repo.commit({"d/.gitattributes": b"*.rot filter=rot\n"})
    assert proven(repo) == set(FILES) - {"d/c.rot"} | {"d/.gitattributes"}
    os.unlink(repo.top / "d" / ".gitattributes")
    assert proven(repo) == {"a.txt", "b.rot"}
    os.symlink("nowhere", repo.top / "d" / ".gitattributes")
    assert proven(repo) == {"a.txt", "b.rot"}


@pytest.mark.parametrize("line", [b"*.rot -filter\n", b"# *.rot filter=x\n", b"*.rot eol=lf\n"])
def test_what_sets_no_conversion_takes_nothing_away(repo: Repo, line: bytes) -> None:
    repo.commit({".gitattributes": line})
    assert proven(repo) == {*FILES, ".gitattributes"}


def test_a_setting_that_is_not_understood_takes_everything_away(repo: Repo) -> None:
    for line in ('[core]\n\tattributesFile = "a\\tb"\n', "[attr]\n\ttree = HEAD\n"):
        config = repo.top / ".git" / "config"
        before = config.read_text()
        config.write_text(before + line)
        assert proven(repo) == set()
        config.write_text(before)


@pytest.mark.parametrize("ends", ["crlf", "lf"])
def test_a_file_with_converted_line_ends_is_known_by_its_size(repo: Repo, ends: str) -> None:
    """Its blob's id is right, its bytes are not: a segment's file of other size is not it."""
    blob = b"one\ntwo\n"
    repo.commit({"a.txt": blob})
    repo.git("config", "core.eol", ends)
    repo.git("config", "core.autocrlf", "true" if ends == "crlf" else "false")
    os.unlink(repo.top / "a.txt")
    repo.git("checkout", "--", "a.txt")
    repo.settle()
    is_converted = (repo.top / "a.txt").read_bytes() != blob
    assert is_converted == (ends == "crlf")
    files = {"a.txt": repo.statuses()["a.txt"]}
    ids = blob_ids(repo.found, files, environment(repo.top))
    segment = made(repo.top.parent, {"a.txt": blob})
    assert ids == {"a.txt": segment.id(0)}
    alive = [np.zeros(1, bool)]
    missing = found_by_id([segment], alive, files, ids)
    assert alive[0].tolist() == [not is_converted]
    assert set(missing) == ({"a.txt"} if is_converted else set())
    if not is_converted:
        assert segment.identity(0) == files["a.txt"]
