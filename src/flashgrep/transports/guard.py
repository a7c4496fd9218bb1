"""What stands before every HTTP route: Host, Origin, token, body size and time.

In this order, on every route and whatever address is bound, because a name that resolves to
127.0.0.1 is enough for a web page to reach us (DNS rebinding):

    Host     loopback names, the bound host, --allowed-host       else 421
    Origin   absent, our own, --allowed-origin                    else 403
    token    Authorization: Bearer, compared in constant time     else 401   (not for /health)
    body     at most 4 MiB, complete in 30 seconds, decodable     else 413, 408, 400

The SDK's own protection is not relied on: it turns itself on for three host names only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import anyio
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from flashgrep import limits
from flashgrep.transports import envelope
from flashgrep.transports.framing import INVALID_REQUEST, BadMessage, decode, too_long
from flashgrep.transports.gate import same_token

HEALTH: Final = "/health"
LOOPBACK_NAMES: Final = ("localhost", "127.0.0.1", "[::1]")

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([0-9]{1,5}))?")


class Refusal(Exception):
    """A request that goes no further: HTTP status, text, our code, further headers."""

    def __init__(
        self,
        status: int,
        message: str,
        name: str = "access_denied",
        code: int = envelope.ACCESS_DENIED,
        **headers: str,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.body = envelope.error(None, code, message, {"code": name})
        self.headers = {"connection": "close"} | {
            key.replace("_", "-"): value for key, value in headers.items()
        }


@dataclass(frozen=True)
class Names:
    """Which Host and Origin headers are ours."""

    hosts: frozenset[str]
    origins: frozenset[str]

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
        return cls(frozenset(hosts), frozenset(own | given))

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


def _has_port(host: str) -> bool:
    return re.search(r":[0-9]+$", host) is not None and not host.endswith("]")


class Guard:
    """An ASGI application that lets through what may pass."""

    def __init__(self, app: ASGIApp, names: Names, token: str | None) -> None:
        self._app = app
        self._names = names
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            self._check(scope)
            body = await _read_body(scope, receive)
        except Refusal as refusal:
            response = JSONResponse(refusal.body, refusal.status, refusal.headers)
            await response(scope, receive, send)
            return
        await self._app(scope, _replayed(body, receive), send)

    def _check(self, scope: Scope) -> None:
        if not self._names.allows_host(_header(scope, b"host")):
            raise Refusal(421, "unknown Host; allow it with --allowed-host")
        if not self._names.allows_origin(_header(scope, b"origin")):
            raise Refusal(403, "unknown Origin; allow it with --allowed-origin")
        if self._token is not None and scope["path"] != HEALTH:
            self._check_token(_header(scope, b"authorization"), self._token)

    def _check_token(self, values: list[str], token: str) -> None:
        scheme, _, given = (values[0] if len(values) == 1 else "").partition(" ")
        # Header bytes come as Latin-1; the token's own bytes are UTF-8.
        text = given.strip().encode("latin-1").decode("utf-8", "replace")
        if scheme.lower() != "bearer" or not same_token(text, token):
            raise Refusal(
                401,
                "a token is needed: Authorization: Bearer TOKEN",
                www_authenticate='Bearer realm="flashgrep"',
            )


def _header(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


async def _read_body(scope: Scope, receive: Receive) -> bytes:
    """The whole body; one that is too long is discarded as it comes, and refused at its end."""
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
    """The body once more in one piece, then what the connection itself tells (its end)."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
