"""How a server ends on a signal: SIGTERM and SIGINT shut it down cleanly, with exit status 0,
within a few seconds.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Awaitable, Callable
from typing import Final

import anyio

STOP_SECONDS: Final = 4.0
"""After SIGTERM, the process ends this much later whatever still runs: service managers and
people expect five seconds, and everything on disk survives a kill."""

log = logging.getLogger(__name__)


async def serve_until_signal(serve: Callable[[], Awaitable[None]]) -> None:
    """Run `serve` until it returns or a signal asks us to stop; it is cancelled then."""
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async with anyio.create_task_group() as tasks:

            async def watch() -> None:
                async for number in signals:
                    log.info("stopping on %s", signal.Signals(number).name)
                    _end_later(STOP_SECONDS)
                    tasks.cancel_scope.cancel()
                    return

            tasks.start_soon(watch)
            await serve()
            tasks.cancel_scope.cancel()


def _end_later(seconds: float) -> None:
    """End the process whatever still runs then: a call in a thread that checks no flag, or a
    change of notes. Nothing acknowledged is lost: what is on disk survives a kill."""

    def end() -> None:
        log.warning("ended %g seconds after the signal, with work that did not stop", seconds)
        logging.shutdown()
        os._exit(0)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
