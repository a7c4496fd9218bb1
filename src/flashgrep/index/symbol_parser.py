"""Asks a process of its own for the definitions in a file; see `symbol_worker` for why.

The process is started by the first question and kept. One that dies or takes too long is replaced,
and the file it was at counts as not parsed.
"""

from __future__ import annotations

import logging
import select
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from typing import Final

from flashgrep import limits
from flashgrep.errors import Cancelled
from flashgrep.index.symbols import Defined
from flashgrep.search.scan import Flag
from flashgrep.search.worker import read_message, write_message

log = logging.getLogger(__name__)

_TURN_MILLISECONDS: Final = 50
_START_SECONDS: Final = 10.0


class NotParsed(Exception):
    """A file that no parser could be brought through."""


class SymbolParser:
    """Finds definitions by parsing, one file at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def definitions(
        self, path: str, text: bytes, name: str, lines: Sequence[int], cancelled: Flag
    ) -> list[Defined]:
        """The definitions of a name in a file's text; `NotParsed` where that cannot be said."""
        with self._lock:
            is_new = self._process is None
            process = self._process = self._process or _started()
            try:
                assert process.stdin is not None  # noqa: S101
                write_message(process.stdin.fileno(), (path, text, name, list(lines)))
                seconds = limits.SYMBOL_SECONDS + (_START_SECONDS if is_new else 0)
                answer = _answer(process, cancelled, time.monotonic() + seconds)
            except (OSError, NotParsed, Cancelled) as error:
                self._process = None
                _end(process)
                if isinstance(error, Cancelled):
                    raise
                log.warning("%s could not be parsed", path)
                raise NotParsed from error
        return [Defined(*found) for found in answer]

    def close(self) -> None:
        """End the process."""
        with self._lock:
            if self._process is not None:
                _end(self._process)
                self._process = None


def _started() -> subprocess.Popen[bytes]:
    # -P: the current directory is the user's workspace and must not shadow our modules.
    return subprocess.Popen(
        [sys.executable, "-P", "-X", "utf8", "-m", "flashgrep.index.symbol_worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        close_fds=True,
        cwd="/",
    )


def _answer(
    process: subprocess.Popen[bytes], cancelled: Flag, deadline: float
) -> list[tuple[int, str, str]]:
    assert process.stdout is not None  # noqa: S101
    out = process.stdout.fileno()
    poll = select.poll()
    poll.register(out, select.POLLIN)
    while not poll.poll(_TURN_MILLISECONDS):
        if cancelled:
            raise Cancelled("The search was cancelled")
        if time.monotonic() > deadline:
            raise NotParsed
    answer: list[tuple[int, str, str]] | None = read_message(out)
    if answer is None:
        raise NotParsed
    return answer


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()
    process.wait()
