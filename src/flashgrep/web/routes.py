"""The routes of suggestions and decisions over HTTP.

    GET    /kb/suggestions         ?note= &author= &folder= &text= &older_than= &newer_than= &limit=
                                   &cursor=
    GET    /kb/suggestions/summary how many there are, of each author and in each note
    POST   /kb/suggestions/decide  {"ids": […], "action": "accept" | "reject", "reason", "text",
                                   "expected"}; a reason goes with reject, a text with accept and
                                   one id: it takes the place of the new text. expected is
                                   {"old", "new"} of one suggestion as it was seen, or {ID: digest}
                                   of all as they were listed: what somebody has changed since
                                   stays pending, and its result says what it is now; 409 where
                                   that goes for all. For more than 500 ids 202 and a job, with
                                   progress on /kb/events
    POST   /kb/suggestions/undo    {"decision": number}, or {"job": id} for all that a job of one's
                                   own has decided: 202 and a job
    GET    /kb/jobs/{id}           how far a job of one's own is; 404 after a restart
    GET    /kb/decisions           ?note= &by= &limit= &before=    the newest first

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
from flashgrep.notes.review.review import DecisionStatus, Query, StepResult
from flashgrep.notes.review.verdict import verdict_named
from flashgrep.system.clock import milliseconds, moment
from flashgrep.transports.access import Admission
from flashgrep.web.events import described
from flashgrep.web.handler import Answer, check_query, handler, page_limit, whole_number

log = logging.getLogger(__name__)

# ── suggestions ──────────────────────────────────────────────────────────────────────────────────


def suggestion_routes(kb: KnowledgeBase) -> list[BaseRoute]:
    """The routes of suggestions and decisions."""
    routes = _SuggestionRoutes(kb)
    words = {"reason": str, "text": str, "expected": dict}
    decide = handler(routes.decide, {"ids": list, "action": str}, words)
    undo = handler(routes.undo, {}, {"decision": int, "job": str})
    return [
        Route("/kb/suggestions", handler(routes.suggestions), methods=["GET"]),
        Route("/kb/suggestions/summary", handler(routes.summary), methods=["GET"]),
        Route("/kb/suggestions/decide", decide, methods=["POST"]),
        Route("/kb/suggestions/undo", undo, methods=["POST"]),
        Route("/kb/jobs/{job}", handler(routes.job), methods=["GET"]),
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

    def summary(self, request: Request, who: Admission, _: Mapping[str, Any]) -> Answer:
        check_query(request, ())
        found = self._review.summary(who.on_notes)
        return 200, {
            "total": found.total,
            "authors": [{"author": name, "count": count} for name, count in found.authors],
            "notes": [{"note": path, "count": count} for path, count in found.notes],
        }

    def decide(self, _: Request, who: Admission, body: Mapping[str, Any]) -> Answer:
        ids = body["ids"]
        if not ids or not all(isinstance(one, str) for one in ids):
            raise InvalidParams("ids must be a list of ids of suggestions, at least one")
        verdict = verdict_named(
            body["action"],
            body.get("reason"),
            body.get("text"),
            expected=body.get("expected"),
        )
        if len(set(ids)) > limits.DECISIONS_AT_ONCE:
            job = self._review.jobs.start(
                ids, verdict, who.on_notes, who.shown, who.key or who.shown
            )
            return 202, {"job": job.id, "total": job.total}
        outcomes = self._review.decide(ids, verdict, who.on_notes, who.shown)
        status, failure = _verdict(outcomes)
        return status, {**failure, "results": [one.as_json() for one in outcomes]}

    def undo(self, _: Request, who: Admission, body: Mapping[str, Any]) -> Answer:
        decision, job = body.get("decision"), body.get("job")
        if (decision is None) is (job is None):
            raise InvalidParams("undo needs a decision (its number) or a job (its id), one of them")
        if decision is not None:
            undone = self._review.undo(decision, who.on_notes, who.shown)
            return 200, {"undone": described(undone)}
        begun = self._review.undo_job(str(job), who.on_notes, who.shown, who.key or who.shown)
        return 202, {"job": begun.id, "total": begun.total}

    def job(self, request: Request, who: Admission, _: Mapping[str, Any]) -> Answer:
        check_query(request, ())
        found = self._review.jobs.find(request.path_params["job"], who.key or who.shown)
        return 200, found.as_json()

    def decisions(self, request: Request, who: Admission, _: Mapping[str, Any]) -> Answer:
        check_query(request, ("note", "by", "limit", "before"))
        limit = page_limit(request, limits.LISTED_SUGGESTIONS, limits.LISTED_SUGGESTIONS_MOST)
        before = whole_number(request, "before", 0) if request.query_params.get("before") else None
        note = request.query_params.get("note", "").removeprefix("kb://") or None
        by = request.query_params.get("by") or None
        rows = self._review.decisions(who.on_notes, limit, before, note, by)
        shown = [{**described(row), "note": path} for path, row in rows]
        return 200, {"decisions": shown, "next": rows[-1][1].id if len(rows) == limit else None}


def _query(request: Request) -> Query:
    times = ("older_than", "newer_than")
    check_query(request, ("note", "author", "folder", "text", *times, "limit", "cursor"))
    given, now = request.query_params, milliseconds()
    older, newer = (moment(name, given[name], now) if given.get(name) else None for name in times)
    return Query(
        note=given.get("note", "").removeprefix("kb://") or None,
        author=given.get("author") or None,
        older_than=older,
        newer_than=newer,
        folder=given.get("folder"),
        text=given.get("text") or None,
        limit=whole_number(request, "limit", limits.LISTED_SUGGESTIONS),
        cursor=given.get("cursor") or None,
    )


def _verdict(outcomes: list[StepResult]) -> Answer:
    """409 where all were decided or changed before, 403 where none may be; else see the results."""
    found = {one.status for one in outcomes}
    if found == {DecisionStatus.FORBIDDEN}:
        status, code, message = 403, "access_denied", "this token may decide none of these"
    elif found == {DecisionStatus.ALREADY}:
        status, code, message = 409, "conflict", "all of these were decided before"
    elif found == {DecisionStatus.CHANGED}:
        status, code, message = 409, "conflict", "these have changed since they were seen"
    else:
        return 200, {}
    return status, {"error": {"code": code, "message": f"{message}; see the results"}}
