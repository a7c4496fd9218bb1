"""A search over a tree gives what the naive definition gives: inline, in workers, in any slices."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashgrep import limits
from flashgrep.errors import Cancelled, IOFailure
from flashgrep.search.match_lines import line_matcher
from flashgrep.search.pattern import PatternSpec
from flashgrep.search.result import Item, SearchQuestion
from flashgrep.search.scan import scan as scanning
from flashgrep.search.scan.pool import Pool
from flashgrep.search.scan.scan import DiskSearcher
from flashgrep.search.scan.scanner import Scanner, SliceLimits, scan_request
from flashgrep.workspace.scope import Scope
from tests.scarcity import few_more_files
from tests.search import oracle
from tests.search.strategies import patterns, texts

CASES = 3_000 if os.environ.get("FLASHGREP_HEAVY") else 30

NAMES = ["a", "b", "a.txt", "B", "é", ".h", "node_modules", ".git", "log", "x\udcff"]
RULES = ["a", "/a", "b/", "*.txt", "!a.txt", "log", "a/b", "**/é", "!b/", "#x", "a/**", ".*"]

_names = st.sampled_from(NAMES)
_paths = st.lists(_names, min_size=1, max_size=3).map("/".join)
_trees = st.fixed_dictionaries(
    {
        "files": st.dictionaries(_paths, texts(12), max_size=8),
        "rules": st.dictionaries(
            st.one_of(st.just(""), _paths), st.lists(st.sampled_from(RULES), max_size=3), max_size=2
        ),
        "links": st.dictionaries(
            _paths,
            st.sampled_from(["a", "..", ".", "../out", "../out/in", "b/a", "missing", "a.txt"]),
            max_size=2,
        ),
    }
)
_Tree = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    workers = Pool(2)
    yield workers
    workers.close()


def build(root: Path, tree: _Tree) -> None:
    """Lay a tree out; what cannot be (a file where a directory is) is left out."""
    outside = root.parent / "out" / "in"
    outside.mkdir(parents=True)
    (outside / "a.txt").write_bytes(b"ab\n a\n")
    (outside.parent / "b").write_bytes(b"_1 ab")
    (outside / "up").symlink_to("..")
    for path, data in tree["files"].items():
        with suppress(OSError):
            _write(root / path, data)
    for path, lines in tree["rules"].items():
        with suppress(OSError):
            _write(root / path / ".gitignore", "\n".join(lines).encode())
    for path, target in tree["links"].items():
        with suppress(OSError):
            _link(root / path, target)


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _link(path: Path, target: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


def searched(root: Path, spec: PatternSpec, pool: Pool, path: str = ".") -> list[tuple[str, int]]:
    """Files and matching lines, as the engine finds them."""
    scope = Scope(str(root))
    try:
        question = SearchQuestion(spec, "lines")
        scan = DiskSearcher(scope, pool).search(scope.place(path), question, False, lambda *_: None)
        assert scan.skipped == []
        return [(file.path, file.count) for file in scan.files()]
    finally:
        scope.close()


@settings(max_examples=CASES, deadline=None)
@given(tree=_trees, spec=st.one_of(patterns(), patterns(multiline=True)))
def test_a_scan_finds_what_the_naive_walk_finds(tree: _Tree, spec: PatternSpec, pool: Pool) -> None:
    base = Path(tempfile.mkdtemp())
    try:
        root = base / "ws"
        root.mkdir()
        build(root, tree)
        expected = oracle.counts(root, spec)
        assert searched(root, spec, pool) == expected
        with pytest.MonkeyPatch.context() as patch:  # nothing inline: workers do it all
            patch.setattr(scanning, "INLINE", SliceLimits(seconds=-1))
            assert searched(root, spec, pool) == expected
        with nothing_long_here():
            assert searched(root, spec, pool) == expected
    finally:
        shutil.rmtree(base)


@contextmanager
def nothing_long_here() -> Iterator[None]:
    """Whatever may take long is done by processes, if it is only a byte."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("flashgrep.search.pattern.HERE_SECONDS", 0.0)
        line_matcher.cache_clear()
        yield
    line_matcher.cache_clear()


@pytest.fixture
def forest(tmp_path: Path) -> Path:
    """Three hundred files in thirty directories, every seventh with a needle."""
    for n in range(300):
        path = tmp_path / "ws" / f"d{n % 30:02}" / f"f{n:03}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"line\n{'needle' if n % 7 == 0 else 'hay'} {n}\n" * 3, encoding="utf-8")
    return tmp_path / "ws"


def test_slices_of_one_file_still_add_up(
    forest: Path, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scanning, "INLINE", SliceLimits(files=1))
    found = searched(forest, PatternSpec("needle"), pool)
    assert found == oracle.counts(forest, PatternSpec("needle"))
    assert len(found) == 43


def test_a_slice_of_many_directories_keeps_few_of_them_open(forest: Path) -> None:
    scope = Scope(str(forest))
    question = SearchQuestion(PatternSpec("needle"), "lines")
    scanner = Scanner(scan_request(scope, scope.place("."), question), scope)
    with few_more_files(24):
        found = scanner.run([Item("", bytes(forest))], frozenset(), SliceLimits(seconds=600))
    scope.close()
    assert (len(found.found), found.skipped, found.pending) == (43, [], [])


def test_a_large_file_is_left_to_a_worker_and_found(
    forest: Path, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    big = forest / "d00" / "big.txt"
    big.write_bytes(b"hay\n" * limits.WINDOW_BYTES + b"needle\n")
    assert ("d00/big.txt", 1) in searched(forest, PatternSpec("needle"), pool)


def test_wanted_lines_come_from_the_front_of_the_walk(forest: Path, pool: Pool) -> None:
    scope = Scope(str(forest))
    question = SearchQuestion(PatternSpec("needle"), "lines", wanted=9)
    scan = DiskSearcher(scope, pool).search(scope.place("."), question, False, lambda *_: None)
    expected = oracle.counts(forest, PatternSpec("needle"))
    assert [(file.path, file.count) for file in scan.files()][:3] == expected[:3]
    scope.close()


def test_a_cancelled_search_ends_and_leaves_the_pool_usable(
    forest: Path, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scanning, "INLINE", SliceLimits(seconds=-1))
    scope = Scope(str(forest))
    question = SearchQuestion(PatternSpec("needle"), "lines")
    with pytest.raises(Cancelled):
        DiskSearcher(scope, pool).search(scope.place("."), question, True, lambda *_: None)
    scope.close()
    assert len(searched(forest, PatternSpec("needle"), pool)) == 43


def test_a_killed_worker_is_replaced_and_its_share_done_again(
    forest: Path, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scanning, "INLINE", SliceLimits(seconds=-1))
    worker = pool.borrow(5)
    assert worker is not None
    worker._process.kill()
    worker._process.wait()
    pool.give_back(worker)
    assert len(searched(forest, PatternSpec("needle"), pool)) == 43


def test_a_root_that_cannot_be_read_is_a_failure_not_an_empty_result(
    forest: Path, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(self: Scope, path: bytes, flags: int) -> int:
        raise OSError(errno.EIO, "gone")

    monkeypatch.setattr(Scope, "open_real", gone)
    with pytest.raises(IOFailure, match="cannot be searched: input/output error"):
        searched(forest, PatternSpec("needle"), pool)
