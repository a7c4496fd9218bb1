"""Whole notes over HTTP: read, made, moved, deleted.

    GET    /kb/notes/{path}        → {"path", "epoch", "text"}
    POST   /kb/notes               {"path", "text"} → 201 {"path", "epoch"}; marks in the text
                                   become suggestions of the note's author
    POST   /kb/notes/move          {"from", "to"} → {"path", "epoch"}
    DELETE /kb/notes/{path}        to the trash → {"path"}

A request for a path that the token may not see gets the same answer whether the path exists or not.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.routing import BaseRoute, Route

from flashgrep.notes.access.roles import Role
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.notes.library import Library
from flashgrep.notes.store.catalogue import CatalogueEntry
from flashgrep.notes.suggestions import typed_marks
from flashgrep.system.clock import milliseconds
from flashgrep.transports.access import Admission
from flashgrep.web.handler import Answer, checked, handler


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
        path = checked(who, Role.READ, request.path_params["path"])

        def job(library: Library) -> Answer:
            entry = library.find(path)
            text = library.read(entry.id).text
            return 200, {"path": entry.path, "epoch": entry.epoch, "text": text}

        return self._kb.ask(job)

    def create(self, _: Request, who: Admission, body: Mapping[str, Any]) -> Answer:
        path = checked(who, Role.WRITE, body["path"])

        def job(library: Library) -> CatalogueEntry:
            with library.together():
                entry = library.create(path, body["text"], who.shown)
                plan = partial(typed_marks.all_recorded, author=who.shown, now=milliseconds())
                library.amend(entry.id, plan, who.shown)
                return entry

        return 201, _told(self._kb.ask(job))

    def move(self, _: Request, who: Admission, body: Mapping[str, Any]) -> Answer:
        source = checked(who, Role.WRITE, body["from"])
        target = checked(who, Role.WRITE, body["to"])
        moved = self._kb.ask(
            lambda library: library.catalogue.move(library.find(source).id, target)
        )
        return 200, _told(moved)

    def delete(self, request: Request, who: Admission, _: Mapping[str, Any]) -> Answer:
        path = checked(who, Role.WRITE, request.path_params["path"])
        gone = self._kb.ask(lambda library: library.delete(library.find(path).id))
        return 200, {"path": gone.last_path}


def _told(entry: CatalogueEntry) -> dict[str, Any]:
    return {"path": entry.path, "epoch": entry.epoch}
