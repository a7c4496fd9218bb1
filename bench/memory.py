"""How much memory a server and its workers come to hold while something is done."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from bench.served import Server

_EVERY_SECONDS = 0.02
_KIB = 1024


@dataclass(frozen=True)
class Held:
    """Bytes of all processes together."""

    private: int = 0
    """Pages no other process maps; those of a mapped file are among them."""
    anonymous: int = 0
    """What no file backs: what the machine must keep in memory."""
    shared: int = 0
    """All pages, those that several processes map in equal shares (`Pss`)."""


def held(server: Server) -> Held:
    """What the processes hold now."""
    private = anonymous = shared = 0
    for pid in server.processes():
        try:
            text = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii")
        except OSError:  # ended since it was listed
            continue
        for line in text.splitlines():
            name, _, rest = line.partition(":")
            if name in ("Private_Clean", "Private_Dirty"):
                private += int(rest.split()[0]) * _KIB
            elif name == "Anonymous":
                anonymous += int(rest.split()[0]) * _KIB
            elif name == "Pss":
                shared += int(rest.split()[0]) * _KIB
    return Held(private, anonymous, shared)


class Watch:
    """Samples in a thread; afterwards `peak` is the most that was held at any moment, and `added`
    how much that is above the beginning."""

    def __init__(self, server: Server, every_seconds: float = _EVERY_SECONDS) -> None:
        self._server = server
        self._every_seconds = every_seconds
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample)
        self._before = self.peak = Held()

    def __enter__(self) -> Self:
        self._before = self.peak = held(self._server)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._stop.wait(self._every_seconds):
            now = held(self._server)
            self.peak = Held(
                max(self.peak.private, now.private),
                max(self.peak.anonymous, now.anonymous),
                max(self.peak.shared, now.shared),
            )

    @property
    def added(self) -> Held:
        return Held(
            self.peak.private - self._before.private,
            self.peak.anonymous - self._before.anonymous,
            self.peak.shared - self._before.shared,
        )
