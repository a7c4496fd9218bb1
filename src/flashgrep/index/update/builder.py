"""The process that builds segments: takes lists of files on stdin, answers on stdout.

Like a search worker it is started by exec and ends when the server does. It gives way to everything
else on the machine.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final

from flashgrep.system.child import PROGRESS, leave_ending_to_the_server, serve_telling
from flashgrep.workspace.scope import Scope

_NICE: Final = 10
_STEPS: Final = 50
"""About so many reports of progress for a segment: enough for a bar to move."""


def _build(message: Any, tell: Callable[[Any], None]) -> tuple[str, Any]:
    from flashgrep.index.update.writer import write_segment  # after `main` has set up signals

    if len(message) == 2:
        return _grams(*message)
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


def _grams(bare: str, path: str) -> tuple[str, Any]:
    from flashgrep.index.format.segment import DamagedSegment, Segment
    from flashgrep.index.update.writer import write_grams

    try:
        write_grams(Segment(bare), path)
    except DamagedSegment as error:
        return "damaged", [error.path, error.what]
    return "built", None


def main() -> None:
    """Build for the server until it is gone."""
    leave_ending_to_the_server()
    os.nice(_NICE)
    serve_telling(_build)


if __name__ == "__main__":
    main()
