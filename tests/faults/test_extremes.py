"""Files and trees at the edge of what a file system holds: answered, with bounded memory.

Each test prints what its calls took. Memory is that of the server and its workers together:
`private` as the kernel counts it, and the anonymous part of it. They differ by the private file
that a gigantic line is copied to and mapped from, whose pages the kernel can take back.
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.faults.processes import children, is_alive, watched
from tests.faults.telling import tell
from tests.faults.victim import Victim, victim
from tests.transports.clients import FLASHGREP, RawLines, serving, tool_call

from flashgrep.limits import GIB, MIB
from flashgrep.search.decode import windows

HEAVY = os.environ.get("FLASHGREP_HEAVY") == "1"
LINE_BYTES = GIB if HEAVY else 24 * MIB
DEPTH = 5_000 if HEAVY else 1_100
ENTRIES = 200_000 if HEAVY else 20_000
TRUNCATIONS = 1_000 if HEAVY else 30
ADDED_BYTES = 64 * MIB

pytestmark = [pytest.mark.fault, pytest.mark.timeout(1800 if HEAVY else 600)]


@pytest.fixture
def top(tmp_path: Path) -> Iterator[Path]:
    """A place for a workspace that is removed by a program that does not recurse."""
    made = Path(os.path.realpath(tmp_path)) / "x"
    (made / "ws").mkdir(parents=True)
    yield made
    subprocess.run(["rm", "-rf", str(made)], check=True)


@contextmanager
def bounded(server: Victim, what: str, maps: bool = False) -> Iterator[None]:
    """Print the memory a block adds, and in the heavy run hold it to the promise."""
    with watched(server.process.pid) as memory:
        yield
    tell(
        f"{what}: private +{memory.added / MIB:.1f} MiB, "
        f"of it anonymous +{memory.added_anonymous / MIB:.1f} MiB"
    )
    if HEAVY:
        assert (memory.added_anonymous if maps else memory.added) <= ADDED_BYTES, what


# ── a file of a terabyte ────────────────────────────────────────────────────────────────────────


def test_a_sparse_file_of_a_terabyte_is_answered(top: Path) -> None:
    for name, head in (("zeros", b""), ("headed", b"needle\n" * 200)):
        with (top / "ws" / name).open("wb") as file:
            file.write(head)
            file.truncate(1024 * GIB)
    with victim(top) as server, bounded(server, "1 TiB, sparse"):
        assert server.text("view", path="zeros") == "Binary file (1.0 TB)"
        assert server.text("view", path="zeros", view_range=[1, 10]) == "Binary file (1.0 TB)"
        assert server.text("read", path="zeros") == "Binary file (1.0 TB)"
        told = server.text("grep", pattern="needle", path="zeros")
        assert told == "No matches found\n(zeros is a binary file and was not searched)"
        assert server.call("view", path="headed")[1] == "too_large"
        assert server.call("read", path="headed", limit=1)[1] == "too_large"
        assert server.call("str_replace", path="headed", old_str="a", new_str="b")[1] == "too_large"
        assert server.text("grep", pattern="needle", include="headed") == "headed"
        told = server.text("grep", pattern="behind", include="headed", output_mode="count")
        assert "(1 not searched: headed: a sparse file with over 16 GiB of holes)" in told
        assert set(server.text("glob", pattern="*").split("\n")) == {"zeros", "headed"}


def test_a_hole_in_a_line_costs_no_disk(top: Path) -> None:
    """A line is copied to be searched; what is nothing in the file stays nothing in the copy."""
    hole = GIB if HEAVY else 64 * MIB
    with (top / "ws" / "hole").open("wb") as file:
        file.truncate(hole)
        file.seek(0, os.SEEK_END)
        file.write(b"needle\n")
    with (top / "ws" / "hole").open("rb") as file:
        for buffer, start, end in windows(file.fileno()):
            assert end - start == hole + len(b"needle\n")
            assert buffer.find(b"needle", start, end) == hole
            blocks = max(status.st_blocks for status in _open_files() if status.st_size >= end)
            assert blocks * 512 < 16 * MIB


def _open_files() -> list[os.stat_result]:
    found = []
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            found.append(os.fstat(int(name)))
    return found


# ── one line ────────────────────────────────────────────────────────────────────────────────────


def test_a_file_of_one_gigantic_line_is_searched(top: Path) -> None:
    with (top / "ws" / "line.js").open("wb") as file:
        for _ in range(LINE_BYTES // MIB):
            file.write(b"var a=1;" * (MIB // 8))
        file.write(b"needle;")
    column, total = LINE_BYTES + 1, LINE_BYTES + 7
    with victim(top) as server:
        for what, given, expected in _line_searches(column, total):
            with bounded(server, f"one line of {LINE_BYTES // MIB} MiB, {what}", maps=True):
                found = server.text("grep", **given)
            assert found.endswith(expected), (what, found[-200:])
            assert len(found) < 3_000
        assert server.call("view", path="line.js")[1] == "too_large"
        assert server.call("read", path="line.js")[1] == "too_large"


def _line_searches(column: int, total: int) -> list[tuple[str, dict[str, Any], str]]:
    content = {"output_mode": "content"}
    return [
        ("files", {"pattern": "needle"}, "line.js"),
        ("content", {"pattern": "needle", **content}, f"[column {column}, {total} chars total]"),
        ("count", {"pattern": "needle", "output_mode": "count"}, "line.js:1"),
        ("matches", {"pattern": "nee[a-z]+", "only_matching": True, **content}, ":1:needle"),
        ("any case", {"pattern": "NEEDLE", "case_insensitive": True}, "line.js"),
        ("line ends", {"pattern": "\\Avar.*needle;\\z"}, "line.js"),
        ("nothing", {"pattern": "nowhere"}, "No matches found"),
    ]


# ── a deep tree ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.thorough
def test_a_deep_tree_is_searched_and_its_bottom_reached(top: Path) -> None:
    path = "/".join(["ddd"] * DEPTH)
    assert len(path) > 4096  # more than the kernel takes at once
    _make_deep(top / "ws", DEPTH)
    with victim(top) as server, bounded(server, f"{DEPTH:,} directories deep"):
        assert server.text("grep", pattern="needle") == f"{path}/bottom.txt"
        found = server.text("grep", pattern="needle", output_mode="content", path=path)
        assert found == f"bottom.txt:1:needle\n(paths are relative to {path}/)"
        assert server.text("glob", pattern="**/bottom.txt") == f"{path}/bottom.txt"
        assert server.text("glob", pattern="*", path=path) == "bottom.txt"
        assert server.text("view", path=f"{path}/bottom.txt") == "     1\tneedle"
        assert server.text("view", path=path) == "bottom.txt"
        assert server.text("view", path=".") == "ddd/\nddd/ddd/"
        server.text("str_replace", path=f"{path}/bottom.txt", old_str="needle", new_str="thread")
        server.text("create_file", path=f"{path}/more/new.txt", content="needle\n")
        assert server.text("view", path=f"{path}/bottom.txt") == "     1\tthread"
        found = server.text("grep", pattern="needle", path=path)
        assert found == f"more/new.txt\n(paths are relative to {path}/)"


def _make_deep(ws: Path, depth: int) -> None:
    current = os.open(ws, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("ddd", dir_fd=current)
        following = os.open("ddd", os.O_RDONLY, dir_fd=current)
        os.close(current)
        current = following
    fd = os.open("bottom.txt", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=current)
    os.write(fd, b"needle\n")
    os.close(fd)
    os.close(current)


# ── a wide directory ────────────────────────────────────────────────────────────────────────────


@pytest.mark.thorough
def test_a_directory_of_many_entries_is_searched_and_listed(top: Path) -> None:
    wide = top / "ws" / "wide"
    wide.mkdir()
    for number in range(ENTRIES):
        os.close(os.open(wide / f"{number:06}.txt", os.O_CREAT | os.O_WRONLY))
    (wide / "012345.txt").write_text("needle\n", encoding="utf-8")
    calls: list[tuple[str, dict[str, Any], str]] = [
        ("grep", {"pattern": "needle"}, "wide/012345.txt"),
        ("grep", {"pattern": "needle", "include": "*.txt"}, "wide/012345.txt"),
        ("grep", {"pattern": "needle", "output_mode": "count"}, "wide/012345.txt:1"),
        ("glob", {"pattern": "*.txt"}, f"(showing 100 of {ENTRIES:,}; next: offset 100)"),
        ("glob", {"pattern": "**", "sort_by": "name", "limit": 1}, "next: offset 1)"),
        ("view", {"path": "wide"}, "which pages by offset]"),
    ]
    with ExitStack() as shared:
        server = shared.enter_context(victim(top))
        for tool, given, expected in calls:
            if HEAVY:  # each call on a fresh server: none uses memory that another has paid for
                shared.close()
                server = shared.enter_context(victim(top))
            with bounded(server, f"{ENTRIES:,} entries, {tool} {given}"):
                assert server.text(tool, **given).endswith(expected)


# ── few descriptors ─────────────────────────────────────────────────────────────────────────────

STARVED = ["sh", "-c", 'ulimit -n 64; exec "$@"', "sh"]


def _make_broad(ws: Path) -> None:
    """More directories than descriptors, and a file large enough for a worker."""
    for number in range(200):
        directory = ws / f"d{number % 20}" / f"e{number}"
        directory.mkdir(parents=True)
        (directory / "file.txt").write_text("needle\n", encoding="utf-8")
    (ws / "large.txt").write_bytes(b"hay\n" * MIB + b"needle\n")


@pytest.mark.thorough
def test_sixty_four_descriptors_are_enough_on_stdio(top: Path) -> None:
    _make_broad(top / "ws")
    with victim(top, prefix=STARVED) as server:
        for _ in range(5):
            assert server.text("grep", pattern="needle").count("\n") == 200
            assert server.text("glob", pattern="file.txt", limit=1000).count("\n") == 199
            assert server.text("view", path="d1/e1/file.txt") == "     1\tneedle"
            found = server.text("grep", pattern="needle", path="large.txt", output_mode="content")
            assert found == f"large.txt:{MIB + 1}:needle"
        assert len(os.listdir(f"/proc/{server.process.pid}/fd")) < 64


@pytest.mark.thorough
def test_sixty_four_descriptors_are_enough_for_serve(top: Path) -> None:
    _make_broad(top / "ws")
    program = [*STARVED, *FLASHGREP]
    with serving(top / "ws", tools=program) as server, RawLines(server.open_unix()) as lines:
        lines.start()
        for number in range(5):
            lines.send(tool_call("grep", number, pattern="needle", output_mode="count"))
            answer = lines.receive()
            assert answer["result"]["content"][0]["text"].count("\n") == 200
            lines.send(tool_call("view", number, path="d1/e1/file.txt"))
            assert lines.receive()["result"]["content"][0]["text"] == "     1\tneedle"


# ── a file that shrinks under the search ────────────────────────────────────────────────────────


def test_truncating_a_file_kills_nothing(top: Path) -> None:
    """A file that is mapped and then truncated kills its reader: so it must not be mapped."""
    for name, data in (("lines.txt", b"hay and more hay\n" * MIB), ("line.txt", b"hay" * 4 * MIB)):
        (top / "ws" / name).write_bytes(data)
    over = threading.Event()
    cuts = 0

    def truncate() -> None:
        nonlocal cuts
        while not over.is_set():
            for name in ("lines.txt", "line.txt"):
                path, size = top / "ws" / name, (top / "ws" / name).stat().st_size
                os.truncate(path, 1_000)
                os.truncate(path, max(size, 8 * MIB))
                cuts += 1

    thread = threading.Thread(target=truncate)
    with victim(top, ["--no-index"]) as server:
        server.text("grep", pattern="needle")
        workers = children(server.process.pid)
        thread.start()
        try:
            for number in range(TRUNCATIONS):
                mode = ("files_with_matches", "content", "count")[number % 3]
                text = server.text("grep", pattern="need|m.re", output_mode=mode, head_limit=2)
                assert "died" not in text
        finally:
            over.set()
            thread.join()
        assert server.process.poll() is None
        assert all(map(is_alive, workers))
        assert server.text("view", path=".").split("\n") == ["line.txt", "lines.txt"]
    tell(f"{TRUNCATIONS} searches, {cuts:,} truncations, {len(workers)} workers alive")
