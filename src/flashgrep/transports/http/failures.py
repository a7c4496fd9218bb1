"""Failures of HTTP routes, the same for whatever refuses: `{"error": {"code", "message"}}`.

The guard, the router and the routes of the notes all answer so. `/mcp` is not one of them: there a
failure is JSON-RPC's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from flashgrep import limits

_BROKE: Final = "the request failed inside the server; see its log"


def failed(
    status: int, code: str, message: str, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """An answer with a failure."""
    error = {"code": code, "message": message}
    return JSONResponse({"error": error}, status, dict(headers or {}))


async def not_routed(request: Request, error: Exception) -> Response:
    """What the router has no route for, or none for this method."""
    assert isinstance(error, HTTPException)  # noqa: S101 - it is what this is registered for
    path = request.url.path[: limits.QUOTED_CHARS]
    allowed = (error.headers or {}).get("Allow")
    if allowed:
        taken = ", ".join(sorted(allowed.split(", ")))  # the router's is a set, in any order
        message = f"{path} takes {taken}, not {request.method}"
        return failed(error.status_code, "invalid_params", message, error.headers)
    return failed(error.status_code, "not_found", f"there is no {path} here", error.headers)


async def broken(_: Request, __: Exception) -> Response:
    """A defect of ours; its details go to the log. uvicorn closes the connection after it."""
    return failed(500, "io_error", _BROKE, {"connection": "close"})
