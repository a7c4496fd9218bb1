"""Whole notes over HTTP: read, made, moved, deleted; folders moved and deleted.

    GET    /kb/notes/{path}        → {"path", "epoch", "text"}
    GET    /kb/where?epoch=        → {"path", "epoch", "trash"}: where a note is that was opened
                                   before; `trash` is its id there, null where it is not deleted
    POST   /kb/notes               {"path", "text"} → 201 {"path", "epoch"}; marks in the text
                                   become suggestions of the note's author
    POST   /kb/notes/move          {"from", "to"} → {"path", "epoch", "links", "left"}
    DELETE /kb/notes/{path}        to the trash → {"path"}
    POST   /kb/folders/move        {"from", "to"} → {"notes", "links", "left"}
    DELETE /kb/folders/{path}      all its notes to the trash → {"notes"}

Links follow what is moved (see `moving`): `links` counts those that were mended. `left` counts
those that now lead elsewhere or nowhere: in notes that the token may read but not write, or cut
apart by a suggestion. A link means what it means to somebody who sees what the token may read;
links in other notes are neither mended nor counted. All of it needs the role write, on both paths
of a move.

A request for a path that the token may not see gets the same answer whether the path exists or not.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.routing import BaseRoute, Route

from flashgrep import limits
from flashgrep.errors import NotFound
from flashgrep.notes import moving
from flashgrep.notes.access.roles import Role
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.notes.library import Library
from flashgrep.notes.store import paths
from flashgrep.notes.store.catalogue import CatalogueEntry
from flashgrep.notes.suggestions import typed_marks
from flashgrep.system.clock import milliseconds
from flashgrep.transports.access import Admission
from flashgrep.web.handler import Answer, allowed, check_query, checked, handler


def note_routes(kb: KnowledgeBase) -> list[BaseRoute]:
    """The routes under /kb/notes."""
    routes = _NoteRoutes(kb)
    create = handler(routes.create, {"path": str, "text": str})
    move = handler(routes.move, {"from": str, "to": str})
    move_folder = handler(routes.move_folder, {"from": str, "to": str})
    return [
        Route("/kb/notes", create, methods=["POST"]),
        Route("/kb/notes/move", move, methods=["POST"]),
        # One route: of two, the refusal of another method would name those of the first only.
        Route("/kb/notes/{path:path}", handler(routes.one), methods=["GET", "DELETE"]),
        Route("/kb/where", handler(routes.where), methods=["GET"]),
        Route("/kb/folders/move", move_folder, methods=["POST"]),
        Route("/kb/folders/{path:path}", handler(routes.delete_folder), methods=["DELETE"]),
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

    def where(self, request: Request, who: Admission, _: Mapping[str, Any]) -> Answer:
        check_query(request, ("epoch",))
        epoch = request.query_params.get("epoch", "")
        found = self._kb.ask(lambda library: library.catalogue.of_epoch(epoch))
        path = found.path or found.last_path if found else None
        if found is None or path is None or not who.on_notes.may(Role.READ, path):
            raise NotFound(f"no note has the epoch {epoch[: limits.QUOTED_CHARS]!r}")
        trash = found.id if found.path is None else None
        return 200, {"path": path, "epoch": found.epoch, "trash": trash}

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
        done = moving.move_note(self._kb, source, target, who.on_notes, who.shown)
        return 200, {**_told(done.notes[0]), "links": done.links, "left": done.left}

    def delete(self, request: Request, who: Admission, _: Mapping[str, Any]) -> Answer:
        path = checked(who, Role.WRITE, request.path_params["path"])
        gone = self._kb.ask(lambda library: library.delete(library.find(path).id))
        return 200, {"path": gone.last_path}

    # ── folders ─────────────────────────────────────────────────────────────────────────────────

    def move_folder(self, _: Request, who: Admission, body: Mapping[str, Any]) -> Answer:
        source = allowed(who, Role.WRITE, paths.checked_below(body["from"]))
        target = allowed(who, Role.WRITE, paths.checked_folder(body["to"]))
        done = moving.move_folder(self._kb, source, target, who.on_notes, who.shown)
        return 200, {"notes": len(done.notes), "links": done.links, "left": done.left}

    def delete_folder(self, request: Request, who: Admission, _: Mapping[str, Any]) -> Answer:
        folder = allowed(who, Role.WRITE, paths.checked_below(request.path_params["path"]))
        return 200, {"notes": moving.delete_folder(self._kb, folder)}


def _told(entry: CatalogueEntry) -> dict[str, Any]:
    return {"path": entry.path, "epoch": entry.epoch}
