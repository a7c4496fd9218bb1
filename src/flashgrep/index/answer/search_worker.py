"""A search process that matches segments too: `worker` and `match` in one.

Everything that may take long goes to one pool of such processes, shared out by connection.
"""

from __future__ import annotations

from typing import Any

from flashgrep.search.pattern import may_take_long
from flashgrep.search.scan.worker import ScanJobs
from flashgrep.system.child import serve


class _AllJobs:
    def __init__(self) -> None:
        self._on_disk = ScanJobs()
        self._in_segments: Any = None

    def handle(self, message: Any) -> Any:
        if message[0] != "match":
            return self._on_disk.handle(message)
        if self._in_segments is None:
            from flashgrep.index.answer import match  # numpy: most processes never need it

            self._in_segments = match.MatchJobs()
        return self._in_segments.handle(message)


def main() -> None:
    """Search for the server until it is gone."""
    may_take_long()
    serve(_AllJobs().handle)


if __name__ == "__main__":
    main()
