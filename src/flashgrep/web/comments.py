"""Comments over HTTP: listed, made, answered, resolved.

    GET    /kb/comments            ?note= &resolved=true → {"comments": […], "more"}; `more` is true
                                   where there are more than one answer holds
    POST   /kb/comments            {"note", "text", "suggestion": id} or
                                   {"note", "text", "passage": {"start", "end", "quote"}}
                                   → 201 the comment; offsets count UTF-16 units of the raw text,
                                   and `quote` is what is there: 409 where it is not
    POST   /kb/comments/reply      {"id", "text"} → 201 the reply; 200 where it was there already
    POST   /kb/comments/resolve    {"id"} → {"id"}; role write

    a comment   {"id", "note", "line", "author", "time", "text", "suggestion", "quote", "replies"}
                with one of the two, or neither, not null; of a resolved one {"by", "time"} in
                `resolved`, and no line
    a reply     {"id", "author", "time", "text"}

Commenting and replying need the role suggest. Author and time are the server's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from flashgrep.errors import InvalidParams
from flashgrep.notes.access.roles import Author, AuthorKind, Role
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.notes.review.commenting import CommentedPassage
from flashgrep.transports.access import Admission
from flashgrep.web.handler import Answer, check_query, checked, handler


def comment_routes(kb: KnowledgeBase) -> list[BaseRoute]:
    """The routes under /kb/comments."""
    routes = _CommentRoutes(kb)
    listed = handler(routes.listed)
    make = handler(routes.make, {"note": str, "text": str}, {"suggestion": str, "passage": dict})

    async def comments(request: Request) -> Response:
        return await (make if request.method == "POST" else listed)(request)

    return [
        # One route: of two, the refusal of another method would name those of the first only.
        Route("/kb/comments", comments, methods=["GET", "POST"]),
        Route(
            "/kb/comments/reply", handler(routes.reply, {"id": str, "text": str}), methods=["POST"]
        ),
        Route("/kb/comments/resolve", handler(routes.resolve, {"id": str}), methods=["POST"]),
    ]


class _CommentRoutes:
    def __init__(self, kb: KnowledgeBase) -> None:
        self._commenting = kb.commenting

    def listed(self, request: Request, who: Admission, _: Mapping[str, Any]) -> Answer:
        check_query(request, ("note", "resolved"))
        given = request.query_params
        note = given.get("note", "").removeprefix("kb://") or None
        resolved = given.get("resolved", "false")
        if resolved not in ("true", "false"):
            raise InvalidParams(f"resolved is {resolved[:40]!r}; it must be true or false")
        look = self._commenting.resolved if resolved == "true" else self._commenting.listed
        found, more = look(who.on_notes, note)
        return 200, {"comments": found, "more": more}

    def make(self, _: Request, who: Admission, body: Mapping[str, Any]) -> Answer:
        note = checked(who, Role.SUGGEST, body["note"].removeprefix("kb://"))
        suggestion, passage = body.get("suggestion"), body.get("passage")
        by = (body["text"], who.on_notes, _author(who))
        if passage is None and suggestion is not None:
            said = self._commenting.on_suggestion(note, suggestion, *by)
        elif passage is not None and suggestion is None:
            said = self._commenting.on_passage(note, _passage(passage), *by)
        else:
            raise InvalidParams("send either suggestion (an id) or passage (start, end, quote)")
        return 201, said.thread

    def reply(self, _: Request, who: Admission, body: Mapping[str, Any]) -> Answer:
        said = self._commenting.reply(body["id"], body["text"], who.on_notes, _author(who))
        return 200 if said.is_repeated else 201, said.reply

    def resolve(self, _: Request, who: Admission, body: Mapping[str, Any]) -> Answer:
        resolved = self._commenting.resolve(body["id"], who.on_notes, who.shown)
        return 200, {"id": resolved.thread}


def _author(who: Admission) -> Author:
    return Author(who.shown, AuthorKind.PERSON)


def _passage(given: Mapping[str, Any]) -> CommentedPassage:
    start, end, quote = (given.get(name) for name in ("start", "end", "quote"))
    is_other = bool(given.keys() - {"start", "end", "quote"})
    if type(start) is not int or type(end) is not int or type(quote) is not str or is_other:
        raise InvalidParams(
            "passage must be start and end (whole numbers, in UTF-16 units of the note's text) "
            "and quote (string), and nothing else"
        )
    return CommentedPassage(start, end, quote)
