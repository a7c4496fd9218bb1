"""Pictures of each page for the documentation: `make screenshots`.

Writes docs/pages/PAGE-LOOK-WIDTH.png, PAGE being one of `PLACES`, LOOK light or dark, WIDTH wide or
narrow. Look at them before they are committed.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

from flashgrep.notes.access.roles import Role
from tests.browser.bundle import ROOT, build
from tests.browser.site import NARROW, WIDE, Pages, Site

TARGET = ROOT / "docs" / "pages"
NOTES = {
    "Home.md": "---\ntags: [team, start]\n---\n\n# Home\n\n"
    "Welcome to the team's notes. See [[Roadmap]] and [[Projects/Search]].\n\n"
    "We ship every Tuesday. Questions go to the channel, answers go here.\n\n"
    "## This week\n\n- [x] One index for all worktrees\n- [ ] Pictures for the documentation\n\n"
    "## Rules\n\n> A decision that is not in [[Roadmap]] was not made.\n",
    "Roadmap.md": "# Roadmap\n\n## This quarter\n\n- Faster indexing for large trees\n"
    "- A review page for people\n- [ ] Write the migration guide\n\n## Later\n\n"
    "Nothing is planned after that; see [[Home]] and [[Ideas]].\n",
    "Projects/Search.md": "# Search\n\nThe index says which files could match, and the search "
    "decides.\n\n```python\ndef grep(pattern: str) -> list[str]: ...\n```\n\n"
    "A common word is found 4 times faster than by ripgrep.\n",
    "Projects/Notes.md": "# Notes\n\nPeople type; agents suggest.\n",
}
EDITS = [
    ("Home.md", "We ship every Tuesday.", "We ship every Thursday, once the tests are green."),
    ("Roadmap.md", "- Faster indexing for large trees",
     "- Faster indexing for trees of 470,000 files\n- Worktrees that share one index"),
    ("Projects/Search.md", "A common word is found 4 times faster than by ripgrep.",
     "A common word is found 4 to 29 times faster than by ripgrep, a rare one 80 to 145 times."),
]  # fmt: skip
PLACES = {
    "search": "/?q=def+%5Cw%2B_routes&type=py",
    "file": "/file/src/flashgrep/web/site.py#L40",
    "review": "/review",
    "note": "/notes/Home.md",
    "status": "/status",
}


def main() -> None:
    """Take them all."""
    build()
    TARGET.mkdir(exist_ok=True)
    place = Path(tempfile.gettempdir(), "team")  # a path that says nothing of this machine
    with sync_playwright() as playwright:
        program = shutil.which("chromium") or "chromium"
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(ROOT / "src", place / "workspace" / "src", ignore=_unwanted)
        with Pages(browser, place).serving(NOTES, flags=(), is_indexed=True) as site:
            prepare(site)
            for look in ("light", "dark"):
                for width, size in (("wide", WIDE), ("narrow", NARROW)):
                    for name, address in PLACES.items():
                        login = signed_in["ann" if name in OF_NOTES else "owner"]
                        page = site.visitor(size, look == "dark", storage_state=login)
                        take(page, address, TARGET / f"{name}-{look}-{width}.png")
                        page.close()
        browser.close()


_unwanted = shutil.ignore_patterns("__pycache__", "*.egg-info", "static")
OF_NOTES = ("review", "note")
"""Those that ann looks at; the others need whoever runs the server."""
signed_in: dict[str, object] = {}


def prepare(site: Site) -> None:
    """Agents suggest, people comment and stay signed in, the index is whole."""
    agent = site.agent("claude")
    for note, old, new in EDITS:
        agent.suggest(note, old, new)
    owner = site.visitor()
    owner.goto(site.link or "/")
    owner.goto("/status")
    expect(owner.get_by_text("changes are watched")).to_be_visible()
    owner.goto(PLACES["search"])  # the first search reads what later ones have in memory
    expect(owner.locator(".search-total")).to_contain_text("matches")
    signed_in["owner"] = owner.context.storage_state()
    ann = site.person("ann", Role.WRITE, to="/review")
    ann.get_by_role("article").first.wait_for()
    signed_in["ann"] = ann.context.storage_state()
    owner.close()
    ann.close()
    bob = site.person("bob", Role.WRITE, to="/notes/Home.md")
    bob.get_by_text("Pictures for the documentation").click()
    bob.keyboard.press("End")


def take(page: Page, address: str, target: Path) -> None:
    """Open a place and take a picture when it has come to rest."""
    page.goto(address)
    page.get_by_role("main").wait_for()
    page.wait_for_timeout(1500)
    tab = page.get_by_role("tab", name="Suggestions")
    if tab.is_visible() and page.viewport_size != {"width": NARROW[0], "height": NARROW[1]}:
        tab.click()
        page.wait_for_timeout(500)
    page.screenshot(path=target)


if __name__ == "__main__":
    main()
