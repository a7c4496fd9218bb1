"""The process that builds segments: takes lists of files on stdin, answers on stdout.

Like a search worker it is started by exec and ends when the server does. It gives way to everything
else on the machine.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final

from flashgrep.system.atomic import open_own
from flashgrep.system.child import PROGRESS, leave_ending_to_the_server, serve_telling
from flashgrep.workspace.scope import Scope

_NICE: Final = 10
_STEPS: Final = 50
"""About so many reports of progress for a segment: enough for a bar to move."""


def _build(message: Any, tell: Callable[[Any], None]) -> tuple[str, Any]:
    from flashgrep.index.update.writer import write_segment  # after `main` has set up signals

    if len(message) == 3:
        return _carried(*message)
    packed, files, path, known, hash_name = message
    scope = Scope.unpacked(packed)
    step = max(1, len(files) // _STEPS)

    def report(count: int) -> None:
        if count % step == 0:
            tell((PROGRESS, count))

    try:
        written = write_segment(scope, files, path, report, known, hash_name)
        known = [tuple(file) for file in written.known]
        return "built", (written.left_out, written.status, written.racy, known)
    finally:
        scope.close()


def _carried(spool: str, path: str, hash_name: str) -> tuple[str, Any]:
    from flashgrep.index.format.header import HASHES
    from flashgrep.index.update.carried_files import read_carried
    from flashgrep.index.update.writer import write_carried

    with open_own(spool) as file:
        write_carried(read_carried(file.read, HASHES[hash_name]), path, hash_name)
    return "built", None


def main() -> None:
    """Build for the server until it is gone."""
    leave_ending_to_the_server()
    os.nice(_NICE)
    serve_telling(_build)


if __name__ == "__main__":
    main()
