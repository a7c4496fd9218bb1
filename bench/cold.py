"""A few patterns with the corpus out of the page cache; not part of a plain run.

Pages are given back file by file (`posix_fadvise`), which needs no rights and disturbs no other
program. Directory entries and inodes stay: this is cold data, not a cold machine.
"""

from __future__ import annotations

import os

from bench import ripgrep
from bench.corpus import Corpus
from bench.effort import Effort
from bench.report import Section, Table, code
from bench.rivals import Rivals, Times, rivals

PATTERNS = ("zzzzqqqqxxxx", "ERESTARTSYS", r"[a-z]+\d\d\d[a-z]+")

_MOST_ROUNDS = 3
_MODE = "files_with_matches"


def measure(corpus: Corpus, effort: Effort) -> Section:
    """Evict before every single search."""
    names = sorted(ripgrep.searched_files(corpus.root))
    with rivals(corpus) as all_rivals:
        rows = [_row(all_rivals, names, pattern, effort.rounds) for pattern in PATTERNS]
    return Section(
        "cold",
        "Before the index exists: cold",
        text=[f"On {corpus.name}, each search after the pages of all its files were given back."],
        tables=[Table("", ["pattern", "rg", "socket", "socket ÷ rg"], rows)],
    )


def _row(all_rivals: Rivals, names: list[str], pattern: str, rounds: int) -> list[str]:
    times = Times()
    asked = {"pattern": pattern, "output_mode": _MODE}
    all_rivals.socket(asked)
    for _ in range(min(rounds, _MOST_ROUNDS)):
        _evict(all_rivals.corpus, names)
        times.run("rg", lambda: all_rivals.ripgrep(_MODE, pattern))
        _evict(all_rivals.corpus, names)
        times.run("socket", lambda: all_rivals.socket(asked))
    figures = [f"{times.median(name) * 1000:.0f}" for name in ("rg", "socket")]
    return [code(pattern), *figures, f"{times.ratio('socket'):.2f}"]


def _evict(corpus: Corpus, names: list[str]) -> None:
    os.sync()
    for name in names:
        try:
            file = os.open(corpus.root / name, os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            continue
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)
