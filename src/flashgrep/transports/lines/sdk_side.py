"""The SDK for one connection: imported for the first message that needs it, fed in order.

During the import messages wait here. A handshake that was answered earlier is replayed to the SDK
first, so that it knows who is asking, and in which version of the protocol.
"""

from __future__ import annotations

import gc
import logging
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

import anyio
import anyio.to_thread

from flashgrep import limits
from flashgrep.tools.dispatch.caller import Caller
from flashgrep.tools.dispatch.delivery import Delivery, RequestId
from flashgrep.transports.lines import messages
from flashgrep.transports.plain import INITIALIZE, INITIALIZED, Offer

if TYPE_CHECKING:
    from flashgrep.transports.lines.sdk_loop import SdkLoop

log = logging.getLogger(__name__)

_REPEATED: Final = 0
"""The number of a handshake that is repeated to the SDK; those of requests begin with 1."""

Params = Mapping[str, Any] | None


@dataclass(frozen=True)
class PlainHandshake:
    """An `initialize` that was answered without the SDK."""

    params: Params
    has_ended: bool = False
    """Whether the client has sent `notifications/initialized`."""
    ending: Params = None
    """The parameters of that."""


@dataclass(frozen=True)
class Passed:
    """A message for the SDK; one without a number is a notification."""

    number: int | None
    method: str
    params: Params


class SdkPeer(Protocol):
    """The connection, as its side of the SDK needs it."""

    async def sdk_answers(self, number: int | None, message: dict[str, Any]) -> None:
        """Send a message of the SDK: the answer to the request of a number, or any other."""
        ...

    async def sdk_is_silent(self, number: int) -> None:
        """A request ends without an answer."""
        ...

    def sdk_is_gone(self, reason: Exception) -> None:
        """The connection ends: the SDK takes nothing more, or the peer."""
        ...


class SdkSide:
    """Messages to the SDK, from the first that needs it to the end of the connection."""

    def __init__(
        self, peer: SdkPeer, offer: Offer, caller: Caller, made: dict[RequestId, Delivery]
    ) -> None:
        """`made` takes what waits for an answer of the SDK to be received, by its number."""
        self._peer = peer
        self._offer = offer
        self._caller = caller
        self._made = made
        self._queue, self._passed = anyio.create_memory_object_stream[Passed](
            limits.REQUESTS_IN_FLIGHT
        )
        self._waiting: set[int] = set()
        """Requests that the SDK has not been given yet."""
        self._importing = anyio.CancelScope()
        self._loop: SdkLoop | None = None

    async def pass_on(self, message: Passed) -> None:
        """Have a message given to the SDK; waits where too many do."""
        if message.number is not None:
            self._waiting.add(message.number)
        await self._queue.send(message)

    async def withdraw(self, number: int) -> bool:
        """Whether a request could be taken back before the SDK had it."""
        if number not in self._waiting:
            return False
        self._waiting.remove(number)
        await self._peer.sdk_is_silent(number)
        return True

    async def give_up(self) -> None:
        """Answer what still waits for the import of the SDK: it is not waited for any longer."""
        if self._loop is None:
            self._importing.cancel()
            for number in sorted(self._waiting):
                await self._peer.sdk_answers(number, messages.closed(number))
            self._waiting.clear()

    def end(self) -> None:
        """Nothing more comes."""
        self._importing.cancel()
        self._queue.close()

    def close(self) -> None:
        """Give the streams back."""
        self._queue.close()
        self._passed.close()
        if self._loop is not None:
            self._loop.close()

    async def run(self, handshake: PlainHandshake | None) -> None:
        """Import the SDK, and give it what was asked until `end`."""
        with self._importing:
            kind = await anyio.to_thread.run_sync(_import_sdk, abandon_on_cancel=True)
        if self._importing.cancelled_caught:
            return
        self._loop = loop = kind(self._offer.server, self._caller, self._made)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(loop.run)
            tasks.start_soon(self._forward, loop)
            try:
                await _repeat(loop, handshake)
                async for message in self._passed:
                    await self._give(loop, message)
                await loop.finish()
            except anyio.BrokenResourceError as reason:
                self._peer.sdk_is_gone(reason)

    async def _give(self, loop: SdkLoop, message: Passed) -> None:
        number = message.number
        if number is None:
            await loop.notify(message.method, message.params)
        elif number in self._waiting:  # not withdrawn meanwhile
            self._waiting.remove(number)
            await loop.ask(number, message.method, message.params, self._peer.sdk_is_silent)

    async def _forward(self, loop: SdkLoop) -> None:
        try:
            async for number, message in loop.answers():
                if number != _REPEATED:
                    await self._peer.sdk_answers(number, message)
                elif "error" in message:
                    log.error("the SDK refuses a handshake that was accepted: %s", message)
        except OSError as reason:
            self._peer.sdk_is_gone(reason)


async def _repeat(loop: SdkLoop, handshake: PlainHandshake | None) -> None:
    if handshake is None:
        return
    await loop.ask(_REPEATED, INITIALIZE, handshake.params, _ignore)
    if handshake.has_ended:
        await loop.notify(INITIALIZED, handshake.ending)


async def _ignore(_: int) -> None:
    pass


def _import_sdk() -> type[SdkLoop]:
    """Import the SDK: a few hundred thousand objects that live forever, so looking for garbage
    among them, now or later, is only a cost."""
    is_new = "mcp" not in sys.modules and gc.isenabled()
    if is_new:
        gc.disable()
    try:
        from flashgrep.transports.lines.sdk_loop import SdkLoop
    finally:
        if is_new:
            gc.freeze()
            gc.enable()
    return SdkLoop
