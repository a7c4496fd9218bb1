"""What the status page shows, and to whom: figures, clients, calls, tokens and their last use."""

from __future__ import annotations

import json
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from flashgrep import limits
from flashgrep.notes.access import token_uses
from flashgrep.notes.access.roles import Role
from flashgrep.notes.access.tokens import Tokens
from flashgrep.notes.home import Home
from flashgrep.system.clock import milliseconds
from flashgrep.system.login import login_name
from flashgrep.tools.dispatch.activity import Activity
from flashgrep.tools.dispatch.caller import Caller
from flashgrep.web.status import memory
from tests.tools.workshop import workshop
from tests.transports.clients import PATIENCE_SECONDS, RawLines, join, serving, tool_call
from tests.web.served import TOKEN, Served, served


@pytest.fixture
def open_server(tmp_path: Path) -> Iterator[Served]:
    flags = ("--token", TOKEN, "--tcp-port", "auto", "--socket", str(tmp_path / "s.sock"))
    notes = {"One.md": "old text\n", "Team/Two.md": "two\n"}
    edits = [("One.md", "old", "new", "agent/x")]
    with served(tmp_path, notes, edits, flags=flags) as running:
        (tmp_path / "workspace" / "a.txt").write_text("needle\n")
        running.server.token = TOKEN
        yield running


def status_of(server: Served, token: str = TOKEN) -> Any:
    answer = server.get("/api/status", token)
    assert answer.status_code == 200, answer.text
    return answer.json()


# ── status ──────────────────────────────────────────────────────────────────────────────────────


def test_an_admin_sees_the_state_of_everything(open_server: Served) -> None:
    server, before = open_server, milliseconds()
    two = server.ask("DELETE", "/kb/notes/Team/Two.md", None)
    assert two.status_code == 200
    now = status_of(server)
    assert now["name"] == login_name()
    assert now["index"]["state"] == "off"
    assert now["memory"]["resident_bytes"] >= now["memory"]["private_bytes"] > 1_000_000
    assert now["uptime_seconds"] >= 0
    notes = now["notes"]
    assert (notes["notes"], notes["pending"], notes["trash"]) == (1, 1, 1)
    assert (notes["path"], notes["quarantined"]) == (str(server.home), [])
    assert notes["size_bytes"] > 4_096
    assert now["workspace"] == {"path": str(server.home.parent / "workspace")}
    page = next(one for one in now["clients"] if one["transport"] == "page")
    assert (page["name"], page["client"]) == (login_name(), None)
    assert before - 60_000 < page["since"] <= milliseconds()


def test_the_servers_token_and_its_link_have_one_name(open_server: Served) -> None:
    server = open_server.server

    async def main() -> None:
        with anyio.fail_after(PATIENCE_SECONDS):
            async with join(server, "http", name="client") as session:
                await session.list_tools()
                await session.call_tool("grep", {"pattern": "x"})
                now = await anyio.to_thread.run_sync(status_of, open_server)
                names = {one["name"] for one in now["clients"] if one["transport"] != "unix"}
                assert names == {login_name()}

    anyio.run(main)


def test_others_see_the_index_and_their_name(open_server: Served) -> None:
    server = open_server
    for role, folder in ((Role.READ, ""), (Role.WRITE, ""), (Role.ADMIN, "Team")):
        token = server.token(f"{role.shown}-{folder}", role, folder)
        assert status_of(server, token) == {"name": f"{role.shown}-{folder}", "index": None}
        for method, path in (("GET", "/api/tokens"), ("DELETE", "/api/tokens/x")):
            assert server.ask(method, path, None, token).status_code == 403
        refused = server.post("/api/tokens", {"name": "x", "role": "admin"}, token)
        assert refused.json()["error"]["code"] == "access_denied"
    assert "x" not in [one.name for one in server.tokens.listed()]
    assert server.get("/api/status", "wrong").status_code == 401


def test_calls_of_every_transport_are_listed_without_what_they_asked(open_server: Served) -> None:
    server = open_server.server
    secret = "SECRET_PATTERN"

    async def main() -> None:
        with anyio.fail_after(PATIENCE_SECONDS):
            for kind in ("http", "tcp", "unix"):
                async with join(server, kind, name=f"client-{kind}") as session:
                    await session.call_tool("grep", {"pattern": secret})
                    failed = await session.call_tool("view", {"path": f"no/{secret}"})
                    assert failed.is_error
                    await session.call_tool(f"{secret}", {})

    anyio.run(main)
    with RawLines(server.open_unix()) as direct:
        direct.ask("stats")
        now = status_of(open_server)
        connected = [one for one in now["clients"] if one["transport"] == "unix"]
        assert [one["calls"] for one in connected] == [1]
    assert secret not in json.dumps(now)
    assert now["calls"][0]["tool"] == "stats"
    for kind in ("http", "tcp", "unix"):
        calls = [one for one in now["calls"] if one["client"].endswith(f"client-{kind}")]
        assert [(one["tool"], one["ok"]) for one in calls] == [
            ("(unknown)", False),
            ("view", False),
            ("grep", True),
        ]
        assert {one["transport"] for one in calls} == {kind}
        assert all(one["milliseconds"] > 0 for one in calls)
        times = [one["time"] for one in calls]
        assert times == sorted(times, reverse=True)


def test_a_connection_is_listed_while_it_is_open(open_server: Served) -> None:
    def listed(kind: str) -> list[tuple[str | None, str | None, int]]:
        found = status_of(open_server)["clients"]
        rows = (one for one in found if one["transport"] == kind)
        return [(one["name"], one["client"], one["calls"]) for one in rows]

    server = open_server.server
    with RawLines(server.open_tcp()) as client:
        client.ask("auth", token=open_server.token("anna", Role.SUGGEST))
        client.start()
        client.send(tool_call("grep", 1, pattern="x", path="kb://"))
        assert not client.receive()["result"]["isError"]
        assert listed("tcp") == [("anna", "tests", 1)]
    deadline = time.monotonic() + PATIENCE_SECONDS
    while listed("tcp"):
        assert time.monotonic() < deadline, "the connection is listed after its end"
    with open_server.live("One.md", open_server.token("ben", Role.WRITE)):
        while listed("live") != [("ben", None, 0)]:
            assert time.monotonic() < deadline, listed("live")


def test_only_the_newest_calls_are_kept() -> None:
    activity, caller = Activity(), Caller("tcp:1")
    for number in range(limits.RECENT_CALLS + 50):
        activity.record(f"tool{number}", caller, time.perf_counter(), is_ok=True)
    kept = activity.newest()
    assert [len(kept), kept[0].tool, caller.calls] == [200, "tool249", 250]
    assert kept[-1].tool == "tool50"


def test_calls_of_the_pages_are_not_among_the_recent_ones(tmp_path: Path) -> None:
    with workshop(tmp_path) as shop:
        toolbox = shop.application.toolbox
        anyio.run(toolbox.page, "stats", {}, shop.caller)
        assert (toolbox.activity.newest(), shop.caller.calls) == ([], 1)


def test_memory_where_the_kernel_says_less(tmp_path: Path) -> None:
    whole = memory()
    assert whole["private_bytes"]
    assert whole["resident_bytes"]
    part = memory(rollup=tmp_path / "none")
    assert part["private_bytes"] == part["resident_bytes"]
    none = memory(tmp_path / "none", tmp_path / "none")
    assert none == {"private_bytes": None, "resident_bytes": None}


def test_without_notes_there_are_no_tokens_and_it_says_so(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    with serving(work, ("--token", TOKEN, "--no-index", "--socket", "none")) as server:
        base = f"http://127.0.0.1:{server.http}"
        headers = {"authorization": f"Bearer {TOKEN}"}
        with httpx2.Client(base_url=base, headers=headers, trust_env=False) as client:
            assert client.get("/api/status").json()["notes"] is None
            refused = client.get("/api/tokens")
            assert (refused.status_code, refused.json()["error"]["code"]) == (503, "unavailable")
            assert (
                "flashgrep kb init --kb ~/notes, then start" in refused.json()["error"]["message"]
            )


# ── tokens ──────────────────────────────────────────────────────────────────────────────────────


def tokens_of(server: Served) -> dict[str, Any]:
    answer = server.get("/api/tokens")
    assert answer.status_code == 200, answer.text
    return {one["name"]: one for one in answer.json()["tokens"]}


def test_an_admin_makes_lists_and_revokes_tokens(open_server: Served) -> None:
    server = open_server
    later = milliseconds() + 3_600_000
    made = server.post(
        "/api/tokens",
        {"name": "carla", "role": "write", "folder": "Team", "expires": later, "link": False},
    )
    assert made.status_code == 201, made.text
    secret = made.json()["token"]
    assert made.json() == {"name": "carla", "token": secret, "link": None}
    row = tokens_of(server)["carla"]
    assert (row["role"], row["folders"], row["expires"]) == ("write", ["Team"], later)
    assert row["last_used"] is None
    assert secret not in json.dumps(tokens_of(server))
    assert server.get("/kb/notes/Team/Two.md", secret).status_code == 200
    assert milliseconds() - 60_000 < tokens_of(server)["carla"]["last_used"] <= milliseconds()
    assert server.ask("DELETE", "/api/tokens/carla", None).json() == {}
    assert "carla" not in tokens_of(server)
    assert server.get("/kb/notes/Team/Two.md", secret).status_code == 401
    assert server.ask("DELETE", "/api/tokens/carla", None).status_code == 404


def test_a_link_signs_a_person_in_with_the_role_of_their_token(open_server: Served) -> None:
    server = open_server
    made = server.post("/api/tokens", {"name": "fritz", "role": "write", "link": True})
    assert made.status_code == 201, made.text
    assert made.json()["token"] is None
    again = server.post("/api/tokens", {"name": "fritz", "link": True}).json()
    assert again["link"] != made.json()["link"]
    for link in (made.json()["link"], again["link"]):
        with httpx2.Client(timeout=PATIENCE_SECONDS, trust_env=False) as browser:
            assert browser.get(link).status_code == 303
            assert browser.get(link).status_code == 303  # signed in: on to the page
            base = link.partition("/sign-in/")[0]
            session = browser.get(f"{base}/api/session").json()
            assert (session["name"], session["role"]) == ("fritz", "write")
    assert tokens_of(server)["fritz"]["last_used"] is not None
    calls = [one for one in status_of(server)["clients"] if one["name"] == "fritz"]
    assert calls == []  # who only signs in has asked for nothing


BAD: list[tuple[Any, int]] = [
    ({"name": "x"}, 400),
    ({"role": "read"}, 400),
    ({"name": "", "role": "read"}, 400),
    ({"name": "a/b", "role": "read"}, 400),
    ({"name": "x" * 65, "role": "read"}, 400),
    ({"name": "x", "role": "owner"}, 400),
    ({"name": "x", "role": "read", "folder": "../up"}, 400),
    ({"name": "x", "role": "read", "folder": ""}, 400),
    ({"name": "x", "role": "read", "folder": "//"}, 400),
    ({"name": "x", "role": "read", "expires": 1}, 400),
    ({"name": "x", "role": "read", "expires": "30d"}, 400),
    ({"name": "x", "role": "read", "secret": "mine"}, 400),
    ({"name": "nobody", "link": True}, 404),
    ({"name": "taken", "role": "read"}, 409),
]


@pytest.mark.parametrize(("body", "status"), BAD)
def test_a_token_that_cannot_be_is_refused(server: Served, body: Any, status: int) -> None:
    if body.get("name") == "taken":
        server.token("taken", Role.READ)
    answer = server.post("/api/tokens", body)
    assert answer.status_code == status, answer.text
    assert answer.json()["error"]["message"]
    assert "x" not in tokens_of(server)


# ── last use ────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def home(tmp_path: Path) -> Path:
    Home.create(tmp_path / "kb")
    return tmp_path / "kb"


def test_uses_are_on_disk_when_the_server_ends(open_server: Served) -> None:
    server = open_server
    agent = server.token("dora", Role.SUGGEST)
    with RawLines(server.server.open_tcp()) as client:
        client.ask("auth", token=agent)
    server.token("eva", Role.READ)
    server.server.stop()
    used = Tokens(server.home).last_uses()
    assert used["eva"] is None
    assert milliseconds() - 300_000 < (used["dora"] or 0) <= milliseconds()
    file = server.home / token_uses.FILE
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert agent not in file.read_text()


def test_uses_are_written_once_in_a_while(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_uses, "WRITE_SECONDS", 0.01)
    tokens = Tokens(home)
    tokens.make("a", Role.READ)
    for _ in range(2):  # the second time, after it was written
        (home / token_uses.FILE).unlink(missing_ok=True)
        tokens.uses.note("a")
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (home / token_uses.FILE).exists():
            assert time.monotonic() < deadline, "nothing is written"
            time.sleep(0.01)
        assert Tokens(home).last_uses()["a"] is not None


def test_a_token_of_the_same_name_was_not_used_before_it_was_made(home: Path) -> None:
    tokens = Tokens(home)
    tokens.make("a", Role.READ)
    tokens.uses.note("a")
    tokens.uses.close()
    tokens.revoke("a")
    later = Tokens(home, now=lambda: milliseconds() + 10_000)
    later.make("a", Role.READ)
    assert later.last_uses() == {"a": None}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 1, "used": 7}', '{"format": 9}'])
def test_a_damaged_file_of_uses_keeps_nobody_out(home: Path, text: str) -> None:
    (home / token_uses.FILE).write_text(text)
    tokens = Tokens(home)
    secret = tokens.make("a", Role.READ)
    assert tokens.principal(secret) is not None
    assert tokens.last_uses() == {"a": None}
    tokens.uses.note("a")
    tokens.uses.close()
    assert Tokens(home).last_uses()["a"] is not None


def test_uses_that_cannot_be_written_stop_nothing(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tokens = Tokens(home)
    tokens.make("a", Role.READ)
    (home / token_uses.FILE).mkdir()
    tokens.uses.note("a")
    tokens.uses.close()
    assert "is not kept" in caplog.text
    assert tokens.last_uses()["a"] is not None
