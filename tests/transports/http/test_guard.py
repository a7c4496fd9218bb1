"""The guard's decisions, row by row, and in front of a real server."""

from __future__ import annotations

import pytest

from flashgrep.transports.http.guard import Names
from tests.transports.clients import Server

OURS = Names.of(
    ["127.0.0.1"],
    7778,
    allowed_hosts=["Search.example", "proxy.example:8443"],
    allowed_origins=["https://editor.example", "HTTP://Tool.example:3000/"],
)
WILDCARD = Names.of([], 7778)
LAN = Names.of(["192.168.1.5", "box"], 7778)

HOSTS: list[tuple[Names, list[str], bool]] = [
    # loopback names, any port
    (OURS, ["127.0.0.1"], True),
    (OURS, ["127.0.0.1:7778"], True),
    (OURS, ["127.0.0.1:1"], True),
    (OURS, ["localhost"], True),
    (OURS, ["LocalHost:7778"], True),
    (OURS, ["[::1]"], True),
    (OURS, ["[::1]:7778"], True),
    # allowed by name, or by name and port
    (OURS, ["search.example"], True),
    (OURS, ["SEARCH.example:99"], True),
    (OURS, ["proxy.example:8443"], True),
    (OURS, ["proxy.example"], False),
    (OURS, ["proxy.example:80"], False),
    # strangers, and names that only look like ours
    (OURS, ["evil.example"], False),
    (OURS, ["evil.example:7778"], False),
    (OURS, ["localhost.evil.example"], False),
    (OURS, ["127.0.0.1.evil.example"], False),
    (OURS, ["evil.example#localhost"], False),
    (OURS, ["localhost@evil.example"], False),
    (OURS, ["evil.example:80@localhost"], False),
    (OURS, ["localhost."], False),
    (OURS, ["127.0.0.2"], False),
    (OURS, ["127.1"], False),
    (OURS, ["0.0.0.0"], False),  # noqa: S104
    (OURS, ["2130706433"], False),
    (OURS, ["::1"], False),
    (OURS, ["[::ffff:127.0.0.1]"], False),
    (OURS, ["[::]"], False),
    (OURS, ["localhost:port"], False),
    (OURS, ["localhost:"], False),
    (OURS, ["localhost:123456"], False),
    (OURS, ["localhost "], False),
    (OURS, ["localhost\t"], False),
    (OURS, ["localhost,evil.example"], False),
    (OURS, [""], False),
    # none, or more than one
    (OURS, [], False),
    (OURS, ["localhost", "localhost"], False),
    (OURS, ["localhost", "evil.example"], False),
    # a wildcard address is no name: only loopback remains
    (WILDCARD, ["localhost:7778"], True),
    (WILDCARD, ["0.0.0.0:7778"], False),
    (WILDCARD, ["192.168.1.5:7778"], False),
    # a bound host is ours, and loopback still is
    (LAN, ["192.168.1.5:7778"], True),
    (LAN, ["box"], True),
    (LAN, ["192.168.1.6"], False),
    (LAN, ["localhost"], True),
]

ORIGINS: list[tuple[Names, list[str], bool]] = [
    # no browser
    (OURS, [], True),
    # our own pages: our names under our port
    (OURS, ["http://127.0.0.1:7778"], True),
    (OURS, ["http://localhost:7778"], True),
    (OURS, ["HTTP://LOCALHOST:7778"], True),
    (OURS, ["http://[::1]:7778"], True),
    (OURS, ["http://search.example:7778"], True),
    (OURS, ["http://proxy.example:8443"], True),
    # allowed by name
    (OURS, ["https://editor.example"], True),
    (OURS, ["http://tool.example:3000"], True),
    # other programs of this machine are strangers too
    (OURS, ["http://localhost"], False),
    (OURS, ["http://localhost:3000"], False),
    (OURS, ["http://127.0.0.1:80"], False),
    (OURS, ["https://localhost:7778"], False),
    # strangers
    (OURS, ["http://evil.example"], False),
    (OURS, ["http://evil.example:7778"], False),
    (OURS, ["http://localhost.evil.example:7778"], False),
    (OURS, ["http://localhost:7778.evil.example"], False),
    (OURS, ["http://localhost:7778/"], False),
    (OURS, ["https://editor.example.evil.example"], False),
    (OURS, ["http://editor.example"], False),
    (OURS, ["file://"], False),
    (OURS, ["null"], False),
    (OURS, [""], False),
    (OURS, ["http://localhost:7778", "http://localhost:7778"], False),
    (OURS, ["http://localhost:7778, http://evil.example"], False),
    (WILDCARD, ["http://0.0.0.0:7778"], False),
    (LAN, ["http://192.168.1.5:7778"], True),
    (LAN, ["http://192.168.1.5"], False),
]


@pytest.mark.parametrize(("names", "values", "allowed"), HOSTS, ids=[str(r[1]) for r in HOSTS])
def test_host(names: Names, values: list[str], allowed: bool) -> None:
    assert names.allows_host(values) is allowed


@pytest.mark.parametrize(("names", "values", "allowed"), ORIGINS, ids=[str(r[1]) for r in ORIGINS])
def test_origin(names: Names, values: list[str], allowed: bool) -> None:
    assert names.allows_origin(values) is allowed


def exchange(server: Server, method: str, path: str, *headers: str, body: bytes = b"") -> int:
    """The status of one request; headers are given whole, so that they may be wrong."""
    lines = [f"{method} {path} HTTP/1.1", *headers, f"Content-Length: {len(body)}", "", ""]
    with server.open_http() as connection:
        connection.sendall("\r\n".join(lines).encode("latin-1") + body)
        with connection.makefile("rb") as file:
            return int(file.readline().split()[1])


HERE, EVIL = "Host: localhost", "Host: evil.example"
RIGHT, WRONG = "Authorization: Bearer {token}", "Authorization: Bearer x"
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
BAD_ORIGIN, OWN_ORIGIN = "Origin: http://evil.example", "Origin: http://localhost:{port}"

# method, path, headers → status, in the order the guard decides
ROUTES: list[tuple[str, str, list[str], int]] = [
    ("GET", "/health", [HERE], 200),
    ("GET", "/health", [HERE, OWN_ORIGIN], 200),
    ("GET", "/health", [EVIL], 421),
    ("GET", "/health", [HERE, BAD_ORIGIN], 403),
    ("GET", "/health", [HERE, WRONG], 200),
    ("POST", "/health", [HERE], 405),
    ("GET", "/health/x", [HERE], 401),
    ("GET", "/", [HERE], 401),
    ("GET", "/", [HERE, RIGHT], 404),
    ("GET", "/", [EVIL, RIGHT], 421),
    ("POST", "/mcp", [HERE], 401),
    ("POST", "/mcp", [HERE, WRONG], 401),
    ("POST", "/mcp", [HERE, "Authorization: {token}"], 401),
    ("POST", "/mcp", [HERE, "Authorization: Basic {token}"], 401),
    ("POST", "/mcp", [HERE, "Authorization: Bearer"], 401),
    ("POST", "/mcp", [HERE, "Authorization: Bearer é"], 401),
    ("POST", "/mcp", [HERE, RIGHT, RIGHT], 401),
    ("POST", "/mcp", [EVIL, RIGHT], 421),
    ("POST", "/mcp", [HERE, BAD_ORIGIN, RIGHT], 403),
    ("POST", "/mcp", [HERE, "Origin: null", RIGHT], 403),
    # past the guard: the protocol asks for an Accept header
    ("POST", "/mcp", [HERE, RIGHT], 406),
    ("POST", "/mcp", [HERE, OWN_ORIGIN, RIGHT], 406),
    ("POST", "/mcp", [HERE, "Authorization: bearer  {token}"], 406),
    ("GET", "/mcp?token={token}", [HERE], 401),
]


@pytest.mark.parametrize(("method", "path", "headers", "status"), ROUTES, ids=range(len(ROUTES)))
def test_routes(server: Server, method: str, path: str, headers: list[str], status: int) -> None:
    known = {"token": server.token, "port": server.http}
    filled = [header.format(**known) for header in (path, *headers)]
    body = PING if method == "POST" else b""
    filled.append("Content-Type: application/json")
    assert exchange(server, method, filled[0], *filled[1:], body=body) == status


UNKNOWN = [
    (EVIL, "unknown Host 'evil.example'; to accept it, start flashgrep serve with --allowed-host"),
    (f"{HERE}\r\n{BAD_ORIGIN}", "unknown Origin 'http://evil.example'; to accept it"),
    (f"{HERE}\r\n{BAD_ORIGIN}\r\n{BAD_ORIGIN}", "send one Origin header, not 2"),
]


@pytest.mark.parametrize(("headers", "reason"), UNKNOWN)
def test_a_refused_host_or_origin_is_named_with_the_flag_that_accepts_it(
    open_server: Server, headers: str, reason: str
) -> None:
    with open_server.open_http() as connection:
        connection.sendall(f"GET /health HTTP/1.1\r\n{headers}\r\n\r\n".encode("latin-1"))
        with connection.makefile("rb") as file:
            assert reason.encode() in file.read()


def test_without_auth_the_other_checks_stay(open_server: Server) -> None:
    json_body = "Content-Type: application/json"
    assert exchange(open_server, "POST", "/mcp", HERE, json_body, body=PING) == 406
    assert exchange(open_server, "POST", "/mcp", EVIL, body=PING) == 421
    assert exchange(open_server, "POST", "/mcp", HERE, BAD_ORIGIN, body=PING) == 403
