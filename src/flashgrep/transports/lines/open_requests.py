"""The open requests of a connection: our number for each, whose answer it is, its batch.

The SDK never sees a caller's ids: requests get numbers of our own and answers get the caller's id
back. So `7` and `"7"` stay two ids, an id used twice gets two answers, batches know when they are
complete, and we know what still runs when the peer has said its last word.
"""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import anyio

from flashgrep import limits

Send = Callable[[Any], Awaitable[None]]


@dataclass
class RequestBatch:
    """Answers of a batch, held until the last one is there."""

    waiting: int = 1
    """Open requests, and the reader itself until it has handed over the last message."""
    answers: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class OpenRequest:
    """A request that has not been answered."""

    id: str | int | None
    """The caller's own id; None for a notification of a direct method."""
    batch: RequestBatch | None
    scope: anyio.CancelScope | None = None
    """Set for what is answered here, direct methods and plain calls; the SDK cancels its own."""


class OpenRequests:
    """Numbers requests as they begin, and sends their answers as they end."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._open: dict[int, OpenRequest] = {}
        self._numbers = itertools.count(1)
        self._slots = anyio.Semaphore(limits.REQUESTS_IN_FLIGHT, fast_acquire=True)

    def __bool__(self) -> bool:
        """Whether anything is open."""
        return bool(self._open)

    async def begin(self, request: OpenRequest) -> int:
        """A number for a request; waits while too many are open."""
        await self._slots.acquire()
        number = next(self._numbers)
        self._open[number] = request
        if request.batch is not None:
            request.batch.waiting += 1
        return number

    async def settle(self, number: int, answer: dict[str, Any] | None = None) -> None:
        """Close a request, with its answer or, where it was cancelled, without one."""
        request = self._open.pop(number, None)
        if request is None:
            return
        self._slots.release()
        if answer is not None and request.id is not None:
            await self.answer({**answer, "id": request.id}, request.batch)
        if request.batch is not None:
            await self.one_less(request.batch)

    async def answer(self, answer: dict[str, Any], batch: RequestBatch | None) -> None:
        """Send an answer, or keep it for its batch."""
        if batch is None:
            await self._send(answer)
        else:
            batch.answers.append(answer)

    async def one_less(self, batch: RequestBatch) -> None:
        """Count down a batch; the last one sends it, unless nothing in it wanted an answer."""
        batch.waiting -= 1
        if batch.waiting == 0 and batch.answers:
            await self._send(batch.answers)

    def cancel(self, request_id: Any) -> int | None:
        """Stop what is answered here; the number of any other request, for the SDK to stop."""
        number = self._number_of(request_id)
        scope = self._open[number].scope if number is not None else None
        if scope is None:
            return number
        scope.cancel()
        return None

    def _number_of(self, request_id: Any) -> int | None:
        """The newest open request under this id; some clients send its number as a string."""
        alike = [n for n, request in self._open.items() if str(request.id) == str(request_id)]
        exact = [n for n in alike if type(self._open[n].id) is type(request_id)]
        return next(reversed(exact or alike), None)

    def cancel_own(self) -> None:
        """Stop all that is answered here."""
        for request in self._open.values():
            if request.scope is not None:
                request.scope.cancel()
