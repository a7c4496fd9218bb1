"""The search page in a browser: what is typed, found, kept in the address and moved through."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from playwright.sync_api import Locator, Page, Route, expect

from flashgrep.workspace.globs import TYPES
from tests.browser.accessible import violations
from tests.browser.bundle import WEB
from tests.browser.site import NARROW, WIDE, Pages, Site
from tests.web.served import TOKEN

FILES = {
    "src/app.py": (
        "import os\n\n\ndef alpha(one):\n    return Alpha(one)\n\n\nclass Alpha:\n    pass\n"
    ),
    "src/deep/more.py": "from src.app import alpha\n\nprint(alpha(1))\n",
    "docs/about.md": "# About\n\nCall alpha\nand beta.\n",
}
LOOKS = [(WIDE, False), (NARROW, True)]
"""Either width and either colours, each once: colours do not depend on the width."""
"""Sizes of a window, and whether the system is dark."""
NOTES = {"Plans/Bridge.md": "# Bridge\n\nThe alpha pier is old.\n"}


@contextmanager
def searching(
    pages: Pages, files: Mapping[str, str] = FILES, notes: Mapping[str, str] = NOTES
) -> Iterator[Site]:
    """A server with these files and notes."""
    with pages.serving(notes) as site:
        for name, text in files.items():
            path = site.running.home.parent / "workspace" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        yield site


def opened(site: Site, to: str = "/", size: tuple[int, int] = WIDE, dark: bool = False) -> Page:
    """A page of the person who runs the server, drawn: before that nobody hears its keys."""
    page = site.visitor(size, dark)
    page.goto(site.running.link(to=to))
    expect(page.get_by_role("banner")).to_be_visible()
    return page


def box(page: Page) -> Locator:
    return page.get_by_role("searchbox", name="Search")


def found(page: Page) -> Locator:
    """Lines that match, as links."""
    return page.locator(".found-line:not(.context)")


def total(page: Page) -> Locator:
    return page.locator(".search-total")


# ── what is typed ────────────────────────────────────────────────────────────────────────────────


def test_results_come_as_one_types_with_what_matches_marked(pages: Pages) -> None:
    with searching(pages) as site:
        page = opened(site)
        site.allow("400")  # of a pattern that is not whole yet
        expect(box(page)).to_be_focused()
        expect(page.get_by_text("Patterns to start with")).to_be_visible()
        page.keyboard.type("alpha\\(")
        expect(total(page)).to_have_text("2 matches in 2 files")
        expect(page.get_by_role("heading", name="src/app.py")).to_be_visible()
        expect(found(page)).to_have_text(["4def alpha(one):", "3print(alpha(1))"])
        expect(page.locator("mark")).to_have_text(["alpha(", "alpha("])
        expect(page.locator(".search-facts").first).to_contain_text("3 files looked at")
        expect(page).to_have_url(re.compile(r"/\?q=alpha%5C%28$"))


def test_nothing_found_is_said(pages: Pages) -> None:
    with searching(pages) as site:
        page = opened(site)
        box(page).fill("zebra")
        expect(total(page)).to_have_text("No matches in the workspace, nor in the notes")
        box(page).fill(r"alpha\n")
        expect(total(page)).to_contain_text("nor in the notes · the pattern needs a newline")


def test_an_unfinished_pattern_keeps_the_results_before_and_says_what_is_missing(
    pages: Pages,
) -> None:
    with searching(pages) as site:
        page = opened(site)
        site.allow("400")
        box(page).fill("alpha")
        expect(found(page)).to_have_count(4)
        box(page).press_sequentially("(")
        problem = page.locator("#search-problem")
        expect(problem).to_contain_text("missing )")
        expect(problem).to_have_attribute("aria-live", "polite")
        expect(box(page)).to_have_attribute("aria-invalid", "true")
        expect(page.locator(".search-found")).to_have_class(re.compile("stale"))
        expect(found(page)).to_have_count(4)
        expect(total(page)).to_have_text("Results of your previous search")
        box(page).press_sequentially("one)")
        expect(problem).to_be_empty()
        expect(total(page)).to_contain_text("No matches in the workspace")


def test_a_late_answer_never_replaces_a_newer_one(pages: Pages) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        if '"pattern":"alpha"' in (route.request.post_data or ""):
            held.append(route)
        else:
            route.continue_()

    with searching(pages) as site:
        page = opened(site)
        page.route("**/api/search", hold)
        with page.expect_request("**/api/search"):
            box(page).fill("alpha")
        box(page).fill("beta")
        expect(total(page)).to_have_text("1 match in 1 file")
        for route in held:
            route.continue_()
        with page.expect_response("**/api/search"):
            box(page).fill("bet")
        expect(page.locator("mark")).to_have_text(["bet"])
        assert held


# ── the address ──────────────────────────────────────────────────────────────────────────────────


def test_the_address_holds_the_whole_question_and_opens_it_again(pages: Pages) -> None:
    with searching(pages) as site:
        page = opened(site)
        box(page).fill("ALPHA")
        page.get_by_label("Match case").uncheck()
        page.get_by_label("Multiline").check()
        page.get_by_label("Context").select_option("1")
        page.get_by_label("Files").fill("*.{py,md}, *.txt")
        page.get_by_label("Type").fill("markdown")
        expect(total(page)).to_have_text("1 match in 1 file")
        expect(page.locator(".context")).to_have_count(2)
        expect(page).to_have_url(re.compile("q=ALPHA&i=1&m=1&c=1&glob=.*&type=markdown$"))
        again = opened(site)
        again.goto(page.url)
        expect(box(again)).to_have_value("ALPHA")
        expect(again.get_by_label("Match case")).not_to_be_checked()
        expect(again.get_by_label("Multiline")).to_be_checked()
        expect(again.get_by_label("Context")).to_have_value("1")
        expect(again.get_by_label("Files")).to_have_value("*.{py,md}, *.txt")
        expect(again.get_by_label("Type")).to_have_value("markdown")
        expect(again.locator(".context")).to_have_count(2)


def test_typing_replaces_a_step_of_the_history_and_enter_keeps_one(pages: Pages) -> None:
    with searching(pages) as site:
        page = opened(site)
        before = page.evaluate("history.length")
        box(page).press_sequentially("alpha")
        expect(page).to_have_url(re.compile("q=alpha$"))
        assert page.evaluate("history.length") == before
        page.keyboard.press("Enter")
        box(page).fill("beta")
        expect(page).to_have_url(re.compile("q=beta$"))
        expect(total(page)).to_have_text("1 match in 1 file")
        page.go_back()
        expect(box(page)).to_have_value("alpha")
        expect(total(page)).to_have_text("4 matches in 3 files")
        page.go_forward()
        expect(box(page)).to_have_value("beta")


def test_notes_are_searched_where_there_are_notes(pages: Pages) -> None:
    with searching(pages) as site:
        page = opened(site, "/?q=alpha")
        expect(total(page)).to_have_text("4 matches in 3 files")
        page.get_by_role("combobox", name="In", exact=True).select_option("notes")
        expect(found(page)).to_have_text(["3The alpha pier is old."])
        expect(total(page)).to_have_text("1 match in 1 note")
        expect(page.locator(".search-facts").first).to_contain_text("1 note looked at")
        expect(page.locator(".search-facts").first).to_contain_text("count as accepted")
        expect(page.get_by_role("link", name="Plans/Bridge.md")).to_have_attribute(
            "href", "/notes/Plans/Bridge.md#L3"
        )


def test_a_server_of_notes_alone_searches_notes(pages: Pages) -> None:
    with pages.serving(NOTES, flags=("--token", TOKEN, "--no-workspace")) as site:
        page = opened(site, "/?q=alpha&tab=symbol")
        expect(found(page)).to_have_text(["3The alpha pier is old."])
        expect(page.get_by_role("link", name="Symbol")).to_have_count(0)
        expect(page.get_by_role("combobox", name="In", exact=True)).to_have_count(0)
        box(page).fill("")
        expect(page.get_by_text("the search covers the notes")).to_be_visible()
        expect(page.get_by_text("tasks that are open")).to_be_visible()
        expect(page.get_by_text("definitions of functions")).to_have_count(0)


def test_without_a_connection_the_results_stay_and_can_be_asked_for_again(pages: Pages) -> None:
    with searching(pages) as site:
        page = opened(site, "/?q=alpha")
        site.allow("ERR_INTERNET_DISCONNECTED")
        expect(found(page)).to_have_count(4)
        page.context.set_offline(True)
        box(page).fill("beta")
        expect(page.locator("#search-problem")).to_contain_text("The server does not answer")
        expect(found(page)).to_have_count(4)
        page.context.set_offline(False)
        page.get_by_role("button", name="Try again").click()
        expect(total(page)).to_have_text("1 match in 1 file")
        expect(page.locator("#search-problem")).to_be_empty()


def test_what_is_typed_after_the_sign_in_is_over_is_answered_when_signed_in_again(
    pages: Pages,
) -> None:
    with searching(pages) as site:
        page = opened(site, "/?q=alpha")
        expect(found(page)).to_have_count(4)
        site.allow("401")
        (site.running.state / "sessions.json").unlink()
        box(page).fill("beta")
        notice = page.get_by_role("alert").filter(has_text="Your sign-in has expired")
        expect(notice).to_be_visible()
        expect(found(page)).to_have_count(4)
        page.context.new_page().goto(site.running.link())
        notice.get_by_role("button", name="Try again").click()
        expect(notice).to_be_hidden()
        expect(box(page)).to_have_value("beta")
        expect(total(page)).to_have_text("1 match in 1 file")
        expect(page.locator("#search-problem")).to_be_empty()


def test_the_types_offered_are_those_the_server_knows() -> None:
    text = (WEB / "src" / "search" / "types.ts").read_text(encoding="utf-8")
    assert re.findall(r'"([a-z]+)"', text) == sorted(TYPES)


# ── many results ─────────────────────────────────────────────────────────────────────────────────


def test_of_thousands_of_matches_few_are_in_the_page_and_more_come_while_scrolling(
    pages: Pages,
) -> None:
    files = {
        f"part{n:02}.txt": "".join(f"line {i} has alpha\n" for i in range(300)) for n in range(10)
    }
    with searching(pages, files) as site:
        page = opened(site, "/?q=alpha&c=1")
        expect(total(page)).to_have_text("250 shown; 3,000 matches in 10 files")
        expect(page.locator(".search-facts")).to_have_count(
            1
        )  # no remark: there are more, as shown
        assert page.locator("[data-row]").count() < 200
        page.mouse.move(600, 600)
        for shown in ("1,250", "2,250"):
            page.evaluate("scrollTo(0, document.body.scrollHeight)")
            expect(total(page)).to_have_text(f"{shown} shown; 3,000 matches in 10 files")
        page.evaluate("scrollTo(0, document.body.scrollHeight)")
        expect(total(page)).to_have_text("3,000 matches in 10 files")
        page.evaluate("scrollTo(0, document.body.scrollHeight)")
        expect(page.locator(".found-line").last).to_have_text("300line 299 has alpha")
        assert page.locator("[data-row]").count() < 200
        assert page.evaluate("performance.getEntriesByName('flashgrep:painted').length") >= 4


def test_the_head_of_a_file_stays_in_sight_while_its_lines_pass(pages: Pages) -> None:
    files = {"long.txt": "".join(f"line {i} has alpha\n" for i in range(240))}
    with searching(pages, files) as site:
        page = opened(site, "/?q=alpha")
        expect(total(page)).to_have_text("240 matches in 1 file")
        page.evaluate("scrollTo(0, 3000)")
        expect(page.get_by_text("line 150 has alpha")).to_be_visible()
        expect(page.get_by_role("heading", name="long.txt")).to_be_in_viewport()
        expect(box(page)).to_be_in_viewport()


def test_files_that_a_search_leaves_out_are_named(pages: Pages) -> None:
    with searching(pages) as site:
        huge = site.running.home.parent / "workspace" / "huge.txt"
        with huge.open("wb") as file:
            file.write(b"alpha and text\n" * 100)
            file.truncate(257 << 20)
        page = opened(site, "/?q=alpha&m=1")
        page.get_by_text("1 file skipped").click()
        expect(page.locator(".search-skipped li")).to_contain_text("huge.txt")


# ── keys ─────────────────────────────────────────────────────────────────────────────────────────


def test_everything_is_reached_by_keys(pages: Pages) -> None:
    with searching(pages) as site:
        page = opened(site)
        expect(box(page)).to_be_focused()
        page.keyboard.insert_text("alpha")  # at once: each letter would be a search of its own
        expect(found(page)).to_have_count(4)
        page.keyboard.press("ArrowDown")
        expect(found(page).nth(0).get_by_role("link")).to_be_focused()
        page.keyboard.press("j")
        page.keyboard.press("ArrowDown")
        expect(found(page).nth(2).get_by_role("link")).to_be_focused()
        page.keyboard.press("k")
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile(r"/file/src/app\.py\?pattern=alpha#L4$"))
        expect(page.get_by_role("heading", name="app.py")).to_be_visible()
        page.go_back()
        expect(found(page).nth(1).get_by_role("link")).to_be_focused()
        page.keyboard.press("Escape")
        expect(box(page)).to_be_focused()
        page.keyboard.press("Alt+c")
        expect(page.get_by_label("Match case")).not_to_be_checked()
        expect(total(page)).to_have_text("6 matches in 3 files")
        page.keyboard.press("Alt+m")
        expect(page.get_by_label("Multiline")).to_be_checked()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("?")
        expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text("Next result")
        page.keyboard.press("Escape")
        page.keyboard.press("/")
        expect(box(page)).to_be_focused()


# ── ranked passages and symbols ──────────────────────────────────────────────────────────────────


def test_a_query_ranks_passages_and_a_symbol_has_definitions_and_references(pages: Pages) -> None:
    with searching(pages) as site:
        page = opened(site, "/?q=Alpha")
        page.get_by_role("link", name="Query").click()
        expect(page.locator(".ranked li").first).to_contain_text("alpha")
        expect(page.get_by_text("Only files of the workspace")).to_be_visible()
        passage = page.locator(".ranked li").first
        left = passage.locator(".found-number").first.bounding_box()
        card = passage.bounding_box()
        assert left
        assert card
        assert left["x"] - card["x"] < 5  # lines begin at the edge, as in other results
        page.get_by_role("link", name="Symbol").click()
        expect(page.get_by_role("heading", name="Definitions")).to_be_visible()
        expect(page.locator(".symbol").first).to_contain_text("src/app.py:8")
        expect(page.get_by_text("Only files of the workspace")).to_be_visible()
        expect(page.get_by_role("heading", name="References")).to_be_visible()
        box(page).focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile(r"/file/src/app\.py.*#L8$"))
        expect(page.locator("mark").first).to_have_text("Alpha")
        page.go_back()
        page.get_by_role("link", name="search the notes by a pattern").click()
        expect(page).to_have_url(re.compile(r"/\?q=Alpha&in=notes$"))
        expect(total(page)).to_have_text("No matches in the notes; 2 in the workspace: show")


def test_a_symbol_is_marked_where_it_is_a_word(pages: Pages) -> None:
    with searching(pages, {"a.py": "def alpha(): return alphabet(alpha, _alpha)\n"}) as site:
        page = opened(site, "/?q=alpha&tab=symbol")
        references = page.locator("section").filter(has_text="References")
        expect(references.locator("mark")).to_have_text(["alpha", "alpha"])
        marked = references.locator("code").inner_html()
        assert "alphabet(" in marked
        assert "_alpha)" in marked


# ── hostile content ──────────────────────────────────────────────────────────────────────────────


def test_names_and_lines_of_files_are_only_ever_text(pages: Pages) -> None:
    script = "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"
    files = {
        "<img src=x onerror=window.hacked=1>.py": f"evil {script}\n",
        "name\u202egnp.txt": "evil \u202e turned \u2066 and \x1b[31m red\n",
    }
    with searching(pages, files, {"<b>evil<svg onload=hacked=1>.md": f"evil {script}\n"}) as site:
        for where in ("/?q=evil&c=2", "/?q=evil&in=notes", "/?q=evil&tab=query"):
            page = opened(site, where)
            expect(page.get_by_text("onerror").first).to_be_visible()
            assert page.evaluate("window.hacked") is None
        page = opened(site, "/?q=evil")
        expect(page.locator(".odd")).to_have_text(["U+202E", "U+2066", "U+001B"])
        page.get_by_role("link", name="name", exact=False).first.click()
        expect(page.get_by_role("heading", level=1)).to_have_text(r"name\xe2\x80\xaegnp.txt")
        expect(page.locator(".code .odd")).to_have_text(["U+202E", "U+2066", "U+001B"])


# ── for everybody ────────────────────────────────────────────────────────────────────────────────


STATES = {
    "/": ".hints",
    "/?q=alpha&c=2&path=src": ".found-line",
    "/?q=zebra": ".search-total",
    "/?q=alpha(": ".search-problem:not(:empty)",
    "/?q=alpha&tab=query": ".ranked",
    "/?q=Alpha&tab=symbol": ".symbol",
}


def test_no_state_of_the_page_shuts_anybody_out(pages: Pages) -> None:
    with searching(pages) as site:
        for size, dark in LOOKS:
            page = opened(site, "/", size, dark)
            site.allow("400")
            for where, sign in STATES.items():
                page.goto(where)
                expect(page.locator(sign).first).to_be_visible()
                assert violations(page) == [], (where, size, dark)
                assert page.evaluate("document.documentElement.scrollWidth") <= size[0], where
            page.goto("/?q=alpha")
            expect(found(page)).to_have_count(4)
            page.keyboard.press("Control+k")
            expect(page.get_by_role("dialog").get_by_role("option").first).to_be_visible()
            assert violations(page) == [], (size, dark)
