"""Pictures of each page for the documentation: `make screenshots`.

Writes docs/pages/PAGE-LOOK-WIDTH.png, PAGE being one of `PLACES`, LOOK light or dark, WIDTH wide or
narrow. Look at them before they are committed.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from flashgrep.notes.access.roles import Role
from tests.browser.bundle import ROOT, build
from tests.browser.site import NARROW, WIDE, Pages, Site

TARGET = ROOT / "docs" / "pages"
NOTES = {
    "Home.md": "# Home\n\nWelcome to the team's notes. See [[Roadmap]] and [[Projects/Search]].\n\n"
    "We ship every Tuesday. Questions go to the channel, answers go here.\n",
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
        with Pages(browser, place).serving(NOTES, flags=("--no-index",)) as site:
            prepare(site)
            for look in ("light", "dark"):
                for name, size in (("wide", WIDE), ("narrow", NARROW)):
                    page = site.visitor(size=size, is_dark=look == "dark", storage_state=signed_in)
                    for name_of_page, address in PLACES.items():
                        take(page, address, TARGET / f"{name_of_page}-{look}-{name}.png")
        browser.close()


_unwanted = shutil.ignore_patterns("__pycache__", "*.egg-info", "static")
signed_in: dict[str, object] = {}


def prepare(site: Site) -> None:
    """Agents suggest, a person comments and stays signed in."""
    agent = site.agent("claude")
    for note, old, new in EDITS:
        agent.suggest(note, old, new)
    first = site.visitor()
    first.goto(site.link or "/")
    first.get_by_role("searchbox").wait_for()
    signed_in.update(first.context.storage_state())
    site.person("bob", Role.WRITE, to="/notes/Home.md").get_by_role("textbox").first.wait_for()


def take(page: Page, address: str, target: Path) -> None:
    """Open a place and take a picture when it has come to rest."""
    page.goto(address)
    page.get_by_role("main").wait_for()
    page.wait_for_timeout(1500)
    page.screenshot(path=target)


if __name__ == "__main__":
    main()
