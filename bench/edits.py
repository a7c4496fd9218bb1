"""grep after a thousand files changed: at once, with all of them read from disk, and folded in."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from bench import ripgrep
from bench.agreeing import files_of
from bench.copies import whole_copy
from bench.corpus import Corpus
from bench.direct import ask
from bench.effort import Effort
from bench.figures import milliseconds, times
from bench.kept import indexed
from bench.patterns import few_patterns
from bench.processes import settle
from bench.report import Section, Table, Target, code
from bench.rivals import Times
from bench.served import UNBOUNDED, Client, Server, connected
from bench.texts import text_files

_SEED = 11
_MODE = "files_with_matches"
_OURS = ("before", "at once", "folded in")
_NEW = "the changed lines"


def measure(corpus: Corpus, effort: Effort) -> Section:
    """Change files of a copy, ask, let the index take them in, ask again; once a round."""
    copy = whole_copy(corpus)
    files = _chosen(copy, effort.edits)
    kinds = {_NEW: "new"} | {pattern.source: pattern.kind for pattern in few_patterns(1)}
    timed = {source: Times() for source in kinds}
    found: list[int] = []
    overlaid = dict.fromkeys(timed, 0)
    with indexed(copy, *UNBOUNDED) as server, connected(server) as client:
        for turn in range(effort.rounds):
            token = f"flashgrep_bench_edit_{turn}"
            for _ in _asked(client, timed, token, "before"):
                pass
            before = _last_fold(server)
            with _edited(files, token):
                for source in _asked(client, timed, token, "at once"):
                    overlaid[source] += _last_fold(server) == before
                found.append(len(files_of(timed[_NEW].answers["at once"])))
                settle(server)
                for _ in _asked(client, timed, token, "folded in"):
                    pass
                found.append(len(files_of(timed[_NEW].answers["folded in"])))
                _ask_ripgrep(copy.root, timed, token)
            settle(server)
            print(f"  round {turn + 1}: {found[-2]} and {found[-1]} of {len(files)} found")
    rows = [
        [
            kind,
            source if source == _NEW else code(source),
            *(milliseconds(timed[source].median(name)) for name in ("rg", *_OURS)),
            *(times(timed[source].speedup(name)) for name in _OURS),
            f"{overlaid[source]} of {effort.rounds}",
        ]
        for source, kind in kinds.items()
    ]
    columns = ["class", "pattern", "rg", *_OURS, *(f"rg ÷ {name}" for name in _OURS), "overlaid"]
    seen = sum(count == len(files) for count in found)
    return Section(
        "edits",
        f"After {len(files):,} edits",
        text=[
            f"On {copy.name}, `{_MODE}` through the unix socket, {effort.rounds} rounds: a line is "
            f"appended to each of {len(files):,} random files, the patterns are asked at once, one "
            "after the other (overlaid: how often the answer came before any change was folded "
            "in), and again when the server has come to rest; then the files are put back. ripgrep "
            "runs on the changed tree."
        ],
        tables=[Table("", columns, rows)],
        targets=[
            Target(
                f"after {len(files):,} edits: changed files found",
                "all, at once and folded in",
                "all" if seen == len(found) else f"missing {len(found) - seen} times",
                seen == len(found),
            )
        ],
    )


def _chosen(corpus: Corpus, count: int) -> list[Path]:
    texts = [name for name in text_files(corpus) if not name.endswith(".gitignore")]
    chosen = random.Random(_SEED).sample(texts, min(count, len(texts)))
    return [corpus.root / name for name in chosen]


def _asked(client: Client, timed: dict[str, Times], token: str, when: str) -> Iterator[str]:
    """Ask for the changed lines and then for each pattern, giving each when it is answered."""
    for source, times_of_it in timed.items():
        asked = {"pattern": _pattern(source, token), "output_mode": _MODE}
        times_of_it.run(when, partial(client.call, "grep", asked))
        yield source


def _ask_ripgrep(root: Path, timed: dict[str, Times], token: str) -> None:
    for source, times_of_it in timed.items():
        times_of_it.run("rg", partial(ripgrep.run, root, _MODE, _pattern(source, token)))


def _pattern(source: str, token: str) -> str:
    return token if source == _NEW else source


def _last_fold(server: Server) -> Any:
    return ask(server, "stats")["last_update"]


@contextmanager
def _edited(files: list[Path], token: str) -> Iterator[None]:
    """Append a line to each file; afterwards all have their old bytes and times."""
    before = {path: path.stat() for path in files}
    try:
        for path in files:
            with path.open("ab") as file:
                file.write(f"\n/* {token} */\n".encode())
        yield
    finally:
        for path, status in before.items():
            os.truncate(path, status.st_size)
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
