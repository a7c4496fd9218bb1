"""The pages: one HTML shell for all of them, and the files of the bundle it loads.

    GET /, /review, /notes, /notes/…, /file/…, /status    the shell, or how to sign in; never kept
    GET /assets/NAME-HASH.js …                            a file of the bundle; kept for a year

The bundle is in `static/`, where `make web` writes it, with a manifest that names its entry files:
{"app.js": "app-HASH.js", "app.css": "app-HASH.css"}. A name changes with the content, so a
browser's cache is never out of date. Assets hold no secret and need no login.

No page has inline scripts or styles, and its content security policy forbids them. CodeMirror adds
its own style sheets, which carry the nonce of the response; the shell has it in a meta element.
"""

from __future__ import annotations

import gzip
import html
import json
import mimetypes
import re
import secrets
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from flashgrep import limits
from flashgrep.transports.access import ADMISSION
from flashgrep.transports.http.guard import failed
from flashgrep.web.sign_in_links import SIGN_IN

STATIC: Final = Path(__file__).parent / "static"
ASSETS: Final = "/assets/"
PAGES: Final = ("/", "/review", "/notes", "/notes/{path:path}", "/file/{path:path}", "/status")

_ASSET: Final = re.compile(r"[\w.-]*-[A-Z0-9]{8}\.[a-z0-9]+", re.ASCII)
"""What esbuild calls a file: nothing else in `static` is served."""
_KEPT: Final = "public, max-age=31536000, immutable"
_EFFORT: Final = 9
"""Of gzip: a file is packed once."""
_HELD: Final = 256
"""Files of the bundle that are kept in memory, some megabytes."""
_UNKNOWN: Final = "application/octet-stream"
_TYPES: Final = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_ICON: Final = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E"
    "%3Crect width='32' height='32' rx='7' fill='%231f6feb'/%3E"
    "%3Cpath d='M18 4 8 18h7l-2 10 11-15h-7z' fill='%23fff'/%3E%3C/svg%3E"
)
_NOT_BUILT: Final = (
    "The pages are not built. In a checkout of the sources run make web (it needs Node), then load "
    "this page again. A package that was installed with pip has them."
)


def is_page(path: str) -> bool:
    """Whether a page has this path."""
    return path in ("/", "/review", "/notes", "/status") or path.startswith(("/notes/", "/file/"))


def is_open(path: str) -> bool:
    """Whether a path is answered without a login: with how to sign in, or because it is public."""
    return is_page(path) or path.startswith((ASSETS, SIGN_IN))


def page_routes() -> list[BaseRoute]:
    """The shell under every path of a page, and the files of the bundle."""

    async def page(request: Request) -> Response:
        return shell() if ADMISSION in request.scope else sign_in_page()

    return [
        *(Route(path, page, methods=["GET"]) for path in PAGES),
        Route(ASSETS + "{name}", _asset, methods=["GET"]),
    ]


# ── documents ────────────────────────────────────────────────────────────────────────────────────


def shell() -> Response:
    """The document that every page begins with; the script in it makes the rest."""
    files = manifest()
    if not files:
        return document("flashgrep", _told(_NOT_BUILT), 503)
    body = (
        f'<div id="app"></div><noscript>{_told("This page needs JavaScript.")}</noscript>\n'
        f'<script type="module" src="{_link(files, "app.js")}"></script>'
    )
    return document("flashgrep", body)


def document(title: str, body: str, status: int = 200) -> HTMLResponse:
    """A page of ours with the headers that all have; `body` is HTML."""
    nonce = secrets.token_urlsafe(18)
    files = manifest()
    style = f'<link rel="stylesheet" href="{_link(files, "app.css")}">\n' if files else ""
    text = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f'<meta name="csp-nonce" content="{nonce}">\n'
        f"<title>{html.escape(title)}</title>\n"
        f'<link rel="icon" href="{_ICON}">\n{style}</head>\n<body>\n{body}\n</body>\n</html>\n'
    )
    return HTMLResponse(text, status, headers=_headers(nonce))


def sign_in_page(why: str = "", status: int = 200) -> Response:
    """How to sign in; `why` says what became of a link."""
    told = f"<p><strong>{html.escape(why)}</strong></p>" if why else ""
    body = (
        '<main class="sign-in"><h1>Sign in to flashgrep</h1>'
        f"{told}<p>Open the link that <code>flashgrep serve</code> printed when it was started: it "
        "is the line that begins with <code>Open:</code>. It works once.</p>"
        "<p>For a new link, run <code>flashgrep open</code> in the directory in which the server "
        "was started.</p><p>If somebody else runs it, ask them for a link of your own "
        "(<code>flashgrep kb token make NAME --link</code>).</p></main>"
    )
    return document("Sign in · flashgrep", body, status)


def failure_page(status: int, path: str) -> Response:
    """What a browser gets where there is no page, or no login."""
    if status == 401:
        return sign_in_page(status=status)
    shown = html.escape(path[: limits.QUOTED_CHARS])
    body = (
        f'<main class="sign-in"><h1>No such page</h1><p>There is no <code>{shown}</code> here.</p>'
        '<p><a href="/">Search</a> · <a href="/review">Review</a> · <a href="/notes">Notes</a> · '
        '<a href="/status">Status</a></p></main>'
    )
    return document("No such page · flashgrep", body, status)


def _told(text: str) -> str:
    return f"<main><h1>flashgrep</h1><p>{html.escape(text)}</p></main>"


def _link(files: Mapping[str, str], name: str) -> str:
    return html.escape(ASSETS + files[name])


def _headers(nonce: str) -> dict[str, str]:
    policy = {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": f"'self' 'nonce-{nonce}'",
        "connect-src": "'self'",
        "img-src": "'self' data:",
        "font-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'self'",
        "frame-ancestors": "'none'",
    }
    return {
        "cache-control": "no-store",
        "content-security-policy": "; ".join(f"{key} {value}" for key, value in policy.items()),
        **_EVERYWHERE,
    }


_EVERYWHERE: Final = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


# ── the bundle ───────────────────────────────────────────────────────────────────────────────────


def manifest() -> Mapping[str, str]:
    """The entry files by name; empty where the bundle was not built."""
    try:
        changed = (STATIC / "manifest.json").stat().st_mtime_ns
    except OSError:
        return {}
    return _manifest(changed)


@lru_cache(maxsize=1)
def _manifest(_: int) -> Mapping[str, str]:
    """As of a time of change: a build while the server runs is seen."""
    try:
        found = json.loads((STATIC / "manifest.json").read_bytes())
    except (OSError, ValueError):
        return {}
    names = {"app.js", "app.css"}
    sound = isinstance(found, dict) and all(_ASSET.fullmatch(str(found.get(n))) for n in names)
    return {name: found[name] for name in names} if sound else {}


async def _asset(request: Request) -> Response:
    name: str = request.path_params["name"]
    is_packed = "gzip" in request.headers.get("accept-encoding", "")
    try:
        data = await anyio.to_thread.run_sync(_bytes, name, is_packed)
    except OSError:
        return failed(404, "not_found", "there is no such asset; load the page again")
    kind = _TYPES.get(Path(name).suffix) or mimetypes.guess_type(name)[0] or _UNKNOWN
    headers = {"cache-control": _KEPT, "vary": "accept-encoding", **_EVERYWHERE}
    if is_packed:
        headers["content-encoding"] = "gzip"
    return Response(data, headers=headers, media_type=kind)


@lru_cache(maxsize=_HELD)
def _bytes(name: str, is_packed: bool) -> bytes:
    """A file of the bundle; its name says that it never changes. OSError where there is none."""
    if not _ASSET.fullmatch(name):
        raise FileNotFoundError(name)
    data = (STATIC / name).read_bytes()
    return gzip.compress(data, _EFFORT) if is_packed else data
