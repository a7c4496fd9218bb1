"""The pages: a shell for each, the files it loads, and the headers they come with."""

from __future__ import annotations

import json
import re
import shutil
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

import flashgrep
from tests.transports.clients import PATIENCE_SECONDS, Server, serving
from tests.web.served import TOKEN, Served, served

PAGES = ["/", "/review", "/notes", "/notes/A/B.md", "/file/src/main.py", "/status"]
SCRIPT, STYLE = "app-ABCD1234.js", "app-EFGH5678.css"


def program(static: Path) -> tuple[str, ...]:
    """The server with another bundle: tests of the server need none that was built."""
    code = (
        "import pathlib, sys, flashgrep.web.pages as pages; "
        f"pages.STATIC = pathlib.Path({str(static)!r}); "
        "from flashgrep import cli; sys.exit(cli.main())"
    )
    return (sys.executable, "-P", "-c", code)


def bundle(static: Path) -> None:
    static.mkdir()
    (static / SCRIPT).write_text("export {};\n" * 100)
    (static / STYLE).write_text("body { margin: 0 }\n")
    (static / "private.txt").write_text("not an asset")
    files = {"app.js": SCRIPT, "app.css": STYLE}
    (static / "manifest.json").write_text(json.dumps(files))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    place = tmp_path_factory.mktemp("pages")
    bundle(place / "static")
    with served(place, {}, tools=program(place / "static")) as running:
        yield running


@pytest.mark.parametrize("page", PAGES)
def test_every_page_is_the_shell_with_its_headers(site: Served, page: str) -> None:
    answers = [site.get(page, "", cookie=site.cookie()), site.get(page, TOKEN)]
    for answer in answers:
        assert answer.status_code == 200
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cross-origin-opener-policy"] == "same-origin"
        assert answer.text.startswith('<!doctype html>\n<html lang="en">')
        assert f'<script type="module" src="/assets/{SCRIPT}"></script>' in answer.text
        assert f'<link rel="stylesheet" href="/assets/{STYLE}">' in answer.text
        assert '<div id="app">' in answer.text
        assert "<noscript>" in answer.text
        assert 'name="viewport"' in answer.text
    one, other = (nonce(answer) for answer in answers)
    assert one != other


BROWSER = "text/html,application/xhtml+xml,*/*;q=0.8"


def test_a_browser_that_asks_for_no_page_gets_one_that_leads_home(site: Served) -> None:
    lost = site.get("/nosuch<b>", "", cookie=site.cookie(), accept=BROWSER)
    assert lost.status_code == 404
    assert "There is no <code>/nosuch&lt;b&gt;</code> here." in lost.text
    assert '<a href="/">' in lost.text
    nonce(lost)
    unknown = site.get("/nosuch", "", accept=BROWSER)
    assert unknown.status_code == 401
    assert "<h1>Sign in to flashgrep</h1>" in unknown.text
    assert unknown.headers["www-authenticate"].startswith("Bearer")
    nonce(unknown)


@pytest.mark.parametrize("path", ["/nosuch", "/api/nosuch", "/kb/nosuch"])
def test_programs_get_json_where_nothing_is(site: Served, path: str) -> None:
    accept = "*/*" if path == "/nosuch" else BROWSER
    for token, status in ((TOKEN, 404), ("", 401)):
        answer = site.get(path, token, accept=accept)
        assert (answer.status_code, list(answer.json())) == (status, ["error"])


def nonce(answer: httpx2.Response) -> str:
    """The nonce of an answer, whose policy holds nothing but what it should."""
    found = re.search(r'<meta name="csp-nonce" content="([\w-]{20,})">', answer.text)
    assert found
    assert answer.headers["content-security-policy"] == (
        "default-src 'none'; script-src 'self'; "
        f"style-src 'self' 'nonce-{found[1]}'; connect-src 'self'; img-src 'self' data:; "
        "font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )
    return found[1]


@pytest.mark.parametrize("page", PAGES)
def test_without_a_login_a_page_says_where_the_link_is(site: Served, page: str) -> None:
    for headers in ({}, {"cookie": "flashgrep_session=fgse_x"}, {"authorization": "Bearer x"}):
        answer = site.get(page, "", **headers)
        assert answer.status_code == 200
        assert "<code>Open:</code>" in answer.text
        assert "<code>flashgrep open</code>" in answer.text
        assert "<script" not in answer.text
        assert STYLE in answer.text
        nonce(answer)
    assert site.ask("POST", page, {}, "").status_code == 401
    assert site.ask("POST", page, {}, TOKEN).status_code == 405


def test_no_page_has_a_script_or_a_style_in_its_text(site: Served) -> None:
    for answer in (site.get("/", ""), site.get("/", TOKEN)):
        assert not re.search(
            r"<style|\sstyle=|\son\w+=|<script(?![^>]* src=)|javascript:", answer.text
        )


def test_assets_are_kept_for_ever_and_need_no_login(site: Served) -> None:
    answer = site.get(f"/assets/{SCRIPT}", "", accept_encoding="identity")
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert answer.headers["content-type"].startswith("text/javascript")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.text == "export {};\n" * 100
    packed = site.get(f"/assets/{SCRIPT}", "", accept_encoding="gzip")
    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) < 100
    assert packed.text == answer.text
    assert site.get(f"/assets/{STYLE}", "").headers["content-type"].startswith("text/css")


OTHERS = ["manifest.json", "private.txt", "", "..%2fpages.py", "app-XXXXXXXX.js", "%2e%2e"]


@pytest.mark.parametrize("name", OTHERS)
def test_nothing_else_in_the_directory_is_an_asset(site: Served, name: str) -> None:
    assert site.get(f"/assets/{name}", "").status_code in (404, 401)


def test_hosts_and_origins_are_checked_on_pages_and_assets_too(site: Served) -> None:
    for path in (*PAGES, f"/assets/{SCRIPT}", "/sign-in/x", "/api/session"):
        assert site.get(path, TOKEN, host="evil.example").status_code == 421
        assert site.get(path, TOKEN, origin="http://evil.example").status_code == 403
        assert site.get(path, TOKEN, origin="null").status_code == 403


def test_without_a_bundle_the_shell_says_how_to_build_it(tmp_path: Path) -> None:
    with served(tmp_path, {}, tools=program(tmp_path / "nowhere")) as server:
        answer = server.get("/review", TOKEN)
        assert answer.status_code == 503
        assert "make web" in answer.text
        nonce(answer)
        assert server.get("/", "").status_code == 200
        bundle(tmp_path / "nowhere")
        assert server.get("/review", TOKEN).status_code == 200
        shutil.rmtree(tmp_path / "nowhere")


def plain(server: Server) -> httpx2.Client:
    headers = {"authorization": f"Bearer {server.token}"}
    base = f"http://127.0.0.1:{server.http}"
    return httpx2.Client(base_url=base, headers=headers, timeout=PATIENCE_SECONDS, trust_env=False)


def test_pages_are_served_without_a_knowledge_base_and_without_its_engine(tmp_path: Path) -> None:
    with serving(tmp_path, ["--no-index"], is_warm=False) as server, plain(server) as client:
        assert client.get("/review").status_code in (200, 503)
        told = client.get("/api/session").json()
        assert (told["workspace"], told["notes"]) == (True, False)
        assert client.get("/kb/suggestions").status_code == 404
        mapped = Path(f"/proc/{server.process.pid}/maps").read_text(encoding="utf-8")
    assert "pycrdt" not in mapped


def test_the_package_ships_the_bundle() -> None:
    project = Path(flashgrep.__file__).parents[2] / "pyproject.toml"
    data = tomllib.loads(project.read_text(encoding="utf-8"))
    assert "web/static/**" in data["tool"]["setuptools"]["package-data"]["flashgrep"]
