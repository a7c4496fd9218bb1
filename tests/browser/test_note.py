"""The note page: people and agents on the same note, decisions in the text, what is saved."""

from __future__ import annotations

import os
import re

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from flashgrep.notes.access.roles import Role
from tests.browser.outage import begin_anew, kill, restarted
from tests.browser.site import Pages, Site

NOTE = "The quick brown fox jumps over the lazy dog.\n"
PLAN = "Projects/Plan.md"


def editor(page: Page) -> Locator:
    """The text of the note."""
    return page.get_by_role("textbox", name="Text of the note")


def at_the_end(page: Page) -> None:
    editor(page).click()
    page.keyboard.press("Control+End")


def saved(page: Page) -> None:
    """Wait until the page says that all is saved."""
    expect(page.get_by_text("All changes saved")).to_be_visible()


def text_of(page: Page) -> str:
    return "\n".join(editor(page).locator(".cm-line").all_text_contents())


def opened(site: Site, name: str, note: str = "Fox.md", role: Role = Role.WRITE) -> Page:
    page = site.person(name, role, to=f"/notes/{note}")
    expect(editor(page)).to_be_visible()
    return page


def toast(page: Page, text: str) -> None:
    expect(page.locator(".toast").filter(has_text=text)).to_be_visible()


# ── people ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.daily
def test_two_people_see_what_the_other_types_and_where(pages: Pages) -> None:
    with pages.serving({"Fox.md": NOTE}) as site:
        ann, bob = opened(site, "ann"), opened(site, "bob")
        at_the_end(ann)
        ann.keyboard.type("By ann.")
        expect(editor(bob)).to_contain_text("By ann.")
        expect(bob.locator(".cm-caret-name")).to_have_text("ann")
        at_the_end(bob)
        bob.keyboard.type(" By bob.")
        expect(editor(ann)).to_contain_text("By ann. By bob.")
        people = ann.get_by_role("list", name="People here").get_by_role("listitem")
        expect(people).to_contain_text(["ann (you)", "bob"])
        colour = people.nth(1).get_attribute("class")
        second = bob.context.new_page()
        second.goto("/notes/Fox.md")
        expect(people).to_contain_text(["ann (you)", "bob, 2 windows"])
        assert people.nth(1).get_attribute("class") == colour
        second.close()
        expect(people).to_have_count(2)
        saved(ann)
        saved(bob)
        assert site.running.text("Fox.md") == NOTE + "By ann. By bob."
        bob.goto("/notes")
        expect(people).to_have_count(1)
        expect(ann.locator(".cm-caret-name")).to_have_count(0)


def test_undo_takes_back_only_ones_own_words(pages: Pages) -> None:
    with pages.serving({"Fox.md": NOTE}) as site:
        ann, bob = opened(site, "ann"), opened(site, "bob")
        at_the_end(bob)
        bob.keyboard.type("bob stays.")
        expect(editor(ann)).to_contain_text("bob stays.")
        at_the_end(ann)
        ann.keyboard.type(" ann goes.")
        expect(editor(bob)).to_contain_text("ann goes.")
        ann.keyboard.press("Control+z")
        expect(editor(bob)).not_to_contain_text("ann goes.")
        saved(ann)
        assert site.running.text("Fox.md") == NOTE + "bob stays."


def test_lines_from_windows_arrive_as_lines(pages: Pages) -> None:
    with pages.serving({"Fox.md": NOTE}) as site:
        ann = opened(site, "ann")
        at_the_end(ann)
        paste = """(box, text) => { const clipboardData = new DataTransfer();
            clipboardData.setData("text/plain", text);
            box.dispatchEvent(new ClipboardEvent("paste", {clipboardData, bubbles: true})) }"""
        editor(ann).evaluate(paste, "a\r\nb\r")
        ann.keyboard.type("c")
        saved(ann)
        assert site.running.text("Fox.md") == NOTE + "a\nb\nc"


# ── suggestions ──────────────────────────────────────────────────────────────────────────────────


def test_an_agents_suggestion_appears_and_is_accepted_where_it_stands(pages: Pages) -> None:
    with pages.serving({"Fox.md": NOTE}) as site:
        ann, bob = opened(site, "ann"), opened(site, "bob")
        site.agent("robot").suggest("Fox.md", "brown fox", "red cat")
        for page in (ann, bob):
            expect(editor(page).locator("del")).to_have_text("brown fox")
            expect(editor(page).locator("ins")).to_have_text("red cat")
            assert "{--" not in text_of(page)
        editor(ann).locator("del").hover()
        card = ann.get_by_role("group", name="Suggestion by robot/robot")
        card.get_by_role("button", name="Accept").click()
        toast(ann, "Accepted")
        expect(editor(bob)).to_have_text(NOTE.replace("brown fox", "red cat").strip())
        assert site.running.text("Fox.md") == NOTE.replace("brown fox", "red cat")
        ann.get_by_role("button", name="Undo").click()
        expect(editor(bob).locator("del")).to_have_text("brown fox")


def test_suggestions_are_decided_by_keyboard_alone(pages: Pages) -> None:
    edits = [("Fox.md", "quick", "slow", "robot"), ("Fox.md", "lazy", "busy", "robot")]
    with pages.serving({"Fox.md": NOTE}, edits) as site:
        ann = opened(site, "ann")
        editor(ann).focus()
        ann.keyboard.press("Alt+ArrowDown")
        expect(ann.get_by_role("group", name="Suggestion by robot")).to_be_visible()
        ann.keyboard.press("Alt+a")
        toast(ann, "Accepted")
        ann.keyboard.press("Alt+ArrowDown")
        ann.keyboard.press("Alt+r")
        toast(ann, "Rejected")
        expect(editor(ann).locator("del")).to_have_count(0)
        assert site.running.text("Fox.md") == NOTE.replace("quick", "slow")
        ann.keyboard.press("Alt+ArrowDown")
        ann.keyboard.press("Control+Home")
        ann.keyboard.type("So: ")
        saved(ann)
        assert site.running.text("Fox.md").startswith("So: The slow")


def test_a_suggestion_is_edited_then_accepted(pages: Pages) -> None:
    with pages.serving({"Fox.md": NOTE}, [("Fox.md", "brown fox", "red cat", "robot")]) as site:
        ann = opened(site, "ann")
        ann.get_by_role("tab", name="Suggestions").click()
        ann.get_by_role("tabpanel").get_by_role("button", name="Edit").click()
        field = ann.get_by_role("textbox", name="Your text")
        expect(field).to_have_value("red cat")
        field.fill("red panda")
        ann.get_by_role("button", name="Accept this text").click()
        toast(ann, "Accepted with your text")
        assert site.running.text("Fox.md") == NOTE.replace("brown fox", "red panda")


def test_a_text_for_a_proposal_that_has_changed_stays_beside_the_new_one(pages: Pages) -> None:
    with pages.serving({"Fox.md": NOTE}, [("Fox.md", "brown fox", "red cat", "robot")]) as site:
        ann = opened(site, "ann")
        ann.get_by_role("tab", name="Suggestions").click()
        ann.get_by_role("tabpanel").get_by_role("button", name="Edit").click()
        field = ann.get_by_role("textbox", name="Your text")
        field.fill("red panda")
        with site.running.live("Fox.md") as peer:
            peer.sync()
            peer.type(" asleep", after="red cat")
            peer.sync()
        site.allow("409")
        ann.get_by_role("button", name="Accept this text").click()
        dialog = ann.get_by_role("dialog")
        expect(dialog.get_by_role("alert")).to_contain_text("has changed since you saw it")
        expect(dialog.locator("ins")).to_have_text("red cat asleep")
        expect(field).to_have_value("red panda")
        ann.get_by_role("button", name="Accept my text anyway").click()
        toast(ann, "Accepted with your text")
        expect(dialog).to_have_count(0)
        assert site.running.text("Fox.md") == NOTE.replace("brown fox", "red panda")


def test_what_changes_before_it_is_decided_in_the_note_is_left(pages: Pages) -> None:
    with pages.serving({"Fox.md": NOTE}) as site:
        robot = site.agent("robot")
        robot.suggest("Fox.md", "brown fox", "red cat")
        ann = opened(site, "ann")
        ann.get_by_role("tab", name="Suggestions").click()
        panel = ann.get_by_role("tabpanel")
        words = iter([("red cat", "red dog"), ("red dog", "red owl")])

        def first(route: Route) -> None:
            robot.suggest("Fox.md", *next(words))
            route.continue_()

        ann.route("**/kb/suggestions/decide", first, times=2)
        site.allow("409")
        for name, now in (("Accept", "red dog"), ("Reject", "red owl")):
            panel.get_by_role("button", name=name).click()
            toast(ann, f"brings '{now}' now")
            expect(panel.locator("ins")).to_have_text(now)
            marked = f"{{--brown fox--}}{{++{now}++}}"
            assert site.running.text("Fox.md") == NOTE.replace("brown fox", marked)
        panel.get_by_role("button", name="Accept").click()
        toast(ann, "Accepted.")
        assert site.running.text("Fox.md") == NOTE.replace("brown fox", "red owl")


def test_the_card_at_the_cursor_decides_on_what_the_text_shows_now(pages: Pages) -> None:
    with pages.serving({"Fox.md": NOTE}) as site:
        robot = site.agent("robot")
        robot.suggest("Fox.md", "brown fox", "red cat")
        ann = opened(site, "ann")
        editor(ann).focus()
        ann.keyboard.press("Alt+ArrowDown")
        card = ann.get_by_role("group", name="Suggestion by robot/robot")
        expect(card).to_be_visible()
        robot.suggest("Fox.md", "cat", "dog")  # as long: nothing else in the note moves
        expect(editor(ann).locator("ins")).to_have_text("red dog")
        card.get_by_role("button", name="Accept").click()
        toast(ann, "Accepted.")
        assert site.running.text("Fox.md") == NOTE.replace("brown fox", "red dog")


def test_who_decides_second_is_told_so(pages: Pages) -> None:
    with pages.serving({"Fox.md": NOTE}, [("Fox.md", "brown fox", "red cat", "robot")]) as site:
        ann = opened(site, "ann")
        listed = site.running.get("/kb/suggestions").json()["suggestions"]
        ann.get_by_role("tab", name="Suggestions").click()
        accept = ann.get_by_role("tabpanel").get_by_role("button", name="Accept")
        expect(accept).to_be_visible()

        def first(route: object) -> None:
            body = {"ids": [listed[0]["id"]], "action": "reject"}
            assert site.running.post("/kb/suggestions/decide", body).status_code == 200
            route.continue_()  # type: ignore[attr-defined]

        ann.route("**/kb/suggestions/decide", first)
        site.allow("409")
        accept.click()
        toast(ann, "Somebody else decided on this suggestion first")
        assert site.running.text("Fox.md") == NOTE


def test_suggestions_keep_their_place_while_people_type(pages: Pages) -> None:
    edits = [("Fox.md", f"word{n} ", f"other{n} ", "robot") for n in range(0, 40, 4)]
    text = "".join(f"word{n} 😀 " for n in range(40)) + "\n"
    with pages.serving({"Fox.md": text}, edits) as site:
        ann = opened(site, "ann")
        editor(ann).focus()
        ann.keyboard.press("Control+Home")
        ann.keyboard.type("é😀 before everything ")
        saved(ann)
        expect(editor(ann).locator("del")).to_have_count(10)
        shown = editor(ann).locator("del").all_text_contents()
        assert shown == [f"word{n} " for n in range(0, 40, 4)]
        site.agent("late").suggest("Fox.md", "word39 ", "last ")
        expect(editor(ann).locator("del").last).to_have_text("word39 ")


# ── saved or not ─────────────────────────────────────────────────────────────────────────────────


def test_a_killed_server_loses_nothing_and_the_page_says_what_is_not_saved(pages: Pages) -> None:
    with pages.serving({"Fox.md": NOTE}) as site:
        ann = opened(site, "ann")
        at_the_end(ann)
        ann.keyboard.type("Acknowledged. ")
        saved(ann)
        kill(site)
        ann.keyboard.type("Typed in the dark. ")
        expect(ann.get_by_text("Not saved yet")).to_be_visible()
        with restarted(site):
            expect(ann.get_by_text("Not saved yet")).to_be_hidden()
            saved(ann)
            expected = NOTE + "Acknowledged. Typed in the dark. "
            assert site.running.text("Fox.md") == expected


def test_unsaved_words_outlive_the_tab(pages: Pages) -> None:
    with pages.serving({"Fox.md": NOTE}) as site:
        ann = opened(site, "ann")
        at_the_end(ann)
        kill(site)
        ann.keyboard.type("Typed in the dark. ")
        expect(ann.get_by_text("and in this browser")).to_be_visible()
        context = ann.context
        ann.close()
        with restarted(site):
            again = context.new_page()
            again.goto("/notes/Fox.md")
            expect(editor(again)).to_contain_text("Typed in the dark.")
            saved(again)
            assert site.running.text("Fox.md") == NOTE + "Typed in the dark. "
            assert (
                again.evaluate("Object.keys(localStorage).filter((k) => /unsaved/.test(k))") == []
            )


def test_words_for_a_note_that_began_anew_are_offered_and_not_mixed_in(pages: Pages) -> None:
    with pages.serving({"Fox.md": NOTE}) as site:
        ann = opened(site, "ann")
        site.allow("404")
        at_the_end(ann)
        kill(site)
        ann.keyboard.type("Mine. ")
        expect(ann.get_by_text("Not saved yet")).to_be_visible()
        begin_anew(site, "Fox.md", "Another fox.\n")
        with restarted(site):
            expect(ann.get_by_text("The note has begun anew")).to_be_visible()
            expect(editor(ann)).to_have_text("Another fox.")
            ann.get_by_role("button", name="Show it").click()
            expect(ann.get_by_label("Your unsaved text")).to_contain_text("dog.\nMine.")
            assert site.running.text("Fox.md") == "Another fox.\n"
            ann.get_by_role("button", name="Discard it").click()
            expect(ann.get_by_text("The note has begun anew")).to_be_hidden()


def test_an_expired_login_asks_again_and_loses_nothing(pages: Pages) -> None:
    with pages.serving({"Fox.md": NOTE}) as site:
        ann = opened(site, "ann")
        at_the_end(ann)
        site.allow("401|403|WebSocket")
        ann.context.clear_cookies()
        site.running.tokens.revoke("ann")
        ann.keyboard.type("Typed after it expired. ")
        expect(ann.get_by_text("Your sign-in has expired")).to_be_visible()
        expect(ann.get_by_text("Not saved yet")).to_be_visible()
        site.running.token("ann", Role.WRITE)
        other = ann.context.new_page()
        other.goto(site.running.link("ann"))
        ann.get_by_role("button", name="Try again").click()
        saved(ann)
        assert site.running.text("Fox.md") == NOTE + "Typed after it expired. "


# ── filing ───────────────────────────────────────────────────────────────────────────────────────


def test_a_note_is_made_renamed_deleted_and_brought_back(pages: Pages) -> None:
    with pages.serving({"Fox.md": "See [[Plan]].\n", PLAN: "# Plan\n"}) as site:
        ann = site.person("ann", to="/notes")
        ann.get_by_role("button", name="New note").click()
        ann.get_by_role("textbox", name="Name").fill("Ideas/First")
        ann.get_by_role("button", name="Create").click()
        ann.wait_for_url("**/notes/Ideas/First.md")
        editor(ann).click()
        ann.keyboard.type("An idea")
        ann.get_by_role("button", name="Rename").click()
        ann.get_by_role("textbox", name="New name").fill("Ideas/Second")
        ann.get_by_role("button", name="Move", exact=True).click()
        ann.wait_for_url("**/notes/Ideas/Second.md")
        expect(editor(ann)).to_have_text("An idea")
        saved(ann)
        assert site.running.text("Ideas/Second.md") == "An idea"
        ann.get_by_role("button", name="Delete").click()
        ann.get_by_role("dialog").get_by_role("button", name="Delete").click()
        ann.wait_for_url("**/notes")
        ann.get_by_role("button", name="Undo").click()
        ann.wait_for_url("**/notes/Ideas/Second.md")
        expect(editor(ann)).to_have_text("An idea")


def test_links_follow_a_note_and_a_folder_that_move(pages: Pages) -> None:
    with pages.serving({"Fox.md": "See [[Plan]].\n", PLAN: "# Plan\n"}) as site:
        ann = opened(site, "ann", PLAN)
        ann.get_by_role("button", name="Rename").click()
        ann.get_by_role("textbox", name="New name").fill("Projects/Road")
        ann.get_by_role("button", name="Move", exact=True).click()
        toast(ann, "The note is now Projects/Road.md. 1 link followed.")
        assert site.running.text("Fox.md") == "See [[Road]].\n"
        ann.goto("/notes?folder=Projects")
        ann.get_by_role("button", name="Rename folder").click()
        ann.get_by_role("textbox", name="New name").fill("Work")
        ann.get_by_role("button", name="Move", exact=True).click()
        ann.wait_for_url("**/notes?folder=Work")
        toast(ann, "1 note moved to Work/.")
        ann.get_by_role("button", name="Delete folder").click()
        ann.get_by_role("button", name="Delete 1 note").click()
        toast(ann, "1 note of Work/ went to the trash.")
        ann.get_by_role("heading", name="Trash").click()
        ann.get_by_role("button", name="Restore Work/Road.md").click()
        ann.wait_for_url("**/notes/Work/Road.md")
        expect(editor(ann)).to_have_text("# Plan")


def test_a_link_leads_to_its_heading(pages: Pages) -> None:
    filler = "filler\n" * 300
    notes = {"Fox.md": "[[Plan#Far away]]\n", PLAN: f"# Near\n{filler}## Far away\n{filler}"}
    with pages.serving(notes) as site:
        ann = opened(site, "ann")
        editor(ann).focus()
        ann.keyboard.press("Control+Home")
        ann.keyboard.press("Alt+Enter")
        ann.wait_for_url(re.compile("Plan.md.heading=Far"))
        expect(editor(ann).get_by_text("## Far away")).to_be_in_viewport()


def test_a_note_that_others_move_is_followed_and_one_they_delete_is_told(pages: Pages) -> None:
    with pages.serving({"Fox.md": NOTE}) as site:
        ann = opened(site, "ann")
        site.allow("404")
        at_the_end(ann)
        ann.keyboard.type("Before. ")
        site.running.post("/kb/notes/move", {"from": "Fox.md", "to": "Den/Fox.md"})
        ann.wait_for_url("**/notes/Den/Fox.md")
        toast(ann, "The note was moved")
        ann.keyboard.type("After. ")
        saved(ann)
        assert site.running.text("Den/Fox.md") == NOTE + "Before. After. "
        site.running.ask("DELETE", "/kb/notes/Den/Fox.md", None)
        expect(ann.get_by_text("This note was deleted")).to_be_visible()
        expect(editor(ann)).to_contain_text("Before. After.")
        ann.get_by_role("button", name="Restore it").click()
        expect(ann.get_by_text("This note was deleted")).to_be_hidden()
        saved(ann)
        assert site.running.text("Den/Fox.md") == NOTE + "Before. After. "


def test_a_missing_note_can_be_created(pages: Pages) -> None:
    with pages.serving({"Fox.md": NOTE}) as site:
        ann = site.person("ann", to="/notes/Owl")
        site.allow("404")
        ann.get_by_role("button", name="Create it").click()
        expect(editor(ann)).to_be_visible()
        assert site.running.text("Owl.md") == ""


def test_who_may_not_write_sees_why_and_cannot(pages: Pages) -> None:
    with pages.serving({"Fox.md": NOTE}, [("Fox.md", "brown fox", "red cat", "robot")]) as site:
        eve = opened(site, "eve", role=Role.SUGGEST)
        expect(eve.get_by_text("Your role is suggest; to change this note")).to_be_visible()
        expect(eve.get_by_text("You can read this note and comment")).to_be_visible()
        expect(eve.get_by_role("button", name="Text", exact=True)).to_be_visible()
        expect(eve.get_by_role("button", name="Edit", exact=True)).to_have_count(0)
        at_the_end(eve)
        eve.keyboard.type("x")
        eve.get_by_role("tab", name="Suggestions").click()
        panel = eve.get_by_role("tabpanel")
        expect(panel).to_contain_text("to decide on suggestions you need the role write")
        for name in ("Accept", "Reject", "Rename", "Delete"):
            expect(eve.get_by_role("button", name=name)).to_have_count(0)
        eve.goto("/notes")
        expect(eve.get_by_text("to make notes you need the role write")).to_be_visible()
        expect(eve.get_by_role("button", name="New note")).to_have_count(0)
        assert "x" not in site.running.text("Fox.md").replace("fox", "")


# ── beside the text ──────────────────────────────────────────────────────────────────────────────


def test_a_passage_is_commented_on_answered_and_resolved(pages: Pages) -> None:
    with pages.serving({"Fox.md": NOTE}) as site:
        ann, bob = opened(site, "ann"), opened(site, "bob", role=Role.SUGGEST)
        editor(ann).click()
        ann.keyboard.press("Control+Home")
        for _ in range(9):
            ann.keyboard.press("Shift+ArrowRight")
        ann.keyboard.press("Alt+c")
        ann.get_by_role("textbox", name="Comment").fill("Really quick?")
        ann.get_by_role("button", name="Add comment").click()
        bob.get_by_role("tab", name="Comments").click()
        panel = bob.get_by_role("tabpanel")
        expect(panel).to_contain_text("Really quick?")
        expect(panel.locator("blockquote")).to_have_text("The quick")
        bob.get_by_role("textbox", name="Reply to ann").fill("Yes.")
        bob.get_by_role("button", name="Reply", exact=True).click()
        thread = ann.get_by_role("tabpanel").get_by_role("listitem").first
        expect(thread).to_contain_text("Yes.")
        expect(bob.get_by_role("button", name="Resolve")).to_have_count(0)
        thread.get_by_role("button", name="Resolve").click()
        expect(panel).to_contain_text("No comments")
        assert site.running.text("Fox.md") == NOTE


def test_links_are_completed_with_the_shortest_name_and_followed(pages: Pages) -> None:
    notes = {"Fox.md": "", PLAN: "", "A/Same.md": "", "B/Same.md": ""}
    with pages.serving(notes) as site:
        ann = opened(site, "ann")
        editor(ann).click()
        expect(ann.get_by_role("treeitem", name="Fox")).to_be_visible()
        # Faster than any list opens, and not: in both Enter takes the note.
        ann.keyboard.type("[[plan\n [[bsa")
        option = ann.get_by_role("option", name="B/Same").first
        expect(option).to_have_attribute("aria-selected", "true")
        ann.keyboard.type("me\n ")
        saved(ann)
        assert site.running.text("Fox.md") == "[[Plan]] [[B/Same]] "
        editor(ann).get_by_text("Plan").click(modifiers=["Control"])
        ann.wait_for_url(f"**/notes/{PLAN}")


def test_outline_links_and_history_lead_where_they_say(pages: Pages) -> None:
    text = "# One\n\n[[Plan]] and [[Nowhere]]\n" + "\n".join(["filler"] * 300) + "\n## Two\n"
    with pages.serving({"Fox.md": text, PLAN: "back to [[Fox]]\n"}) as site:
        ann = opened(site, "ann")
        panel = ann.get_by_role("tabpanel")
        panel.get_by_role("button", name="Two").click()
        expect(editor(ann).get_by_text("## Two")).to_be_in_viewport()
        at_the_end(ann)
        ann.keyboard.type("A new line")
        saved(ann)
        bob = opened(site, "bob")
        at_the_end(bob)
        bob.keyboard.type(", and bob's")
        saved(bob)
        ann.get_by_role("tab", name="History").click()
        expect(panel.get_by_role("button", name=re.compile("bob with ann"))).to_be_visible()
        panel.get_by_role("button", name=re.compile("start")).last.click()
        dialog = ann.get_by_role("dialog", name=re.compile("^Version of"))
        expect(dialog.locator("ins").last).to_contain_text("A new line")
        dialog.get_by_role("button", name="Restore").click()
        confirm = ann.get_by_role("dialog", name="Restore this version?")
        confirm.get_by_role("button", name="Restore").click()
        expect(editor(ann)).not_to_contain_text("A new line")
        assert site.running.text("Fox.md") == text
        ann.get_by_role("tab", name="Links").click()
        expect(panel).to_contain_text("back to [[Fox]]")
        ann.get_by_role("button", name="Create Nowhere").click()
        ann.wait_for_url("**/notes/Nowhere.md")


def test_the_preview_reads_as_the_note_with_its_suggestions(pages: Pages) -> None:
    text = "# Fox\n\n- [x] jumps\n- see [[Plan|the plan]]\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
    edits = [("Fox.md", "jumps", "sleeps", "robot")]
    with pages.serving({"Fox.md": text, PLAN: ""}, edits) as site:
        ann = opened(site, "ann")
        ann.get_by_role("button", name="Preview").click()
        preview = ann.get_by_role("article", name="Preview")
        expect(preview.get_by_role("heading", name="Fox")).to_be_visible()
        expect(preview.locator("del")).to_have_text("jumps")
        expect(preview.locator("ins")).to_have_text("sleeps")
        expect(preview.get_by_role("cell", name="2")).to_be_visible()
        preview.get_by_role("link", name="the plan").click()
        ann.wait_for_url(f"**/notes/{PLAN}")


@pytest.mark.skipif(not os.environ.get("FLASHGREP_HEAVY"), reason="slow: make fuzz runs it")
def test_a_note_of_a_megabyte_opens_and_takes_letters(pages: Pages) -> None:
    line = "All work and no play makes a dull note, says [[Plan]].\n"
    with pages.serving({"Fox.md": line * 19_000, PLAN: ""}) as site:
        ann = opened(site, "ann")
        at_the_end(ann)
        ann.keyboard.type("The end")
        saved(ann)
        assert site.running.text("Fox.md").endswith("Plan]].\nThe end")


def test_the_editor_is_loaded_with_the_first_note_and_not_before(pages: Pages) -> None:
    with pages.serving({"Fox.md": NOTE}) as site:
        ann = site.visitor()
        loaded: list[str] = []
        ann.on("request", lambda request: loaded.append(request.url.rpartition("/")[2]))
        site.running.token("ann", Role.WRITE)
        ann.goto(site.running.link("ann", "/notes"))
        expect(ann.get_by_role("heading", name="Notes")).to_be_visible()
        assert not any(name.startswith("note-") for name in loaded)
        ann.get_by_role("link", name="Fox").first.click()
        expect(editor(ann)).to_be_visible()
        assert any(name.startswith("note-") for name in loaded)
