"""A search process: takes slices of work, answers with what it found (see `system.child`).

If it gets stuck in a long match, the server kills it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from flashgrep.search.excerpts import Excerpts, FileExcerpts, MemoryText
from flashgrep.search.match_count import Counter
from flashgrep.search.pattern import PatternSpec, may_take_long
from flashgrep.search.result import Counting, Item, Page
from flashgrep.search.scan.scanner import WORKER, Scanner, unpacked_scanner
from flashgrep.search.scan.texts import counts, marks
from flashgrep.system.child import serve


class ScanJobs:
    """The searches this process knows, and the work it does for them."""

    def __init__(self) -> None:
        self._scanners: dict[int, Scanner] = {}

    def handle(self, message: Any) -> Any:
        kind, number, *rest = message
        if kind in _ALONE:
            return _ALONE[kind](PatternSpec(*number), *rest)
        if kind == "begin":
            self._scanners[number] = unpacked_scanner(rest[0])
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
"""What is asked of texts that come with the message; their pattern takes the number's place."""


def _plain(outcome: Any) -> tuple[Any, ...]:
    found, pending, links, skipped, scanned = outcome
    return (
        [tuple(file) for file in found],
        [tuple(item) for item in pending],
        [tuple(item) for item in links],
        skipped,
        scanned,
    )


def main() -> None:
    """Search for the server until it is gone."""
    may_take_long()
    serve(ScanJobs().handle)


if __name__ == "__main__":
    main()
