"""The routes of suggestions and decisions over HTTP.

    GET    /kb/suggestions         ?note= &author= &older_than= &newer_than= &limit= &cursor=
    POST   /kb/suggestions/decide  {"ids": […], "action": "accept" | "reject"}; for more than 500
                                   ids 202 and a job, with progress on /kb/events
    POST   /kb/suggestions/undo    {"decision": number}
    GET    /kb/decisions           ?limit= &before=    the newest first

Whole notes are in `notes`, comments in `comments`, and `site` joins all routes.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.routing import BaseRoute, Route

from flashgrep import limits
from flashgrep.errors import InvalidParams
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.notes.review.decide import Action
from flashgrep.notes.review.review import ALL_DECISIONS, DecisionStatus, Query, StepResult
from flashgrep.system.clock import milliseconds, moment
from flashgrep.transports.access import Admission
from flashgrep.web.events import described
from flashgrep.web.handler import Answer, check_query, handler, page_limit, whole_number

log = logging.getLogger(__name__)

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
        self._commenting = kb.commenting

    def suggestions(self, request: Request, who: Admission, _: Mapping[str, Any]) -> Answer:
        page = self._review.suggestions(_query(request), who.on_notes)
        said = self._commenting.on_suggestions(one.id for one in page.suggestions)
        shown = [{**one.as_json(), "comments": said[one.id]} for one in page.suggestions]
        return 200, {"suggestions": shown, "next": page.next}

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
        limit = page_limit(request, limits.LISTED_SUGGESTIONS, limits.LISTED_SUGGESTIONS_MOST)
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
