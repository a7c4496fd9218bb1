"""The routes of the notes over HTTP: whole notes, and decisions on suggestions.

    GET    /kb/notes/{path}        → {"path", "epoch", "text"}
    POST   /kb/notes               {"path", "text"} → 201 {"path", "epoch"}; marks in the text
                                   become suggestions of the note's author
    POST   /kb/notes/move          {"from", "to"} → {"path", "epoch"}
    DELETE /kb/notes/{path}        to the trash → {"path"}
    GET    /kb/suggestions         ?note= &author= &older_than= &newer_than= &limit= &cursor=
    POST   /kb/suggestions/decide  {"ids": […], "action": "accept" | "reject"}; for more than 500
                                   ids 202 and a job, with progress on /kb/events
    POST   /kb/suggestions/undo    {"decision": number}
    GET    /kb/decisions           ?limit= &before=    the newest first

A request for a path that the token may not see gets the same answer whether the path exists or not.
"""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, Final

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from flashgrep import limits
from flashgrep.errors import AccessDenied, FlashgrepError, InvalidParams
from flashgrep.notes.access.roles import Role
from flashgrep.notes.access.tokens import AgentToken, Tokens, agent_token
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.notes.library import Library
from flashgrep.notes.review.decide import Action
from flashgrep.notes.review.review import ALL_DECISIONS, DecisionStatus, Query, StepResult
from flashgrep.notes.store import paths
from flashgrep.notes.store.catalogue import CatalogueEntry
from flashgrep.notes.store.database import StorageFull
from flashgrep.notes.suggestions import typed_marks
from flashgrep.system.clock import milliseconds, moment
from flashgrep.transports.access import ADMISSION, Admission, Entrance
from flashgrep.transports.http.guard import failed
from flashgrep.transports.http.server import Mounted
from flashgrep.web.events import Events, described
from flashgrep.web.rooms import Rooms, live_route

log = logging.getLogger(__name__)

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
Answer = tuple[int, Mapping[str, Any]]
"""Status and body."""
Work = Callable[[Request, Admission, Mapping[str, Any]], Answer]


def handler(work: Work, fields: Mapping[str, type] | None = None) -> Handler:
    """A route whose work waits for the notes: it runs in a thread, never on the loop.

    `fields` are those of the body; all are required.
    """

    async def handle(request: Request) -> Response:
        try:
            body = _fields(await request.body(), fields) if fields is not None else {}
            admission: Admission = request.scope[ADMISSION]
            status, answer = await anyio.to_thread.run_sync(work, request, admission, body)
        except FlashgrepError as error:
            status = _FULL if isinstance(error, StorageFull) else _STATUS.get(error.code, 500)
            return failed(status, error.code, error.message)
        return JSONResponse(dict(answer), status)

    return handle


_KINDS: Final[Mapping[type, str]] = {str: "string", list: "list", int: "whole number"}


def _fields(body: bytes, fields: Mapping[str, type]) -> Mapping[str, Any]:
    """The body's fields; the guard has checked that it is JSON of a sane size and depth."""
    try:
        given = json.loads(body or b"null")
    except ValueError:
        given = None
    if not isinstance(given, dict):
        raise InvalidParams(f"send a JSON object with {_named(fields)}")
    for name, kind in fields.items():
        value = given.get(name)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise InvalidParams(f"{name} is missing or not a {_KINDS[kind]}; send {_named(fields)}")
    if unknown := given.keys() - fields.keys():
        raise InvalidParams(f"{min(unknown)!r} is not a field; send {_named(fields)}")
    return given


def _named(fields: Mapping[str, type]) -> str:
    return ", ".join(f"{name} ({_KINDS[kind]})" for name, kind in fields.items())


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


# ── notes ────────────────────────────────────────────────────────────────────────────────────────


def note_routes(kb: KnowledgeBase) -> list[BaseRoute]:
    """The routes under /kb/notes."""
    routes = _NoteRoutes(kb)
    create = handler(routes.create, {"path": str, "text": str})
    move = handler(routes.move, {"from": str, "to": str})
    return [
        Route("/kb/notes", create, methods=["POST"]),
        Route("/kb/notes/move", move, methods=["POST"]),
        # One route: of two, the refusal of another method would name those of the first only.
        Route("/kb/notes/{path:path}", handler(routes.one), methods=["GET", "DELETE"]),
    ]


class _NoteRoutes:
    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb

    def one(self, request: Request, who: Admission, body: Mapping[str, Any]) -> Answer:
        work = self.delete if request.method == "DELETE" else self.read
        return work(request, who, body)

    def read(self, request: Request, who: Admission, _: Mapping[str, Any]) -> Answer:
        path = _checked(who, Role.READ, request.path_params["path"])

        def job(library: Library) -> Answer:
            entry = library.find(path)
            text = library.read(entry.id).text
            return 200, {"path": entry.path, "epoch": entry.epoch, "text": text}

        return self._kb.ask(job)

    def create(self, _: Request, who: Admission, body: Mapping[str, Any]) -> Answer:
        path = _checked(who, Role.WRITE, body["path"])

        def job(library: Library) -> CatalogueEntry:
            with library.together():
                entry = library.create(path, body["text"], who.shown)
                plan = partial(typed_marks.all_recorded, author=who.shown, now=milliseconds())
                library.amend(entry.id, plan, who.shown)
                return entry

        return 201, _told(self._kb.ask(job))

    def move(self, _: Request, who: Admission, body: Mapping[str, Any]) -> Answer:
        source = _checked(who, Role.WRITE, body["from"])
        target = _checked(who, Role.WRITE, body["to"])
        moved = self._kb.ask(
            lambda library: library.catalogue.move(library.find(source).id, target)
        )
        return 200, _told(moved)

    def delete(self, request: Request, who: Admission, _: Mapping[str, Any]) -> Answer:
        path = _checked(who, Role.WRITE, request.path_params["path"])
        gone = self._kb.ask(lambda library: library.delete(library.find(path).id))
        return 200, {"path": gone.last_path}


def _checked(who: Admission, role: Role, path: str) -> str:
    paths.checked(path)
    if not who.on_notes.may(role, path):
        raise AccessDenied(f"{who.shown} does not have the role {role.shown} on {path}")
    return path


def _told(entry: CatalogueEntry) -> dict[str, Any]:
    return {"path": entry.path, "epoch": entry.epoch}


# ── suggestions ──────────────────────────────────────────────────────────────────────────────────


def suggestion_routes(kb: KnowledgeBase) -> list[BaseRoute]:
    """The routes of suggestions and decisions."""
    routes = _SuggestionRoutes(kb)
    decide = handler(routes.decide, {"ids": list, "action": str})
    undo = handler(routes.undo, {"decision": int})
    return [
        Route("/kb/suggestions", handler(routes.suggestions), methods=["GET"]),
        Route("/kb/suggestions/decide", decide, methods=["POST"]),
        Route("/kb/suggestions/undo", undo, methods=["POST"]),
        Route("/kb/decisions", handler(routes.decisions), methods=["GET"]),
    ]


class _SuggestionRoutes:
    def __init__(self, kb: KnowledgeBase) -> None:
        self._review = kb.review

    def suggestions(self, request: Request, who: Admission, _: Mapping[str, Any]) -> Answer:
        page = self._review.suggestions(_query(request), who.on_notes)
        return 200, {"suggestions": [one.as_json() for one in page.suggestions], "next": page.next}

    def decide(self, _: Request, who: Admission, body: Mapping[str, Any]) -> Answer:
        ids = body["ids"]
        if not ids or not all(isinstance(one, str) for one in ids):
            raise InvalidParams("ids must be a list of ids of suggestions, at least one")
        try:
            action = Action(body["action"])
        except ValueError:
            raise InvalidParams(
                f"action is {body['action'][:40]!r}; it must be accept or reject"
            ) from None
        if len(set(ids)) > limits.DECISIONS_AT_ONCE:
            job = self._review.jobs.start(ids, action, who.on_notes, who.shown)
            return 202, {"job": job.id, "total": job.total}
        outcomes = self._review.decide(ids, action, who.on_notes, who.shown)
        status, failure = _verdict(outcomes)
        return status, {**failure, "results": [one.as_json() for one in outcomes]}

    def undo(self, _: Request, who: Admission, body: Mapping[str, Any]) -> Answer:
        undone = self._review.undo(body["decision"], who.on_notes, who.shown)
        return 200, {"undone": described(undone)}

    def decisions(self, request: Request, who: Admission, _: Mapping[str, Any]) -> Answer:
        check_query(request, ("limit", "before"))
        limit = whole_number(request, "limit", limits.LISTED_SUGGESTIONS)
        if not 1 <= limit <= limits.LISTED_SUGGESTIONS_MOST:
            raise InvalidParams(
                f"limit is {limit}; it must be 1 to {limits.LISTED_SUGGESTIONS_MOST}"
            )
        before = whole_number(request, "before", ALL_DECISIONS)
        rows = self._review.decisions(who.on_notes, limit, before)
        shown = [{**described(row), "note": path} for path, row in rows]
        return 200, {"decisions": shown, "next": rows[-1][1].id if len(rows) == limit else None}


def _query(request: Request) -> Query:
    check_query(request, ("note", "author", "older_than", "newer_than", "limit", "cursor"))
    given, now = request.query_params, milliseconds()
    times = {
        name: moment(name, given[name], now) if given.get(name) else None
        for name in ("older_than", "newer_than")
    }
    return Query(
        note=given.get("note", "").removeprefix("kb://") or None,
        author=given.get("author") or None,
        older_than=times["older_than"],
        newer_than=times["newer_than"],
        limit=whole_number(request, "limit", limits.LISTED_SUGGESTIONS),
        cursor=given.get("cursor") or None,
    )


def _verdict(outcomes: list[StepResult]) -> Answer:
    """409 where all were decided before, 403 where none may be; otherwise see the results."""
    found = {one.status for one in outcomes}
    if found == {DecisionStatus.FORBIDDEN}:
        status, code, message = 403, "access_denied", "this token may decide none of these"
    elif found == {DecisionStatus.ALREADY}:
        status, code, message = 409, "conflict", "all of these were decided before"
    else:
        return 200, {}
    return status, {"error": {"code": code, "message": f"{message}; see the results"}}


# ── all routes ───────────────────────────────────────────────────────────────────────────────────


def mount(kb: KnowledgeBase, agents_of: str | None = None) -> Mounted:
    """Everything under /kb/ for an open knowledge base.

    `agents_of` names the workspace whose agents get a token; None: they need none.
    """
    tokens = Tokens(kb.home.path)
    rooms = Rooms(tokens)
    events = Events(kb, tokens, rooms)

    def routes(entrance: Entrance) -> Sequence[BaseRoute]:
        return [
            *suggestion_routes(kb),
            *note_routes(kb),
            events.route(entrance),
            live_route(kb, rooms, entrance),
        ]

    @contextlib.asynccontextmanager
    async def running() -> AsyncIterator[None]:
        with events.listening():
            yield

    count = kb.ask(lambda library: len(library.catalogue.entries()))
    told = f"{kb.home.path}, {count:,} note{'' if count == 1 else 's'}"
    return Mounted(
        routes=routes,
        running=running,
        tokens=tokens,
        told=told,
        agent=_agent(kb, agents_of) if agents_of else None,
    )


def _agent(kb: KnowledgeBase, workspace: str) -> AgentToken | None:
    """The token for agents; the server starts without one too."""
    try:
        return agent_token(kb.home.path, workspace)
    except FlashgrepError as error:
        log.warning("no token for agents could be made: %s", error.message)
        return None
