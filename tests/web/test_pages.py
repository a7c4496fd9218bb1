"""The pages: a shell for each, the files it loads, and the headers they come with."""

from __future__ import annotations

from pathlib import Path

import httpx2

from tests.transports.clients import serving
from tests.web.served import Served

PAGES = ["/", "/review", "/notes", "/notes/A/B.md", "/file/src/main.py", "/status"]


def test_every_page_has_the_shell(server: Served) -> None:
    for page in PAGES:
        answer = server.get(page)
        assert answer.status_code in (200, 503)
        assert "content-security-policy" in answer.headers


def test_pages_are_served_without_a_knowledge_base_and_without_its_engine(tmp_path: Path) -> None:
    with serving(tmp_path, ["--no-index"], is_warm=False) as server:
        base = f"http://127.0.0.1:{server.http}"
        headers = {"authorization": f"Bearer {server.token}"}
        with httpx2.Client(base_url=base, trust_env=False, headers=headers) as client:
            assert client.get("/review").status_code in (200, 503)
            assert client.get("/kb/suggestions").status_code == 404
        mapped = Path(f"/proc/{server.process.pid}/maps").read_text(encoding="utf-8")
    assert "pycrdt" not in mapped
