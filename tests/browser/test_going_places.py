"""The tree of notes and Ctrl-K, on every page: by keys, with many notes, with any name."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.accessible import violations
from tests.browser.site import NARROW, Pages
from tests.browser.test_search import opened, searching

MANY = {f"Big/Note {number}.md": f"text {number}\n" for number in range(300)}
NOTES = {
    "Plans/Old/Bridge.md": "a bridge\n",
    "Plans/Road.md": "a road\n",
    "Top.md": "top\n",
    **MANY,
}


def tree(page: Page) -> Locator:
    return page.get_by_role("tree", name="Notes")


def active(page: Page) -> Locator:
    return tree(page).locator(".active")


def letters(page: Page) -> Locator:
    return page.get_by_role("combobox", name="Go to a note, file or page")


def chosen(page: Page) -> Locator:
    return page.get_by_role("dialog").locator('[role=option][aria-selected="true"]')


# ── the tree ─────────────────────────────────────────────────────────────────────────────────────

TWO_STEPS_LEFT = """(tree) => {
  for (const key of ["ArrowLeft", "ArrowLeft"])
    tree.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }))
}"""
"""To the folder and shut: the second key comes before the first one is drawn."""


def test_the_tree_is_one_stop_of_tab_and_arrows_move_in_it(pages: Pages) -> None:
    with pages.serving(NOTES) as site:
        page = opened(site, "/status")
        tree(page).focus()
        expect(active(page)).to_have_text("▸Big")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowRight")
        expect(page.get_by_role("treeitem", name="Plans")).to_have_attribute(
            "aria-expanded", "true"
        )
        page.keyboard.press("ArrowRight")
        expect(active(page)).to_have_text("▸Old")
        assert tree(page).get_attribute("aria-activedescendant") == active(page).get_attribute("id")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile("/notes/Plans/Road.md$"))
        road = page.get_by_role("treeitem", name="Road")
        expect(road).to_have_attribute("aria-current", "page")
        expect(road).to_have_attribute("aria-level", "2")
        tree(page).focus()
        tree(page).evaluate(TWO_STEPS_LEFT)
        expect(road).to_have_count(0)


def test_of_a_folder_of_many_notes_few_are_in_the_page(pages: Pages) -> None:
    with pages.serving(NOTES) as site:
        page = opened(site, "/status")
        page.get_by_role("treeitem", name="Big").click()
        expect(page.get_by_role("treeitem", name="Note 0")).to_be_visible()
        assert page.get_by_role("treeitem").count() < 80
        tree(page).focus()
        page.keyboard.press("End")
        expect(active(page)).to_have_text("Top")
        expect(active(page)).to_be_in_viewport()
        page.keyboard.press("ArrowUp")
        page.keyboard.press("ArrowUp")
        expect(active(page)).to_have_text("Note 299")
        expect(active(page)).to_have_attribute("aria-posinset", "300")
        page.keyboard.press("Home")
        expect(active(page)).to_be_in_viewport()


def test_a_note_that_is_opened_otherwise_is_shown_in_the_tree(pages: Pages) -> None:
    with pages.serving(NOTES) as site:
        page = opened(site, "/notes/Plans/Old/Bridge.md")
        expect(page.get_by_role("treeitem", name="Bridge")).to_have_attribute(
            "aria-current", "page"
        )


# ── Ctrl-K ───────────────────────────────────────────────────────────────────────────────────────


def test_a_few_letters_lead_to_notes_files_lines_and_pages(pages: Pages) -> None:
    files = {"src/bridge.py": "".join(f"line {number}\n" for number in range(200))}
    with searching(pages, files, NOTES) as site:
        page = opened(site, "/status")
        expect(page.get_by_role("heading", name="Status")).to_be_visible()
        page.keyboard.press("Control+k")
        expect(letters(page)).to_be_focused()
        page.keyboard.type("plbri")
        expect(chosen(page)).to_have_text("notePlans/Old/Bridge.md")
        expect(chosen(page).locator("b")).to_have_text(["Pl", "Bri"])
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile("/notes/Plans/Old/Bridge.md$"))
        page.keyboard.press("Control+k")
        letters(page).fill("bridge.py:120")
        expect(chosen(page)).to_have_text("filesrc/bridge.py")
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile("/file/src/bridge.py#L120$"))
        expect(page.locator('[data-line="120"]')).to_be_in_viewport()
        page.keyboard.press("Control+k")
        expect(chosen(page)).to_have_text("filesrc/bridge.py")
        letters(page).fill("line 42")
        expect(page.get_by_role("option", name="search line 42")).to_be_visible()
        page.keyboard.press("ArrowUp")
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile(r"/\?q=line\+42$"))
        expect(page.locator(".search-total")).to_have_text("1 match in 1 file")
        page.keyboard.press("Control+k")
        letters(page).fill("rev")
        expect(chosen(page)).to_have_text("pageReview")
        page.keyboard.press("Escape")
        expect(letters(page)).to_have_count(0)


def test_enter_waits_for_what_the_letters_find(pages: Pages) -> None:
    with searching(pages, {"src/bridge.py": "1\n"}, NOTES) as site:
        page = opened(site, "/status")
        held: list[Route] = []
        page.route("**/api/files", lambda route: held.append(route))
        page.keyboard.press("Control+k")
        letters(page).fill("bridge.py")
        page.keyboard.press("Enter")
        while not held:
            page.wait_for_timeout(10)
        expect(letters(page)).to_be_visible()
        held[0].continue_()
        expect(page).to_have_url(re.compile("/file/src/bridge.py$"))


def test_names_of_notes_are_only_ever_text_in_the_tree_and_in_the_list(pages: Pages) -> None:
    name = "<img src=x onerror=window.hacked=1> odd.md"
    with pages.serving({name: "text\n"}) as site:
        page = opened(site, "/status")
        expect(page.get_by_role("treeitem", name="onerror")).to_be_visible()
        page.keyboard.press("Control+k")
        letters(page).fill("odd")
        expect(chosen(page)).to_contain_text("<img src=x")
        assert page.evaluate("window.hacked") is None


def test_the_tree_opens_over_a_narrow_page(pages: Pages) -> None:
    with pages.serving(NOTES) as site:
        page = opened(site, "/status", NARROW)
        expect(tree(page)).to_be_hidden()
        page.get_by_role("button", name="Tree of notes").click()
        expect(page.get_by_role("treeitem", name="Big")).to_be_visible()
        assert violations(page) == []
        page.get_by_role("treeitem", name="Top").click()
        expect(page).to_have_url(re.compile("/notes/Top.md$"))
        expect(tree(page)).to_be_hidden()


# ── the title of the tab ─────────────────────────────────────────────────────────────────────────


def test_the_title_of_the_tab_is_that_of_the_page(pages: Pages) -> None:
    with pages.serving({"Top.md": "top\n"}) as site:
        page = opened(site, "/?q=top")
        expect(page).to_have_title("top · flashgrep")
        for name in ("Review", "Notes", "Status", "Search"):
            page.get_by_role("link", name=name, exact=True).click()
            expect(page).to_have_title(f"{name} · flashgrep")
        page.get_by_role("link", name="Notes", exact=True).click()
        page.get_by_role("main").get_by_role("link", name="Top").click()
        expect(page).to_have_title("Top · flashgrep")
        page.go_back()
        expect(page).to_have_title("Notes · flashgrep")
