"""Routes for those who decide: what is suggested, accept or reject it, take that back.

GET  /kb/suggestions           ?note= &author= &older_than= &newer_than= &limit= &cursor=
POST /kb/suggestions/decide    {"ids": […], "action": "accept" | "reject"}; 202 and a job for more
                               than 500 ids, whose progress is told on /kb/events
POST /kb/suggestions/undo      {"decision": number}
GET  /kb/decisions             ?limit= &before=    the newest first
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.routing import BaseRoute, Route

from flashgrep import limits
from flashgrep.errors import InvalidParams
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.notes.review.decide import Action
from flashgrep.notes.review.decision_log import Decided
from flashgrep.notes.review.review import ALL_DECISIONS, DecisionStatus, Query, StepResult
from flashgrep.system.clock import milliseconds, moment
from flashgrep.transports.access import Admission
from flashgrep.web.answers import check_query, handler, whole_number

Answer = tuple[int, Mapping[str, Any]]


def suggestion_routes(kb: KnowledgeBase) -> list[BaseRoute]:
    """The routes above."""
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
    """409 where all were decided before, 403 where none may be; otherwise the results tell."""
    found = {one.status for one in outcomes}
    if found == {DecisionStatus.FORBIDDEN}:
        return 403, _failure("access_denied", "none of these may be decided with this token")
    if found == {DecisionStatus.ALREADY}:
        return 409, _failure("conflict", "all of these were decided before")
    return 200, {}


def _failure(code: str, message: str) -> Mapping[str, Any]:
    return {"error": {"code": code, "message": f"{message}; the results tell of each"}}


def described(row: Decided) -> dict[str, Any]:
    """A decision as it is told."""
    return {
        "decision": row.id,
        "suggestion": row.suggestion,
        "action": row.action.value,
        "by": row.by,
        "time": row.time,
        "author": row.record.get("author", ""),
        "old": row.old,
        "new": row.new,
        "undone_by": row.undone_by,
        "undone_time": row.undone_time,
    }
