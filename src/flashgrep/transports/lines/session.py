"""One connection of newline-delimited JSON-RPC, on stdio, TCP or the unix socket.

    bytes → LineSplitter → decode → read_envelope ─┬→ auth, direct methods, plain requests: here
                                                   └→ the SDK's loop, both protocol eras

Every open request is in `OpenRequests` under a number of ours. The SDK is imported for the first
request that needs it; a handshake that was answered earlier is then replayed to it.
"""

from __future__ import annotations

import logging
import math
import select
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, Protocol

import anyio
import anyio.abc

from flashgrep import limits
from flashgrep.errors import FlashgrepError, InvalidParams
from flashgrep.tools.dispatch.delivery import DELIVERY, Deliveries, Delivery, RequestId
from flashgrep.transports.access import AUTH, Authorisation, TokenRefused
from flashgrep.transports.lines import messages
from flashgrep.transports.lines.join import JOIN
from flashgrep.transports.lines.messages import (
    INVALID_REQUEST,
    PARSE_ERROR,
    TELL,
    BadMessage,
    DirectMethod,
    LineSplitter,
    OpenRequest,
    OpenRequests,
    Request,
    RequestBatch,
    decode,
    too_long,
)
from flashgrep.transports.lines.sdk_side import Passed, PlainHandshake, SdkSide
from flashgrep.transports.plain import (
    INITIALIZE,
    INITIALIZED,
    TOOL_CALL,
    Offer,
    ProgressReports,
    progress_token,
)

_LINGER_SECONDS: Final = 2.0
"""How long a refused connection is read to its end: closed earlier, the kernel would reset it for
what it still sends, and drop answers that its peer has not read."""

log = logging.getLogger(__name__)

_POLL_SECONDS = 0.02

_AFTER_HANDSHAKE: Final = ("tools/list", TOOL_CALL)
"""Requests to which the SDK's answer, where they come first, does not say what is missing."""

_LAST_SECONDS: Final = 0.25
"""How long a peer that has sent its last line is told what was not done; it may read no more."""


class ByteStream(Protocol):
    """A duplex byte stream."""

    async def receive(self) -> bytes:
        """The next bytes, at most a chunk; empty at the peer's end."""
        ...

    async def send(self, data: bytes) -> None:
        """Send all of `data`; OSError when the peer is gone."""
        ...

    def finish(self) -> None:
        """Send no more: the peer reads what was sent, and then the end."""
        ...

    def gone(self) -> bool:
        """Whether the peer can no longer read (one that only half-closed still can)."""
        ...


def hung_up(descriptor: int) -> bool:
    """Whether the other end of a pipe or socket is closed."""
    if descriptor < 0:
        return True
    poll = select.poll()
    poll.register(descriptor, 0)
    return any(events & (select.POLLHUP | select.POLLERR) for _, events in poll.poll(0))


Join = Callable[[Mapping[str, Any] | None], tuple[Mapping[str, Any], Offer | None]]
"""Answers `flashgrep/join`; an offer replaces what the connection is served."""


@dataclass(frozen=True)
class ListenerRules:
    """What differs between the transports that speak lines."""

    drain_seconds: float
    """How long calls may still run after the peer has sent its last line."""
    line_seconds: float | None = None
    """A line, once begun, must end in this time."""
    strict_first_line: bool = False
    """Close when the first line is not a JSON object or array: it may be a browser's POST."""
    routes_own_methods: bool = False
    """Whether `auth` and the direct methods are answered here."""
    direct: Mapping[str, DirectMethod] = field(default_factory=dict)
    message_bytes: int = limits.MESSAGE_BYTES
    """The longest line."""
    join: Join | None = None
    """Where connections may have settings of their own."""


class _Closed(Exception):
    """The connection ends now; all answers have been sent."""


class _Refused(_Closed):
    """The same; the peer may still be sending, and must be able to read why."""


class LineSession:
    """One connection: one caller and its open requests."""

    def __init__(
        self, offer: Offer, wire: ByteStream, gate: Authorisation, rules: ListenerRules
    ) -> None:
        self.established = False
        """Whether a message was accepted: then it is never closed to make room."""
        self._offer = offer
        self._wire = wire
        self._gate = gate
        self._rules = rules
        self._splitter = LineSplitter(rules.message_bytes)
        self._deadline: float | None = None
        self._first = True
        self._has_asked = False
        self._requests = OpenRequests(
            self._send, anyio.Semaphore(limits.REQUESTS_IN_FLIGHT, fast_acquire=True)
        )
        self._handshakes: dict[int, tuple[str, str]] = {}
        """What the client calls itself in an `initialize` that the SDK has not answered yet."""
        self._shaken = False
        self._made: dict[RequestId, Delivery] = {}
        """Of answers that the SDK has yet to pass on."""
        self._deliveries = Deliveries()
        self._cut_off: set[int] = set()
        """Calls that still ran when the connection ended."""
        self._handshake: PlainHandshake | None = None
        self._sending = anyio.Lock(fast_acquire=True)
        self._tasks: anyio.abc.TaskGroup
        self._sdk: SdkSide | None = None
        self._unwatch: Callable[[], None] = lambda: None

    async def run(self) -> None:
        """Serve the connection until its end; running calls are answered where that is possible."""
        is_refused = False
        try:
            async with anyio.create_task_group() as self._tasks:
                try:
                    await self._read()
                    await self._drain()
                except (_Closed, OSError, anyio.BrokenResourceError) as reason:
                    log.debug("connection ends: %r", reason)
                    is_refused = isinstance(reason, _Refused)
                    self._tasks.cancel_scope.cancel()
                if self._sdk is not None:
                    self._sdk.end()
            if is_refused:
                await self._linger()
        finally:
            self._unwatch()
            self._deliveries.end()
            if self._sdk is not None:
                self._sdk.close()

    # ── reading ─────────────────────────────────────────────────────────────────────────────────
    async def _read(self) -> None:
        while chunk := await self._receive():
            ended = self._splitter.feed(chunk)
            for line in ended:
                await self._take_line(line)
            self._set_deadline(bool(ended))
        for line in self._splitter.finish():
            await self._take_line(line)

    async def _receive(self) -> bytes:
        if self._deadline is None:
            return await self._wire.receive()
        with anyio.CancelScope(deadline=self._deadline) as scope:
            return await self._wire.receive()
        assert scope.cancelled_caught  # noqa: S101 - the scope swallowed its own cancellation
        raise _Closed("a line was begun and not ended in time")

    def _set_deadline(self, any_ended: bool) -> None:
        if self._rules.line_seconds is None or not self._splitter.begun:
            self._deadline = None
        elif any_ended or self._deadline is None:
            self._deadline = anyio.current_time() + self._rules.line_seconds

    async def _take_line(self, line: bytes | None) -> None:
        first, self._first = self._first, False
        strict = first and self._rules.strict_first_line
        if line is not None and not line.strip() and not strict:
            return
        try:
            if line is None:
                raise too_long(self._splitter.dropped_id)
            value = decode(line)
            if strict and not isinstance(value, dict | list):
                raise BadMessage(
                    PARSE_ERROR, "Parse error: the first line is not a JSON-RPC message"
                )
        except BadMessage as bad:
            await self._send(messages.refused(bad))
            if strict and bad.code == PARSE_ERROR:
                raise _Refused("the first line is not a JSON-RPC message") from None
            return
        await self._take_value(value)

    async def _take_value(self, value: Any) -> None:
        if not isinstance(value, list):
            await self._take_message(value, None)
        elif not value:
            await self._send(messages.error(None, INVALID_REQUEST, "Invalid Request: empty batch"))
        elif len(value) > limits.BATCH_MESSAGES:
            text = f"a batch holds at most {limits.BATCH_MESSAGES} messages, not {len(value)}"
            data = {"code": "too_large"}
            await self._send(messages.error(None, INVALID_REQUEST, text, data))
        else:
            await self._take_batch(value)

    async def _take_batch(self, values: list[Any]) -> None:
        batch = RequestBatch()
        try:
            for value in values:
                await self._take_message(value, batch)
        finally:
            await self._requests.one_less(batch)

    async def _take_message(self, value: Any, batch: RequestBatch | None) -> None:
        try:
            message = messages.read_envelope(value)
        except BadMessage as bad:
            await self._requests.answer(messages.refused(bad), batch)
            return
        if message is None:
            return
        try:
            self._gate.check(message.method)
            await self._route(message, batch)
        except FlashgrepError as failure:
            is_over = isinstance(failure, TokenRefused)
            if is_over:
                await self._drain()  # what was asked before is answered before
            await self._answer(message, batch, messages.failed(message.id, failure))
            if is_over:
                raise _Refused(failure.message) from None
        self.established = self.established or not self._gate.locked

    async def _answer(
        self, message: Request, batch: RequestBatch | None, answer: dict[str, Any]
    ) -> None:
        if message.id is not None:
            await self._requests.answer(answer, batch)

    # ── routing ─────────────────────────────────────────────────────────────────────────────────
    async def _route(self, message: Request, batch: RequestBatch | None) -> None:
        rules, method, params = self._rules, message.method, message.params
        comes_first, self._has_asked = not self._has_asked and batch is None, True
        if message.id is not None:
            self._deliveries.asks("")
        if rules.routes_own_methods and method == AUTH:
            granted = self._gate.present(params)
            self._end_with_token()
            await self._answer(message, batch, messages.result(message.id, granted))
        elif rules.routes_own_methods and method == JOIN and rules.join is not None:
            if message.id is not None:
                joined = self._join(rules.join, params, comes_first)
                await self._requests.answer(messages.result(message.id, joined), batch)
        elif rules.routes_own_methods and method in rules.direct:
            call = partial(rules.direct[method], self._gate.caller, params)
            await self._start(message, batch, call)
        elif message.id is None:
            await self._notify_sdk(message)
        elif self._shaken and method == TOOL_CALL and self._offer.calls(params):
            await self._begin_call(message, batch, params or {})
        elif method in _AFTER_HANDSHAKE and self._is_unopened(params):
            raise InvalidParams("send initialize first")
        elif (told := self._at_once(message)) is not None:
            await self._requests.answer(messages.result(message.id, told), batch)
        else:
            await self._ask_sdk(message, batch)

    def _is_unopened(self, params: Mapping[str, Any] | None) -> bool:
        """Whether no handshake was begun; a request of the protocol without any has `_meta`."""
        return not self._shaken and self._sdk is None and "_meta" not in (params or {})

    def _at_once(self, request: Request) -> dict[str, Any] | None:
        """The answer to what is plain and takes no time: the handshake, and after it the rest."""
        if self._shaken:
            return self._offer.at_once(request.method, request.params, self._gate.caller)
        # A connection that has begun with the SDK has its handshake there, if it may have one.
        if request.method != INITIALIZE or self._sdk is not None:
            return None
        told = self._offer.handshake(request.params)
        if told is not None:
            self._handshake, self._shaken = PlainHandshake(request.params), True
            self._gate.caller.call_itself(*_client_of(request.params))
        return told

    async def _begin_call(
        self, message: Request, batch: RequestBatch | None, params: Mapping[str, Any]
    ) -> None:
        """Answer a plain call at once, or begin it."""
        told = self._offer.in_a_moment(self._gate.caller, params)
        if told is None:
            await self._start(message, batch, partial(self._call, params))
            return
        await self._requests.answer(messages.result(message.id, told), batch)
        await anyio.lowlevel.checkpoint()  # who asks many in a row has no turn of the others

    async def _call(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Run a plain call."""
        token = progress_token(params)
        if token is None:
            return await self._offer.call(self._gate.caller, params, None)
        reports = ProgressReports(token, self._tell)
        try:
            return await self._offer.call(self._gate.caller, params, reports.report)
        finally:
            reports.is_open = False

    def _end_with_token(self) -> None:
        """Close the connection, idle or not, when the token it presented is revoked."""
        self._unwatch()

        def look() -> None:
            if self._gate.is_over():
                log.debug("connection ends: its token has ended")
                self._tasks.cancel_scope.cancel()

        self._unwatch = self._gate.watch(look)

    def _join(
        self, join: Join, params: Mapping[str, Any] | None, comes_first: bool
    ) -> dict[str, Any]:
        if not comes_first:
            raise InvalidParams(f"{JOIN} must be the first message of a connection")
        answer, offer = join(params)
        if offer is not None:
            self._offer = offer
            self._rules = replace(self._rules, direct={}, routes_own_methods=False)
        return dict(answer)

    async def _ask_sdk(self, request: Request, batch: RequestBatch | None) -> None:
        number = await self._requests.begin(OpenRequest(request.id, batch))
        if request.method == INITIALIZE:
            self._handshakes[number] = _client_of(request.params)
        await self._started_sdk().pass_on(Passed(number, request.method, request.params))

    async def _notify_sdk(self, notification: Request) -> None:
        params = notification.params
        if notification.method == "notifications/cancelled":
            self._deliveries.withdrawn("", (params or {}).get("requestId"))
            number = self._requests.cancel((params or {}).get("requestId"))
            if number is None or await self._started_sdk().withdraw(number):
                return
            params = {**(params or {}), "requestId": number}
        elif self._sdk is None and self._handshake is not None:
            # The SDK would note the end of the handshake, and has no handler of ours for any other.
            if notification.method == INITIALIZED:
                self._handshake = replace(self._handshake, has_ended=True, ending=params)
            return
        await self._started_sdk().pass_on(Passed(None, notification.method, params))

    async def _start(
        self,
        message: Request,
        batch: RequestBatch | None,
        call: Callable[[], Awaitable[Any]],
    ) -> None:
        scope = anyio.CancelScope()
        number = await self._requests.begin(OpenRequest(message.id, batch, scope))
        self._tasks.start_soon(self._run, number, call, scope)

    async def _run(
        self, number: int, call: Callable[[], Awaitable[Any]], scope: anyio.CancelScope
    ) -> None:
        answer: dict[str, Any] | None = None
        delivery = Delivery()
        DELIVERY.set(delivery)  # of this task alone, as is the next
        TELL.set(self._tell)
        with scope:
            try:
                answer = messages.result(number, await call())
            except FlashgrepError as failure:
                answer = messages.failed(number, failure)
        seconds = math.inf
        if answer is None and number in self._cut_off:
            answer, seconds = messages.closed(number), _LAST_SECONDS
        try:
            with anyio.move_on_after(seconds):
                await self._settle(number, answer, delivery)
        except OSError as reason:
            self._hang_up(reason)

    async def _settle(
        self, number: int, answer: dict[str, Any] | None, delivery: Delivery | None
    ) -> None:
        """Send an answer, if there is one; `delivery` is what waits for that."""
        request = self._requests.id_of(number)
        # Asked before: a client may leave as soon as it has its answer.
        is_written = bool(delivery and answer and request is not None and not self._wire.gone())
        await self._requests.settle(number, answer)
        if is_written and delivery is not None and request is not None:
            self._deliveries.written("", request, delivery)

    # ── answering ───────────────────────────────────────────────────────────────────────────────
    async def _send(self, value: Any) -> None:
        data = messages.encode(value)
        async with self._sending:
            await self._wire.send(data)

    async def _tell(self, method: str, params: Mapping[str, Any]) -> None:
        with suppress(OSError, anyio.BrokenResourceError):  # reading notices that the peer is gone
            await self._send(messages.notification(method, params))

    # ── the SDK's side ──────────────────────────────────────────────────────────────────────────
    def _started_sdk(self) -> SdkSide:
        """The side of the SDK; it starts with the first message for it, when the offer is known."""
        if self._sdk is None:
            self._sdk = SdkSide(self, self._offer, self._gate.caller, self._made)
            self._tasks.start_soon(self._sdk.run, self._handshake)
        return self._sdk

    async def sdk_answers(self, number: int | None, message: dict[str, Any]) -> None:
        if number is None:
            await self._send(message)
            return
        self._shake(number, "result" in message)
        made = self._made.pop(number, None)
        await self._settle(number, message, made if "result" in message else None)

    async def sdk_is_silent(self, number: int) -> None:
        self._shake(number, is_accepted=False)
        self._made.pop(number, None)
        await self._requests.settle(number)

    def sdk_is_gone(self, reason: Exception) -> None:
        self._hang_up(reason)

    def _hang_up(self, reason: Exception) -> None:
        log.debug("the peer is gone: %r", reason)
        self._tasks.cancel_scope.cancel()

    def _shake(self, number: int, is_accepted: bool) -> None:
        """After an accepted handshake, answer plain requests without the SDK."""
        client = self._handshakes.pop(number, None)
        if client is not None and is_accepted:
            self._gate.caller.call_itself(*client)
            self._shaken = True

    # ── the end ─────────────────────────────────────────────────────────────────────────────────
    async def _drain(self) -> None:
        """Let running calls answer a peer that has stopped sending, if it still reads."""
        with anyio.move_on_after(self._rules.drain_seconds):
            while self._requests and not self._wire.gone():  # noqa: ASYNC110 - a hang-up is polled
                await anyio.sleep(_POLL_SECONDS)
        self._cut_off |= self._requests.cancel_own()
        if self._sdk is not None:
            with anyio.move_on_after(_LAST_SECONDS):
                await self._sdk.give_up()

    async def _linger(self) -> None:
        """Send the end, and read what still comes without acting on it."""
        with suppress(OSError), anyio.move_on_after(_LINGER_SECONDS):
            self._wire.finish()
            while await self._wire.receive():
                pass


def _client_of(params: Mapping[str, Any] | None) -> tuple[str, str]:
    """The name and version of a client in its handshake."""
    client = (params or {}).get("clientInfo")
    told = [client.get(key) if isinstance(client, dict) else None for key in ("name", "version")]
    name, version = (word if isinstance(word, str) else "" for word in told)
    return name, version
