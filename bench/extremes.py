"""Files and trees no one has, until someone does: answered, and in bounded memory."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from bench.corpus import SCRATCH, Corpus
from bench.effort import Effort
from bench.memory import Held, Watch
from bench.report import Section, Table, Target, code
from bench.served import UNINDEXED, Client, NoAnswer, Server, connected, serving
from flashgrep import limits

MEMORY_BOUND = 64 * limits.MIB
DEPTH = 5_000
ENTRIES = 200_000

_TIB = 1024 * limits.GIB
_PATIENCE_SECONDS = 60.0
_SHOWN_CHARS = 60
_WARM_FOLDERS = 20
_WARM_FILES = 300

Asked = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Case:
    """Something extreme: how it is made, what is asked of it, how long an answer may take."""

    name: str
    build: Callable[[Path], None]
    asked: tuple[Asked, ...]
    seconds: float = _PATIENCE_SECONDS


def _one_line(folder: Path) -> None:
    piece = b"all of it in one single line " * 36_158  # a little over 1 MiB
    with (folder / "line.txt").open("wb") as file:
        for _ in range(1024):
            file.write(piece[: limits.MIB])
        file.write(b"needle\n")


def _sparse(folder: Path) -> None:
    with (folder / "hole.txt").open("wb") as file:
        file.truncate(_TIB)


def _sparse_after_text(folder: Path) -> None:
    with (folder / "hole.txt").open("wb") as file:
        file.write(b"a line of text\n" * 100 + b"needle\n")
        file.truncate(_TIB)


def _deep(folder: Path) -> None:
    at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(DEPTH):
        os.mkdir("d", dir_fd=at)
        below = os.open("d", os.O_RDONLY | os.O_DIRECTORY, dir_fd=at)
        os.close(at)
        at = below
    _write_at(at, "leaf.txt", b"needle\n")
    os.close(at)


def _wide(folder: Path) -> None:
    at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    for number in range(ENTRIES):
        _write_at(at, f"entry{number:06}.txt", b"needle\n" if number == ENTRIES // 2 else b"hay\n")
    os.close(at)


def _write_at(directory: int, name: str, data: bytes) -> None:
    file = os.open(name, os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=directory)
    os.write(file, data)
    os.close(file)


def _grep(mode: str) -> Asked:
    return "grep", {"pattern": "needle", "path": "case", "output_mode": mode}


CASES = (
    Case("a file of 1 GiB in one line", _one_line, (_grep("files_with_matches"), _grep("content"))),
    Case(
        "a sparse file of 1 TiB",
        _sparse,
        (
            _grep("content"),
            ("grep", {"pattern": "needle", "path": "case/hole.txt"}),
            ("view", {"path": "case/hole.txt", "view_range": [1, 10]}),
        ),
    ),
    # Few seconds only: a search that copied the hole would fill the disk.
    Case("a sparse file of 1 TiB that begins as text", _sparse_after_text, (_grep("content"),), 5),
    Case(
        f"a tree {DEPTH:,} deep",
        _deep,
        (_grep("content"), ("glob", {"pattern": "**/*.txt", "path": "case"})),
    ),
    Case(
        f"{ENTRIES:,} entries in one directory",
        _wide,
        (_grep("content"), ("glob", {"pattern": "*.txt", "path": "case"})),
    ),
)


@dataclass(frozen=True)
class _Seen:
    case: Case
    asked: Asked
    seconds: float
    added: Held
    answer: str
    answered: bool


def measure(corpus: Corpus, effort: Effort) -> Section:
    """Build, ask once, remove: each case with a new server."""
    seen = [one for case in CASES for one in _measure(case)]
    rows = [
        [
            one.case.name,
            code(one.asked[0] + (f" {mode}" if (mode := one.asked[1].get("output_mode")) else "")),
            f"{one.seconds:.2f}",
            f"{one.added.private / limits.MIB:.1f}",
            f"{one.added.anonymous / limits.MIB:.1f}",
            code(one.answer),
        ]
        for one in seen
    ]
    columns = ["what", "asked", "seconds", "private MiB", "of it anonymous", "answer"]
    return Section(
        "extremes",
        "Extremes",
        text=[
            "With `--no-index`. Memory is what the server and its workers hold above what they "
            "held before the call, sampled every 20 ms from `smaps_rollup`: private pages, and of "
            "these the anonymous ones. The rest of the private pages belongs to a mapped private "
            "file, which the kernel can drop; the target counts the anonymous ones."
        ],
        tables=[Table("", columns, rows)],
        targets=[_target(case, [one for one in seen if one.case is case]) for case in CASES],
    )


def _target(case: Case, seen: list[_Seen]) -> Target:
    most = max((one.added.anonymous for one in seen), default=0)
    answered = bool(seen) and all(one.answered for one in seen)
    figure = f"{most / limits.MIB:.1f} MiB" if answered else "not answered"
    bound = f"answered, at most {MEMORY_BOUND // limits.MIB} MiB"
    return Target(case.name, bound, figure, answered and most <= MEMORY_BOUND)


def _measure(case: Case) -> list[_Seen]:
    root = SCRATCH / "extremes"
    _remove(root)
    (root / "case").mkdir(parents=True)
    try:
        _make_warm(root)
        case.build(root / "case")
        with serving(root.resolve(), *UNINDEXED) as server, connected(server) as client:
            # Workers are there before anything is measured.
            client.call("grep", {"pattern": "[a-z][0-9]+x", "path": "warm"})
            return [_ask(server, client, case, asked) for asked in case.asked]
    except OSError as error:
        print(f"  {case.name}: cannot be made here: {error}")
        return []
    finally:
        _remove(root)


def _make_warm(root: Path) -> None:
    for number in range(_WARM_FOLDERS):
        folder = root / "warm" / str(number)
        folder.mkdir(parents=True)
        for name in range(_WARM_FILES):
            (folder / f"{name}.txt").write_bytes(b"warm words\n" * 50)


def _ask(server: Server, client: Client, case: Case, asked: Asked) -> _Seen:
    begin = perf_counter()
    with Watch(server) as watch:
        try:
            answer, answered = client.call(*asked, case.seconds), True
        except NoAnswer as error:
            answer, answered = str(error), False
    spent = perf_counter() - begin
    print(f"  {case.name}: {asked[0]} {spent:.2f} s, {watch.added.anonymous / limits.MIB:.1f} MiB")
    return _Seen(case, asked, spent, watch.added, _short(answer), answered)


def _short(answer: str) -> str:
    first = answer.partition("\n")[0]
    if len(first) <= _SHOWN_CHARS:
        return first
    half = _SHOWN_CHARS // 2
    return f"{first[:half]} … {first[-half:]}"


def _remove(root: Path) -> None:
    """Remove a tree by `rm`: Python's own way recurses, and this one is 5,000 deep."""
    subprocess.run(["rm", "-rf", str(root)], check=True)
