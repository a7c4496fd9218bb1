"""The API behind the search page and the file view: `grep`'s engine, with answers a page can draw.

    POST /api/search  {"pattern", "where": "workspace" | "notes", "path", "include": […], "type",
                       "case_insensitive", "multiline", "context", "limit", "offset"}
    POST /api/count   the same without context, limit and offset
    POST /api/query   {"text", "where", "limit", "offset"}
    POST /api/symbol  {"symbol_name", "limit", "offset"}
    POST /api/files   {"text", "limit"}
    GET  /api/file    ?path= &start= &end=

Only pattern, text, symbol_name and path are required. `tools/verbs/page_search` and `page_files`
describe the answers; those of query and symbol are the tools' own. Each ends with "milliseconds",
from the request to the answer. All but the last are POST, so that what is typed appears in no
address.

A page asks again at each keystroke and hangs up on its previous request, which stops that work.
Everything else is as for tools: scope, roles, --call-seconds, and fair shares, where a person is
one caller.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Final

import anyio
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from flashgrep import limits
from flashgrep.errors import FlashgrepError, InvalidParams, Unavailable
from flashgrep.tools.dispatch.call import Answer
from flashgrep.tools.dispatch.caller import Caller, Callers
from flashgrep.tools.mounts.points import NOTES
from flashgrep.transports.access import ADMISSION, Admission
from flashgrep.web.handler import body_fields, check_query, refused, whole_number
from flashgrep.web.parts import SiteParts

WORKSPACE: Final = "workspace"
IN_NOTES: Final = "notes"

_FILTERS: Final[Mapping[str, type]] = {
    "where": str,
    "path": str,
    "include": list,
    "type": str,
    "case_insensitive": bool,
    "multiline": bool,
}
_PAGE: Final[Mapping[str, type]] = {"limit": int, "offset": int}
_SHOWN: Final = 250
_LISTED: Final = 50
_HUNG_UP: Final = 499
"""The status of an answer that nobody reads."""

Asked = tuple[str, dict[str, Any]]
"""One of the toolbox's questions, and its arguments."""


def search_routes(parts: SiteParts) -> list[BaseRoute]:
    """The routes of the search page and the file view."""
    routes = _SearchRoutes(parts)
    posted = {
        "search": routes.search,
        "count": routes.count,
        "query": routes.query,
        "symbol": routes.symbol,
        "files": routes.files,
    }
    return [
        *(
            Route(f"/api/{name}", routes.handler(read), methods=["POST"])
            for name, read in posted.items()
        ),
        Route("/api/file", routes.handler(routes.file), methods=["GET"]),
    ]


class _SearchRoutes:
    def __init__(self, parts: SiteParts) -> None:
        self._toolbox = parts.toolbox
        self._callers = parts.callers
        self._has_files = not parts.settings.no_workspace

    def handler(
        self, read: Callable[[Request, bytes], Asked]
    ) -> Callable[[Request], Awaitable[Response]]:
        """A route that reads what is asked and has the toolbox answer."""

        async def handle(request: Request) -> Response:
            begun = time.perf_counter()
            try:
                name, arguments = read(request, await request.body())
                caller = page_caller(self._callers, request)
                answer = await until_hung_up(
                    request, lambda: self._toolbox.page(name, arguments, caller)
                )
            except FlashgrepError as error:
                return refused(error)
            if answer is None:
                return Response(status_code=_HUNG_UP)
            return _timed(answer, begun)

        return handle

    # ── what is asked ───────────────────────────────────────────────────────────────────────────

    def search(self, _: Request, body: bytes) -> Asked:
        given = body_fields(body, {"pattern": str}, {**_FILTERS, **_PAGE, "context": int})
        arguments = self._filters(given)
        context = _within(given, "context", 0, 0, limits.PAGE_CONTEXT)
        limit = _within(given, "limit", _SHOWN, 1, limits.PAGE_MATCHES)
        offset = _offset(given)
        page = {"context": context, "head_limit": limit, "offset": offset}
        return "search", {**arguments, **page, "output_mode": "content"}

    def count(self, _: Request, body: bytes) -> Asked:
        given = body_fields(body, {"pattern": str}, _FILTERS)
        return "count", {**self._filters(given), "output_mode": "count"}

    def query(self, _: Request, body: bytes) -> Asked:
        given = body_fields(body, {"text": str}, {**_PAGE, "where": str})
        if self._where(given) == IN_NOTES:
            raise InvalidParams(
                "query ranks files of the workspace; find words in notes with a pattern"
            )
        limit = _within(given, "limit", 10, 1, limits.PAGE_MATCHES)
        return "query", {"text": given["text"], "limit": limit, "offset": _offset(given)}

    def symbol(self, _: Request, body: bytes) -> Asked:
        given = body_fields(body, {"symbol_name": str}, _PAGE)
        self._require_files()
        limit = _within(given, "limit", _SHOWN, 1, limits.PAGE_MATCHES)
        page = {"limit": limit, "offset": _offset(given)}
        return "get_symbol", {"symbol_name": given["symbol_name"], **page}

    def files(self, _: Request, body: bytes) -> Asked:
        given = body_fields(body, {"text": str}, {"limit": int})
        self._require_files()
        limit = _within(given, "limit", _LISTED, 1, limits.PAGE_NAMES)
        return "find_file", {"text": given["text"], "limit": limit}

    def file(self, request: Request, _: bytes) -> Asked:
        check_query(request, ("path", "start", "end"))
        self._require_files()
        path = request.query_params.get("path", "")
        if not path:
            raise InvalidParams("path is missing; give the path of a file")
        lines = {"start_line": whole_number(request, "start", 1)}
        if request.query_params.get("end"):
            lines["end_line"] = whole_number(request, "end", 1)
        return "file_lines", {"file_path": path, **lines}

    # ── its parts ───────────────────────────────────────────────────────────────────────────────

    def _filters(self, given: Mapping[str, Any]) -> dict[str, Any]:
        names = ("pattern", "include", "type", "case_insensitive", "multiline")
        arguments = {name: given[name] for name in names if given.get(name) is not None}
        path: str = given.get("path") or ""
        if self._where(given) == IN_NOTES:
            is_marked = path[: len(NOTES)].lower() == NOTES
            arguments["path"] = path if is_marked else NOTES + path.lstrip("/")
        elif path:
            arguments["path"] = path
        return arguments

    def _where(self, given: Mapping[str, Any]) -> str:
        where = given.get("where") or (WORKSPACE if self._has_files else IN_NOTES)
        if where not in (WORKSPACE, IN_NOTES):
            raise InvalidParams(f"where is {where[:40]!r}; it must be {WORKSPACE} or {IN_NOTES}")
        if where == WORKSPACE:
            self._require_files()
        return str(where)

    def _require_files(self) -> None:
        if not self._has_files:
            raise Unavailable("this server has notes and no workspace (--no-workspace)")


def _within(given: Mapping[str, Any], name: str, default: int, least: int, most: int) -> int:
    value = given.get(name)
    if value is None:
        return default
    if not least <= value <= most:
        raise InvalidParams(f"{name} is {value}; it must be {least} to {most:,}")
    return int(value)


def _offset(given: Mapping[str, Any]) -> int:
    return _within(given, "offset", 0, 0, 2**53)


def _timed(answer: Answer, begun: float) -> Response:
    """The object of an answer, which its thread has made into JSON, and how long that took."""
    took = round((time.perf_counter() - begun) * 1_000, 2)
    body = f'{answer.text[:-1]},"milliseconds":{took}}}'
    # A name that is not Unicode must not fail the answer.
    return Response(body.encode("utf-8", "backslashreplace"), media_type="application/json")


def page_caller(callers: Callers, request: Request) -> Caller:
    """Who asks on a page: a person, whatever page and window; without login, a machine."""
    admission: Admission = request.scope[ADMISSION]
    host = request.client.host if request.client and not admission.token else ""
    caller = callers.get(f"page:{admission.key}:{host}")
    caller.token = admission.token
    caller.notes_only = not admission.opens_files
    caller.principal = replace(admission.on_notes, name=admission.shown)
    return caller


async def until_hung_up(request: Request, work: Callable[[], Awaitable[Answer]]) -> Answer | None:
    """The answer of some work, which ends when the client hangs up; then None."""
    answers: list[Answer] = []
    failures: list[FlashgrepError] = []

    async def watch() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        try:
            answers.append(await work())
        except FlashgrepError as error:
            failures.append(error)  # raised outside of the group, as what it is
        tasks.cancel_scope.cancel()
    if failures:
        raise failures[0]
    return answers[0] if answers else None
