"""The process that parses: takes a file's text and a name on stdin, answers with definitions.

A parser is a large machine fed with whatever a file holds. It must not take the server down, hold
its interpreter's lock for a tenth of a second, or keep on after a call was cancelled.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
from typing import Any

from flashgrep.index.symbols import definitions_in
from flashgrep.search.worker import read_message, write_message


def main() -> None:
    """Serve the pipe until it closes."""
    out = os.dup(1)
    os.dup2(2, 1)  # a stray print must not reach the pipe
    inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(inbox,), daemon=True).start()
    while True:
        path, text, name, lines = inbox.get()
        write_message(out, [tuple(found) for found in definitions_in(path, text, name, lines)])


def _listen(inbox: queue.SimpleQueue[Any]) -> None:
    while (message := read_message(0)) is not None:
        inbox.put(message)
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
