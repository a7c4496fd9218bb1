"""What the kernel knows of a server's processes: processor time spent, threads woken."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from bench.served import Server

QUIET_SECONDS = 2.0
_QUIET_TICKS = 2
_PATIENCE_SECONDS = 600.0


def ticks(server: Server) -> int:
    """Processor time of all processes together, in hundredths of a second."""
    total = 0
    for pid in server.processes():
        try:
            text = Path(f"/proc/{pid}/stat").read_text("ascii", "replace")
        except OSError:  # ended since it was listed
            continue
        total += sum(int(word) for word in text.rpartition(")")[2].split()[11:13])
    return total


def settle(server: Server) -> None:
    """Wait until the server does nothing.

    A change waits for at most half a second to be folded in, so a server that spends no time for
    two has nothing left to do.
    """
    deadline = time.monotonic() + _PATIENCE_SECONDS
    before = ticks(server)
    while time.monotonic() < deadline:
        time.sleep(QUIET_SECONDS)
        now = ticks(server)
        if abs(now - before) <= _QUIET_TICKS:
            return
        before = now
    raise RuntimeError(f"the server is still busy after {_PATIENCE_SECONDS:.0f} s")


@dataclass(frozen=True)
class Wakeups:
    """Threads of all processes, and how often they yielded by themselves."""

    threads: int
    woken: int
    """Threads that ran at all."""
    switches: int


def wakeups(server: Server, seconds: float) -> Wakeups:
    """Count wake-ups while nothing is asked."""
    before = _switches(server)
    time.sleep(seconds)
    after = _switches(server)
    spent = [count - before.get(thread, 0) for thread, count in after.items()]
    return Wakeups(len(after), sum(count > 0 for count in spent), sum(spent))


def _switches(server: Server) -> dict[tuple[int, int], int]:
    """Voluntary context switches of each thread."""
    found = {}
    for pid in server.processes():
        for status in Path(f"/proc/{pid}/task").glob("*/status"):
            try:
                text = status.read_text("ascii", "replace")
            except OSError:  # the thread has ended
                continue
            count = text.rpartition("\nvoluntary_ctxt_switches:")[2].split()[0]
            found[pid, int(status.parent.name)] = int(count)
    return found
