"""Signing in, signing out, and a sign-in that is over, in a real browser."""

from __future__ import annotations

from playwright.sync_api import expect

from flashgrep.notes.access.roles import Role
from flashgrep.system.login import login_name
from tests.browser.accessible import violations
from tests.browser.site import NARROW, WIDE, Pages

OVER = "401|ERR_|Failed to load resource"
"""What a console says when a login is over."""


def test_the_printed_link_signs_in_and_leaves_no_trace(pages: Pages) -> None:
    with pages.serving({"N.md": "text"}) as site:
        page = site.visitor()
        page.goto("/review")
        expect(page.get_by_role("heading", name="Sign in to flashgrep")).to_be_visible()
        expect(page.get_by_text("Open:")).to_be_visible()
        assert site.link is not None
        page.goto(site.link)
        assert page.url == f"{site.address}/"
        expect(page.get_by_role("searchbox").first).to_be_visible()
        expect(page.get_by_label(f"Signed in as {login_name()}")).to_be_visible()
        assert page.evaluate("document.cookie") == ""
        assert site.link.rpartition("/")[2] not in page.content()
        page.get_by_label(f"Signed in as {login_name()}").click()
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_role("heading", name="Sign in to flashgrep")).to_be_visible()
        site.allow("403")
        page.goto(site.link)
        expect(page.get_by_text("This link was used before")).to_be_visible()


def test_a_sign_in_that_is_over_asks_again_and_keeps_the_page(pages: Pages) -> None:
    with pages.serving({"N.md": "text"}) as site:
        ann = site.person("ann", Role.WRITE, to="/review")
        expect(ann.get_by_text("Nothing waits for a decision")).to_be_visible()
        site.allow(OVER)
        (site.running.state / "sessions.json").unlink()
        notice = ann.get_by_role("alert").filter(has_text="Your sign-in has expired")
        expect(notice).to_be_visible()
        expect(ann.get_by_text("Nothing waits for a decision")).to_be_visible()
        other = ann.context.new_page()
        other.goto(site.running.link("ann"))
        expect(other.get_by_label("Signed in as ann")).to_be_visible()
        notice.get_by_role("button", name="Try again").click()
        expect(notice).to_be_hidden()


def test_the_sign_in_page_is_accessible(pages: Pages) -> None:
    with pages.serving({}) as site:
        for size, is_dark in ((WIDE, False), (NARROW, True)):
            page = site.visitor(size, is_dark)
            page.goto("/")
            assert violations(page) == []
            assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
