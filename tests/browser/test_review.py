"""The review page: two people and an agent, in real browsers, on the same notes."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from flashgrep.notes.access.roles import Role
from tests.browser.accessible import violations
from tests.browser.site import NARROW, Pages
from tests.faults.processes import wait_until

NOTE = "Plans/Bridge.md"
TEXT = "# Bridge\n\nIt opens in March and costs four million.\n\nThe piers are old.\n"
EDITS = (
    (NOTE, "opens in March", "opens in May", "robot/robot"),
    (NOTE, "four million", "five million", "other/other"),
    (NOTE, "The piers are old.", "The piers are new.", "robot/robot"),
)


def cards(page: Page) -> Locator:
    """Suggestions that wait for a decision on a page."""
    return page.get_by_role("article").filter(has=page.get_by_role("checkbox"))


def card(page: Page, text: str) -> Locator:
    return page.get_by_role("article").filter(has_text=text)


def change(page: Page, text: str) -> Locator:
    """The suggestion that takes or brings a text."""
    return page.get_by_role("article").filter(has=page.locator("ins, del", has_text=text))


def button(where: Locator | Page, name: str) -> Locator:
    return where.get_by_role("button", name=name, exact=True)


# ── two people and an agent ──────────────────────────────────────────────────────────────────────


@pytest.mark.daily
def test_what_an_agent_suggests_appears_and_is_decided_before_the_eyes_of_both(
    pages: Pages,
) -> None:
    with pages.serving({NOTE: TEXT}) as site:
        ann, bob = site.person("ann"), site.person("bob")
        for page in (ann, bob):
            expect(page.get_by_text("Nothing waits for a decision")).to_be_visible()
        robot = site.agent("robot")
        robot.suggest(NOTE, "opens in March", "opens in May")
        for page in (ann, bob):
            expect(card(page, "robot/robot").locator("del")).to_contain_text("March")
            expect(card(page, "robot/robot").locator("ins")).to_contain_text("May")
        button(ann, "Accept").click()
        expect(card(ann, "Accepted")).to_be_visible()
        expect(card(bob, "ann accepted this")).to_be_visible()
        assert "It opens in May and" in site.running.text(NOTE)
        assert "accepted by ann" in robot.read(NOTE)
        button(ann, "Undo").click()
        for page in (ann, bob):
            expect(button(page, "Accept")).to_be_visible()
        assert "{--March--}{++May++}" in site.running.text(NOTE).replace("opens in ", "")


def test_an_agent_reads_why_its_suggestion_was_rejected(pages: Pages) -> None:
    with pages.serving({NOTE: TEXT}) as site:
        robot = site.agent("robot")
        robot.suggest(NOTE, "March", "May")
        ann = site.person("ann")
        button(ann, "More ways to decide").click()
        ann.get_by_role("menuitem", name="Reject with a reason…").click()
        ann.get_by_role("dialog").get_by_role("textbox").fill("It was moved to June")
        ann.keyboard.press("Enter")
        expect(card(ann, "Rejected")).to_contain_text("It was moved to June")
        assert "It was moved to June" in robot.read(NOTE)
        assert site.running.text(NOTE) == TEXT


def test_a_text_is_edited_then_accepted_as_the_persons_own(pages: Pages) -> None:
    with pages.serving({NOTE: TEXT}) as site:
        robot = site.agent("robot")
        robot.suggest(NOTE, "March", "May")
        ann = site.person("ann")
        button(ann, "Edit").click()
        field = ann.get_by_role("textbox", name="Text to accept")
        expect(field).to_have_value("May")
        field.fill("June, at last")
        button(ann, "Accept edited text").click()
        expect(card(ann, "Accepted with your text")).to_contain_text("· June, at last")
        assert "It opens in June, at last and" in site.running.text(NOTE)
        told = robot.read(NOTE)
        assert "edited" in told
        assert "ann" in told
        button(ann, "Undo").click()
        expect(button(ann, "Accept")).to_be_visible()
        assert "{--March--}{++May++}" in site.running.text(NOTE)


def test_who_comes_second_is_told_who_decided_and_what(pages: Pages) -> None:
    with pages.serving({NOTE: TEXT}, EDITS[:1]) as site:
        ann, bob = site.person("ann"), site.person("bob", to="/notes")
        bob.route("**/kb/events", lambda route: route.abort())  # bob does not hear of it
        bob.goto("/review")
        expect(button(bob, "Accept")).to_be_visible()
        site.allow("409|ERR_FAILED")
        button(ann, "Reject").click()
        expect(card(ann, "Rejected")).to_be_visible()
        button(bob, "Accept").click()
        expect(card(bob, "ann rejected this just now")).to_be_visible()
        assert site.running.text(NOTE) == TEXT


def test_an_edited_text_stays_when_somebody_else_decides(pages: Pages) -> None:
    with pages.serving({NOTE: TEXT}, EDITS) as site:
        ann, bob = site.person("ann"), site.person("bob")
        button(change(ann, "five"), "Edit").click()
        field = ann.get_by_role("textbox", name="Text to accept")
        field.fill("six million, with the crane")
        button(change(bob, "five"), "Accept").click()
        expect(
            ann.get_by_text("bob accepted this just now. Your text is still here")
        ).to_be_visible()
        expect(field).to_have_value("six million, with the crane")
        expect(field).to_be_focused()
        button(ann, "Discard").click()
        expect(field).to_have_count(0)


def test_a_proposal_that_changes_under_an_editor_is_shown_beside_the_persons_text(
    pages: Pages,
) -> None:
    with pages.serving({NOTE: TEXT}, EDITS[:1]) as site:
        ann = site.person("ann")
        button(ann, "Edit").click()
        field = ann.get_by_role("textbox", name="Text to accept")
        field.fill("opens in June")
        with site.running.live(NOTE) as peer:
            peer.sync()
            peer.type(", perhaps", after="opens in May")
            notice = ann.get_by_role("alert").filter(has_text="has changed since you began")
            expect(notice.locator("ins")).to_contain_text("perhaps")
            expect(field).to_have_value("opens in June")
            field.press("Control+Enter")  # not yet: the new proposal was not looked at
            expect(ann.get_by_text("has changed since you saw it")).to_be_visible()
            button(ann, "Keep my text").click()
            expect(notice).to_have_count(0)

            def first(route: Route) -> None:
                peer.type(" or not", after="perhaps")
                peer.sync()
                route.continue_()

            ann.route("**/kb/suggestions/decide", first, times=1)
            site.allow("409")
            button(ann, "Accept edited text").click()
            expect(notice.locator("ins")).to_contain_text("or not")
            expect(field).to_have_value("opens in June")
            assert "{++opens in May, perhaps or not++}" in site.running.text(NOTE)
        button(ann, "Keep my text").click()
        button(ann, "Accept edited text").click()
        expect(card(ann, "Accepted with your text")).to_be_visible()
        assert "It opens in June and" in site.running.text(NOTE)


def test_what_changes_before_it_is_accepted_is_shown_and_not_accepted(pages: Pages) -> None:
    with pages.serving({NOTE: TEXT}, EDITS[:1]) as site:
        ann = site.person("ann")
        with site.running.live(NOTE) as peer:
            peer.sync()

            def first(route: Route) -> None:
                peer.type(", perhaps", after="opens in May")
                peer.sync()
                route.continue_()

            ann.route("**/kb/suggestions/decide", first, times=1)
            site.allow("409")
            button(ann, "Accept").click()
            expect(ann.get_by_text("has changed since you saw it")).to_be_visible()
        expect(ann.get_by_role("article").locator("ins")).to_contain_text("perhaps")
        button(ann, "Accept").click()
        expect(card(ann, "Accepted")).to_be_visible()
        assert "It opens in May, perhaps and" in site.running.text(NOTE)


@pytest.mark.daily
def test_of_several_what_changes_before_they_are_accepted_is_left_and_shown(pages: Pages) -> None:
    with pages.serving({NOTE: TEXT}) as site:
        robot = site.agent("robot")
        robot.suggest(NOTE, "March", "May")
        robot.suggest(NOTE, "four million", "five million")
        ann = site.person("ann")
        expect(cards(ann)).to_have_count(2)
        for key in ("j", "x", "j", "x", "Shift+A"):
            ann.keyboard.press(key)
        dialog = ann.get_by_role("dialog")
        expect(dialog).to_contain_text("Accept 2 suggestions?")
        robot.suggest(NOTE, "five million", "nine million")
        expect(dialog.get_by_role("alert")).to_contain_text("1 of them has changed")
        button(dialog, "Accept 2").click()
        told = "1 suggestion accepted, 1 left because it had changed"
        expect(ann.get_by_text(told)).to_be_visible()
        left = change(ann, "nine")
        expect(left.get_by_role("alert")).to_contain_text("has changed since you saw it")
        text = TEXT.replace("March", "May")
        marked = text.replace("four million", "{--four million--}{++nine million++}")
        assert site.running.text(NOTE) == marked
        button(left, "Accept").click()
        expect(left).to_have_count(0)  # it is being decided
        wanted = text.replace("four", "nine")
        wait_until(lambda: site.running.text(NOTE) == wanted, "decision")


def test_a_selection_is_of_what_was_seen_when_it_was_made(pages: Pages) -> None:
    with pages.serving({NOTE: TEXT}) as site:
        robot = site.agent("robot")
        robot.suggest(NOTE, "March", "May")
        ann = site.person("ann")
        expect(cards(ann)).to_have_count(1)
        site.allow("409")
        for shortcut, word in (("Shift+A", "June"), ("Reject 1 selected", "July")):
            ann.keyboard.press("j")
            ann.keyboard.press("x")
            expect(button(ann, "Accept 1 selected")).to_be_visible()
            robot.suggest(NOTE, "May" if word == "June" else "June", word)
            expect(cards(ann).locator("ins")).to_contain_text(word)
            if shortcut == "Shift+A":
                ann.keyboard.press(shortcut)
            else:
                button(ann, shortcut).click()
            expect(cards(ann).get_by_role("alert")).to_contain_text("has changed since you saw it")
            assert f"{{--March--}}{{++{word}++}}" in site.running.text(NOTE)
        for key in ("j", "x", "Shift+A"):
            ann.keyboard.press(key)
        expect(card(ann, "Accepted")).to_be_visible()
        assert "opens in July" in site.running.text(NOTE)


def test_what_would_make_a_mark_of_a_persons_words_stays_in_the_list(pages: Pages) -> None:
    edits = ((NOTE, ">> im", "R im", "other"), (NOTE, "x", "{", "robot"))
    with pages.serving({NOTE: "see x>> important words <<} and more\n"}, edits) as site:
        first = site.running.get("/kb/suggestions?author=other").json()["suggestions"]
        body = {"ids": [one["id"] for one in first], "action": "reject"}
        assert site.running.post("/kb/suggestions/decide", body).status_code == 200
        ann = site.person("ann")
        button(ann, "Accept").click()
        left = cards(ann)
        expect(left.get_by_role("alert")).to_contain_text("separate texts into {>>")
        expect(button(left, "Accept")).to_be_visible()


def test_around_a_change_stands_what_the_note_says_now(pages: Pages) -> None:
    with pages.serving({NOTE: TEXT}, EDITS) as site:
        ann = site.person("ann")
        million = change(ann, "five").locator(".change-source")
        expect(million).to_contain_text("It opens in March and costs")
        expect(million).to_contain_text("The piers are old.")
        button(change(ann, "May"), "Accept").click()
        expect(million).to_contain_text("It opens in May and costs")


def test_the_focus_stays_where_it_is_when_others_decide(pages: Pages) -> None:
    with pages.serving({NOTE: TEXT}, EDITS) as site:
        ann, bob = site.person("ann"), site.person("bob")
        accept = button(change(ann, "new"), "Accept")
        accept.focus()
        button(change(bob, "May"), "Accept").click()
        expect(ann.get_by_text("bob accepted a suggestion in Plans/Bridge.md")).to_be_visible()
        expect(accept).to_be_focused()


def test_comments_go_to_and_fro_and_are_resolved(pages: Pages) -> None:
    with pages.serving({NOTE: TEXT}) as site:
        robot = site.agent("robot")
        robot.suggest(NOTE, "March", "May")
        ann = site.person("ann")
        button(ann, "Comment").click()
        ann.get_by_role("textbox", name="Comment").fill("Why not June?")
        button(ann, "Send").click()
        thread = ann.get_by_role("region", name="Comments")
        expect(thread).to_contain_text("Why not June?")
        found = re.search(r"\b(c_\w+)\b", robot.read(NOTE))
        assert found
        robot.call("reply_comment", id=found[1], text="The steel comes in May.")
        expect(thread).to_contain_text("The steel comes in May.")
        button(thread, "Reply").click()
        thread.get_by_role("textbox").fill("Good.")
        button(thread, "Send").click()
        expect(thread).to_contain_text("Good.")
        button(thread, "Resolve").click()
        expect(thread).to_contain_text("Comment resolved by ann")
        assert "Why not June" not in site.running.text(NOTE)


# ── many at once ─────────────────────────────────────────────────────────────────────────────────


def test_a_bulk_decision_shows_its_count_first_and_is_undone_together(pages: Pages) -> None:
    with pages.serving(
        {NOTE: TEXT, "Other.md": "a fox\n"}, [*EDITS, ("Other.md", "fox", "cat", "robot")]
    ) as site:
        ann = site.person("ann")
        for at in range(3):
            cards(ann).nth(at).get_by_role("checkbox").check()
        button(ann, "Accept 3 selected").click()
        dialog = ann.get_by_role("dialog", name="Accept 3 suggestions?")
        expect(dialog).to_contain_text("In Plans/Bridge.md, by 2 authors")
        button(dialog, "Accept 3").click()
        expect(ann.get_by_text("3 suggestions accepted")).to_be_visible()
        assert "It opens in May and costs five million.\n\nThe piers are new." in site.running.text(
            NOTE
        )
        button(ann, "Undo all 3").click()
        expect(cards(ann)).to_have_count(4)
        assert site.running.text(NOTE).count("{++") == 3


def test_all_of_a_note_or_of_an_author_are_decided(pages: Pages) -> None:
    with pages.serving({NOTE: TEXT}, EDITS) as site:
        ann = site.person("ann", to="/review?author=robot%2Frobot")
        expect(cards(ann)).to_have_count(2)
        button(ann, f"Decide all 2 in {NOTE}").click()
        ann.get_by_role("menuitem", name="Reject all 2").click()
        dialog = ann.get_by_role("dialog")
        dialog.get_by_role("textbox").fill("not now")
        ann.keyboard.press("Enter")
        expect(ann.get_by_text("2 suggestions rejected")).to_be_visible()
        expect(card(ann, "“not now”")).to_have_count(2)
        ann.get_by_role("combobox", name="Author").select_option("")
        expect(cards(ann)).to_have_count(1)


# ── by keyboard, filters, marks ──────────────────────────────────────────────────────────────────


def test_everything_goes_by_keyboard_alone(pages: Pages) -> None:
    with pages.serving({NOTE: TEXT}, EDITS) as site:
        ann = site.person("ann")
        expect(cards(ann)).to_have_count(3)
        ann.keyboard.press("a")
        expect(ann.get_by_text("Choose a suggestion first: j goes to the first")).to_be_visible()
        press = ann.keyboard.press
        press("j")
        expect(change(ann, "March")).to_be_focused()
        press("j")
        press("k")
        press("a")
        expect(card(ann, "Accepted")).to_have_count(1)
        expect(change(ann, "five")).to_be_focused()
        press("e")
        ann.get_by_role("textbox", name="Text to accept").press("End")
        ann.keyboard.type(" or so")
        press("Control+Enter")
        expect(card(ann, "Accepted with your text")).to_be_visible()
        expect(change(ann, "new")).to_be_focused()
        press("Shift+R")
        ann.keyboard.type("they are fine")
        press("Enter")
        expect(card(ann, "they are fine")).to_be_visible()
        press("u")
        expect(cards(ann)).to_have_count(1)
        expect(cards(ann)).to_be_focused()
        press("x")
        expect(button(ann, "Accept 1 selected")).to_be_visible()
        press("Shift+A")
        expect(card(ann, "Accepted")).to_have_count(3)
        press("/")
        expect(ann.get_by_role("searchbox")).to_be_focused()
        press("Escape")
        press("?")
        expect(ann.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text(
            "Reject with a reason"
        )
        press("Escape")
        assert "May and costs five million or so.\n\nThe piers are new." in site.running.text(NOTE)


def test_filters_are_in_the_address_and_narrow_what_is_listed(pages: Pages) -> None:
    other = ("Home/List.md", "milk", "oat milk", "robot/robot")
    with pages.serving({NOTE: TEXT, "Home/List.md": "milk\n"}, [*EDITS, other]) as site:
        ann = site.person("ann")
        expect(cards(ann)).to_have_count(4)
        ann.get_by_role("combobox", name="Author").select_option("robot/robot")
        expect(cards(ann)).to_have_count(3)
        ann.get_by_role("combobox", name="Folder").select_option("Home")
        expect(cards(ann)).to_have_count(1)
        ann.reload()
        expect(ann.get_by_role("combobox", name="Folder")).to_have_value("Home")
        expect(cards(ann)).to_have_count(1)
        button(ann, "Clear filters").click()
        expect(cards(ann)).to_have_count(4)
        ann.get_by_role("searchbox").fill("oat")
        expect(cards(ann)).to_have_count(1)
        expect(ann).to_have_url(re.compile("text=oat"))
        ann.get_by_role("combobox", name="Age").select_option("older-7d")
        expect(ann.get_by_text("Nothing matches these filters")).to_be_visible()


def test_what_was_looked_at_is_marked_and_left_out_on_request(pages: Pages) -> None:
    with pages.serving({NOTE: TEXT}, EDITS[:1]) as site:
        ann = site.person("ann")
        expect(card(ann, "Seen")).to_be_visible()
        site.agent("robot").suggest(NOTE, "The piers", "All piers")
        expect(cards(ann)).to_have_count(2)
        ann.reload()
        expect(card(ann, "Seen")).to_have_count(1)
        ann.get_by_role("checkbox", name="Unseen").check()
        expect(cards(ann)).to_have_count(1)
        expect(cards(ann)).to_contain_text("All")


def test_decisions_of_before_are_listed_with_their_reason_and_undone(pages: Pages) -> None:
    with pages.serving({NOTE: TEXT}, EDITS[:1]) as site:
        ann = site.person("ann")
        expect(cards(ann)).to_have_count(1)
        ann.keyboard.press("j")
        ann.keyboard.press("Shift+R")
        ann.keyboard.type("too early")
        ann.keyboard.press("Enter")
        expect(card(ann, "Rejected")).to_be_visible()
        ann.reload()
        past = ann.get_by_role("region", name="Your last decisions")
        expect(past).to_contain_text("too early")
        button(past, "Undo").click()
        expect(button(ann, "Accept")).to_be_visible()
        expect(cards(ann)).to_be_focused()


# ── roles, hostile texts, accessibility ──────────────────────────────────────────────────────────


@pytest.mark.parametrize("role", [Role.READ, Role.SUGGEST])
def test_who_may_not_decide_sees_why(pages: Pages, role: Role) -> None:
    with pages.serving({NOTE: TEXT}, EDITS) as site:
        eve = site.person("eve", role)
        expect(
            eve.get_by_text(f"Deciding needs the role write; you have {role.shown}")
        ).to_be_visible()
        expect(cards(eve)).to_have_count(3)
        for name in ("Accept", "Reject", "Edit"):
            expect(button(eve, name)).to_have_count(0)
        expect(button(eve, "Comment")).to_have_count(3 if role is Role.SUGGEST else 0)


HOSTILE = (
    "<script>window.hit = 1</script>",
    "<img src=x onerror='window.hit = 1'>",
    "[x](javascript:window.hit=1)",
    "![x](https://example.invalid/x.png)",
    "<svg/onload=window.hit=1>",
    "<a href='java&#115;cript:window.hit=1'>x</a>",
    "{{constructor.constructor('window.hit=1')()}}",
    "\u202eevil\u202c",
)


def test_hostile_texts_are_only_shown(pages: Pages) -> None:
    notes = {f"{at}.md": f"before\n\n{text} word\n" for at, text in enumerate(HOSTILE)}
    edits = [(f"{at}.md", "word", f"{text} *new*", text) for at, text in enumerate(HOSTILE)]
    with pages.serving(notes, edits) as site:
        ann = site.person("ann")
        expect(cards(ann).first).to_be_visible()
        button(ann, "Rendered").click()
        expect(ann.locator(".change-rendered").first).to_be_visible()
        for at in range(len(HOSTILE)):
            ann.keyboard.press("j")
            expect(ann.get_by_role("link", name=f"{at}.md").first).to_be_attached()
        for link in ann.locator(".change-rendered a").all():
            link.hover()
        assert ann.evaluate("window.hit") is None


@pytest.mark.parametrize("is_dark", [False, True])
def test_the_page_is_accessible(pages: Pages, is_dark: bool) -> None:
    with pages.serving({NOTE: TEXT}, EDITS) as site:
        ann = site.person("ann", is_dark=is_dark, size=NARROW if is_dark else (1280, 900))
        expect(cards(ann)).to_have_count(3)
        assert violations(ann) == []
        cards(ann).first.get_by_role("checkbox").check()
        button(cards(ann).nth(1), "Edit").click()
        button(cards(ann).last, "Accept").click()
        expect(card(ann, "Accepted")).to_be_visible()
        assert violations(ann) == []
        _fits(ann)
        button(ann, "Rendered").click()
        expect(ann.locator(".change-rendered").first).to_be_visible()
        button(ann, "Your last decisions").click()
        expect(ann.get_by_role("dialog")).to_contain_text("Accepted")
        assert violations(ann) == []


def _fits(page: Page) -> None:
    """Nothing makes the page wider than its window."""
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
