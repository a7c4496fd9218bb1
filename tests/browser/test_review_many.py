"""The review page with thousands of suggestions: drawn, decided by a job, taken back, cut short."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.outage import kill, restarted
from tests.browser.site import Pages, Site
from tests.browser.test_review import button

heavy = pytest.mark.skipif(not os.environ.get("FLASHGREP_HEAVY"), reason="slow: make fuzz runs it")
TEXT = "\n\n".join(f"line {{++{at}++}}" for at in range(25))


@contextmanager
def many(pages: Pages, notes: int) -> Iterator[Site]:
    """Notes with 25 suggestions each."""
    with pages.serving({}) as site:
        for number in range(notes):
            body = {"path": f"F{number % 7}/N{number}.md", "text": TEXT}
            assert site.running.post("/kb/notes", body).status_code == 201
        yield site


def accept_all(page: Page, count: str) -> None:
    button(page, f"Decide all {count}").click()
    page.get_by_role("menuitem", name=f"Accept all {count}").click()
    button(page.get_by_role("dialog"), f"Accept {count}").click()


def pending(site: Site) -> int:
    return int(site.running.get("/kb/suggestions/summary").json()["total"])


def test_of_five_thousand_suggestions_few_are_in_the_page(pages: Pages) -> None:
    with many(pages, 200) as site:
        ann = site.person("ann")
        expect(ann.get_by_text("5,000 suggestions in 200 notes")).to_be_visible()
        drawn = ann.get_by_role("article")
        assert drawn.count() < 60
        ann.evaluate("scrollTo(0, document.body.scrollHeight / 2)")
        expect(drawn.first).to_be_visible()
        assert drawn.count() < 60
        ann.keyboard.press("j")
        for _ in range(5):
            ann.keyboard.press("a")
        expect(ann.get_by_text("4,995 suggestions in")).to_be_visible()


@heavy
def test_a_large_decision_shows_its_progress_what_others_decided_and_is_undone(
    pages: Pages,
) -> None:
    with many(pages, 200) as site:
        ann = site.person("ann")
        expect(ann.get_by_text("5,000 suggestions in 200 notes")).to_be_visible()
        last = site.running.get("/kb/suggestions?note=F0/N196.md").json()["suggestions"]
        ids = [one["id"] for one in last]

        def first(route: Route) -> None:
            body = {"ids": ids, "action": "reject"}
            assert site.running.post("/kb/suggestions/decide", body).status_code == 200
            route.continue_()

        ann.route("**/kb/suggestions/decide", first, times=1)
        accept_all(ann, "5,000")
        expect(ann.get_by_role("progressbar", name="Accepting 5,000 suggestions")).to_be_visible()
        told = "4,975 suggestions accepted, 25 decided by others before"
        expect(ann.get_by_text(told)).to_be_visible()
        expect(ann.get_by_text("Nothing waits for a decision")).to_be_visible()
        assert "{++" not in site.running.text("F0/N0.md")
        button(ann, "Undo all 4,975").click()
        expect(ann.get_by_text("4,975 decisions undone")).to_be_visible()
        expect(ann.get_by_text("4,975 suggestions in 199 notes")).to_be_visible()
        assert site.running.text("F0/N0.md") == TEXT


def test_of_a_large_decision_what_changed_after_the_question_is_left(pages: Pages) -> None:
    with many(pages, 21) as site:
        ann = site.person("ann")
        expect(ann.get_by_text("525 suggestions in 21 notes")).to_be_visible()

        def first(route: Route) -> None:
            with site.running.live("F6/N20.md") as peer:
                peer.sync()
                peer.type("99", after="line {++7")
                peer.sync()
            route.continue_()

        ann.route("**/kb/suggestions/decide", first, times=1)
        accept_all(ann, "525")
        told = "524 suggestions accepted, 1 left because it had changed"
        expect(ann.get_by_text(told)).to_be_visible()
        expect(ann.get_by_role("article")).to_have_count(1)
        expect(ann.get_by_role("article").locator("ins")).to_contain_text("799")
        assert "line {++799++}" in site.running.text("F6/N20.md")


@heavy
def test_a_large_decision_that_a_killed_server_cut_short_says_where_it_stopped(
    pages: Pages,
) -> None:
    with many(pages, 120) as site:
        ann = site.person("ann")
        expect(ann.get_by_text("3,000 suggestions in 120 notes")).to_be_visible()
        accept_all(ann, "3,000")
        progress = ann.get_by_role("progressbar")
        expect(progress).not_to_have_attribute("value", "0")
        kill(site)
        site.allow("404")
        with restarted(site):
            left = pending(site)
            assert 0 < left < 3_000
            assert left % 25 == 0  # each note is decided, or not
            told = f"{3_000 - left:,} suggestions of 3,000 are decided, and stay so; {left:,} are"
            expect(ann.get_by_text(told)).to_be_visible()
            button(ann, "Close").click()
            button(ann, f"Accept {left:,} selected").click()
            ann.get_by_role("dialog").get_by_role("button", name=f"Accept {left:,}").click()
            expect(ann.get_by_text(f"{left:,} suggestions accepted")).to_be_visible()
            assert pending(site) == 0
