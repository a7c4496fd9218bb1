"""Who may do what: every role on every route, by header and by cookie, and through the tools."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import anyio
import pytest

from flashgrep.notes.access.roles import Role
from tests.transports.clients import join
from tests.web.served import TOKEN, Served, served

Note = Callable[..., str]
ROLES = [None, *Role]
"""None: a token for another folder."""


@pytest.fixture(scope="session")
def secrets(server: Served) -> dict[Role | None, str]:
    made: dict[Role | None, str] = {role: server.token(role.shown, role) for role in Role}
    return made | {None: server.token("elsewhere", Role.ADMIN, "Elsewhere")}


# The status of each route for: another folder, read, suggest, write, admin.
ROUTES = [
    ("GET", "/kb/notes/{note}", None, [403, 200, 200, 200, 200]),
    (
        "POST",
        "/kb/notes",
        {"path": "{folder}/New-{role}.md", "text": ""},
        [403, 403, 403, 201, 201],
    ),
    ("POST", "/kb/notes/move", {"from": "{note}", "to": "{note}"}, [403, 403, 403, 200, 200]),
    ("DELETE", "/kb/notes/{note}", None, [403, 403, 403, 200, 200]),
    ("GET", "/kb/suggestions", None, [200, 200, 200, 200, 200]),
    ("GET", "/kb/decisions", None, [200, 200, 200, 200, 200]),
    ("POST", "/kb/suggestions/undo", {"decision": 7}, [404, 404, 404, 404, 404]),
]


@pytest.mark.parametrize(("method", "path", "body", "statuses"), ROUTES)
def test_roles_on_routes(
    server: Served,
    note: Note,
    secrets: dict[Role | None, str],
    method: str,
    path: str,
    body: dict[str, object] | None,
    statuses: list[int],
) -> None:
    for role, status in zip(ROLES, statuses, strict=True):
        names = {"note": note("text", f"{role}.md"), "role": str(role)}
        names["folder"] = names["note"].split("/")[0]
        sent = body and {
            key: value.format(**names) if isinstance(value, str) else value
            for key, value in body.items()
        }
        answer = server.ask(method, path.format(**names), sent, secrets[role])
        assert answer.status_code == status, (role, answer.text)


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
@pytest.mark.parametrize("token", ["", "wrong", "fgkb_wrong"])
def test_without_a_valid_token_every_route_is_401(server: Served, method: str, token: str) -> None:
    for path in ("/kb/notes/N.md", "/kb/suggestions", "/kb/events", "/kb/decisions", "/mcp"):
        assert server.ask(method, path, None, token).status_code == 401


def test_a_cookie_reads_and_changes_only_from_our_own_page(server: Served, note: Note) -> None:
    path, cookie = note("text"), server.cookie()
    own = f"http://127.0.0.1:{server.server.http}"
    body = {"path": f"{path}2.md", "text": ""}
    assert server.get(f"/kb/notes/{path}", "", cookie=cookie).status_code == 200
    assert server.get("/mcp", "", cookie=cookie).status_code == 401
    carried = {"cookie": f"flashgrep_session={TOKEN}"}
    assert server.get(f"/kb/notes/{path}", "", **carried).status_code == 401
    assert server.post("/kb/notes", body, "", cookie=cookie).status_code == 401
    assert server.post("/kb/notes", body, "", cookie=cookie, origin=own).status_code == 201
    evil = server.post("/kb/notes", body, "", cookie=cookie, origin="http://evil.example")
    assert evil.status_code == 403
    assert server.get("/kb/suggestions", TOKEN, host="evil.example").status_code == 421


def test_a_token_of_the_notes_opens_the_tools_on_notes_and_no_files(
    server: Served, note: Note, secrets: dict[Role | None, str]
) -> None:
    path = f"kb://{note('alpha beta')}"

    async def called(role: Role | None, tool: str, **arguments: str) -> bool:
        server.server.token = secrets[role]
        async with join(server.server, "http", name="agent") as session:
            if tool == "edit":
                await session.call_tool("read", {"file_path": path})
            return not (await session.call_tool(tool, arguments)).is_error

    async def listed(role: Role | None) -> bool:
        server.server.token = TOKEN if role is None else secrets[role]
        async with join(server.server, "http") as session:
            tools = {tool.name for tool in (await session.list_tools()).tools}
            return "decide_suggestions" in tools

    edit = {"file_path": path, "old_string": "beta", "new_string": "gamma"}
    assert anyio.run(lambda: called(Role.READ, "read", file_path=path))
    assert not anyio.run(lambda: called(None, "read", file_path=path))
    assert not anyio.run(lambda: called(Role.READ, "edit", **edit))
    assert anyio.run(lambda: called(Role.SUGGEST, "edit", **edit))
    for tool, arguments in {
        "glob": {"pattern": "*"},
        "view": {"path": "."},
        "create_file": {"path": "x", "content": "x"},
    }.items():
        assert not anyio.run(partial(called, Role.ADMIN, tool, **arguments))
    assert [anyio.run(listed, role) for role in ROLES] == [
        False, False, False, True, True,
    ]  # fmt: skip
    (found,) = server.get(f"/kb/suggestions?note={path.removeprefix('kb://')}").json()[
        "suggestions"
    ]
    assert found["author"] == "suggest/agent"


@pytest.fixture(scope="module")
def open_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    place: Path = tmp_path_factory.mktemp("open")
    with served(place, {"N.md": "text"}, flags=["--no-auth"]) as running:
        yield running


def test_without_a_token_asked_for_everybody_is_an_admin_but_no_token_is_worth_more(
    open_server: Served,
) -> None:
    assert open_server.get("/kb/notes/N.md", "").status_code == 200
    assert open_server.post("/kb/notes", {"path": "M.md", "text": ""}, "").status_code == 201
    reader = open_server.token("reader", Role.READ)
    assert open_server.post("/kb/notes", {"path": "O.md", "text": ""}, reader).status_code == 403
    open_server.tokens.revoke("reader")
    assert open_server.get("/kb/notes/N.md", reader).status_code == 401
    with open_server.live("N.md", reader) as peer:
        assert peer.closed() == 4401
    with open_server.live("N.md", "") as peer:
        assert peer.sync().text == "text"
