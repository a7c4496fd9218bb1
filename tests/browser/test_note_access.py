"""The note page for everybody: axe finds nothing, it works at 380 pixels and by keyboard."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.accessible import violations
from tests.browser.site import NARROW, WIDE, Pages
from tests.browser.test_note import editor, saved

_TEXT = """# Plan

We ship in two weeks, says [[Roadmap]]; [[Nowhere]] is missing.

## Left

- [x] one
- [ ] two `code`

> quoted

| a | b |
|---|--:|
| 1 | 2 |

```python
print("x")
```
"""
_NOTES = {"Plan.md": _TEXT, "Roadmap.md": "[[Plan]]\n", "Dir/Other.md": "x\n"}
_EDITS = [("Plan.md", "in two weeks", "in March", "robot")]
_TABS = ("Outline", "Suggestions", "Comments", "Links", "History")


@pytest.mark.parametrize(
    ("size", "is_dark"), [(WIDE, False), (NARROW, True)], ids=["wide-light", "narrow-dark"]
)
def test_axe_finds_nothing_on_the_note_page(
    pages: Pages, size: tuple[int, int], is_dark: bool
) -> None:
    with pages.serving(_NOTES, _EDITS) as site:
        passage = {"start": 2, "end": 6, "quote": "Plan"}
        body = {"note": "Plan.md", "text": "Why?", "passage": passage}
        assert site.running.post("/kb/comments", body).status_code == 201
        page = site.person("ann", to="/notes/Plan.md", size=size, is_dark=is_dark)
        other = site.person("bob", to="/notes/Plan.md")
        editor(other).click()
        expect(page.locator(".cm-caret")).to_be_visible()
        saved(page)
        wrong = violations(page)
        for tab in _TABS:
            page.get_by_role("tab", name=tab).click()
            expect(page.get_by_role("tabpanel")).not_to_contain_text("Loading")
            wrong += violations(page)
        editor(page).locator("del").click()
        expect(page.get_by_role("group", name="Suggestion by robot")).to_be_visible()
        wrong += violations(page)
        page.get_by_role("button", name="Preview").click()
        expect(page.get_by_role("article", name="Preview")).to_contain_text("We ship")
        wrong += violations(page)
        page.get_by_role("button", name="Rename").click()
        wrong += violations(page)
        assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_on_the_list_of_notes(pages: Pages, is_dark: bool) -> None:
    with pages.serving(_NOTES, _EDITS) as site:
        site.running.ask("DELETE", "/kb/notes/Roadmap.md", None)
        page = site.person("ann", to="/notes", size=NARROW, is_dark=is_dark)
        page.get_by_text("Trash").click()
        expect(page.get_by_role("button", name="Restore Roadmap.md")).to_be_visible()
        wrong = violations(page)
        page.goto("/notes?folder=Dir")
        page.get_by_role("button", name="New note").click()
        wrong += violations(page)
        assert not wrong, "\n".join(wrong)


def test_nothing_is_wider_than_380_pixels(pages: Pages) -> None:
    with pages.serving(_NOTES, _EDITS) as site:
        page = site.person("ann", to="/notes/Plan.md", size=NARROW)
        expect(editor(page)).to_be_visible()
        for tab in _TABS:
            page.get_by_role("tab", name=tab).click()
        page.get_by_role("button", name="Preview").click()
        expect(page.get_by_role("article", name="Preview")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") == NARROW[0]


def test_the_whole_page_is_reached_by_keyboard(pages: Pages) -> None:
    with pages.serving(_NOTES, _EDITS) as site:
        page = site.person("ann", to="/notes/Plan.md")
        editor(page).focus()
        page.keyboard.press("Alt+ArrowDown")
        expect(page.get_by_role("group", name="Suggestion by robot")).to_be_visible()
        reached: list[str] = []
        for _ in range(12):
            page.keyboard.press("Tab")
            reached.append(page.evaluate("document.activeElement.textContent.slice(0, 20)"))
        assert reached[:4] == ["Accept", "Reject", "Edit", "Comment"]
        assert "Outline" in reached
        page.get_by_role("tab", name="Outline").focus()
        page.keyboard.press("ArrowRight")
        expect(page.get_by_role("tab", name="Suggestions")).to_be_focused()
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page.locator(".toast")).to_contain_text("Accepted")
        page.get_by_role("tab", name="Outline").focus()
        page.keyboard.press("?")
        help_page = page.get_by_role("dialog", name="Keyboard shortcuts")
        expect(help_page).to_contain_text("Accept the suggestion at the cursor")
