"""JSON-RPC 2.0 envelopes: values in, requests and notifications out; answers back to bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from flashgrep.errors import FlashgrepError
from flashgrep.transports.lines.messages import INVALID_REQUEST, BadMessage

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
    """A call that wants an answer."""

    id: str | int
    method: str
    params: Mapping[str, Any] | None


@dataclass(frozen=True)
class Notification:
    """A message that is never answered."""

    method: str
    params: Mapping[str, Any] | None


class BadEnvelope(BadMessage):
    """JSON, but no JSON-RPC 2.0 message."""

    def __init__(
        self, message: str, request_id: str | int | None = None, code: int = INVALID_REQUEST
    ) -> None:
        super().__init__(code, message, request_id=request_id)


def read_envelope(value: Any) -> Request | Notification | None:
    """The message in a JSON value; None for an answer, which nobody here waits for."""
    if not isinstance(value, dict):
        raise BadEnvelope("Invalid Request: a message is a JSON object")
    request_id = _read_id(value)
    if value.get("jsonrpc") != "2.0":
        raise BadEnvelope('Invalid Request: "jsonrpc" must be "2.0"', request_id)
    if "method" not in value and ("result" in value or "error" in value):
        return None
    method = value.get("method")
    if not isinstance(method, str) or not _is_unicode(method):
        raise BadEnvelope('Invalid Request: "method" must be a string', request_id)
    params = value.get("params")
    if params is not None and not isinstance(params, dict):
        raise BadEnvelope('Invalid params: "params" must be an object', request_id, INVALID_PARAMS)
    if request_id is None:
        return Notification(method, params)
    return Request(request_id, method, params)


def _read_id(value: Mapping[str, Any]) -> str | int | None:
    if "id" not in value:
        return None
    request_id = value["id"]
    if isinstance(request_id, bool) or not isinstance(request_id, str | int):
        raise BadEnvelope('Invalid Request: "id" must be a string or a whole number')
    if isinstance(request_id, str) and not _is_unicode(request_id):
        raise BadEnvelope('Invalid Request: "id" holds a lone surrogate')
    return request_id


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def result(request_id: str | int, value: Any) -> dict[str, Any]:
    """An answer that tells a result."""
    return {"jsonrpc": "2.0", "id": request_id, "result": value}


def error(
    request_id: str | int | None, code: int, message: str, data: Any = None
) -> dict[str, Any]:
    """An answer that tells a protocol error."""
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


def failed(request_id: str | int, failure: FlashgrepError) -> dict[str, Any]:
    """The answer of a direct method that failed."""
    code = _CODES.get(failure.code, SERVER_ERROR)
    return error(request_id, code, failure.message, {"code": failure.code, **failure.details})


def encode(value: Any) -> bytes:
    """One line for the wire."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8") + b"\n"
    except UnicodeEncodeError:
        # A lone surrogate the caller sent and we echo: escaped it is still JSON.
        return json.dumps(value, separators=(",", ":")).encode("ascii") + b"\n"
