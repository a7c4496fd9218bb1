"""What a browser fetches before somebody can search or review."""

from __future__ import annotations

import gzip
from pathlib import Path

from playwright.sync_api import Response

from tests.browser.bundle import MANIFEST
from tests.browser.site import Pages

MOST_BYTES = 200 * 1024


def test_search_and_review_together_take_less_than_two_hundred_kilobytes(pages: Pages) -> None:
    fetched: set[str] = set()

    def heard(response: Response) -> None:
        if "/assets/" in response.url:
            fetched.add(Path(response.url).name)

    with pages.serving({"One.md": "a fox\n"}, [("One.md", "fox", "cat", "robot")]) as site:
        page = site.person("ann", to="/status")
        page.on("response", heard)
        for address, shown in (("/", "searchbox"), ("/review", "article")):
            page.goto(address)
            page.get_by_role(shown).first.wait_for()  # type: ignore[arg-type]
    sizes = {name: len(gzip.compress((MANIFEST.parent / name).read_bytes())) for name in fetched}
    assert any(name.startswith("app-") for name in sizes)
    assert sum(sizes.values()) <= MOST_BYTES, sizes
