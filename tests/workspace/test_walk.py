"""One directory as a search sees it, and the rules that reach it from above."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from flashgrep import limits
from flashgrep.workspace.ignore_rules import IgnoreChain
from flashgrep.workspace.safe_open import DIRECTORY
from flashgrep.workspace.scope import Scope
from flashgrep.workspace.walk import (
    DirectoryListing,
    by_bytes,
    chain_above,
    list_directory,
    parent_rules,
)


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A directory whose parents hold no rules of their own: `.git` ends the way up."""
    made = Path(os.path.realpath(tmp_path)) / "top"
    (made / ".git").mkdir(parents=True)
    return made


def _make(top: Path, *files: str) -> None:
    for file in files:
        path = top / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("text", encoding="utf-8")


def _rules(directory: Path, *lines: str) -> None:
    (directory / ".gitignore").write_text("\n".join(lines) + "\n", encoding="utf-8")


@contextmanager
def _scope(workdir: Path, *deny: str, allow: tuple[Path, ...] = ()) -> Iterator[Scope]:
    scope = Scope(str(workdir), [str(path) for path in allow], deny)
    try:
        yield scope
    finally:
        scope.close()


def _list(
    scope: Scope, path: Path, chain: IgnoreChain | None, noise: bool = False
) -> DirectoryListing:
    fd = os.open(path, DIRECTORY)
    try:
        return list_directory(fd, os.fsencode(path), chain, scope, noise)
    finally:
        os.close(fd)


def _walk(scope: Scope, root: Path, ignoring: bool = True) -> list[str]:
    """Every file below a root, as the searches walk: a stack, and the chain handed down."""
    real = os.fsencode(root)
    chain = chain_above(parent_rules(scope, real), real) if ignoring else None
    stack: list[tuple[str, IgnoreChain | None]] = [("", chain)]
    found: list[str] = []
    while stack:
        at, chain = stack.pop()
        listing = _list(scope, root / at, chain)
        found.extend(os.path.join(at, name) for name in listing.files)
        for name in reversed(listing.directories):
            below = listing.chain.child(os.fsencode(name)) if chain is not None else None
            stack.append((os.path.join(at, name), below))
    return [path for path in found if not path.endswith(".gitignore")]


# ── one directory ───────────────────────────────────────────────────────────────────────────────


def test_entries_are_told_apart_and_sorted_by_bytes(top: Path) -> None:
    _make(top, "b", "a", "B", "é", "z", "dir/x", "Dir/x")
    (top / os.fsdecode(b"\xff")).write_text("odd", encoding="utf-8")
    (top / "link").symlink_to("a")
    (top / "dead").symlink_to("nowhere")
    os.mkfifo(top / "pipe")
    with _scope(top) as scope:
        listing = _list(scope, top, IgnoreChain())
    assert listing.files == ["B", "a", "b", "z", "é", os.fsdecode(b"\xff")]
    assert listing.directories == ["Dir", "dir"]
    assert listing.links == ["dead", "link"]
    assert not listing.has_rules


def test_bytes_order_is_not_text_order() -> None:
    """An undecodable byte stands as a surrogate, which sorts before U+E000 and above as text."""
    names = [os.fsdecode(b"\xff"), "\ue000", "a"]
    assert by_bytes(names) == ["a", "\ue000", os.fsdecode(b"\xff")]


@pytest.mark.parametrize("place", ["", "src/"])
def test_noise_is_left_out_at_any_depth(top: Path, place: str) -> None:
    _make(top, f"{place}.git/config", f"{place}node_modules/m.js", f"{place}keep/x")
    (top / place / ".flashgrep").mkdir()
    with _scope(top) as scope:
        quiet = _list(scope, top / place, IgnoreChain())
        noisy = _list(scope, top / place, IgnoreChain(), noise=True)
    assert set(quiet.directories) & {".git", "node_modules", ".flashgrep"} == set()
    assert {".git", "node_modules"} <= set(noisy.directories)
    assert ".flashgrep" not in noisy.directories  # ours, whatever is asked


def test_a_file_called_git_is_a_file(top: Path) -> None:
    """A worktree's `.git` is one."""
    _make(top, "tree/.git", "tree/node_modules")
    with _scope(top) as scope:
        assert _list(scope, top / "tree", None).files == [".git", "node_modules"]


def test_denied_entries_are_left_out(top: Path) -> None:
    _make(top, "a.txt", "a.key", "vault/x", "src/vault/x")
    (top / "link.key").symlink_to("a.txt")
    with _scope(top, "**/*.key", "**/vault") as scope:
        listing = _list(scope, top, IgnoreChain())
    assert (listing.files, listing.directories, listing.links) == (["a.txt"], ["src"], [])


# ── rules ───────────────────────────────────────────────────────────────────────────────────────


def test_rules_of_the_directory_count_for_its_entries(top: Path) -> None:
    _make(top, "a.log", "a.txt", "build/x", "keep/build")
    _rules(top, "*.log", "build/")
    with _scope(top) as scope:
        assert _walk(scope, top) == ["a.txt", "keep/build"]
        assert _walk(scope, top, ignoring=False) == ["a.log", "a.txt", "build/x", "keep/build"]


def test_a_link_is_no_directory_to_a_rule(top: Path) -> None:
    """As in git: `build/` ignores directories, and a link is none."""
    _make(top, "real/x")
    _rules(top, "build/", "other")
    for name in ("build", "other"):
        (top / name).symlink_to("real")
    with _scope(top) as scope:
        assert _list(scope, top, IgnoreChain()).links == ["build"]


def test_deeper_rules_win(top: Path) -> None:
    _make(top, "src/debug.log", "src/x.log", "x.log")
    _rules(top, "*.log")
    _rules(top / "src", "!debug.log")
    with _scope(top) as scope:
        assert _walk(scope, top) == ["src/debug.log"]


def test_rules_of_parents_reach_down_to_the_search_root(top: Path) -> None:
    _make(top, "a/b/c/x.log", "a/b/c/x.tmp", "a/b/c/x.txt")
    _rules(top, "*.log")
    _rules(top / "a" / "b", "*.tmp")
    with _scope(top) as scope:
        assert _walk(scope, top / "a" / "b" / "c") == ["x.txt"]


def test_a_rule_with_a_path_counts_from_where_it_stands(top: Path) -> None:
    _make(top, "a/out/x", "out/x", "a/b/out/x")
    _rules(top, "/a/out")
    with _scope(top) as scope:
        assert _walk(scope, top / "a") == ["b/out/x"]
        assert _walk(scope, top) == ["a/b/out/x", "out/x"]


@pytest.mark.parametrize("kind", ["directory", "file", "link out"])
def test_parents_count_up_to_the_repository_and_no_further(top: Path, kind: str) -> None:
    repository = top / "repository"
    _make(top, "repository/src/x.log", "repository/src/x.tmp")
    _rules(top, "*.log")
    _rules(top / "repository", "*.tmp")
    if kind == "directory":
        (repository / ".git").mkdir()
    elif kind == "file":
        (repository / ".git").write_text("gitdir: elsewhere", encoding="utf-8")
    else:
        (repository / ".git").symlink_to("/etc")
    with _scope(repository, allow=(top,)) as scope:
        assert _walk(scope, repository / "src") == ["x.log"]


def test_without_a_repository_the_rules_of_all_parents_count(top: Path) -> None:
    (top / ".git").rmdir()
    (top.parent / ".git").mkdir()
    _make(top, "a/x.log", "a/x.txt")
    _rules(top, "*.log")
    (top.parent / ".gitignore").write_text("*.txt\n", encoding="utf-8")
    with _scope(top) as scope:
        assert [path for path, _ in parent_rules(scope, os.fsencode(top / "a"))] == [
            os.fsencode(top.parent),
            os.fsencode(top),
        ]
        assert _walk(scope, top / "a") == []


def test_parents_outside_the_allowed_directories_are_not_read(top: Path) -> None:
    _make(top, "ws/sub/x.log", "ws/sub/x.tmp")
    _rules(top, "*.log")
    _rules(top / "ws", "*.tmp")
    with _scope(top / "ws", allow=(top / "ws",)) as scope:
        assert _walk(scope, top / "ws" / "sub") == ["x.log"]
    with _scope(top / "ws") as scope:
        assert _walk(scope, top / "ws" / "sub") == []


@pytest.mark.parametrize(
    ("root", "expected"),
    [
        ("dist", ["keep.txt", "sub/keep.txt"]),
        ("dist/sub", ["keep.txt"]),
        ("node_modules", ["m.txt"]),
        (".git", ["config"]),
        (".", ["a.txt"]),
    ],
)
def test_a_search_may_start_in_what_is_ignored(top: Path, root: str, expected: list[str]) -> None:
    """The rules that ignored the root are dropped for the call; all others go on to count."""
    _make(top, "dist/keep.txt", "dist/x.log", "dist/sub/keep.txt", "dist/sub/x.log")
    _make(top, "node_modules/m.txt", "node_modules/m.log", ".git/config", "a.txt")
    _rules(top, "dist/", "node_modules", "*.log")
    with _scope(top) as scope:
        assert _walk(scope, top / root) == expected


# ── hostile rule files ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", ["link out", "directory", "pipe", "too large"])
def test_a_rule_file_that_is_no_rule_file_is_none(top: Path, tmp_path: Path, kind: str) -> None:
    _make(top, "a/x.log")
    (tmp_path / "rules").write_text("*.log\n", encoding="utf-8")
    rules = top / "a" / ".gitignore"
    if kind == "link out":
        rules.symlink_to(tmp_path / "rules")
    elif kind == "directory":
        rules.mkdir()
    elif kind == "pipe":
        os.mkfifo(rules)
    else:
        rules.write_bytes(b"*.log\n" + b"#" * limits.IGNORE_FILE_BYTES)
    with _scope(top) as scope:
        assert _walk(scope, top / "a") == ["x.log"]


def test_a_parent_that_may_be_entered_but_not_listed_is_no_obstacle() -> None:
    """`/home` is often so. The child is a user for whom permissions count."""
    with tempfile.TemporaryDirectory() as home:
        top = Path(os.path.realpath(home))
        (top / "ws").mkdir()
        _rules(top, "*.log")
        top.chmod(0o311)
        done = subprocess.run(
            [sys.executable, "-c", AS_NOBODY, str(top / "ws")],
            capture_output=True,
            text=True,
            check=False,
        )
        top.chmod(0o700)
    assert done.returncode == 0, done.stderr
    assert f"(b'{top}', b'*.log\\n')" in done.stdout


AS_NOBODY = """
import os, sys
from flashgrep.workspace.scope import Scope
from flashgrep.workspace.walk import parent_rules
if os.geteuid() == 0:
    os.setuid(65534)
print(parent_rules(Scope(sys.argv[1]), os.fsencode(sys.argv[1])))
"""
