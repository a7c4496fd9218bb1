"""Signing in and out: what happens to a link, and who somebody is.

    GET  /sign-in/CODE?to=/review   303 to a page with the cookie of a session; a page that says how
                                    to get another link where this one was used, or has expired
    GET  /api/session        {"name", "role", "folders", "grants", "workspace", "serves_files",
                              "notes", "read_only", "version", "expires", "csrf"}
    POST /api/session/end    {}; the session is over, and with it what it has open

`name` is what others see and what decisions are recorded under. `role` is the highest role on
notes, in `folders`; `grants` has the role for each folder. `workspace` and `notes`: whether there
are any for this person; `serves_files`: whether the server has files at all. `expires` is in
milliseconds since 1970, null for a token. `csrf` is null: the guard sees where a change comes from.

The code is in an address that redirects at once and appears in no log, page or Referer. A browser
that only prefetches, or sends a HEAD request, does not use it up.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Final

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from flashgrep import __version__, limits
from flashgrep.errors import FlashgrepError
from flashgrep.notes.access.roles import Role
from flashgrep.transports.access import ADMISSION, Admission
from flashgrep.transports.http.guard import COOKIE, cookie_name, cookie_of, failed, secret_of
from flashgrep.web.pages import is_page, sign_in_page
from flashgrep.web.parts import SiteParts
from flashgrep.web.sessions import LoginSessions
from flashgrep.web.sign_in_links import SIGN_IN, SignInLink, SignInLinks

log = logging.getLogger(__name__)

_USED: Final = "This link was used before, has expired, or was not issued by this server."
_OVER: Final = "What this link was made for is no more: its token was revoked, or has expired."
_BROKEN: Final = "Signing in failed inside the server; its log says why."
_MINUTE: Final = 60.0
_PRIVATE: Final = {"cache-control": "no-store", "referrer-policy": "no-referrer"}


def sign_in_routes(
    parts: SiteParts, sessions: LoginSessions, links: Sequence[SignInLinks]
) -> list[BaseRoute]:
    """The routes of this file."""
    routes = _SignIn(parts, sessions, links)
    return [
        Route(SIGN_IN + "{code}", routes.enter, methods=["GET"]),
        Route("/api/session", routes.session, methods=["GET"]),
        Route("/api/session/end", routes.end, methods=["POST"]),
    ]


class _SignIn:
    def __init__(
        self, parts: SiteParts, sessions: LoginSessions, links: Sequence[SignInLinks]
    ) -> None:
        self._parts = parts
        self._sessions = sessions
        self._links = links
        self._wrong = _WrongLinks()

    # ── in ──────────────────────────────────────────────────────────────────────────────────────

    async def enter(self, request: Request) -> Response:
        if request.method != "GET" or "prefetch" in request.headers.get("sec-purpose", ""):
            return sign_in_page()
        code: str = request.path_params["code"]
        try:
            link = await anyio.to_thread.run_sync(self._used, code)
            if link is None:
                return self._refused(request)
            secret = await anyio.to_thread.run_sync(self._begun, link, cookie_of(request.scope))
        except FlashgrepError as error:
            log.error("nobody can sign in: %s", error.message)
            return sign_in_page(_BROKEN, 503)
        if secret is None:
            return sign_in_page(_OVER, 403)
        answer = RedirectResponse(_target(request), 303, _PRIVATE)
        answer.set_cookie(
            cookie_name(request.scope),
            secret,
            max_age=limits.SESSION_SECONDS,
            path="/",
            secure=_is_https(request),
            httponly=True,
            samesite="lax",
        )
        return answer

    def _used(self, code: str) -> SignInLink | None:
        return next((link for links in self._links if (link := links.use(code))), None)

    def _begun(self, link: SignInLink, before: str) -> str | None:
        secret = self._sessions.begin(link)
        if secret and before:
            self._sessions.end(before)  # of this browser: its cookie is replaced
        return secret

    def _refused(self, request: Request) -> Response:
        if ADMISSION in request.scope:  # an old link in a browser that is signed in
            return RedirectResponse(_target(request), 303, _PRIVATE)
        return sign_in_page(_USED, 429 if self._wrong.are_too_many() else 403)

    # ── inside ──────────────────────────────────────────────────────────────────────────────────

    async def session(self, request: Request) -> Response:
        admission: Admission = request.scope[ADMISSION]
        expires = await anyio.to_thread.run_sync(self._sessions.expires, secret_of(request.scope))
        told = described(admission, self._parts) | {"expires": expires, "csrf": None}
        return JSONResponse(told, headers=_PRIVATE)

    async def end(self, request: Request) -> Response:
        try:
            if secret := cookie_of(request.scope):
                await anyio.to_thread.run_sync(self._sessions.end, secret)
        except FlashgrepError as error:
            return failed(503, error.code, error.message)
        answer = JSONResponse({}, headers=_PRIVATE)
        for name in dict.fromkeys((cookie_name(request.scope), COOKIE)):
            answer.delete_cookie(name, httponly=True, samesite="lax")
        return answer


def described(admission: Admission, parts: SiteParts) -> dict[str, Any]:
    """Who somebody is, for a page."""
    grants = admission.on_notes.grants
    role = max((grant.role for grant in grants), default=Role.READ)
    return {
        "name": admission.shown,
        "role": role.shown,
        "folders": sorted({grant.folder for grant in grants}),
        "grants": [{"role": grant.role.shown, "folder": grant.folder} for grant in grants],
        "workspace": admission.opens_files and not parts.settings.no_workspace,
        "serves_files": not parts.settings.no_workspace,
        "notes": parts.notes is not None,
        "read_only": parts.settings.read_only,
        "version": __version__,
    }


def _target(request: Request) -> str:
    """The page to go to: one of ours, whatever the link says."""
    given = request.query_params.get("to", "/")
    is_ours = is_page(given.partition("?")[0]) and given.isprintable() and "\\" not in given
    return given if is_ours and not given.startswith("//") else "/"


def _is_https(request: Request) -> bool:
    """Whether the browser sees TLS: ours, or that of a proxy before us, who says so.

    Whoever says so without being one harms only their own cookie.
    """
    headers: Mapping[str, str] = request.headers
    return request.url.scheme == "https" or headers.get("x-forwarded-proto", "") == "https"


class _WrongLinks:
    """Counts recent wrong links. Used on the server's loop."""

    def __init__(self) -> None:
        self._times: deque[float] = deque(maxlen=limits.WRONG_LINKS + 1)
        self._told = 0.0

    def are_too_many(self) -> bool:
        """Count one more; the log hears of many, once a minute."""
        now = time.monotonic()
        self._times.append(now)
        if len(self._times) <= limits.WRONG_LINKS or self._times[0] < now - _MINUTE:
            return False
        if now - self._told > _MINUTE or not self._told:
            self._told = now
            log.warning(
                "more than %d wrong sign-in links within a minute; nobody came in by them",
                limits.WRONG_LINKS,
            )
        return True
