"""Routes that wait for the notes: they check bodies and queries, and report failures as JSON.

`handler` turns a function into a route that runs in a worker thread, never on the event loop. A
`FlashgrepError` from the function becomes `{"error": {"code", "message"}}` with the status of its
code.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, Final

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from flashgrep.errors import AccessDenied, FlashgrepError, InvalidParams
from flashgrep.notes.access.roles import Role
from flashgrep.notes.store import paths
from flashgrep.notes.store.database import StorageFull
from flashgrep.transports.access import ADMISSION, Admission
from flashgrep.transports.http.guard import failed

_STATUS: Final[Mapping[str, int]] = {
    "invalid_params": 400,
    "invalid_pattern": 400,
    "access_denied": 403,
    "not_found": 404,
    "conflict": 409,
    "too_large": 413,
    "unavailable": 503,
    "cancelled": 504,  # the time of a call is over
}
_FULL: Final = 507
_WHOLE: Final = 2**63

Handler = Callable[[Request], Awaitable[Response]]
Answer = tuple[int, Mapping[str, Any]]
"""Status and body."""
Work = Callable[[Request, Admission, Mapping[str, Any]], Answer | Response]


def handler(
    work: Work,
    fields: Mapping[str, type] | None = None,
    optional: Mapping[str, type] | None = None,
) -> Handler:
    """A route whose work waits for the notes: it runs in a thread, never on the loop.

    `fields` are those of the body; those in `optional` may be missing, or null.
    """

    async def handle(request: Request) -> Response:
        try:
            data = await request.body()
            body = body_fields(data, fields, optional or {}) if fields is not None else {}
            admission: Admission = request.scope[ADMISSION]
            answer = await anyio.to_thread.run_sync(work, request, admission, body)
        except FlashgrepError as error:
            return refused(error)
        return answer if isinstance(answer, Response) else JSONResponse(dict(answer[1]), answer[0])

    return handle


def refused(error: FlashgrepError) -> Response:
    """The answer for a failure, with the status of its code."""
    status = _FULL if isinstance(error, StorageFull) else _STATUS.get(error.code, 500)
    return failed(status, error.code, error.message)


_KINDS: Final[Mapping[type, str]] = {
    str: "string",
    list: "list",
    int: "whole number",
    bool: "boolean",
    dict: "object",
}


def body_fields(
    body: bytes, fields: Mapping[str, type], optional: Mapping[str, type]
) -> Mapping[str, Any]:
    """The body's fields; the guard has checked that it is JSON of a sane size and depth."""
    try:
        given = json.loads(body or b"null")
    except ValueError:
        given = None
    known = {**fields, **optional}
    if not isinstance(given, dict):
        raise InvalidParams(f"send a JSON object with {_named(fields, optional)}")
    for name, kind in known.items():
        value = given.get(name)
        if value is None and name in optional:
            continue
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            article = "an" if kind is dict else "a"
            missing = f"{name} is missing or not {article} {_KINDS[kind]}"
            raise InvalidParams(f"{missing}; send {_named(fields, optional)}")
    if unknown := given.keys() - known.keys():
        raise InvalidParams(f"{min(unknown)!r} is not a field; send {_named(fields, optional)}")
    for name, value in given.items():
        _check_storable(name, value)
    return given


def _check_storable(name: str, value: Any) -> None:
    """Refuse what JSON can say and nothing here can hold; the guard has checked the depth."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise InvalidParams(
                f"{name}: character {error.start} is half of a surrogate pair "
                f"(U+{ord(value[error.start]):04X}); send whole characters"
            ) from None
    elif isinstance(value, int) and not -_WHOLE <= value < _WHOLE:
        shown = repr(value) if abs(value) < _WHOLE**2 else "a number of more than 38 digits"
        raise InvalidParams(f"{name} is {shown}; give a whole number of at most 64 bits")
    elif isinstance(value, list):
        for each in value:
            _check_storable(name, each)
    elif isinstance(value, dict):
        for key, each in value.items():
            _check_storable(name, key)
            _check_storable(f"{name}.{key}", each)


def _named(fields: Mapping[str, type], optional: Mapping[str, type]) -> str:
    named = [f"{name} ({_KINDS[kind]})" for name, kind in fields.items()]
    named += [f"{name} ({_KINDS[kind]}, optional)" for name, kind in optional.items()]
    return ", ".join(named)


def check_query(request: Request, names: Collection[str]) -> None:
    """Refuse an unknown parameter: ignored, it would widen what somebody decides on."""
    if unknown := set(request.query_params) - set(names):
        raise InvalidParams(
            f"{min(unknown)[:40]!r} is not a parameter; the parameters are {', '.join(names)}"
        )


def whole_number(request: Request, name: str, default: int) -> int:
    """A number in the query."""
    text = request.query_params.get(name, "")
    if not text:
        return default
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise InvalidParams(f"{name} is {text[:40]!r}; give a whole number")
    return int(text)


def page_limit(request: Request, default: int, most: int) -> int:
    """How many rows a page is asked for."""
    limit = whole_number(request, "limit", default)
    if not 1 <= limit <= most:
        raise InvalidParams(f"limit is {limit}; it must be 1 to {most}")
    return limit


def checked(who: Admission, role: Role, path: str) -> str:
    """The path of a note, where somebody has a role on it."""
    return allowed(who, role, paths.checked(path))


def allowed(who: Admission, role: Role, path: str) -> str:
    """A path of a note or folder that somebody has a role on; refused otherwise."""
    if not who.on_notes.may(role, path):
        raise AccessDenied(f"{who.shown} does not have the role {role.shown} on {path}")
    return path
