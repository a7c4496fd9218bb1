"""A search process: takes slices of work on stdin, answers on stdout, ends when stdin does.

It is started by exec, not by fork, so it holds neither locks nor wires of the server. A thread of
its own waits on stdin: when the server is gone, however it went, the process ends at once, even in
the middle of a long match (RE2 runs without the interpreter's lock).
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from flashgrep.errors import FlashgrepError, SettingsError
from flashgrep.search.counting import Counter
from flashgrep.search.effort import may_take_long
from flashgrep.search.excerpt import Excerpts, FileExcerpts
from flashgrep.search.messages import read_message, write_message
from flashgrep.search.pattern import PatternSpec
from flashgrep.search.request import Item, unpacked
from flashgrep.search.result import Counting, Page
from flashgrep.search.scanner import WORKER, Scanner
from flashgrep.search.texts import MemoryText, counts, marks
from flashgrep.workspace.scope import Scope


class Jobs:
    """The searches this process has been told of, and the work it does for them."""

    def __init__(self) -> None:
        self._scanners: dict[int, Scanner] = {}

    def handle(self, message: Any) -> Any:
        kind, number, *rest = message
        if kind in _ALONE:
            return _ALONE[kind](PatternSpec(*number), *rest)
        if kind == "begin":
            self._scanners[number] = _scanner(rest[0])
            return None
        if kind == "end":
            scanner = self._scanners.pop(number, None)
            if scanner is not None:
                scanner.scope.close()
            return None
        scanner = self._scanners[number]
        if kind == "page":
            return "page", FileExcerpts(scanner).page(Page(*rest[0]))
        items, entered = rest
        outcome = scanner.run([Item(*item) for item in items], frozenset(entered), WORKER)
        return "slice", _plain(outcome)


def _counts(spec: PatternSpec, counting: Counting, texts: list[bytes]) -> Any:
    return "counts", list(counts(Counter(spec, counting), texts))


def _excerpts(spec: PatternSpec, request: tuple[Any, ...], texts: dict[str, bytes]) -> Any:
    page = Excerpts(spec, lambda name: MemoryText(texts[name])).page(Page(*request))
    return "page", page


def _marks(spec: PatternSpec, text: bytes) -> Any:
    return "marks", marks(spec, text)


_ALONE: Final[dict[str, Callable[..., Any]]] = {
    "counts": _counts,
    "excerpts": _excerpts,
    "marks": _marks,
}
"""What is asked of texts that come with the message; their pattern stands in the number's place."""


def _plain(outcome: Any) -> tuple[Any, ...]:
    found, pending, links, skipped, scanned = outcome
    return (
        [tuple(file) for file in found],
        [tuple(item) for item in pending],
        [tuple(item) for item in links],
        skipped,
        scanned,
    )


def _scanner(packed: tuple[Any, ...]) -> Scanner:
    request = unpacked(packed)
    reach = request.reach
    scope = Scope(
        os.fsdecode(reach.workdir),
        [os.fsdecode(path) for path in reach.allow],
        reach.deny,
        reach.always_denied,
    )
    return Scanner(request, scope)


def main() -> None:
    """Search for the server until it is gone."""
    serve(Jobs().handle)


def serve(handle: Callable[[Any], Any]) -> None:
    """Answer messages of the pipe until it closes; None is no answer."""
    serve_telling(lambda message, tell: handle(message))


def leave_ending_to_the_server() -> None:
    """Go on when a signal is sent to the whole process group: the server gets it too, closes the
    pipe when it ends, and needs no report of our death until then."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)


def serve_telling(handle: Callable[[Any, Callable[[Any], None]], Any]) -> None:
    """The same, with a way to tell something before the answer is there."""
    may_take_long()
    out = os.dup(1)
    os.dup2(2, 1)  # a stray print must not reach the pipe
    inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(inbox,), daemon=True).start()
    while True:
        message = inbox.get()
        try:
            answer = handle(message, partial(write_message, out))
        except (FlashgrepError, SettingsError, OSError, MemoryError) as error:
            answer = ("failed", f"{type(error).__name__}: {error}")
        if answer is not None:
            write_message(out, answer)


def _listen(inbox: queue.SimpleQueue[Any]) -> None:
    while (message := read_message(0)) is not None:
        inbox.put(message)
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
