"""Bytes to JSON-RPC messages and back: lines under a limit, decoded strictly; open requests.

The splitter holds at most one message's limit of an unfinished line: a longer line is dropped as it
arrives and reported at its end. The decoder refuses broken UTF-8 instead of repairing it (a
repaired write would store U+FFFD), nesting deeper than any schema of ours, and so many values that
a small message would become a large object.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NoReturn

from flashgrep import limits
from flashgrep.errors import FlashgrepError

if TYPE_CHECKING:
    import anyio  # not loaded by the proxy, which starts faster without

    from flashgrep.tools.dispatch.caller import Caller

DRAIN_SECONDS: Final = 1.5
"""After the end of stdin, running calls have this long: the process must be gone in two seconds."""

READ_CHUNK_BYTES: Final = 64 * limits.KIB
"""What is read from a pipe or socket at a time."""

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_NOT_BRACKETS = re.compile(rb"[^\[\]{}]+")
_OPENING = frozenset(b"[{")
_ENDS_BYTES: Final = 1024
_ID_VALUE: Final = rb'"id"\s*:\s*(-?[0-9]{1,15}|"[^"\\\x00-\x1f\x80-\xff]{0,200}")\s*'
_ID_FIRST: Final = re.compile(
    rb'\s*\{\s*(?:"(?:jsonrpc|method)"\s*:\s*"[^"\\]{0,100}"\s*,\s*){0,2}' + _ID_VALUE + rb"[,}]"
)
_ID_LAST: Final = re.compile(rb"[,{]\s*" + _ID_VALUE + rb"\}\s*$")


class BadMessage(Exception):
    """A message refused before anything runs: the JSON-RPC code, the text, our own code.

    `id` is the caller's, where it could be read.
    """

    def __init__(
        self,
        code: int,
        message: str,
        name: str = "invalid_params",
        request_id: str | int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.name = name
        self.id = request_id


class LineSplitter:
    """Cuts a byte stream into lines, and holds at most `ceiling` bytes of an unfinished one."""

    def __init__(self, ceiling: int = limits.MESSAGE_BYTES) -> None:
        self._ceiling = ceiling
        self._held = bytearray()
        self._dropping = False
        self._head = b""
        self._tail = b""
        self.dropped_id: str | int | None = None
        """The request id of the last line that was dropped, where that is certain."""

    @property
    def begun(self) -> bool:
        """Whether a line has been begun and not ended."""
        return self._dropping or bool(self._held)

    def feed(self, chunk: bytes) -> list[bytes | None]:
        """The lines that end in `chunk`; None for one over the limit."""
        *ended, rest = chunk.split(b"\n")
        lines = [self._end(piece) for piece in ended]
        self._hold(rest)
        return lines

    def finish(self) -> list[bytes | None]:
        """The line that the end of the stream cut off, if there is one."""
        return [self._end(b"")] if self.begun else []

    def _end(self, piece: bytes) -> bytes | None:
        self._hold(piece)
        line = None if self._dropping else bytes(self._held)
        if self._dropping:
            self.dropped_id = request_id_of(self._head, self._tail)
        # A new bytearray, not clear(): clear() may keep 4 MiB allocated on an idle connection.
        self._held = bytearray()
        self._dropping = False
        return line

    def _hold(self, piece: bytes) -> None:
        if self._dropping:
            self._tail = (self._tail + piece[-_ENDS_BYTES:])[-_ENDS_BYTES:]
        elif len(self._held) + len(piece) > self._ceiling:
            self._head = bytes(self._held[:_ENDS_BYTES] + piece[:_ENDS_BYTES])[:_ENDS_BYTES]
            self._tail = bytes(self._held[-_ENDS_BYTES:] + piece[-_ENDS_BYTES:])[-_ENDS_BYTES:]
            self._held = bytearray()
            self._dropping = True
        else:
            self._held += piece


def request_id_of(head: bytes, tail: bytes) -> str | int | None:
    """The id of a request when only its two ends are known. Without it a client would wait forever
    for the answer to a call that was too large. Only an id that must be the request's own counts:
    right after the opening brace (and `jsonrpc` and `method` at most), or right before the one
    brace that closes the message.
    """
    found = _ID_FIRST.match(head) or _ID_LAST.search(tail)
    if found is None:
        return None
    value = json.loads(found[1])
    return value if isinstance(value, str | int) else None


def too_long(request_id: str | int | None = None) -> BadMessage:
    """The refusal of a message over the limit."""
    return BadMessage(
        INVALID_REQUEST,
        f"message too large: the limit is {limits.MESSAGE_BYTES} bytes; send less in one call",
        "too_large",
        request_id,
    )


def decode(line: bytes) -> Any:
    """The JSON value of a message, or `BadMessage`."""
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadMessage(
            PARSE_ERROR, f"Parse error: byte {error.start} is not valid UTF-8; send UTF-8"
        ) from None
    _check_shape(line)
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:
        raise BadMessage(PARSE_ERROR, f"Parse error: {error}") from None


def _check_shape(line: bytes) -> None:
    """Refuse deep or crowded messages before the parser builds them.

    Counting bytes settles nearly every message: strings are taken out and brackets walked only
    where the bytes allow that a bound is broken.
    """
    opening = line.count(b"[") + line.count(b"{")
    values = opening + line.count(b",")
    if opening <= limits.JSON_DEPTH and values <= limits.JSON_NODES:
        return
    bare = _STRING.sub(b"", line)
    if bare.count(b"[") + bare.count(b"{") + bare.count(b",") > limits.JSON_NODES:
        raise BadMessage(
            INVALID_REQUEST,
            f"message holds more than {limits.JSON_NODES} values; send less in one call",
            "too_large",
        )
    _check_depth(_NOT_BRACKETS.sub(b"", bare))


def _check_depth(brackets: bytes) -> None:
    depth = 0
    for bracket in brackets:
        depth += 1 if bracket in _OPENING else -1
        if depth > limits.JSON_DEPTH:
            raise _too_deep()


def _too_deep() -> BadMessage:
    return BadMessage(
        INVALID_REQUEST,
        f"message nested deeper than {limits.JSON_DEPTH}; the tools need no more than five",
        "too_large",
    )


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


# ── JSON-RPC ─────────────────────────────────────────────────────────────────────────────────────

INVALID_PARAMS: Final = -32602
ACCESS_DENIED: Final = -32001
NOT_FOUND: Final = -32002
SERVER_ERROR: Final = -32000

_CODES: Final[Mapping[str, int]] = {
    "invalid_params": INVALID_PARAMS,
    "invalid_pattern": INVALID_PARAMS,
    "invalid_trigger": INVALID_PARAMS,
    "access_denied": ACCESS_DENIED,
    "not_found": NOT_FOUND,
}


@dataclass(frozen=True)
class Request:
    """A call; one without an id is a notification, which is never answered."""

    id: str | int | None
    method: str
    params: Mapping[str, Any] | None


def read_envelope(value: Any) -> Request | None:
    """The request in a JSON value; None for an answer: this side asks nothing."""
    if not isinstance(value, dict):
        raise BadMessage(INVALID_REQUEST, "Invalid Request: a message is a JSON object")
    request_id = _read_id(value)
    if value.get("jsonrpc") != "2.0":
        raise BadMessage(
            INVALID_REQUEST, 'Invalid Request: "jsonrpc" must be "2.0"', request_id=request_id
        )
    if "method" not in value and ("result" in value or "error" in value):
        return None
    method = value.get("method")
    if not isinstance(method, str) or not _is_unicode(method):
        raise BadMessage(
            INVALID_REQUEST, 'Invalid Request: "method" must be a string', request_id=request_id
        )
    params = value.get("params")
    if params is not None and not isinstance(params, dict):
        raise BadMessage(
            INVALID_PARAMS, 'Invalid params: "params" must be an object', request_id=request_id
        )
    return Request(request_id, method, params)


def _read_id(value: Mapping[str, Any]) -> str | int | None:
    if "id" not in value:
        return None
    request_id = value["id"]
    if isinstance(request_id, bool) or not isinstance(request_id, str | int):
        raise BadMessage(
            INVALID_REQUEST, 'Invalid Request: "id" must be a string or a whole number'
        )
    if isinstance(request_id, str) and not _is_unicode(request_id):
        raise BadMessage(INVALID_REQUEST, 'Invalid Request: "id" holds a lone surrogate')
    return request_id


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def result(request_id: str | int | None, value: Any) -> dict[str, Any]:
    """An answer with a result."""
    return {"jsonrpc": "2.0", "id": request_id, "result": value}


def error(
    request_id: str | int | None, code: int, message: str, data: Any = None
) -> dict[str, Any]:
    """An answer with a protocol error."""
    body: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        body["data"] = data
    return {"jsonrpc": "2.0", "id": request_id, "error": body}


def notification(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """A message that awaits no answer."""
    return {"jsonrpc": "2.0", "method": method, "params": dict(params)}


def refused(bad: BadMessage) -> dict[str, Any]:
    """The answer to a message that was refused before anything ran."""
    return error(bad.id, bad.code, bad.message, {"code": bad.name})


def failed(request_id: str | int | None, failure: FlashgrepError) -> dict[str, Any]:
    """The answer of a direct method that failed."""
    code = _CODES.get(failure.code, SERVER_ERROR)
    return error(request_id, code, failure.message, {"code": failure.code, **failure.details})


def closed(request_id: str | int | None) -> dict[str, Any]:
    """The answer to a request that was not done when its connection ended, as the SDK has it."""
    return error(request_id, SERVER_ERROR, "Connection closed")


def encode(value: Any) -> bytes:
    """One line for the wire."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8") + b"\n"
    except UnicodeEncodeError:
        # A lone surrogate the caller sent and we echo: escaped it is still JSON.
        return json.dumps(value, separators=(",", ":")).encode("ascii") + b"\n"


# ── open requests ────────────────────────────────────────────────────────────────────────────────
# The SDK never sees a caller's ids: requests get numbers of ours, and answers the caller's id back.
# So `7` and `"7"` stay two ids, an id used twice gets two answers, a batch is complete when all of
# it is answered, and a connection knows what still runs when its peer has sent its last line.


Send = Callable[[Any], Awaitable[None]]


@dataclass
class RequestBatch:
    """The answers to a batch, sent together once the last one is ready."""

    waiting: int = 1
    """Open requests, and the reader until it has passed on the last message."""
    answers: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class OpenRequest:
    """A request that has not been answered."""

    id: str | int | None
    """The caller's id; None for a notification."""
    batch: RequestBatch | None
    scope: anyio.CancelScope | None = None
    """Of a call that runs here, direct or plain; the SDK cancels its own."""


class OpenRequests:
    """Numbers requests as they begin, and sends their answers as they end."""

    def __init__(self, send: Send, slots: anyio.Semaphore) -> None:
        """`slots` limits how many are open at a time."""
        self._send = send
        self._open: dict[int, OpenRequest] = {}
        self._numbers = itertools.count(1)
        self._slots = slots

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

    def id_of(self, number: int) -> str | int | None:
        """The caller's id of an open request; None for a notification."""
        request = self._open.get(number)
        return request.id if request is not None else None

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
        """Count a batch down; the last one sends it, unless it has no answers."""
        batch.waiting -= 1
        if batch.waiting == 0 and batch.answers:
            await self._send(batch.answers)

    def cancel(self, request_id: Any) -> int | None:
        """Stop a call that runs here; the number of any other, for the SDK to stop."""
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

    def cancel_own(self) -> set[int]:
        """Stop all calls that run here; the numbers of those that the caller has not cancelled."""
        stopped = set()
        for number, request in self._open.items():
            if request.scope is not None and not request.scope.cancel_called:
                stopped.add(number)
                request.scope.cancel()
        return stopped


# ── direct methods ───────────────────────────────────────────────────────────────────────────────


DirectMethod = Callable[["Caller", Mapping[str, Any] | None], Awaitable[Any]]
"""A method answered without the SDK: raises `FlashgrepError`, or returns the result."""

Tell = Callable[[str, Mapping[str, Any]], Awaitable[None]]
"""Sends a notification: its method and its parameters."""


async def _nobody(_: str, __: Mapping[str, Any]) -> None:
    pass


TELL: ContextVar[Tell] = ContextVar("TELL", default=_nobody)
"""Sends to the peer of the direct method that is running, before its answer."""
