"""From the thread of the notes to the loop that serves people."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

Job = Callable[[], None]


def to_this_loop() -> Callable[[Job], None]:
    """A way, for any thread, to have something done on the loop that runs now, while it does."""
    loop = asyncio.get_running_loop()

    def on_loop(job: Job) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(job)

    return on_loop
