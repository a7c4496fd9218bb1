"""A tree six times as large: what each operation takes there, beside the tree that it grew from.

Six variants of the corpus in one directory, each with a line more in one source file of twenty.
Made once, below `.bench/` (8 GB, and 10 GB of index); not part of a plain run.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from bench import ripgrep
from bench.copies import variants
from bench.corpus import Corpus
from bench.effort import Effort
from bench.figures import milliseconds, times
from bench.kept import indexed, state_of
from bench.line_client import line_client
from bench.report import Section, Table, Target
from bench.rivals import Times, application_of
from bench.served import serving
from flashgrep.index.watch import tracker

VARIANTS = 6
GROWTH_BOUND = 2.0
FIRST_BOUND = 1.5
GLOB_BOUND = 0.3
LIST_BOUND = 0.020
SYMBOL_BOUND = 0.150

_RARE = "ksm_madvise"
_FILES = {"output_mode": "files_with_matches", "head_limit": 50}
_LINES = {"output_mode": "content", "head_limit": 250}
_MODE = "files_with_matches"

OPERATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "rare grep": ("grep", {"pattern": _RARE, **_FILES}),
    "absent grep": ("grep", {"pattern": "zzzzqqqqxxxx", **_FILES}),
    "page of 50 files": ("grep", {"pattern": "return -EINVAL", **_FILES}),
    "page of 250 lines": ("grep", {"pattern": "return -EINVAL", **_LINES}),
    "glob by ending": ("glob", {"pattern": "*.c"}),
    "glob by path": ("glob", {"pattern": "**/drivers/net/**/*.h"}),
    "glob with exclude": ("glob", {"pattern": "*.c", "exclude": ["drivers"]}),
    "first 100 of list_files": ("list_files", {"limit": 100}),
    "get_symbol of a rare name": ("get_symbol", {"symbol_name": _RARE}),
}
_GROWING = ("rare grep", "page of 50 files", "page of 250 lines")
_FIRST = "first grep of a new process"
_SWEEPING = "rare grep where nothing can be watched"


def measure(corpus: Corpus, effort: Effort) -> Section:
    """Measure every operation on both trees, and ripgrep on the large one."""
    large = variants(corpus, VARIANTS)
    timed = {"small": _measured(corpus, effort), "large": _measured(large, effort)}
    rows = [
        [name, *_row(timed["small"], timed["large"], name)]
        for name in (*OPERATIONS, _FIRST, _SWEEPING)
    ]
    columns = ["operation", "small", "large", "large ÷ small", "rg, large", "large ÷ rg"]
    return Section(
        "growth",
        f"Growth: {VARIANTS} times as many files",
        text=[
            f"On {corpus.name} and on {VARIANTS} variants of it in one directory, with the index, "
            f"through the unix socket by a plain client, median of {effort.rounds} rounds. "
            "ripgrep's time is that of `rg -l` for greps and symbols, of `rg --files` for names."
        ],
        tables=[Table("", columns, rows)],
        targets=[*_targets(timed["small"], timed["large"])],
    )


def _measured(corpus: Corpus, effort: Effort) -> Times:
    timed = Times()
    with indexed(corpus) as server, line_client(server) as client:
        for counted in range(effort.rounds + 1):
            for name, (tool, asked) in OPERATIONS.items():
                (timed if counted else Times()).run(name, partial(client.call, tool, asked))
    for _ in range(effort.rounds):
        timed.run("rg", partial(ripgrep.drain, corpus.root, _MODE, _RARE))
        timed.run("rg --files", partial(ripgrep.searched_files, corpus.root))
        with serving(corpus.root, state=state_of(corpus)) as server, line_client(server) as client:
            timed.run(_FIRST, partial(client.call, *OPERATIONS["rare grep"]))
    with _unwatched(), application_of(corpus, state_dir=str(state_of(corpus))) as grep:
        for _ in range(min(3, effort.rounds)):
            timed.run(_SWEEPING, lambda: grep({"pattern": _RARE, **_FILES}))
    return timed


@contextmanager
def _unwatched() -> Iterator[None]:
    """As on a machine that grants no watches: each search looks at every file's status."""

    def refused() -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    names = vars(tracker)
    granted, names["Inotify"] = names["Inotify"], refused
    try:
        yield
    finally:
        names["Inotify"] = granted


def _rival(name: str) -> str:
    return "rg --files" if name.startswith(("glob", "first 100")) else "rg"


def _row(small: Times, large: Times, name: str) -> list[str]:
    ours, before, rival = large.median(name), small.median(name), large.median(_rival(name))
    return [
        milliseconds(before),
        milliseconds(ours),
        times(ours / before),
        milliseconds(rival),
        f"{ours / rival:.3f}",
    ]


def _targets(small: Times, large: Times) -> Iterator[Target]:
    for name in _GROWING:
        growth = large.median(name) / small.median(name)
        yield _target(f"growth: {name}", growth, GROWTH_BOUND, "the time of the small tree")
    first = large.median(_FIRST) / large.median("rg")
    yield _target(f"large tree: {_FIRST}", first, FIRST_BOUND, "rg")
    for name in OPERATIONS:
        if name.startswith("glob"):
            ratio = large.median(name) / large.median("rg --files")
            yield _target(f"large tree: {name}", ratio, GLOB_BOUND, "`rg --files`")
    for name, bound in (
        ("first 100 of list_files", LIST_BOUND),
        ("get_symbol of a rare name", SYMBOL_BOUND),
    ):
        spent = large.median(name)
        figure = f"{milliseconds(spent)} ms"
        wanted = f"at most {milliseconds(bound)} ms"
        yield Target(f"large tree: {name}", wanted, figure, spent <= bound)


def _target(what: str, ratio: float, bound: float, of: str) -> Target:
    return Target(what, f"at most {bound:g} × {of}", f"{ratio:.2f} ×", ratio <= bound)
