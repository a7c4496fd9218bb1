"""Versions of a note and the trash, over HTTP.

GET  /kb/history/{path}       → {"versions": [{"version", "author", "others", "time"}]}, the newest
                              first; others: who else changed it since the one before, where known
     ?version=                → {"version", "text"}
POST /kb/notes/restore        {"path", "version"} → {"path", "epoch"}; one more change, so that
                              no version is lost (role write)
GET  /kb/trash                ?offset= → {"notes": [{"id", "path", "deleted"}], "total"}, the
                              latest first; those whose last path the token may read
POST /kb/trash/restore        {"id", "path"?} → {"path", "epoch"}: back to its path, or to the
                              given one (role write on both)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from starlette.requests import Request
from starlette.routing import BaseRoute, Route

from flashgrep import limits
from flashgrep.errors import Conflict, NotFound
from flashgrep.notes import history
from flashgrep.notes.access.roles import Role
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.notes.library import Library
from flashgrep.notes.store import paths
from flashgrep.notes.store.catalogue import CatalogueEntry
from flashgrep.transports.access import Admission
from flashgrep.web.handler import Answer, allowed, check_query, checked, handler, whole_number

_TRIES: Final = 100


def history_routes(kb: KnowledgeBase) -> list[BaseRoute]:
    """The routes of versions and of the trash."""
    routes = _HistoryRoutes(kb)
    restore = handler(routes.restore, {"path": str, "version": int})
    bring_back = handler(routes.bring_back, {"id": str}, {"path": str})
    return [
        Route("/kb/history/{path:path}", handler(routes.versions), methods=["GET"]),
        Route("/kb/notes/restore", restore, methods=["POST"]),
        Route("/kb/trash", handler(routes.trash), methods=["GET"]),
        Route("/kb/trash/restore", bring_back, methods=["POST"]),
    ]


class _HistoryRoutes:
    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb

    def versions(self, request: Request, who: Admission, _: Mapping[str, Any]) -> Answer:
        check_query(request, ("version",))
        path = checked(who, Role.READ, request.path_params["path"])
        version = whole_number(request, "version", 0)

        def job(library: Library) -> Answer:
            note = library.find(path).id
            if "version" in request.query_params:
                return 200, {"version": version, "text": history.text_at(library, note, version)}
            others = history.others(library, note)
            rows = [
                {
                    "version": version.sequence,
                    "author": version.author,
                    "others": others[version.sequence],
                    "time": version.time,
                }
                for version in history.versions(library, note)
            ]
            return 200, {"versions": rows}

        return self._kb.ask(job)

    def restore(self, _: Request, who: Admission, body: Mapping[str, Any]) -> Answer:
        path = checked(who, Role.WRITE, body["path"])

        def job(library: Library) -> CatalogueEntry:
            note = library.find(path).id
            history.restore(library, note, body["version"], who.shown)
            return library.catalogue.entry(note)  # a damaged note has begun a new epoch

        return 200, _told(self._kb.ask(job))

    # ── the trash ───────────────────────────────────────────────────────────────────────────────

    def trash(self, request: Request, who: Admission, _: Mapping[str, Any]) -> Answer:
        check_query(request, ("offset",))
        first = whole_number(request, "offset", 0)
        gone = self._kb.ask(lambda library: library.catalogue.trash())
        seen = [entry for entry in gone if who.on_notes.may(Role.READ, entry.last_path or "")]
        rows = [
            {"id": entry.id, "path": entry.last_path, "deleted": entry.trashed}
            for entry in seen[first : first + limits.LISTED_TRASH]
        ]
        return 200, {"notes": rows, "total": len(seen)}

    def bring_back(self, _: Request, who: Admission, body: Mapping[str, Any]) -> Answer:
        given: str | None = body.get("path")
        if given is not None:
            checked(who, Role.WRITE, given)

        def job(library: Library) -> CatalogueEntry:
            entry = _deleted(library, who, body["id"])
            path = given or entry.last_path or ""
            try:
                return library.catalogue.move(entry.id, path)
            except Conflict as taken:
                free = _free(library, path)
                raise Conflict(f"{taken.message}, such as {free}") from None

        return 200, _told(self._kb.ask(job))


def _deleted(library: Library, who: Admission, note: str) -> CatalogueEntry:
    """A note in the trash that somebody may bring back; one they may not see is not there."""
    try:
        entry = library.catalogue.entry(note)
    except NotFound:
        entry = None
    last = entry.last_path if entry and entry.path is None else None
    if entry is None or last is None or not who.on_notes.may(Role.READ, last):
        shown = note[: limits.QUOTED_CHARS]
        raise NotFound(f"no note in the trash has the id {shown!r}; see GET /kb/trash")
    allowed(who, Role.WRITE, last)
    return entry


def _free(library: Library, path: str) -> str:
    """A path like this one at which there is nothing."""
    stem = path.removesuffix(paths.ENDING)
    for number in range(2, _TRIES):
        found = f"{stem} {number}{paths.ENDING}"
        if not library.catalogue.is_taken(found):
            return found
    return f"{stem} restored{paths.ENDING}"


def _told(entry: CatalogueEntry) -> dict[str, Any]:
    return {"path": entry.path, "epoch": entry.epoch}
