"""flashgrep index --export and --import: write an index to a file, or start one from a file."""

from __future__ import annotations

import time
from typing import Final

from flashgrep.errors import Unavailable
from flashgrep.index.index import StartingIndex
from flashgrep.settings import Settings
from flashgrep.terminal.command import Bar

_POLL_SECONDS: Final = 0.1


def carry_out(settings: Settings, target: str) -> dict[str, int]:
    """Write the index of a workspace to a file, built first where it is not whole."""
    from flashgrep.app import build

    application = build(settings)
    index = application.services.index
    try:
        application.start_index()
        with Bar("exporting") as bar:
            while (status := index.status()).state == "building":
                bar.show(status.progress, "reading files")
                time.sleep(_POLL_SECONDS)
            if not isinstance(index, StartingIndex) or status.state == "off":
                raise Unavailable(f"there is no index here: {status.reason}")
            from flashgrep.index.transfer import export_index

            scope = application.services.scope
            done = export_index(index, scope, target, lambda share: bar.show(share, target))
    finally:
        application.close()
    return {"files": done.files, "left_out": done.left_out, "bytes": done.bytes}


def carry_in(settings: Settings, source: str) -> dict[str, int]:
    """Begin the index of a workspace with that of a file, or of what a URL gives."""
    from flashgrep.app import build
    from flashgrep.index.transfer import import_index

    application = build(settings)
    index = application.services.index
    try:
        if not isinstance(index, StartingIndex):
            raise Unavailable(f"there is no index here: {index.status().reason}")
        scope = application.services.scope
        with Bar("importing") as bar:
            done = import_index(index, scope, source, lambda share: bar.show(share, source))
    finally:
        application.close()
    return {"files": done.files, "bytes": done.bytes}
