"""axe-core on a page, as it is drawn."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page

from tests.browser.bundle import WEB, unavailable

_SCRIPT = WEB / "node_modules" / "axe-core" / "axe.min.js"


def violations(page: Page) -> list[str]:
    """What axe finds wrong: the rule and the elements."""
    if not _SCRIPT.exists():
        unavailable("axe-core is missing (npm ci --prefix web)")
    page.evaluate(_SCRIPT.read_text(encoding="utf-8") + "; undefined")
    found: dict[str, Any] = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['id']}: {node['html'][:200]} {node['failureSummary']}"
        for one in found["violations"]
        for node in one["nodes"]
    ]
