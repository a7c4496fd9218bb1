"""A file changed by another program, then grep at once: seen every time, and how fast."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from statistics import median
from time import perf_counter

from bench.agreeing import files_of
from bench.copies import whole_copy
from bench.corpus import Corpus
from bench.effort import Effort
from bench.figures import milliseconds, percentile
from bench.kept import indexed
from bench.report import Section, Table, Target
from bench.served import Client, connected
from bench.texts import text_files

_SEED = 7
_KINDS = ("append", "create", "replace", "disguise", "move", "delete")
_LEAST_BYTES = 256
_ROOM = "flashgrep-bench"


@dataclass
class _Seen:
    kind: str
    seconds: list[float] = field(default_factory=list)
    """From the editor's word that it is done to grep's answer."""
    right: int = 0

    def row(self) -> list[str]:
        figures = (median(self.seconds), percentile(self.seconds, 0.99), max(self.seconds))
        count = len(self.seconds)
        return [self.kind, str(count), f"{self.right}", *map(milliseconds, figures)]


def measure(corpus: Corpus, effort: Effort) -> Section:
    """Change a file, ask for what it says now; then the next."""
    copy = whole_copy(corpus)
    quiet = _Seen("nothing")
    seen = {kind: _Seen(kind) for kind in _KINDS}
    with (
        indexed(copy) as server,
        connected(server) as client,
        _editing(copy, effort.changes) as changes,
    ):
        for turn in range(effort.changes):
            quiet.right += not _found(client, quiet, f"flashgrep_bench_nothing_{turn}")
        for kind, name, token in changes:
            found = _found(client, seen[kind], token)
            seen[kind].right += found == (set() if kind == "delete" else {name})
    rows = [one.row() for one in (quiet, *seen.values()) if one.seconds]
    every = [seconds for one in seen.values() for seconds in one.seconds]
    right = sum(one.right for one in seen.values())
    columns = ["change", "times", "seen", "p50", "p99", "worst"]
    return Section(
        "visible",
        "From an edit to its answer",
        text=[
            f"On {copy.name}: another process changes a random file, says so, and grep asks at "
            "once, through the unix socket, for a word that only the change has put there (or "
            "taken away). Times are from the editor's word to the answer: p50 "
            f"{milliseconds(median(every))} ms, p99 {milliseconds(percentile(every, 0.99))} ms. "
            "`disguise` writes in place and restores size and time; `move` brings a whole "
            "directory."
        ],
        tables=[Table("", columns, rows)],
        targets=[
            Target(
                "changed by another process, then grep at once",
                f"seen {len(every)} times of {len(every)}",
                str(right),
                right == len(every),
            )
        ],
    )


def _found(client: Client, seen: _Seen, token: str) -> set[str]:
    begin = perf_counter()
    answer = client.call("grep", {"pattern": token, "output_mode": "files_with_matches"})
    seen.seconds.append(perf_counter() - begin)
    return files_of(answer)


@contextmanager
def _editing(copy: Corpus, count: int) -> Iterator[Iterator[tuple[str, str, str]]]:
    """Changes that are made as they are taken; all of them are undone in the end."""
    room = copy.root / _ROOM
    saved: dict[Path, tuple[bytes, os.stat_result]] = {}
    with subprocess.Popen(
        [sys.executable, "-m", "bench.editor"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[1],
    ) as editor:
        try:
            yield _changes(copy, count, editor, saved)
        finally:
            assert editor.stdin is not None
            editor.stdin.close()
            shutil.rmtree(room, ignore_errors=True)
            for path, (data, status) in saved.items():
                path.write_bytes(data)
                os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def _changes(
    copy: Corpus,
    count: int,
    editor: subprocess.Popen[str],
    saved: dict[Path, tuple[bytes, os.stat_result]],
) -> Iterator[tuple[str, str, str]]:
    """Make a change, and give its kind, the file's name, and the word that it is about."""
    rng = random.Random(_SEED)
    files = _long_enough(copy)
    last = ("", "")
    kinds = cycle(_KINDS)
    for turn in range(count):
        kind, token = next(kinds), f"flashgrep_bench_word_{turn}"
        if kind == "delete":
            name, token = last
        elif kind in ("create", "move"):
            folder = f"{_ROOM}/{turn}"
            name = f"{folder}/new.txt"
            (copy.root / _ROOM).mkdir(exist_ok=True)
            last = (name, token)
        else:
            name = rng.choice(files)
            path = copy.root / name
            saved.setdefault(path, (path.read_bytes(), path.stat()))
        _tell(editor, kind, copy.root / name, token)
        yield kind, name, token


def _tell(editor: subprocess.Popen[str], kind: str, path: Path, token: str) -> None:
    assert editor.stdin is not None
    assert editor.stdout is not None
    editor.stdin.write(json.dumps([kind, str(path), token]) + "\n")
    editor.stdin.flush()
    if editor.stdout.readline() != "done\n":
        raise RuntimeError(f"the editor failed: {kind} {path}")


def _long_enough(copy: Corpus) -> list[str]:
    return [
        name
        for name, size in text_files(copy).items()
        if size >= _LEAST_BYTES and not name.endswith(".gitignore")
    ]
