"""A second worktree of a repository, and a new clone that begins with another one's index.

The tree is committed first. Both servers keep their state where a user's would be, in a cache of
this run, so that what they share is shared as it is for a user. Seconds count from the start of
`serve`; the first grep counts once the index answers it, the file tools work before that.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from bench import ripgrep
from bench.corpus import SCRATCH, Corpus
from bench.direct import ask
from bench.effort import Effort
from bench.figures import mark
from bench.kept import wait_for
from bench.report import Section, Table, Target
from bench.served import FLASHGREP, environment, serving

GREP_BOUND = 2.0
QUERY_BOUND = 5.0
DISK_BOUND = 0.05
IMPORTED_BOUND = 5.0

_PLACE = SCRATCH / "worktrees"
_PATTERN = "PM_RESUME"
_QUESTION = "resume a device"
_AUTHOR = ("-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "gc.auto=0")
_BLOCK_BYTES = 512


@dataclass(frozen=True)
class _Start:
    """Seconds from the start of a server to its first answers."""

    grep: float
    query: float
    is_same: bool
    """Whether grep's first answer names the files that ripgrep's does."""


def measure(corpus: Corpus, effort: Effort) -> Section:
    """Index the tree, add a worktree; export, clone, import."""
    place = _PLACE.resolve()
    cache, snapshot = place / "cache", place / "snapshot"
    _commit(corpus.root)
    with _fresh(place), _worktree(corpus.root, place / "second") as second:
        first = _start(corpus.root, cache)
        taken = _size(cache)
        beside = _start(second, cache)
        more = _size(cache) / taken - 1
        exported = _seconds(lambda: _index(corpus.root, cache, "--export", str(snapshot)))
        clone, other = place / "clone", place / "other cache"
        _git(place, "clone", "--quiet", str(corpus.root), str(clone))
        imported = _seconds(lambda: _index(clone, other, "--import", str(snapshot)))
        begun = _start(clone, other)
        size = snapshot.stat().st_size
    targets = [
        _target("second worktree: first indexed grep", beside.grep, GREP_BOUND),
        _target("second worktree: query", beside.query, QUERY_BOUND),
        Target(
            "second worktree: disk, of the first index",
            f"at most {DISK_BOUND:.0%} more",
            f"{more:.1%}",
            more <= DISK_BOUND,
        ),
        _target("new clone, imported index: first indexed grep", begun.grep, IMPORTED_BOUND),
    ]
    starts = {"the first tree, no index": first, "a second worktree": beside}
    starts["a new clone, imported"] = begun
    rows = [
        [name, f"{start.grep:.1f}", f"{start.query:.1f}", mark(start.is_same)]
        for name, start in starts.items()
    ]
    return Section(
        "worktrees",
        "Worktrees and imported indexes",
        text=[
            f"{corpus.name[0].upper()}{corpus.name[1:]}, committed first. Seconds from the start "
            "of `serve` to the answer of the first grep by the index, and of the first `query`. "
            f"The first index takes {taken / 1e6:,.0f} MB. `flashgrep index --export` took "
            f"{exported:.1f} s and wrote {size / 1e6:,.0f} MB; `--import` of it in a new clone "
            f"took {imported:.1f} s."
        ],
        tables=[Table("", ["start", "grep, s", "query, s", "files as rg's"], rows)],
        targets=targets,
    )


def _target(what: str, seconds: float, bound: float) -> Target:
    return Target(
        what, f"at most {bound:g} s after the start", f"{seconds:.1f} s", seconds <= bound
    )


def _start(tree: Path, cache: Path) -> _Start:
    begin = perf_counter()
    with serving(tree, cache=cache) as server:
        wait_for(server, "grep_ready")
        found = ask(server, "grep", {"pattern": _PATTERN, "output_mode": "files_with_matches"})
        grep = perf_counter() - begin
        wait_for(server, "query_ready")
        ask(server, "query", {"text": _QUESTION})
        query = perf_counter() - begin
    expected = ripgrep.run(tree, "files_with_matches", _PATTERN).splitlines()
    return _Start(grep, query, len(found["paths"]) == len(expected))


def _commit(root: Path) -> None:
    """Everything that is not ignored, unless there is a commit."""
    if not (root / ".git").exists():
        _git(root, "init", "--quiet")
    known = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, check=False)
    if known.returncode:
        print("  committing the tree")
        _git(root, "add", "--all")
        _git(root, *_AUTHOR, "commit", "--quiet", "--message", "All files")


@contextmanager
def _worktree(root: Path, place: Path) -> Iterator[Path]:
    _git(root, "worktree", "prune")
    _git(root, "worktree", "add", "--quiet", "--detach", str(place))
    try:
        yield place
    finally:
        _git(root, "worktree", "remove", "--force", str(place))


@contextmanager
def _fresh(place: Path) -> Iterator[None]:
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    try:
        yield
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _index(tree: Path, cache: Path, *asked: str) -> None:
    command = [FLASHGREP, "index", "--workdir", str(tree), *asked]
    subprocess.run(command, env=environment(cache), check=True, stdout=subprocess.DEVNULL)


def _git(where: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=where, check=True, stdout=subprocess.DEVNULL)


def _seconds(work: Callable[[], None]) -> float:
    begin = perf_counter()
    work()
    return perf_counter() - begin


def _size(directory: Path) -> int:
    """What a directory takes on disk; a file of two names counts once."""
    found = {}
    for path in directory.rglob("*"):
        if path.is_file():
            status = path.stat()
            found[status.st_ino] = status.st_blocks * _BLOCK_BYTES
    return sum(found.values())
