"""What pages of other sites can have a browser send, row by row: Origin and Sec-Fetch-Site."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from flashgrep.system.login import login_name
from tests.transports.clients import FLASHGREP
from tests.web.live import Live
from tests.web.served import TOKEN, Served, served

EDITOR = "http://editor.example"
OWN, ALLOWED, EVIL = "own", EDITOR, "http://evil.example"
PASSES, NOBODY, REFUSED = 404, 401, 403
"""What the route says to those who come through: there is no such decision."""

# credential, Sec-Fetch-Site, Origin → status of a request that would change something
ROWS: list[tuple[str, str, str, int]] = [
    # the cookie of a person: our own page, and nothing that only looks like it
    ("cookie", "same-origin", OWN, PASSES),
    ("cookie", "none", OWN, PASSES),
    ("cookie", "", OWN, PASSES),
    ("cookie", "same-site", OWN, REFUSED),
    ("cookie", "cross-site", OWN, REFUSED),
    ("cookie", "", "", NOBODY),
    ("cookie", "same-origin", "", NOBODY),
    ("cookie", "same-site", "", REFUSED),
    ("cookie", "cross-site", "", REFUSED),
    ("cookie", "", EVIL, REFUSED),
    ("cookie", "cross-site", EVIL, REFUSED),
    ("cookie", "cross-site", "null", REFUSED),
    ("cookie", "cross-site", ALLOWED, REFUSED),
    ("cookie", "", ALLOWED, NOBODY),
    # a token: programs send neither header, pages that were allowed both
    ("token", "", "", PASSES),
    ("token", "same-origin", OWN, PASSES),
    ("token", "cross-site", "", PASSES),
    ("token", "cross-site", ALLOWED, PASSES),
    ("token", "cross-site", EVIL, REFUSED),
    # a token beside a cookie is no exemption
    ("both", "", "", PASSES),
    ("both", "same-origin", OWN, PASSES),
    ("both", "same-site", OWN, REFUSED),
    ("both", "cross-site", ALLOWED, REFUSED),
    ("both", "cross-site", EVIL, REFUSED),
]
# the same without any credential, where none is asked for
OPEN_ROWS: list[tuple[str, str, int]] = [
    ("", "", PASSES),
    ("same-origin", OWN, PASSES),
    ("cross-site", "", REFUSED),
    ("same-site", OWN, REFUSED),
    ("cross-site", EVIL, REFUSED),
    ("cross-site", "null", REFUSED),
    ("cross-site", ALLOWED, PASSES),
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    flags = ("--token", TOKEN, "--allowed-origin", EDITOR)
    with served(tmp_path_factory.mktemp("sites"), {"N.md": "text"}, flags=flags) as running:
        yield running


@pytest.fixture(scope="module")
def open_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    flags = ("--no-auth", "--allowed-origin", EDITOR)
    with served(tmp_path_factory.mktemp("open"), {"N.md": "text"}, flags=flags) as running:
        yield running


def headers_of(server: Served, fetch_site: str, origin: str) -> dict[str, str]:
    found = {"sec-fetch-site": fetch_site} if fetch_site else {}
    if origin:
        found["origin"] = server.address if origin == OWN else origin
    return found


@pytest.mark.parametrize(("shown", "fetch_site", "origin", "status"), ROWS)
def test_a_change_comes_from_our_own_page_or_with_a_token(
    site: Served, shown: str, fetch_site: str, origin: str, status: int
) -> None:
    headers = headers_of(site, fetch_site, origin)
    if shown != "token":
        headers["cookie"] = site.cookie()
    token = "" if shown == "cookie" else TOKEN
    answer = site.post("/kb/suggestions/undo", {"decision": 0}, token, **headers)
    assert answer.status_code == status, answer.text


@pytest.mark.parametrize(("fetch_site", "origin", "status"), OPEN_ROWS)
def test_where_nobody_has_to_sign_in_other_sites_change_nothing_either(
    open_site: Served, fetch_site: str, origin: str, status: int
) -> None:
    headers = headers_of(open_site, fetch_site, origin)
    answer = open_site.post("/kb/suggestions/undo", {"decision": 0}, "", **headers)
    assert answer.status_code == status, answer.text


# Sec-Fetch-Site, Sec-Fetch-Mode → whether the cookie counts for what is only read
READ_ROWS: list[tuple[str, str, bool]] = [
    ("", "", True),
    ("same-origin", "cors", True),
    ("none", "navigate", True),
    ("cross-site", "navigate", True),
    ("same-site", "navigate", True),
    ("cross-site", "no-cors", False),
    ("same-site", "no-cors", False),
]


@pytest.mark.parametrize(("fetch_site", "mode", "counts"), READ_ROWS)
def test_a_cookie_reads_for_our_pages_and_for_links_that_a_person_follows(
    site: Served, fetch_site: str, mode: str, counts: bool
) -> None:
    headers = {"sec-fetch-mode": mode} if mode else {}
    headers |= headers_of(site, fetch_site, "")
    answer = site.get("/api/session", "", cookie=site.cookie(), **headers)
    assert answer.status_code == (200 if counts else 401)
    if counts:
        assert answer.json()["name"] == login_name()


SOCKET_ROWS: list[tuple[str, str, int]] = [
    ("same-origin", OWN, 0),
    ("", OWN, 0),
    ("", "", 4401),
    ("", EDITOR, 4401),
    ("", EVIL, 4403),
    ("cross-site", OWN, 4403),
]


@pytest.mark.parametrize(("fetch_site", "origin", "code"), SOCKET_ROWS)
def test_a_socket_with_a_cookie_comes_from_our_own_page(
    site: Served, fetch_site: str, origin: str, code: int
) -> None:
    headers = {"cookie": site.cookie(), **headers_of(site, fetch_site, origin)}
    with Live.opened(site.url("N.md"), headers) as peer:
        if code:
            assert peer.closed() == code
        else:
            assert peer.sync().text == "text"


ROUTES = [
    *(("GET", path) for path in ("/", "/review", "/notes", "/notes/N.md", "/file/a", "/status")),
    *(("GET", path) for path in ("/assets/app-ABCD1234.js", "/sign-in/x", "/api/session")),
    *(("POST", path) for path in ("/api/session/end", "/api/search", "/api/files", "/kb/notes")),
    *(("GET", path) for path in ("/kb/tree", "/kb/events", "/kb/suggestions", "/api/file?path=a")),
]
HOSTS = [
    *("evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "[::ffff:127.0.0.1]"),
    *("0.0.0.0", "127.1", "2130706433", "localhost.", "localhost:x", "127.0.0.2", ""),  # noqa: S104
]
ORIGINS = [
    *("null", "http://evil.example", "http://localhost", "http://localhost:1", "file://"),
    *("https://localhost.evil.example", "http://127.0.0.1.evil.example"),
]


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_every_route_asks_for_our_host_and_origin(site: Served, method: str, path: str) -> None:
    for host in HOSTS:
        assert site.ask(method, path, {}, TOKEN, host=host).status_code in (421, 400), host
    for origin in ORIGINS:
        assert site.ask(method, path, {}, TOKEN, origin=origin).status_code == 403, origin


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])  # noqa: S104
def test_the_guard_stands_whatever_address_is_bound(tmp_path: Path, host: str) -> None:
    flags = ("--token", TOKEN, "--host", host, "--allow-dir", str(tmp_path))
    with served(tmp_path, {}, flags=flags, tools=FLASHGREP) as server:
        name = "[::1]" if ":" in host else "127.0.0.1"
        address = f"http://{name}:{server.server.http}"
        for path in ("/", "/api/session", "/sign-in/x"):
            ask = server.client.get
            assert ask(address + path, headers={"host": "evil.example"}).status_code == 421
            assert ask(address + path, headers={"host": host}).status_code in (421, 400)
            assert ask(address + path, headers={"origin": "http://evil"}).status_code == 403
