"""From the start of the process to its first answer, beside importing the SDK alone."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bench.corpus import Corpus
from bench.effort import Effort
from bench.figures import mark, milliseconds
from bench.kept import indexed, state_of
from bench.report import Section, Table, Target
from bench.rivals import Times
from bench.served import FLASHGREP, environment

MCP_BOUND = 0.4
TERMINAL_BOUND = 0.5

MCP = "`flashgrep mcp`"
GREP = "flashgrep grep one one.txt"
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
    """Start each in turn: in an empty directory, where there is an index, and at the terminal."""
    with indexed(corpus):
        pass  # builds the index if there is none yet
    with tempfile.TemporaryDirectory(prefix="flashgrep-bench-") as own:
        (Path(own) / "one.txt").write_text("one line\n", encoding="utf-8")
        empty = f"{MCP}, an empty directory"
        indexed_tree = f"{MCP}, {corpus.name} with its index"
        starts: dict[str, Callable[[], None]] = {
            empty: partial(_answered, Path(own), Path(own) / "state"),
            indexed_tree: partial(_answered, corpus.root, state_of(corpus)),
            GREP: partial(_printed, Path(own)),
        }
        timed = _timed(starts, effort.rounds)
    ratios = {start: timed.median(start) / timed.median("import") for start in starts}
    bounds = {start: TERMINAL_BOUND if start == GREP else MCP_BOUND for start in starts}
    rows = [
        [
            start,
            milliseconds(timed.median("import")),
            milliseconds(timed.median(start)),
            f"{ratio:.2f}",
            mark(ratio <= bounds[start]),
        ]
        for start, ratio in ratios.items()
    ]
    worst = max(ratios[empty], ratios[indexed_tree])
    return Section(
        "starting",
        "Starting",
        text=[
            f"`flashgrep mcp`, from the start of the process until its answer to `initialize` is "
            f"read; `{GREP}`, until its first line is; "
            f'`python -c "{_IMPORT}"` from start to exit. {effort.rounds} rounds in turn, all from '
            "byte code."
        ],
        tables=[Table("", ["start", "import", "first answer", "ratio", "met"], rows)],
        targets=[
            _target("start to `initialize` answer, index on", MCP_BOUND, worst),
            _target("start to the terminal's first line", TERMINAL_BOUND, ratios[GREP]),
        ],
    )


def _target(what: str, bound: float, ratio: float) -> Target:
    wanted = f'at most {bound} × `python -c "{_IMPORT}"`'
    return Target(what, wanted, f"{ratio:.2f} ×", ratio <= bound)


def _timed(starts: dict[str, Callable[[], None]], rounds: int) -> Times:
    timed = Times()
    for start in (*starts.values(), _imported):
        start()  # unmeasured: byte code is written, files come into memory
    for _ in range(rounds):
        timed.run("import", _imported)
        for name, start in starts.items():
            timed.run(name, start)
    return timed


def _imported() -> None:
    subprocess.run([sys.executable, "-c", _IMPORT], env=environment(), check=True)


def _printed(directory: Path) -> None:
    command = [FLASHGREP, "grep", "one", "one.txt"]
    with subprocess.Popen(
        command, cwd=directory, env=environment(), stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        process.kill()
    if b"one line" not in line:
        raise RuntimeError(f"not the line that was searched for: {line!r}")


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
