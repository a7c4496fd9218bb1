"""A progress bar on stderr, where a person is looking; nothing anywhere else."""

from __future__ import annotations

import shutil
import sys
import time
from typing import Final, Self

_WIDTH: Final = 30
_CLEAR: Final = "\r\x1b[K"


class Bar:
    """One line that is drawn over itself, and gone at the end."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._stream = sys.stderr
        self._is_shown = self._stream.isatty()
        self._started = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_shown:
            self._stream.write(_CLEAR)
            self._stream.flush()

    @property
    def seconds(self) -> float:
        """Since it began."""
        return time.monotonic() - self._started

    def show(self, done: float, note: str = "") -> None:
        """Draw it: `done` of 1, and a word on what is going on."""
        if not self._is_shown:
            return
        done = min(1.0, max(0.0, done))
        full = round(done * _WIDTH)
        bar = "█" * full + "░" * (_WIDTH - full)
        line = f"{self._title} {bar} {done:4.0%}  {self.seconds:.0f} s  {note}"
        self._stream.write(_CLEAR + line[: shutil.get_terminal_size().columns - 1])
        self._stream.flush()
