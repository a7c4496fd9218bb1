"""What the other tests here rely on: a browser, a server, an agent, and that defects are seen."""

from __future__ import annotations

import pytest

from tests.browser.site import Pages


def test_a_browser_and_an_agent_reach_the_same_server(pages: Pages) -> None:
    with pages.serving({"One.md": "a fox\n"}, flags=["--no-auth"]) as site:
        site.agent().suggest("One.md", "fox", "cat")
        page = site.visitor()
        site.allow("404")  # the browser asks for an icon
        page.goto("/kb/suggestions")
        assert '"new":"cat"' in page.content().replace(" ", "")


def test_what_goes_wrong_in_a_page_fails_the_test(pages: Pages) -> None:
    scripts = ("console.error('broken')", "setTimeout(() => { throw 'thrown' })", "fetch('/none')")
    with pages.serving({}, flags=["--no-auth"]) as site:
        page = site.visitor()
        page.goto("/health")
        for script in scripts:
            page.evaluate(script)
        page.wait_for_load_state("networkidle")
        for told in ("broken", "thrown", "404"):
            with pytest.raises(AssertionError, match=told):
                site.check()
            site.allow(told)
        site.check()
