"""Asks a process of its own for the definitions in a file; see `symbol_worker` for why.

The process is started by the first question and kept. One that dies or takes too long is replaced,
and the file it was at counts as not parsed.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from typing import Any, Final

from flashgrep import limits
from flashgrep.errors import Cancelled
from flashgrep.ranking.definitions import Defined
from flashgrep.ranking.symbol_worker import Definitions
from flashgrep.search.scan.fair_queue import CancelFlag
from flashgrep.system.child import Child, ChildDied

log = logging.getLogger(__name__)

_MODULE: Final = "flashgrep.ranking.symbol_worker"
_START_SECONDS: Final = 10.0


class NotParsed(Exception):
    """A file that no parser could be brought through."""


class SymbolParser:
    """Finds definitions by parsing, one file at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._worker: Child | None = None

    def definitions(
        self, path: str, text: bytes, name: str, lines: Sequence[int], cancelled: CancelFlag
    ) -> list[Defined]:
        """The definitions of a name in a file's text; `NotParsed` where that cannot be said."""
        job = (path, text, name, list(lines))
        with self._lock:
            was_idle = self._worker is not None
            try:
                try:
                    return self._parsed(job, cancelled)
                except ChildDied:
                    if not was_idle:
                        raise
                    return self._parsed(job, cancelled)  # it was dead before it was asked
            except (ChildDied, NotParsed, OSError) as error:
                log.warning("%s could not be parsed", path)
                raise NotParsed from error

    def _parsed(self, job: tuple[Any, ...], cancelled: CancelFlag) -> list[Defined]:
        seconds = limits.SYMBOL_SECONDS + (_START_SECONDS if self._worker is None else 0)
        worker = self._worker = self._worker or Child(_MODULE)
        try:
            worker.send(job)
            answer = _answer(worker, cancelled, time.monotonic() + seconds)
        except (ChildDied, NotParsed, Cancelled):
            self._worker = None
            worker.stop(kill=True)
            raise
        return [Defined(*found) for found in answer]

    def close(self) -> None:
        """End the process."""
        with self._lock:
            if self._worker is not None:
                self._worker.stop(kill=True)
                self._worker = None


def _answer(worker: Child, cancelled: CancelFlag, deadline: float) -> Definitions:
    answer = worker.receive_unless(lambda: bool(cancelled) or time.monotonic() > deadline)
    if answer is None and cancelled:
        raise Cancelled("The search was cancelled")
    if answer is None or answer[0] != "parsed":
        raise NotParsed
    found: Definitions = answer[1]
    return found
