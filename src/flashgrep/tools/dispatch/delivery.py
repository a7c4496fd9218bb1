"""Work that waits until an answer has reached its caller, such as noting what it was told.

When a handler is done, its answer has not arrived yet: the call may be cancelled, or the client
gone, before the transport has written. So a transport sets `DELIVERY` for each request, and says
when the answer was written. A client may withdraw a request while the answer is on its way, and
then drops it: receipt is certain when the client asks again, and likely after a moment.

What is never received is never done: being told something twice is better than never. Without a
transport, an answer is received when it is made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Final

WITHDRAWN_SECONDS: Final = 1.0
"""So long after the answer a request may be withdrawn by a client that has not read it."""

RequestId = str | int


class Delivery:
    """The answer to one request. For one thread."""

    def __init__(self) -> None:
        self._actions: list[Callable[[], None]] = []

    def __bool__(self) -> bool:
        """Whether anything waits for it."""
        return bool(self._actions)

    def then(self, actions: Sequence[Callable[[], None]]) -> None:
        """Do something, without waiting, once the answer is received."""
        self._actions += actions

    def received(self) -> None:
        """The answer is with the peer."""
        actions, self._actions = self._actions, []
        for action in actions:
            action()


DELIVERY: ContextVar[Delivery | None] = ContextVar("DELIVERY", default=None)
"""That of the request which is being answered."""


class Deliveries:
    """Answers that were written a moment ago. For one event loop."""

    def __init__(self) -> None:
        self._written: dict[tuple[str, str], Delivery] = {}
        """By whose they are, and the request's id; some clients withdraw 7 as "7"."""

    def written(self, whose: str, request: RequestId, delivery: Delivery) -> None:
        """An answer for which something waits is with the system, for its peer to read."""
        import asyncio  # what has no transport, as a command, does not load it

        key = (whose, str(request))
        self._written[key] = delivery
        asyncio.get_running_loop().call_later(WITHDRAWN_SECONDS, self._received, key, delivery)

    def withdrawn(self, whose: str, request: object) -> None:
        """The client does not want the answer any more: it may not have read it."""
        self._written.pop((whose, str(request)), None)

    def asks(self, whose: str) -> None:
        """The client asks for something else: it has what was written before."""
        for key, delivery in list(self._written.items()):
            if key[0] == whose:
                self._received(key, delivery)

    def end(self) -> None:
        """Nothing more is read: what was written counts as received."""
        for key, delivery in list(self._written.items()):
            self._received(key, delivery)

    def _received(self, key: tuple[str, str], delivery: Delivery) -> None:
        if self._written.get(key) is delivery:
            del self._written[key]
            delivery.received()
