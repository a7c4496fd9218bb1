"""What one client feels while another searches, and what a small view of a large file costs."""

from __future__ import annotations

import json
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from bench import ripgrep
from bench.corpus import SCRATCH, Corpus
from bench.effort import Effort
from bench.figures import percentile
from bench.kept import state_of, wait_for
from bench.report import Section, Table, Target
from bench.served import UNBOUNDED, UNINDEXED, Client, Server, connected, serving
from bench.starting import INITIALIZE
from flashgrep import limits

P99_BOUND_MS = 100.0
HEAVY = r"[a-z]+\d\d\d[a-z]+"

_PAUSE_SECONDS = 0.01
_LARGEST = 256 * limits.KIB
_VIEWS = 5
_NEAR_LIMIT = limits.FILE_BYTES - 64 * limits.KIB
_VIEW_BOUND = 1 * limits.MIB


def measure(corpus: Corpus, effort: Effort) -> Section:
    """Read beside a heavy grep; then view ten lines of a file near the size limit."""
    files = _sample(corpus, effort.reads)
    quiet = _reads(corpus, files, None)
    indexed = _reads(corpus, files, ())
    scanned = _reads(corpus, files, UNINDEXED)
    unbounded = _reads(corpus, files, UNBOUNDED)
    view = _view()
    worst = max(indexed.p99, scanned.p99)
    rows = [
        ["nothing else", *quiet.row()],
        ["grep, content, default budget", *indexed.row()],
        ["grep, content, `--no-index`", *scanned.row()],
        ["grep, content, `--max-output-chars 0`", *unbounded.row()],
    ]
    columns = ["while the server does", "p50", "p99", "worst", "reads", "greps meanwhile"]
    return Section(
        "latency",
        "A second client",
        text=[
            f"{effort.reads} calls of `read` through the unix socket by the SDK's "
            f"client, files of {corpus.name}, while another connection greps `{HEAVY}` in a loop.",
            f"`view` with `view_range` [1, 10] of a file of {_NEAR_LIMIT / limits.MIB:.1f} MiB: "
            f"{view.milliseconds:.1f} ms, {view.read_bytes / limits.KIB:.0f} KiB read by the "
            "server (`rchar` of `/proc/PID/io`).",
        ],
        tables=[Table("", columns, rows)],
        targets=[
            Target(
                "second client's read during a heavy grep, p99",
                f"at most {P99_BOUND_MS:.0f} ms",
                f"{worst:.0f} ms",
                worst <= P99_BOUND_MS,
            ),
            Target(
                "`view_range` [1, 10] near the size limit",
                f"what it needs (at most {_VIEW_BOUND // limits.MIB} MiB)",
                f"{view.read_bytes / limits.KIB:.0f} KiB of {_NEAR_LIMIT / limits.KIB:.0f} KiB",
                view.read_bytes <= _VIEW_BOUND,
            ),
        ],
    )


# ── reads beside a grep ─────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Reads:
    milliseconds: list[float]
    greps: int

    @property
    def p99(self) -> float:
        return percentile(self.milliseconds, 0.99)

    def row(self) -> list[str]:
        figures = (median(self.milliseconds), self.p99, max(self.milliseconds))
        return [
            *(f"{figure:.1f}" for figure in figures),
            str(len(self.milliseconds)),
            str(self.greps),
        ]


def _sample(corpus: Corpus, count: int) -> list[str]:
    """Files spread over the corpus, none of them large; some twice where there are few."""
    names = sorted(ripgrep.searched_files(corpus.root))
    small = [name for name in names if _is_small(corpus.root / name)]
    step = max(1, len(small) // count)
    spread = small[::step] or small
    return [spread[turn % len(spread)] for turn in range(count)]


def _is_small(path: Path) -> bool:
    return path.is_file() and path.stat().st_size <= _LARGEST


def _reads(corpus: Corpus, files: list[str], load: tuple[str, ...] | None) -> _Reads:
    """Time the reads; `load` is the server's extra flags, None for no load at all."""
    with (
        serving(corpus.root, "--anthropic-compat", *(load or ()), state=state_of(corpus)) as server,
        connected(server) as client,
    ):
        if load != UNINDEXED:
            wait_for(server, "query_ready")
        client.call("grep", {"pattern": HEAVY, "output_mode": "count"})  # warm
        if load is None:
            return _Reads(_timed(client, files), 0)
        with _greps(server) as done:
            return _Reads(_timed(client, files), len(done))


def _timed(client: Client, files: list[str]) -> list[float]:
    times = []
    for name in files:
        begin = perf_counter()
        client.call("read", {"file_path": name})
        times.append((perf_counter() - begin) * 1000)
        time.sleep(_PAUSE_SECONDS)
    return times


@contextmanager
def _greps(server: Server) -> Iterator[list[int]]:
    """Another connection that greps without end; its answers are counted, not parsed."""
    done: list[int] = []
    stop = threading.Event()
    ready = threading.Event()
    thread = threading.Thread(target=_grep_loop, args=(server, done, ready, stop))
    thread.start()
    ready.wait()
    try:
        yield done
    finally:
        stop.set()
        thread.join()


def _grep_loop(
    server: Server, done: list[int], ready: threading.Event, stop: threading.Event
) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(server.socket)
        _send(connection, INITIALIZE)
        _skip_line(connection)
        _send(connection, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        while not stop.is_set():
            _send(connection, _grep(len(done) + 2))
            ready.set()
            done.append(_skip_line(connection))


def _grep(number: int) -> dict[str, Any]:
    arguments = {"pattern": HEAVY, "output_mode": "content"}
    params = {"name": "grep", "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def _send(connection: socket.socket, message: dict[str, Any]) -> None:
    connection.sendall(json.dumps(message).encode() + b"\n")


def _skip_line(connection: socket.socket) -> int:
    """Read to the end of a line, and give its length."""
    length = 0
    while piece := connection.recv(1 << 20):
        length += len(piece)
        if piece.endswith(b"\n"):
            return length
    raise RuntimeError("the server closed the connection")


# ── a small view of a large file ────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _View:
    milliseconds: float
    read_bytes: float


def _view() -> _View:
    folder = SCRATCH / "view"
    folder.mkdir(parents=True, exist_ok=True)
    line = b"a line of a long file, as logs have them\n"
    (folder / "long.txt").write_bytes((line * (_NEAR_LIMIT // len(line) + 1))[:_NEAR_LIMIT])
    try:
        with serving(folder.resolve(), *UNINDEXED) as server, connected(server) as client:
            asked = {"path": "long.txt", "view_range": [1, 10]}
            client.call("view", asked)
            seen = [_one_view(server, client, asked) for _ in range(_VIEWS)]
    finally:
        shutil.rmtree(folder)
    return _View(median(view.milliseconds for view in seen), median(v.read_bytes for v in seen))


def _one_view(server: Server, client: Client, asked: dict[str, Any]) -> _View:
    before, begin = _read_bytes(server), perf_counter()
    client.call("view", asked)
    spent = perf_counter() - begin
    return _View(spent * 1000, _read_bytes(server) - before)


def _read_bytes(server: Server) -> int:
    for line in Path(f"/proc/{server.pid}/io").read_text("ascii").splitlines():
        if line.startswith("rchar:"):
            return int(line.split()[1])
    raise RuntimeError("no rchar in /proc/PID/io")
