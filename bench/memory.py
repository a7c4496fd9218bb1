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
    """Of these, what no file backs: what the machine must keep in memory."""


def held(server: Server) -> Held:
    """What the processes hold now."""
    private = anonymous = 0
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
    return Held(private, anonymous)


class Watch:
    """Samples in a thread; afterwards `added` is the most that was held above the beginning."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample)
        self._before = self._peak = Held()

    def __enter__(self) -> Self:
        self._before = self._peak = held(self._server)
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
        while not self._stop.wait(_EVERY_SECONDS):
            now = held(self._server)
            self._peak = Held(
                max(self._peak.private, now.private), max(self._peak.anonymous, now.anonymous)
            )

    @property
    def added(self) -> Held:
        return Held(
            self._peak.private - self._before.private,
            self._peak.anonymous - self._before.anonymous,
        )
