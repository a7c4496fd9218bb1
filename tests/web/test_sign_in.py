"""Signing in by a link that works once, and how sessions end; real servers over real sockets."""

from __future__ import annotations

import json
import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from flashgrep import limits
from flashgrep.notes.access.roles import Role
from flashgrep.system.login import login_name
from flashgrep.web.sign_in_links import SignInLinks
from tests.transports.clients import PATIENCE_SECONDS, serving, with_limits
from tests.web.live import Live
from tests.web.served import TOKEN, Served, served

ME = login_name()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of its own: what it prints, logs and keeps is looked at."""
    flags = ("--token", TOKEN, "--log-level", "debug")
    with served(tmp_path_factory.mktemp("sign-in"), {"N.md": "text"}, flags=flags) as running:
        yield running


def enter(server: Served, link: str, **headers: str) -> httpx2.Response:
    try:
        return server.get(link.removeprefix(server.address), "", **headers)
    finally:
        server.client.cookies.clear()


def whose(server: Served, cookie: str) -> str:
    answer = server.get("/api/session", "", cookie=cookie)
    return str(answer.json()["name"]) if answer.status_code == 200 else ""


# ── links ───────────────────────────────────────────────────────────────────────────────────────


def test_the_link_that_serve_prints_signs_its_user_in_once(tmp_path: Path) -> None:
    with served(tmp_path, {"N.md": "text"}) as server:
        (line,) = [line for line in server.server.told if line.startswith("Open:")]
        link = line.removeprefix("Open: ")
        assert link.startswith(f"{server.address}/sign-in/")
        answer = enter(server, link + "?to=/review")
        assert (answer.status_code, answer.headers["location"]) == (303, "/review")
        name, _, rest = answer.headers["set-cookie"].partition("=")
        assert name == f"flashgrep_session_{server.server.http}"
        flags = {part.strip().lower() for part in rest.split(";")[1:]}
        assert flags == {"httponly", "path=/", "samesite=lax", f"max-age={limits.SESSION_SECONDS}"}
        assert whose(server, answer.headers["set-cookie"].partition(";")[0]) == ME
        again = enter(server, link)
        assert again.status_code == 403
        assert "used before" in again.text
        assert "set-cookie" not in again.headers


def test_what_a_page_is_told_of_who_signed_in(site: Served) -> None:
    told = site.get("/api/session", "", cookie=site.cookie()).json()
    expires = told.pop("expires")
    assert told.pop("version")
    assert told == {
        "name": ME,
        "role": "admin",
        "folders": [""],
        "grants": [{"role": "admin", "folder": ""}],
        "workspace": True,
        "serves_files": True,
        "notes": True,
        "read_only": False,
        "csrf": None,
    }
    assert 0 < expires - 1_000 * (limits.SESSION_SECONDS - 600) < 10**13
    assert site.get("/api/session", TOKEN).json()["name"] == login_name()
    refused = site.get("/api/session", "")
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "access_denied")


def test_a_link_for_a_token_of_the_notes_signs_in_as_its_person(site: Served) -> None:
    site.tokens.make("Ann", Role.WRITE, ["Team", "Plans"])
    cookie = site.cookie("Ann")
    told = site.get("/api/session", "", cookie=cookie).json()
    assert [told[key] for key in ("name", "role", "folders", "workspace", "notes")] == [
        *("Ann", "write", ["Plans", "Team"]),
        *(False, True),
    ]
    assert told["grants"] == [{"role": "write", "folder": one} for one in ("Team", "Plans")]
    own = {"cookie": cookie, "origin": site.address}
    assert site.post("/kb/notes", {"path": "Team/A.md", "text": ""}, "", **own).status_code == 201
    assert site.post("/kb/notes", {"path": "Else.md", "text": ""}, "", **own).status_code == 403
    assert site.get("/kb/notes/N.md", "", cookie=cookie).status_code == 403


WRONG = ["x", "%00", "..%2f..%2ftoken", "é", "a" * 5_000, "sign-in", "%F0%9F%98%80"]


@pytest.mark.parametrize("code", WRONG, ids=range(len(WRONG)))
def test_a_wrong_code_is_the_sign_in_page(site: Served, code: str) -> None:
    answer = site.get(f"/sign-in/{code}", "")
    assert answer.status_code in (403, 404, 401)
    assert "set-cookie" not in answer.headers


def test_an_expired_link_signs_nobody_in(site: Served) -> None:
    code = SignInLinks(site.state).make(-1)
    answer = site.get(f"/sign-in/{code}", "")
    assert (answer.status_code, "has expired" in answer.text) == (403, True)


def test_a_link_among_the_notes_is_never_the_servers_own(site: Served) -> None:
    code = SignInLinks(site.home).make(3_600)
    assert site.get(f"/sign-in/{code}", "").status_code == 403
    site.tokens.make("Dan", Role.READ)
    key = next(one.hash for one in site.tokens.listed() if one.name == "Dan")
    code = SignInLinks(site.state, of_notes=True).make(3_600, key)
    assert site.get(f"/sign-in/{code}", "").status_code == 403


def test_of_many_that_use_a_link_at_once_one_comes_in(site: Served) -> None:
    link, found, together = site.link(), [], threading.Barrier(8)

    def use() -> None:
        with httpx2.Client(timeout=PATIENCE_SECONDS, trust_env=False) as client:
            together.wait()
            found.append(client.get(link).status_code)

    threads = [threading.Thread(target=use) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(found) == [303] + [403] * 7


def test_behind_tls_the_cookie_is_for_tls_only(site: Served) -> None:
    answer = enter(site, site.link(), x_forwarded_proto="https")
    assert "; Secure" in answer.headers["set-cookie"]


def test_what_only_looks_at_a_link_does_not_use_it_up(site: Served) -> None:
    link = site.link().removeprefix(site.address)
    assert site.ask("HEAD", link, None, "").status_code == 200
    assert site.get(link, "", sec_purpose="prefetch;prerender").status_code == 200
    assert enter(site, link).status_code == 303


def test_a_used_link_leads_on_in_a_browser_that_is_signed_in(site: Served) -> None:
    link, cookie = site.link(), site.cookie()
    enter(site, link)
    assert enter(site, link, cookie=cookie).status_code == 303
    assert whose(site, cookie) == ME


TARGETS = {
    "/review": "/review",
    "/notes/A%20b.md?line=3": "/notes/A%20b.md?line=3",
    "//evil.example": "/",
    "/\\evil.example": "/",
    "https://evil.example": "/",
    "/file/../\\evil": "/",
    "/kb/notes/N.md": "/",
    "/review\r\nset-cookie: a=b": "/",
    "": "/",
}


@pytest.mark.parametrize(("given", "led"), TARGETS.items())
def test_a_link_leads_to_our_pages_only(site: Served, given: str, led: str) -> None:
    answer = enter(site, site.link(to=given))
    assert (answer.status_code, answer.headers["location"]) == (303, led)


def test_wrong_links_are_counted_and_a_right_one_still_signs_in(tmp_path: Path) -> None:
    program = with_limits({"limits.WRONG_LINKS": 3})
    with served(tmp_path, {}, tools=program) as server:
        found = [server.get(f"/sign-in/{number}", "").status_code for number in range(5)]
        assert found == [403, 403, 403, 429, 429]
        assert whose(server, server.cookie()) == ME
        assert "wrong sign-in links" in server.server.log.read_text(encoding="utf-8")


# ── sessions ────────────────────────────────────────────────────────────────────────────────────


def test_signing_out_ends_the_session_and_what_it_has_open(site: Served) -> None:
    cookie, other = site.cookie(), site.cookie()
    own = {"cookie": cookie, "origin": site.address}
    with Live.opened(site.url("N.md"), own) as peer:
        assert peer.sync().text == "text"
        answer = site.post("/api/session/end", {}, "", **own)
        site.client.cookies.clear()
        assert (answer.status_code, answer.json()) == (200, {})
        assert all("Max-Age=0" in one for one in answer.headers.get_list("set-cookie"))
        assert peer.closed() == 4401
    assert (whose(site, cookie), whose(site, other)) == ("", ME)
    assert "flashgrep open" in site.get("/kb/suggestions", "", cookie=cookie).text


def test_a_session_ends_with_the_token_it_stands_for(site: Served) -> None:
    site.tokens.make("Ben", Role.READ)
    cookie = site.cookie("Ben")
    own = {"cookie": cookie, "origin": site.address}
    with (
        Live.opened(site.url("N.md"), own) as peer,
        site.client.stream("GET", "/kb/events", headers={"cookie": cookie}) as events,
    ):
        assert peer.sync().text == "text"
        assert events.status_code == 200
        site.tokens.revoke("Ben")
        assert peer.closed() == 4401
        for _ in events.iter_raw():
            pass
    assert whose(site, cookie) == ""


def test_a_link_of_a_token_that_was_revoked_signs_nobody_in(site: Served) -> None:
    site.tokens.make("Cat", Role.READ)
    link = site.link("Cat")
    site.tokens.revoke("Cat")
    answer = enter(site, link)
    assert (answer.status_code, "revoked" in answer.text) == (403, True)


@pytest.mark.thorough
def test_a_session_survives_a_restart_and_ends_with_another_token(tmp_path: Path) -> None:
    port = ("--http-port", "auto")
    with served(tmp_path, {"N.md": ""}) as server:
        secret = server.cookie().partition("=")[2]
    cookie = f"flashgrep_session={secret}"
    with served(tmp_path) as server:
        assert whose(server, cookie) == ME
    with served(tmp_path, flags=("--token", "another", *port)) as server:
        assert whose(server, cookie) == ""


@pytest.mark.thorough
def test_a_session_ends_after_its_time(tmp_path: Path) -> None:
    program = with_limits({"limits.SESSION_SECONDS": 0, "limits.TOKEN_LOOK_SECONDS": 0.05})
    with served(tmp_path, {}, tools=program) as server:
        assert whose(server, server.cookie()) == ""


def test_without_a_place_for_state_sessions_live_as_long_as_the_server(tmp_path: Path) -> None:
    home, workdir = tmp_path / "home", tmp_path / "workspace"
    workdir.mkdir()
    home.mkdir()
    (home / "file").write_text("")
    flags = ["--no-index", "--state-dir", str(home / "file" / "state")]
    with serving(workdir, flags, home=home) as server:
        (link,) = [line.split()[1] for line in server.told if line.startswith("Open:")]
        with httpx2.Client(timeout=PATIENCE_SECONDS, trust_env=False) as client:
            assert client.get(link).status_code == 303
            address = urlsplit(link)
            told = client.get(f"http://{address.netloc}/api/session")
            assert (told.status_code, told.json()["name"]) == (200, ME)
            assert client.get(link).status_code == 303  # signed in already
            client.cookies.clear()
            assert client.get(link).status_code == 403


def test_without_a_token_asked_for_pages_are_open_and_old_cookies_no_obstacle(
    tmp_path: Path,
) -> None:
    with served(tmp_path, {"N.md": ""}, flags=["--no-auth"]) as server:
        assert f"Open: {server.address}/" in server.server.told
        old = "flashgrep_session=fgse_old"
        for headers in ({}, {"cookie": old}):
            told = server.get("/api/session", "", **headers).json()
            assert (told["name"], told["role"]) == ("anyone", "admin")
        server.tokens.make("Ann", Role.READ)
        assert whose(server, server.cookie("Ann")) == "Ann"


def test_two_servers_of_one_machine_do_not_sign_people_out_of_each_other(
    site: Served, tmp_path: Path
) -> None:
    with served(tmp_path, {}) as other:
        both = f"{site.cookie()}; {other.cookie()}"
        assert (whose(site, both), whose(other, both)) == (ME, ME)


# ── what is kept, and where it must not be ──────────────────────────────────────────────────────


def test_only_hashes_are_kept_in_files_of_our_user_alone(site: Served) -> None:
    link, cookie = site.link(), site.cookie()
    code, secret = link.rpartition("/")[2], cookie.partition("=")[2]
    found = [Path(at, name) for at, _, names in os.walk(site.state) for name in names]
    assert any(path.name == "sessions.json" for path in found)
    for path in found:
        if path.suffix == ".seg":
            continue
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        data = path.read_bytes()
        assert code.encode() not in data
        assert secret.encode() not in data
    for folder in (site.state, site.state / "sign-in", site.state / "serving"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_no_secret_is_in_a_log_or_a_page(site: Served) -> None:
    link, cookie = site.link(), site.cookie()
    code, secret = link.rpartition("/")[2], cookie.partition("=")[2]
    pages = [site.get(path, "", cookie=cookie).text for path in ("/", "/review", "/api/session")]
    own = {"cookie": cookie, "origin": site.address}
    with Live.opened(site.url("N.md"), own) as peer:
        assert peer.sync().text == "text"
    with Live.opened(site.url("N.md", token=TOKEN)) as peer:
        assert peer.sync().text == "text"
    enter(site, link)
    pages.append(enter(site, link).text)
    log = site.server.log.read_text(encoding="utf-8")
    for hidden in (code, secret, TOKEN):
        assert hidden not in log
        assert not any(hidden in page for page in pages)


def test_a_damaged_file_of_sessions_signs_everybody_out_and_says_so(tmp_path: Path) -> None:
    with served(tmp_path, {}) as server:
        cookie = server.cookie()
        kept = server.state / "sessions.json"
        whole = kept.read_bytes()
        for damage in (b"{", json.dumps({"format": 9}).encode(), b"[]"):
            kept.write_bytes(damage)
            assert whose(server, cookie) == ""
            answer = enter(server, server.link())
            assert (answer.status_code, "sessions.json" in answer.text) == (503, False)
        kept.write_bytes(whole)
        kept.chmod(0o666)
        os.utime(kept, (1, 1))
        assert whose(server, cookie) == ""
        kept.chmod(0o600)
        os.utime(kept, (2, 2))
        assert whose(server, cookie) == ME
