"""Answers of the notes' routes: JSON, and failures under the code that names them."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, Final

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from flashgrep.errors import FlashgrepError, InvalidParams
from flashgrep.notes.store.database import StorageFull
from flashgrep.transports.access import ADMISSION, Admission
from flashgrep.transports.http.guard import failed

_STATUS: Final[Mapping[str, int]] = {
    "invalid_params": 400,
    "access_denied": 403,
    "not_found": 404,
    "conflict": 409,
    "too_large": 413,
    "unavailable": 503,
}
_FULL: Final = 507

Handler = Callable[[Request], Awaitable[Response]]
Work = Callable[[Request, Admission, Mapping[str, Any]], tuple[int, Mapping[str, Any]]]


def handler(work: Work, fields: Mapping[str, type] | None = None) -> Handler:
    """A route whose work waits for the notes: it is done in a thread, and never on the loop.

    `fields` are those of the body, all of them needed.
    """

    async def handle(request: Request) -> Response:
        try:
            body = _fields(await request.body(), fields) if fields is not None else {}
            admission: Admission = request.scope[ADMISSION]
            status, answer = await anyio.to_thread.run_sync(work, request, admission, body)
        except FlashgrepError as error:
            return failure(error)
        return JSONResponse(dict(answer), status)

    return handle


def failure(error: FlashgrepError) -> JSONResponse:
    """A failure with its code and message."""
    status = _FULL if isinstance(error, StorageFull) else _STATUS.get(error.code, 500)
    return failed(status, error.code, error.message)


def _fields(body: bytes, fields: Mapping[str, type]) -> Mapping[str, Any]:
    """The body's fields; the guard has seen to it that it is JSON of a sane size and depth."""
    try:
        given = json.loads(body or b"null")
    except ValueError:
        given = None
    if not isinstance(given, dict):
        raise InvalidParams(f"send a JSON object with {_named(fields)}")
    for name, kind in fields.items():
        value = given.get(name)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise InvalidParams(f"{name} is missing or no {kind.__name__}; send {_named(fields)}")
    if unknown := given.keys() - fields.keys():
        raise InvalidParams(f"{min(unknown)!r} is no field; send {_named(fields)}")
    return given


def _named(fields: Mapping[str, type]) -> str:
    return ", ".join(f"{name} ({kind.__name__})" for name, kind in fields.items())


def check_query(request: Request, names: Collection[str]) -> None:
    """Refuse a parameter that is none: ignored, it would widen what somebody decides on."""
    if unknown := set(request.query_params) - set(names):
        raise InvalidParams(
            f"{min(unknown)[:40]!r} is no parameter here; there are {', '.join(names)}"
        )


def whole_number(request: Request, name: str, default: int) -> int:
    """A number in the query."""
    text = request.query_params.get(name, "")
    if not text:
        return default
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise InvalidParams(f"{name} is {text[:40]!r}; give a whole number")
    return int(text)
