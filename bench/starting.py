"""From the start of the process to the `initialize` answer, beside importing the SDK alone."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile

from bench.corpus import Corpus
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


def measure(corpus: Corpus, rounds: int) -> Section:
    """Start each in turn."""
    times = Times()
    with tempfile.TemporaryDirectory(prefix="flashgrep-bench-") as own:
        _answered(own)  # unmeasured: byte code is written, files come into memory
        _imported()
        for _ in range(rounds):
            times.run("import", _imported)
            times.run("start", lambda: _answered(own))
    imported, started = times.median("import"), times.median("start")
    ratio = started / imported
    return Section(
        "starting",
        "Starting",
        text=[
            f"`flashgrep mcp`, from the start of the process until its answer to `initialize` is "
            f'read; `python -c "{_IMPORT}"` from start to exit. {rounds} rounds in turn.'
        ],
        tables=[
            Table(
                "",
                ["import", "initialize answered", "ratio"],
                [[f"{imported * 1000:.0f}", f"{started * 1000:.0f}", f"{ratio:.2f}"]],
            )
        ],
        targets=[
            Target(
                "start to `initialize` answer",
                f'{BOUND} × `python -c "{_IMPORT}"`',
                f"{ratio:.2f} ×",
                ratio <= BOUND,
            )
        ],
    )


def _imported() -> None:
    subprocess.run([sys.executable, "-c", _IMPORT], check=True)


def _answered(own: str) -> None:
    command = [FLASHGREP, "mcp", "--workdir", own, "--state-dir", f"{own}/state"]
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
