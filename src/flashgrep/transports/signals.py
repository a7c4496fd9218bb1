"""SIGTERM and SIGINT end the server in order, with exit status 0."""

from __future__ import annotations

import logging
import signal
from collections.abc import Awaitable, Callable

import anyio

log = logging.getLogger(__name__)


async def serve_until_signal(serve: Callable[[], Awaitable[None]]) -> None:
    """Run `serve` until it returns or a signal asks us to stop; it is cancelled then."""
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async with anyio.create_task_group() as tasks:

            async def watch() -> None:
                async for number in signals:
                    log.info("stopping on %s", signal.Signals(number).name)
                    tasks.cancel_scope.cancel()
                    return

            tasks.start_soon(watch)
            await serve()
            tasks.cancel_scope.cancel()
