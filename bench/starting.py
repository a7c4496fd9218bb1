"""From the start of the process to the `initialize` answer, beside importing the SDK alone."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from bench.corpus import Corpus
from bench.effort import Effort
from bench.figures import mark, milliseconds
from bench.kept import indexed, state_of
from bench.report import Section, Table, Target
from bench.rivals import Times
from bench.served import FLASHGREP, environment

BOUND = 1.5

_IMPORT = "import mcp.server"
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    },
}


def measure(corpus: Corpus, effort: Effort) -> Section:
    """Start each in turn: in an empty directory, and where there is an index to open."""
    with indexed(corpus):
        pass  # builds the index if there is none yet
    with tempfile.TemporaryDirectory(prefix="flashgrep-bench-") as own:
        places = {
            "an empty directory": (Path(own), Path(own) / "state"),
            f"{corpus.name} with its index": (corpus.root, state_of(corpus)),
        }
        timed = _timed(places, effort.rounds)
    ratios = {place: timed.median(place) / timed.median("import") for place in places}
    worst = max(ratios.values())
    rows = [
        [
            place,
            milliseconds(timed.median("import")),
            milliseconds(timed.median(place)),
            f"{ratio:.2f}",
            mark(ratio <= BOUND),
        ]
        for place, ratio in ratios.items()
    ]
    return Section(
        "starting",
        "Starting",
        text=[
            f"`flashgrep mcp`, from the start of the process until its answer to `initialize` is "
            f'read; `python -c "{_IMPORT}"` from start to exit. {effort.rounds} rounds in turn.'
        ],
        tables=[Table("", ["in", "import", "initialize answered", "ratio", "met"], rows)],
        targets=[
            Target(
                "start to `initialize` answer, index on",
                f'at most {BOUND} × `python -c "{_IMPORT}"`',
                f"{worst:.2f} ×",
                worst <= BOUND,
            )
        ],
    )


def _timed(places: dict[str, tuple[Path, Path]], rounds: int) -> Times:
    timed = Times()
    for workdir, state in places.values():
        _answered(workdir, state)  # unmeasured: byte code is written, files come into memory
    _imported()
    for _ in range(rounds):
        timed.run("import", _imported)
        for place, (workdir, state) in places.items():
            timed.run(place, partial(_answered, workdir, state))
    return timed


def _imported() -> None:
    subprocess.run([sys.executable, "-c", _IMPORT], check=True)


def _answered(workdir: Path, state: Path) -> None:
    command = [FLASHGREP, "mcp", "--workdir", str(workdir), "--state-dir", str(state)]
    with subprocess.Popen(
        command,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
        process.stdin.flush()
        answer = process.stdout.readline()
        process.kill()
    if "serverInfo" not in json.loads(answer)["result"]:
        raise RuntimeError(f"no answer to initialize: {answer!r}")
