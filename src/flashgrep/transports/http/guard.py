"""The checks before every HTTP route: Host, Origin, token, body size, time; failures as JSON.

In this order, on every route and whatever address is bound, because all a web page needs to reach
us is a name that resolves to 127.0.0.1 (DNS rebinding):

    Host     loopback names, the bound host, --allowed-host       else 421
    Origin   absent, our own, --allowed-origin                    else 403
    site     a change that a browser sends comes from our page    else 403
    token    Authorization: Bearer, compared in constant time     else 401   (not for open paths)
    body     at most 4 MiB, complete in 30 seconds, decodable     else 413, 408, 400
    place    for a stream that stays open, see `places`           else 503

Open paths are `/health` and the pages where somebody signs in. Except on `/mcp` the sign-in cookie
replaces the header; on a websocket so does `?token=`. A browser sends a cookie whichever page asks,
so with a cookie a request that may change something must come from our own Origin and, if the
browser names the site (`Sec-Fetch-Site`), from ours. See `is_foreign` for the rest.

A refused websocket is accepted and closed with 4401 or 4403 before any frame: y-websocket would
retry forever if refused with an HTTP status.

The SDK's own protection is not enough: it covers only three host names.

The guard, the router and the routes of the notes report failures as
`{"error": {"code", "message"}}`; on `/mcp` a failure is JSON-RPC's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qs, unquote

import anyio
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from flashgrep import limits
from flashgrep.transports.access import ADMISSION, Admission, Entrance, NoPlace, is_session
from flashgrep.transports.lines import messages
from flashgrep.transports.lines.messages import INVALID_REQUEST, BadMessage, decode, too_long

# ── failures ─────────────────────────────────────────────────────────────────────────────────────


_BROKE: Final = "the request failed inside the server; see its log"


def failed(
    status: int, code: str, message: str, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """The answer for a failure."""
    error = {"code": code, "message": message}
    return JSONResponse({"error": error}, status, dict(headers or {}))


async def not_routed(request: Request, error: Exception) -> Response:
    """The answer where no route fits the path, or the method."""
    assert isinstance(error, HTTPException)  # noqa: S101 - it is what this is registered for
    path = request.url.path[: limits.QUOTED_CHARS]
    allowed = (error.headers or {}).get("Allow")
    if allowed:
        taken = ", ".join(sorted(allowed.split(", ")))  # the router's is a set, in any order
        message = f"{path} takes {taken}, not {request.method}"
        return failed(error.status_code, "invalid_params", message, error.headers)
    return failed(error.status_code, "not_found", f"there is no {path} here", error.headers)


FailurePage = Callable[[int, str], Response]
"""A failure as a page: of a status, and a path."""


def is_browsing(scope: Scope) -> bool:
    """Whether a person looks for a page here: a browser asks, and it is no path for programs."""
    if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD"):
        return False
    is_programs = scope["path"] == MCP or scope["path"].startswith((NOTES, API))
    return not is_programs and any("text/html" in one for one in _header(scope, b"accept"))


async def broken(_: Request, __: Exception) -> Response:
    """The answer for a defect; its details go to the log. uvicorn then closes the connection."""
    return failed(500, "io_error", _BROKE, {"connection": "close"})


# ── guard ────────────────────────────────────────────────────────────────────────────────────────


WIRE: Final = "flashgrep.wire"
"""The key in an ASGI scope of the transport beneath it."""
ENDING: Final = "flashgrep.ending"
"""The key in an ASGI scope of what ends a stream, see `server`."""
HEALTH: Final = "/health"
MCP: Final = "/mcp"
REGISTER: Final = "/register"
"""Where an OAuth client without a token asks for one."""
NOTES: Final = "/kb/"
API: Final = "/api/"
EVENTS: Final = "/kb/events"
_STREAMS: Final = (MCP, EVENTS)
"""Paths whose GET stays open."""
COOKIE: Final = "flashgrep_session"
"""The cookie of a session; with `_PORT` where the Host has one, see `cookie_name`."""
_SAFE: Final = ("GET", "HEAD", "OPTIONS")
_OWN_SITE: Final = ("same-origin", "none")
"""What a browser says of a request that our page makes, or the person by themselves."""
PERSON: Final = b"x-flashgrep-person"
"""The header in which a page says whom it was loaded for, percent-encoded."""
SIGN_IN_AGAIN: Final = (
    "Get a new link: run flashgrep open in the directory that flashgrep serve was started in"
)
UNAUTHENTICATED: Final = 4401
FORBIDDEN: Final = 4403
_SHOWN_CHARS: Final = 200
"""Of a Host or Origin, what its refusal repeats."""
LOOPBACK_NAMES: Final = ("localhost", "127.0.0.1", "[::1]")

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([0-9]{1,5}))?")


class Refusal(Exception):
    """A request that is refused: HTTP status, text, our code, further headers."""

    def __init__(
        self,
        status: int,
        message: str,
        name: str = "access_denied",
        code: int = messages.ACCESS_DENIED,
        **headers: str,
    ) -> None:
        super().__init__(message)
        self.status = status
        self._name = name
        self._code = code
        self.headers = {"connection": "close"} | {
            key.replace("_", "-"): value for key, value in headers.items()
        }

    def response(self, path: str) -> Response:
        """In the form of the route: `/mcp` speaks JSON-RPC."""
        if path == REGISTER:
            # There is no sign-in here. A client shows its user the description; our own form of a
            # failure it could not read.
            told = {"error": self._name, "error_description": str(self)}
            return JSONResponse(told, self.status, self.headers)
        if path != MCP:
            return failed(self.status, self._name, str(self), self.headers)
        body = messages.error(None, self._code, str(self), {"code": self._name})
        return JSONResponse(body, self.status, self.headers)


@dataclass(frozen=True)
class Names:
    """Which Host and Origin headers are ours."""

    hosts: frozenset[str]
    origins: frozenset[str]
    admitted: frozenset[str] = frozenset()
    """Of these origins, those that were allowed by name."""

    @classmethod
    def of(
        cls,
        bound: Iterable[str],
        port: int,
        allowed_hosts: Iterable[str] = (),
        allowed_origins: Iterable[str] = (),
    ) -> Names:
        """`bound` are the names of the address listened on, none for a wildcard."""
        hosts = {host.lower() for host in (*LOOPBACK_NAMES, *bound, *allowed_hosts)}
        own = {f"http://{host}" if _has_port(host) else f"http://{host}:{port}" for host in hosts}
        given = {origin.lower().rstrip("/") for origin in allowed_origins}
        return cls(frozenset(hosts), frozenset(own | given), frozenset(given))

    def allows_host(self, values: list[str]) -> bool:
        """Exactly one Host header, with a name of ours: under any port, or under the given one."""
        if len(values) != 1:
            return False
        host = values[0].lower()
        match = _HOST.fullmatch(host)
        return match is not None and (match[1] in self.hosts or host in self.hosts)

    def allows_origin(self, values: list[str]) -> bool:
        """No Origin header (no browser), or exactly one of ours."""
        return not values or (len(values) == 1 and values[0].lower() in self.origins)

    def admits(self, values: list[str]) -> bool:
        """Exactly one Origin header, of an origin that was allowed by name."""
        return len(values) == 1 and values[0].lower() in self.admitted


def _has_port(host: str) -> bool:
    return re.search(r":[0-9]+$", host) is not None and not host.endswith("]")


class Guard:
    """An ASGI application that refuses requests that may not pass."""

    def __init__(
        self,
        app: ASGIApp,
        names: Names,
        entrance: Entrance,
        remedy: str = "",
        notes_remedy: str = "",
        is_open: Callable[[str], bool] | None = None,
        page: FailurePage | None = None,
    ) -> None:
        """The remedies are for requests without a token: where it is, never what it is.

        `notes_remedy` is for the routes of the notes, where people decide. `is_open` knows the
        paths that are answered without a login; their route looks for an admission itself. `page`
        is for a browser that has no login yet.
        """
        self._app = app
        self._names = names
        self._entrance = entrance
        self._remedy = remedy
        self._notes_remedy = notes_remedy or remedy
        self._is_open = is_open or (lambda path: False)
        self._page = page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._admit_socket(scope, receive, send)
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            self._check(scope)
            body = await _read_body(scope, receive)
            with self._place(scope):
                await self._app(scope, _replayed(body, receive), send)
        except Refusal as refusal:
            response = refusal.response(scope["path"])
            if refusal.status == 401 and self._page and is_browsing(scope):
                response = self._page(401, "")
                response.headers.update(refusal.headers)
            await response(scope, receive, send)

    async def _admit_socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            self._check(scope)
        except Refusal as refusal:
            code = UNAUTHENTICATED if refusal.status == 401 else FORBIDDEN
            await receive()
            await send({"type": "websocket.accept"})
            # A frame has room for 123 bytes.
            reason = str(refusal).partition(". ")[0].encode()[:120].decode(errors="ignore")
            await send({"type": "websocket.close", "code": code, "reason": reason})
            return
        await self._app(scope, receive, send)

    @contextmanager
    def _place(self, scope: Scope) -> Iterator[None]:
        """Hold a slot for a request that stays open; the request ends when it loses the slot."""
        if scope["method"] != "GET" or scope["path"] not in _STREAMS:
            yield
            return
        admission: Admission = scope[ADMISSION]
        taken = self._entrance.places.taken(admission.key, admission.may_write_notes)
        with ExitStack() as ends:
            try:
                place = ends.enter_context(taken)
            except NoPlace as full:
                raise Refusal(
                    503, full.message, full.code, messages.SERVER_ERROR, retry_after="5"
                ) from None
            place.when_lost(scope[ENDING].cancel)
            yield

    def _check(self, scope: Scope) -> None:
        if not self._names.allows_host(hosts := _header(scope, b"host")):
            raise Refusal(421, _unknown("Host", hosts))
        if not self._names.allows_origin(origins := _header(scope, b"origin")):
            raise Refusal(403, _unknown("Origin", origins))
        if is_foreign(scope, self._names):
            raise Refusal(403, "a browser sends this for a page of another site; use our own pages")
        if scope["path"] == HEALTH:
            return
        try:
            scope[ADMISSION] = self._admitted(scope)
        except Refusal:
            if _is_change(scope) or not self._is_open(scope["path"]):
                raise

    def _admitted(self, scope: Scope) -> Admission:
        secret = secret_of(scope)
        admission = self._entrance.enter(secret)
        if admission is None:
            if is_session(secret):
                raise Refusal(401, f"this sign-in is over. {SIGN_IN_AGAIN}")
            what = "the token is wrong, expired or revoked" if secret else "a token is needed"
            remedy = self._notes_remedy if scope["path"].startswith(NOTES) else self._remedy
            told = f"{what}. {remedy}" if remedy else what
            raise Refusal(401, told, www_authenticate='Bearer realm="flashgrep"')
        named = _person(scope) if is_session(secret) else None
        if named is not None and named != admission.shown:
            now = f"{admission.shown} is signed in in this browser now, not {named[:_SHOWN_CHARS]}"
            raise Refusal(401, f"{now}. Reload the page, or sign in again as before.")
        return admission


def _unknown(name: str, values: list[str]) -> str:
    """The refusal of a Host or Origin that is not ours."""
    if len(values) != 1:
        return f"send one {name} header, not {len(values)}"
    shown, flag = repr(values[0][:_SHOWN_CHARS]), f"--allowed-{name.lower()}"
    if values[0] in ("", "null"):  # of sandboxed frames and files: no setting accepts them
        return f"unknown {name} {shown}"
    return f"unknown {name} {shown}; to accept it, start flashgrep serve with {flag} {shown}"


def secret_of(scope: Scope) -> str:
    """The secret of a request, "" for none: the first of header, query and cookie."""
    values = _header(scope, b"authorization")
    if values or scope["path"] in (MCP, REGISTER):
        return _bearer(values)
    return _queried(scope) or (cookie_of(scope) if _takes_cookie(scope) else "")


def _queried(scope: Scope) -> str:
    """The token in the query of a websocket, where a browser cannot send a header."""
    if scope["type"] != "websocket":
        return ""
    query: str = scope["query_string"].decode("latin-1")
    given = parse_qs(query, errors="replace").get("token", [""])[0]
    return "" if is_session(given) else given


def _person(scope: Scope) -> str | None:
    """Whose page sends this, as it says; None where it does not.

    All tabs of a browser have one cookie. Without this, what somebody does in a tab would count as
    done by whoever has signed in since in another one.
    """
    if values := _header(scope, PERSON):
        return unquote(values[0])
    query: str = scope["query_string"].decode("latin-1")
    return next(iter(parse_qs(query, errors="replace").get("person", ())), None)


def _takes_cookie(scope: Scope) -> bool:
    """Whether the cookie of this request counts.

    What only reads may also come from elsewhere as a link that a person follows, not as a part of
    somebody's page: another program of this machine is the same site to a browser.
    """
    if _is_change(scope):
        return _is_own_origin(scope) and not _is_other_site(scope)
    return not _is_other_site(scope) or "navigate" in _header(scope, b"sec-fetch-mode")


def is_foreign(scope: Scope, names: Names) -> bool:
    """Whether a browser sends a change on behalf of a page that is not ours.

    Its Origin was accepted before. A caller that shows a token of its own and no cookie is no
    page that uses somebody's login; one of an origin that was allowed may come without a cookie.
    """
    if not _is_change(scope) or not _is_other_site(scope):
        return False
    if _header(scope, b"cookie"):
        return True
    shows_token = _header(scope, b"authorization") or _queried(scope)
    return not shows_token and not names.admits(_header(scope, b"origin"))


def _is_change(scope: Scope) -> bool:
    return scope["type"] == "websocket" or scope["method"] not in _SAFE


def _is_other_site(scope: Scope) -> bool:
    return any(value not in _OWN_SITE for value in _header(scope, b"sec-fetch-site"))


def _bearer(values: list[str]) -> str:
    scheme, _, given = (values[0] if len(values) == 1 else "").partition(" ")
    # Header bytes come as Latin-1; the token's own bytes are UTF-8.
    text = given.strip().encode("latin-1").decode("utf-8", "replace")
    return text if scheme.lower() == "bearer" and not is_session(text) else ""


def cookie_name(scope: Scope) -> str:
    """What our cookie is called: browsers do not tell the ports of a host apart, and two servers
    of one machine must not sign people out of each other.
    """
    match = _HOST.fullmatch("".join(_header(scope, b"host")[:1]).lower())
    return f"{COOKIE}_{match[2]}" if match and match[2] else COOKIE


def cookie_of(scope: Scope) -> str:
    """The secret of a session in the cookie, "" for none. A cookie never carries a token."""
    pairs = (pair.partition("=") for pair in "; ".join(_header(scope, b"cookie")).split(";"))
    given = {name.strip(): value.strip() for name, _, value in pairs}
    secret = given.get(cookie_name(scope)) or given.get(COOKIE, "")
    return secret if is_session(secret) else ""


def _is_own_origin(scope: Scope) -> bool:
    """Whether one of our pages asks: its Origin is the Host it sends."""
    hosts, origins = _header(scope, b"host"), _header(scope, b"origin")
    own = {f"{scheme}://{host.lower()}" for scheme in ("http", "https") for host in hosts}
    return len(origins) == 1 and origins[0].lower() in own


def _header(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


async def _read_body(scope: Scope, receive: Receive) -> bytes:
    """The whole body; one that is too long is discarded as it comes and refused at its end."""
    body = bytearray()
    size = 0
    try:
        with anyio.fail_after(limits.BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Refusal(400, "the body ended early", "invalid_params", INVALID_REQUEST)
                piece = message.get("body", b"")
                size += len(piece)
                if size > limits.MESSAGE_BYTES:
                    body = bytearray()
                else:
                    body += piece
                if not message.get("more_body", False):
                    break
    except TimeoutError:
        raise Refusal(408, "the body did not end in time", "too_large") from None
    if size > limits.MESSAGE_BYTES:
        raise _refusal(413, too_long())
    _check_json(scope, bytes(body))
    return bytes(body)


def _check_json(scope: Scope, body: bytes) -> None:
    """Hold a message on HTTP to the same strictness as on a line."""
    if scope["method"] != "POST" or not body:
        return
    try:
        decode(body)
    except BadMessage as bad:
        raise _refusal(400, bad) from None


def _refusal(status: int, bad: BadMessage) -> Refusal:
    return Refusal(status, bad.message, bad.name, bad.code)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The body again in one piece, then what the connection sends (its end)."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
