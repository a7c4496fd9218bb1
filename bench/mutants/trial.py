"""One defect against the tests: nearest first, until one fails or the time is over.

A defect may loop, fork or eat memory. Every process of a trial carries a mark in its environment,
by which all of them are found and ended, whatever session they are in. A failure counts only if
the same test passes without the defect.
"""

from __future__ import annotations

import os
import re
import secrets
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.mutants.scratch import Scratch

_MARK: Final = "FLASHGREP_MUTANT"
_TURN_SECONDS: Final = 0.5
_PROCESSES: Final = 200
_RESIDENT_BYTES: Final = 4 * 1024**3
_FAILED: Final = re.compile(r"^(?:FAILED|ERROR) (\S+::\S[^\n]*?)(?: - .*)?$", re.MULTILINE)
_BROKEN: Final = re.compile(r"^ERROR (\S+\.py)(?: - .*)?$", re.MULTILINE)
_EARLY: Final = 5
"""pytest's exit status where no test was collected."""


stopping = threading.Event()
"""Set when everything is to end: runs then end what they started, and report nothing."""


class Stopped(Exception):
    """A run was ended before it came to anything."""


@dataclass(frozen=True)
class Run:
    """What a run of some tests came to."""

    outcome: str
    """passed, failed, late, or too much: memory, processes."""
    failed: str = ""
    """The test that failed first, if it was a single one."""
    output: str = ""


def run_tests(scratch: Scratch, tests: list[str], seconds: float) -> Run:
    """Run test files, or single tests, in a scratch copy until one fails."""
    mark = secrets.token_hex(8)
    log = scratch.place / "output"
    command = [
        *(str(scratch.python), "-m", "pytest", "-x", "-q", "--no-header", "--tb=line"),
        *("-p", "no:cacheprovider", "--hypothesis-seed=0", f"--basetemp={scratch.temporary}/p"),
        *("-o", "timeout=60"),  # a defect that hangs is common here
        *tests,
    ]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {_MARK: mark, "TMPDIR": str(scratch.temporary)}
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=scratch.repository,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        outcome = _waited(process, mark, seconds)
    finally:
        _end(process, mark)
    text = log.read_text(encoding="utf-8", errors="replace")
    found = _FAILED.search(text) or _BROKEN.search(text)
    return Run(outcome, found[1] if outcome == "failed" and found else "", text[-2_000:])


def _waited(process: subprocess.Popen[bytes], mark: str, seconds: float) -> str:
    deadline = time.monotonic() + seconds
    while True:
        with suppress(subprocess.TimeoutExpired):
            status = process.wait(_TURN_SECONDS)
            return "passed" if status in (0, _EARLY) else "failed"
        if stopping.is_set():
            raise Stopped
        if time.monotonic() > deadline:
            return "late"
        marked = list(_marked(mark, process.pid))
        if len(marked) > _PROCESSES:
            return f"too much: over {_PROCESSES} processes"
        if sum(map(_resident, marked)) > _RESIDENT_BYTES:
            return "too much: memory"


def _end(process: subprocess.Popen[bytes], mark: str) -> None:
    """End the run and whatever it has started, wherever that has gone."""
    for _ in range(50):
        marked = list(_marked(mark, process.pid))
        for pid in marked:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if not marked:
            break
        time.sleep(0.1)
    process.wait()


def _marked(mark: str, session: int) -> Iterator[int]:
    """Those that carry the mark, and those of the session that have dropped it; no zombies."""
    wanted = f"{_MARK}={mark}".encode()
    for entry in os.listdir("/proc"):
        if entry.isdecimal():
            with suppress(OSError):
                fields = Path("/proc", entry, "stat").read_bytes().rpartition(b")")[2].split()
                environment = Path("/proc", entry, "environ").read_bytes()
                is_ours = int(fields[3]) == session or wanted in environment.split(b"\0")
                if is_ours and fields[0] != b"Z":
                    yield int(entry)


def _resident(pid: int) -> int:
    try:
        pages = int(Path("/proc", str(pid), "statm").read_text(encoding="ascii").split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
