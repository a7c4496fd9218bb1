"""An hour of edits, checkouts, greps and queries on 10,000 files: what the server comes to hold.

The same work as `tests/faults/soak.py`, which `make faults` does for half an hour. Not part of a
plain run: `python -m bench --only soak --minutes 60`.
"""

from __future__ import annotations

import socket
import tempfile
import time
from pathlib import Path
from random import Random

from tests.faults.soak import MIB, Sample, Soak, slope
from tests.faults.soak_tree import SoakTree
from tests.transports.clients import RawLines

from bench.corpus import Corpus
from bench.effort import Effort
from bench.report import Section, Table, Target, columns
from bench.served import serving

WARM_MINUTES = 10.0
MOST_A_MINUTE = 0.1
MOST = 200.0

_LINES = 130
_FLIPPED = 0.15
"""Of the files: how many differ between the two branches."""
_ANSWER_SECONDS = 600
_LOOK_SECONDS = 0.05
_MB = 1e6


def measure(corpus: Corpus, effort: Effort) -> Section:
    """Work for so many minutes on a tree of its own; the corpus is not looked at."""
    with tempfile.TemporaryDirectory(prefix="flashgrep-bench-") as top:
        work = Path(top) / "work"
        work.mkdir()
        tree = SoakTree(work, Random(1))
        tree.grow(effort.soak_files, max(1, round(effort.soak_files * _FLIPPED)), _LINES)
        tree.check_out("one")
        with serving(work) as server, socket.socket(socket.AF_UNIX) as connection:
            connection.connect(server.socket)
            connection.settimeout(_ANSWER_SECONDS)
            with RawLines(connection) as client:
                while not client.ask("stats")["result"]["query_ready"]:
                    time.sleep(_LOOK_SECONDS)
                soak = Soak(tree, client, server.pid)
                soak.run(effort.minutes, told=_tell)
    return section(effort, soak)


def _tell(sample: Sample) -> None:
    print(f"{sample.minutes:5.1f} min  {megabytes(sample):6.1f} MB", flush=True)


def megabytes(sample: Sample) -> float:
    """Private memory, as the page says it."""
    return sample.private * MIB / _MB


# ── the page ────────────────────────────────────────────────────────────────────────────────────


def section(effort: Effort, soak: Soak) -> Section:
    """The samples as a chart, and what they say from the tenth minute on."""
    warm = min(WARM_MINUTES, effort.minutes / 3)
    later = [sample for sample in soak.samples if sample.minutes >= warm]
    growth = slope(later, megabytes) if len(later) > 1 else 0.0
    most = max(map(megabytes, soak.samples))
    first, last = (megabytes(soak.samples[at]) for at in (0, -1))
    what = f"{effort.minutes:g} minutes of edits on {effort.soak_files:,} files"
    done = ", ".join(f"{count:,} × {name}" for name, count in sorted(soak.done.items()))
    return Section(
        "soak",
        "An hour of work",
        text=[
            f"{effort.soak_files:,} generated files of {_LINES} lines under git, "
            f"{effort.minutes:g} minutes: {done}. Once a minute the server comes to rest, and the "
            "private memory of it and its workers is noted, in MB, by minute:"
        ],
        chart=columns(list(map(megabytes, soak.samples)), "MB"),
        tables=[
            Table(
                "",
                ["first minute", "last minute", "most", f"growth from minute {warm:g} on"],
                [[f"{first:.1f}", f"{last:.1f}", f"{most:.1f}", f"{growth:+.3f} MB a minute"]],
            )
        ],
        targets=[
            Target(
                f"{what}: private memory grows, by least squares from minute {warm:g} on",
                f"at most {MOST_A_MINUTE} MB a minute",
                f"{growth:+.3f}",
                growth <= MOST_A_MINUTE,
            ),
            Target(
                f"{what}: private memory", f"at most {MOST:.0f} MB", f"{most:.0f} MB", most <= MOST
            ),
        ],
    )
