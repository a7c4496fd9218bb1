"""What the status page shows: the index, memory, who is connected, recent calls, notes, tokens.

    GET    /api/status
        → {"name", "index": what `stats` answers, "memory": {"private_bytes", "resident_bytes"},
           "uptime_seconds", "clients": [{"transport", "name", "client", "since", "calls"}, …],
           "calls": [{"tool", "client", "transport", "milliseconds", "ok", "time"}, …],
           "notes": {"path", "notes", "pending", "quarantined": [[path, why], …], "size_bytes",
                     "trash"} | null,
           "workspace": {"path"} | null}
    GET    /api/tokens         → {"tokens": [{"name", "role", "folders", "made", "expires",
                                              "last_used", "is_agents"}, …]}
          `is_agents`: the one that a server has made and printed for agents
    POST   /api/tokens         {"name", "role", "folder", "expires", "link"}
        → 201 {"name", "token" | null, "link" | null}: the secret, this once; with link a sign-in
          link for a person instead. Without a role, another link for a token that is there
    DELETE /api/tokens/NAME    → {}

Times are milliseconds since 1970. All of it needs the role admin on everything; anybody else gets
their name and the index. `clients` are open connections, and on HTTP, which has none, clients that
called in the last ten minutes; people with a page open are "page", their streams "live". The newest
calls come first; what they asked is not kept.
"""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from flashgrep import limits
from flashgrep.errors import AccessDenied, FlashgrepError, InvalidParams, NotFound, Unavailable
from flashgrep.notes.access.roles import Role, role_named
from flashgrep.notes.access.tokens import Token, Tokens, workspaces
from flashgrep.system.clock import milliseconds
from flashgrep.tools.dispatch.caller import Caller
from flashgrep.tools.mounts.points import BEGIN_NOTES
from flashgrep.transports.access import SERVER, Admission, Entrance, shown_name
from flashgrep.web.handler import Answer, handler, refused
from flashgrep.web.parts import SiteParts
from flashgrep.web.search import page_caller
from flashgrep.web.sign_in_links import link_for

_ROLLUP: Final = Path("/proc/self/smaps_rollup")
_STATM: Final = Path("/proc/self/statm")
_DATABASE_FILES: Final = ("", "-wal", "-shm")


def status_routes(parts: SiteParts, tokens: Tokens | None, entrance: Entrance) -> list[BaseRoute]:
    """The routes of the status page."""
    status, made = _Status(parts, entrance), _TokenRoutes(parts, tokens)
    fields: dict[str, type] = {"role": str, "folder": str, "expires": int, "link": bool}
    posted = handler(made.make, {"name": str}, fields)
    listed = handler(made.listed)

    async def of_tokens(request: Request) -> Response:
        return await (posted if request.method == "POST" else listed)(request)

    return [
        Route("/api/status", status.route(), methods=["GET"]),
        Route("/api/tokens", of_tokens, methods=["GET", "POST"]),
        Route("/api/tokens/{name}", handler(made.revoke), methods=["DELETE"]),
    ]


def _is_admin(who: Admission) -> bool:
    """Whether somebody has the role admin on everything, not on some folder."""
    return who.on_notes.may(Role.ADMIN, "")


# ── status ──────────────────────────────────────────────────────────────────────────────────────


class _Status:
    def __init__(self, parts: SiteParts, entrance: Entrance) -> None:
        self._parts = parts
        self._entrance = entrance

    def route(self) -> Callable[[Request], Awaitable[Response]]:
        rest = handler(self._answer)

        async def handle(request: Request) -> Response:
            try:
                caller = page_caller(self._parts.callers, request)
                stats = await self._parts.toolbox.page("stats", {}, caller)
            except AccessDenied:
                request.scope[_STATS] = None  # a token for notes sees nothing of the files
            except FlashgrepError as error:
                return refused(error)
            else:
                request.scope[_STATS] = stats.data
            return await rest(request)

        return handle

    def _answer(self, request: Request, who: Admission, _: Mapping[str, Any]) -> Answer:
        told: dict[str, Any] = {"name": who.shown, "index": request.scope[_STATS]}
        if not _is_admin(who):
            return 200, told
        settings, activity = self._parts.settings, self._parts.services.activity
        workspace = None if settings.no_workspace else {"path": self._parts.workdir}
        return 200, {
            **told,
            "memory": memory(),
            "uptime_seconds": round(time.monotonic() - activity.since, 1),
            "clients": [*self._clients(), *self._live()],
            "calls": [
                {
                    "tool": call.tool,
                    "client": call.client,
                    "transport": call.transport,
                    "milliseconds": round(call.seconds * 1_000, 2),
                    "ok": call.is_ok,
                    "time": call.time,
                }
                for call in activity.newest()
            ],
            "notes": self._notes(),
            "workspace": workspace,
        }

    def _clients(self) -> Iterator[dict[str, Any]]:
        lately = milliseconds() - limits.SEEN_LATELY_SECONDS * 1_000
        callers = self._parts.callers.listed()
        on_http = [one for one in callers if one.calls and one.latest_call >= lately]
        for caller in (*self._parts.services.activity.present(), *on_http):
            yield _client(caller)

    def _live(self) -> Iterator[dict[str, Any]]:
        for token, since in self._entrance.places.held():
            name = shown_name(token) if token else None
            yield {"transport": "live", "name": name, "client": None, "since": since, "calls": 0}

    def _notes(self) -> dict[str, Any] | None:
        notes = self._parts.notes
        if notes is None:
            return None
        counted = notes.ask(
            lambda library: (
                len(library.catalogue.entries()),
                len(library.catalogue.trash()),
                notes.tables.pending.count(),
                [
                    [library.catalogue.entry(note).shown, why]
                    for note, why in sorted(library.quarantined().items())
                ],
            )
        )
        return {
            "path": str(notes.home.path),
            "notes": counted[0],
            "trash": counted[1],
            "pending": counted[2],
            "quarantined": counted[3],
            "size_bytes": _size(notes.home.database),
        }


_STATS: Final = "flashgrep.stats"
"""The key of the index's figures in an ASGI scope."""


def _client(caller: Caller) -> dict[str, Any]:
    return {
        "transport": caller.transport,
        "name": _name_of(caller),
        "client": caller.client or None,
        "since": caller.since,
        "calls": caller.calls,
    }


def _name_of(caller: Caller) -> str | None:
    """The same name for the server's own token as where people change notes with it."""
    is_servers = caller.token == SERVER and not caller.notes_only
    return shown_name(SERVER) if is_servers else caller.token or None


def _size(database: Path) -> int:
    """Bytes of a database on disk."""
    total = 0
    for ending in _DATABASE_FILES:
        try:
            total += os.stat(f"{database}{ending}").st_size
        except OSError:
            continue
    return total


def memory(rollup: Path = _ROLLUP, statm: Path = _STATM) -> dict[str, int | None]:
    """How much memory this process uses, alone and with what it shares. None if the system does not
    say. Not every kernel adds up the private part; then the resident size stands for both.
    """
    try:
        resident = int(statm.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return {"private_bytes": None, "resident_bytes": None}
    try:
        rows = [line.split() for line in rollup.read_text(encoding="ascii").splitlines()]
        private = sum(int(row[1]) * 1024 for row in rows if row[0].startswith("Private_"))
    except (OSError, ValueError, IndexError):
        private = resident
    return {"private_bytes": private, "resident_bytes": resident}


# ── tokens ──────────────────────────────────────────────────────────────────────────────────────


class _TokenRoutes:
    def __init__(self, parts: SiteParts, tokens: Tokens | None) -> None:
        self._parts = parts
        self._tokens = tokens

    def _of(self, who: Admission) -> Tokens:
        """The tokens, for somebody who may see them."""
        if not _is_admin(who):
            raise AccessDenied(f"{who.shown} does not have the role admin, which tokens need")
        if self._tokens is None:
            raise Unavailable(
                f"tokens belong to a knowledge base; this server has none. {BEGIN_NOTES}"
            )
        return self._tokens

    def listed(self, _: Request, who: Admission, __: Mapping[str, Any]) -> Answer:
        tokens = self._of(who)
        used = tokens.last_uses()
        kept = workspaces(self._parts.notes.home.path) if self._parts.notes else ()
        agents = {found.name for secret, _ in kept if (found := tokens.find(secret))}
        rows = [
            {
                "name": one.name,
                "role": one.role.shown,
                "folders": list(one.folders),
                "made": one.made,
                "expires": one.expires,
                "last_used": used.get(one.name),
                "is_agents": one.name in agents,
            }
            for one in tokens.listed()
        ]
        return 200, {"tokens": rows}

    def make(self, _: Request, who: Admission, body: Mapping[str, Any]) -> Answer:
        tokens, name, wants_link = self._of(who), body["name"], bool(body.get("link"))
        role, secret = body.get("role"), None
        if role is not None:
            folder = body.get("folder")
            folders = () if folder is None else (folder,)
            secret = tokens.make(name, role_named(role), folders or "", body.get("expires"))
        elif not wants_link:
            raise InvalidParams("role is missing; it is read, suggest, write or admin")
        if not wants_link:
            return 201, {"name": name, "token": secret, "link": None}
        try:
            link = self._link(_found(tokens, name))
        except FlashgrepError:
            if secret is not None:
                tokens.revoke(name)  # nobody has its secret
            raise
        return 201, {"name": name, "token": None, "link": link}

    def _link(self, token: Token) -> str:
        address, notes = self._parts.address, self._parts.notes
        if address is None or notes is None:
            raise Unavailable("this server has no address for pages")
        if token.is_expired(milliseconds()):
            raise InvalidParams(f"the token {token.name} has expired; revoke it and make another")
        return link_for(notes.home.path, token, address)

    def revoke(self, request: Request, who: Admission, _: Mapping[str, Any]) -> Answer:
        self._of(who).revoke(request.path_params["name"])
        return 200, {}


def _found(tokens: Tokens, name: str) -> Token:
    found = next((one for one in tokens.listed() if one.name == name), None)
    if found is None:
        raise NotFound(f"there is no token {name[: limits.QUOTED_CHARS]}; give a role to make it")
    return found
