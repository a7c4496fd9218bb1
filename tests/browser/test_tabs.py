"""One person with many tabs: a browser opens six connections to a server and no more."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from flashgrep.notes.access.roles import Role
from tests.browser.site import Pages

NOTE = "A fox and a hen.\n"
EDITS = (("One.md", "fox", "cat", "robot"), ("One.md", "hen", "duck", "robot"))
TABS = 8


def pending(page: Page, count: int) -> None:
    """Wait until so many suggestions are shown that wait for a decision."""
    expect(page.get_by_role("button", name="Accept", exact=True)).to_have_count(count)


def test_any_number_of_tabs_work_and_hear_what_happens(pages: Pages) -> None:
    with pages.serving({"One.md": NOTE}, EDITS) as site:
        first = site.person("ann")
        tabs = [first, *(first.context.new_page() for _ in range(TABS - 1))]
        for tab in tabs[1:]:
            tab.goto("/review")
        for tab in tabs:
            pending(tab, 2)
        tabs[-1].get_by_role("button", name="Accept", exact=True).first.click()
        for tab in tabs[:-1]:
            pending(tab, 1)


def test_another_tab_takes_over_when_the_one_with_the_stream_is_closed(pages: Pages) -> None:
    with pages.serving({"One.md": NOTE}, EDITS) as site:
        first = site.person("ann")
        second, third = first.context.new_page(), first.context.new_page()
        for tab in (second, third):
            tab.goto("/review")
            pending(tab, 2)
        first.close()
        third.get_by_role("button", name="Accept", exact=True).first.click()
        pending(second, 1)
        site.agent("robot").suggest("One.md", "and", "or")
        for tab in (second, third):
            pending(tab, 2)


def test_two_people_in_one_browser_program_share_no_news(pages: Pages) -> None:
    """Each has a stream of their own: what one may see says nothing of the other."""
    with pages.serving({"Team/One.md": NOTE, "Two.md": NOTE}) as site:
        ann = site.person("ann")
        bob = site.person("bob", folder="Team")
        for page in (ann, bob):
            expect(page.get_by_text("Nothing waits for a decision")).to_be_visible()
        robot = site.agent("robot")
        robot.suggest("Two.md", "fox", "cat")
        pending(ann, 1)
        robot.suggest("Team/One.md", "fox", "cat")
        pending(bob, 1)
        pending(ann, 2)


def test_a_tab_belongs_to_the_person_it_was_loaded_for(pages: Pages) -> None:
    """All tabs have one cookie; what ann types must never be saved or decided as bob's."""
    with pages.serving({"One.md": NOTE}, EDITS) as site:
        ann = site.person("ann", to="/notes/One.md")
        text = ann.get_by_role("textbox", name="Text of the note")
        expect(text).to_be_visible()
        review = ann.context.new_page()
        review.goto("/review")
        pending(review, 2)
        site.running.token("bob", Role.WRITE)
        bob = ann.context.new_page()
        site.allow("401")
        bob.goto(site.running.link("bob", "/review"))
        expect(bob.get_by_label("Signed in as bob")).to_be_visible()
        text.click()
        ann.keyboard.press("Control+End")
        ann.keyboard.type("Words of ann.")
        ann.get_by_role("button", name="Try again").click()
        expect(ann.get_by_role("alert").filter(has_text="bob has signed in")).to_be_visible()
        review.get_by_role("button", name="Accept", exact=True).first.click()
        expect(review.get_by_role("alert").first).to_be_visible()
        pending(bob, 2)
        assert "Words of ann" not in site.running.text("One.md")
        # Ann signs in again, and her words arrive as hers.
        back = ann.context.new_page()
        back.goto(site.running.link("ann", "/notes"))
        expect(back.get_by_label("Signed in as ann")).to_be_visible()
        ann.get_by_role("button", name="Try again").click()
        expect(ann.get_by_text("All changes saved")).to_be_visible()
        assert "Words of ann" in site.running.text("One.md")
