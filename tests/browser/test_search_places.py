"""The search page in a browser: which places are searched, for whom, and where the focus is."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from flashgrep.notes.access.roles import Role
from tests.browser.site import Pages
from tests.browser.test_search import box, found, opened, searching, total


def test_what_the_other_place_has_is_said_where_this_one_has_nothing(pages: Pages) -> None:
    with searching(pages) as site:
        page = opened(site, "/?q=pier")
        expect(total(page)).to_have_text("No matches in the workspace; 1 in the notes: show")
        page.get_by_role("link", name="show").click()
        expect(page).to_have_url(re.compile(r"/\?q=pier&in=notes$"))
        expect(found(page)).to_have_text(["3The alpha pier is old."])
        box(page).fill("import|print")
        expect(total(page)).to_have_text("No matches in the notes; 3 in the workspace: show")
        box(page).fill("zebra")
        expect(total(page)).to_have_text("No matches in the notes, nor in the workspace")


def test_a_link_for_notes_alone_says_what_it_opens(pages: Pages) -> None:
    with searching(pages) as site:
        page = site.person("ann", Role.WRITE, "/")
        expect(page.get_by_text("Your link opens the notes only")).to_be_visible()
        expect(page.get_by_text("no workspace")).to_have_count(0)
        expect(page.get_by_role("link", name="Query")).to_have_count(0)
        page.goto("/?q=pier&tab=query")
        expect(found(page)).to_have_text(["3The alpha pier is old."])
        expect(page.get_by_text("your link opens the notes only: the notes")).to_be_visible()
        page.goto("/status")
        expect(page.get_by_text("your link opens the notes only")).to_be_visible()


def test_an_address_that_asks_for_notes_where_there_are_none_says_so(pages: Pages) -> None:
    with pages.files_alone() as site:
        (pages.workspace / "one.txt").write_text("alpha\n", encoding="utf-8")
        page = site.visitor()
        page.goto("/?q=alpha&in=notes")
        expect(found(page)).to_have_text(["1alpha"])
        told = page.get_by_text("The address asks for notes, and this server has none")
        expect(told).to_be_visible()
        expect(told).to_contain_text("flashgrep serve --kb ~/notes")
        box(page).fill("zebra")
        expect(total(page)).to_have_text("No matches found")
        expect(told).to_be_hidden()


def test_letters_typed_beside_the_box_never_leave_the_page(pages: Pages) -> None:
    with searching(pages) as site:
        page = opened(site, "/?q=alpha")
        expect(found(page)).to_have_count(4)
        page.get_by_role("link", name="Query").click()
        expect(box(page)).to_be_focused()
        page.get_by_role("link", name="Search", exact=True).last.click()
        expect(box(page)).to_be_focused()
        page.get_by_label("Multiline").click()
        expect(box(page)).to_be_focused()
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        page.keyboard.press("Space")
        expect(page.get_by_label("Match case")).to_be_focused()
        expect(page.get_by_label("Match case")).not_to_be_checked()
        page.keyboard.type("gr")
        expect(page).to_have_url(re.compile(r"/\?q=alpha&i=1&m=1$"))
        expect(box(page)).to_have_value("alpha")
        box(page).fill("")
        page.get_by_label("Match case").focus()
        page.keyboard.type("gr")
        expect(page).to_have_url(re.compile("/review$"))


def test_the_help_shows_keys_as_keyboards_have_them(pages: Pages) -> None:
    with searching(pages) as site:
        page = opened(site, "/?q=alpha")
        expect(found(page)).to_have_count(4)
        page.keyboard.press("ArrowDown")
        page.keyboard.press("?")
        rows = page.get_by_role("dialog").locator(".shortcuts > div")
        expect(rows.filter(has_text="Next result").locator("kbd")).to_have_text(["j", "↓"])
        expect(rows.filter(has_text="Previous result").locator("kbd")).to_have_text(["k", "↑"])
        expect(rows.filter(has_text="Back to the").locator("kbd")).to_have_text(["Esc"])
        expect(rows.filter(has_text="review page").locator("kbd")).to_have_text(["g", "r"])
        heights = rows.locator("kbd").evaluate_all("keys => keys.map(key => key.offsetHeight)")
        assert len(set(heights)) == 1  # none is stretched over two lines
