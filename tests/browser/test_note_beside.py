"""What is written beside a note stays with its place, and with its writer, while others type."""

from __future__ import annotations

import re

from playwright.sync_api import Page, WebSocketRoute, expect

from flashgrep.web.protocol import NO_ROOM, Close
from tests.browser.site import NARROW, Pages
from tests.browser.test_note import NOTE, at_the_end, editor, opened, saved, toast

_PASTE = """(box, text) => { const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", text);
    box.dispatchEvent(new ClipboardEvent("paste", {clipboardData, bubbles: true})) }"""


def begin_comment(page: Page, text: str) -> None:
    """Select the first nine letters of the note and write a comment on them, without sending it."""
    editor(page).click()
    page.keyboard.press("Control+Home")
    for _ in range(9):
        page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Alt+c")
    page.get_by_role("textbox", name="Comment").fill(text)


def test_a_comment_keeps_to_its_passage_while_others_type_before_it(pages: Pages) -> None:
    with pages.serving({"Fox.md": NOTE}) as site:
        ann, bob = opened(site, "ann"), opened(site, "bob")
        begin_comment(ann, "Really quick?")
        editor(bob).click()
        bob.keyboard.press("Control+Home")
        bob.keyboard.type("Once: ")
        expect(editor(ann)).to_contain_text("Once: ")
        ann.get_by_role("button", name="Add comment").click()
        toast(ann, "The comment is added.")
        marked = "{==The quick==}{>>Really quick?<<}"
        assert site.running.text("Fox.md") == "Once: " + NOTE.replace("The quick", marked)


def test_a_comment_on_a_passage_that_is_deleted_meanwhile_is_not_lost(pages: Pages) -> None:
    with pages.serving({"Fox.md": NOTE}) as site:
        ann, bob = opened(site, "ann"), opened(site, "bob")
        begin_comment(ann, "Really quick?")
        # Another tab and back: the words are still there.
        ann.get_by_role("tab", name="Links").click()
        ann.get_by_role("tab", name="Comments").click()
        expect(ann.get_by_role("textbox", name="Comment")).to_have_value("Really quick?")
        editor(bob).click()
        bob.keyboard.press("Control+Home")
        for _ in range(9):
            bob.keyboard.press("Delete")
        begin = NOTE.removeprefix("The quick")
        expect(editor(ann)).not_to_contain_text("k brown")  # the last letter of it has gone
        ann.get_by_role("button", name="Add comment").click()
        toast(ann, "The passage was deleted meanwhile")
        expect(ann.get_by_role("textbox", name="Comment")).to_have_value("Really quick?")
        assert site.running.text("Fox.md") == begin
        editor(ann).click()
        ann.keyboard.press("Control+a")
        ann.keyboard.press("Alt+c")
        expect(ann.get_by_role("textbox", name="Comment")).to_have_value("Really quick?")
        ann.get_by_role("button", name="Add comment").click()
        toast(ann, "The comment is added.")
        assert "{>>Really quick?<<}" in site.running.text("Fox.md")


def test_who_edits_a_suggestion_is_back_in_the_text_afterwards(pages: Pages) -> None:
    with pages.serving({"Fox.md": NOTE}, [("Fox.md", "brown fox", "red cat", "robot")]) as site:
        ann = opened(site, "ann")
        editor(ann).focus()
        ann.keyboard.press("Alt+ArrowDown")
        ann.keyboard.press("Alt+e")
        ann.get_by_role("textbox", name="Your text").fill("grey owl")
        ann.get_by_role("button", name="Accept this text").press("Enter")
        toast(ann, "Accepted with your text.")
        expect(editor(ann)).to_be_focused()


def test_half_a_character_is_the_same_for_everybody(pages: Pages) -> None:
    with pages.serving({"Fox.md": NOTE}) as site:
        ann = opened(site, "ann")
        at_the_end(ann)
        editor(ann).evaluate(_PASTE, "a\ud83db\ude00c😀")
        saved(ann)
        expect(editor(ann)).to_contain_text("a\ufffdb\ufffdc😀")
        assert site.running.text("Fox.md") == NOTE + "a\ufffdb\ufffdc😀"


def test_a_paragraph_without_end_is_read_in_pieces(pages: Pages) -> None:
    # As one paragraph all of it were emphasis, and each letter would read all of it again.
    lines = "".join(f"line {n} of many words\n" for n in range(2_000))
    with pages.serving({"Fox.md": f"*open\n{lines}shut*\n", "Owl.md": "*open\nshut*\n"}) as site:
        ann = opened(site, "ann", "Owl.md")
        last = editor(ann).locator(".cm-line span").last
        expect(last).to_have_css("font-style", "italic")
        ann.goto("/notes/Fox.md")
        expect(editor(ann).get_by_text("line 2 of many")).to_be_visible()
        assert editor(ann).locator(".cm-line", has_text="line 2 of").locator("span").count() == 0


def test_what_is_selected_in_a_suggestion_is_commented_on_with_it(pages: Pages) -> None:
    with pages.serving({"Fox.md": NOTE}, [("Fox.md", "The quick", "A slow", "robot")]) as site:
        ann = opened(site, "ann")
        begin_comment(ann, "Slow?")
        expect(ann.get_by_role("tabpanel").locator("blockquote")).to_have_text("A slow")
        ann.get_by_role("button", name="Add comment").click()
        toast(ann, "The comment is added.")
        (suggestion,) = site.running.get("/kb/suggestions").json()["suggestions"]
        assert [one["text"] for one in suggestion["comments"]] == ["Slow?"]


def test_what_a_note_says_of_itself_is_no_heading(pages: Pages) -> None:
    text = "---\ntags: [index]\n# a remark\n---\n\n# Fox\n\n---\n\nText\n"
    with pages.serving({"Fox.md": text, "Rule.md": "---\n\nNo more.\n"}) as site:
        ann = opened(site, "ann")
        own = editor(ann).locator(".cm-frontmatter")
        expect(own).to_have_text(["---", "tags: [index]", "# a remark", "---"])
        sizes = own.locator("span").evaluate_all(
            "all => all.map(one => parseFloat(getComputedStyle(one).fontSize))"
        )
        assert all(size < 15 for size in sizes)
        expect(ann.get_by_role("tabpanel").get_by_role("button")).to_have_text(["Fox"])
        ann.get_by_role("button", name="Preview").click()
        preview = ann.get_by_role("article", name="Preview")
        expect(preview.get_by_role("heading")).to_have_text(["Fox"])
        expect(preview.locator(".frontmatter")).to_have_text("tags: [index]\n# a remark")
        ann.goto("/notes/Rule.md")
        expect(preview).to_contain_text("No more.")
        expect(preview.locator(".frontmatter")).to_have_count(0)


def test_on_a_narrow_page_a_tab_brings_its_content_into_sight(pages: Pages) -> None:
    edits = [("Fox.md", "quick", "slow", "robot")]
    with pages.serving({"Fox.md": NOTE}, edits) as site:
        ann = site.person("ann", to="/notes/Fox.md", size=NARROW)
        ann.get_by_role("tab", name="Suggestions").click()
        accept = ann.get_by_role("tabpanel").get_by_role("button", name="Accept")
        expect(accept).to_be_in_viewport()


def test_what_a_tab_brought_into_sight_stays_there_when_the_note_arrives(pages: Pages) -> None:
    edits = [("Fox.md", "quick", "slow", "robot")]
    with pages.serving({"Fox.md": NOTE + "line\n" * 60}, edits) as site:
        ann = site.person("ann", size=NARROW)
        held: list[str | bytes] = []
        sockets: list[WebSocketRoute] = []

        def hold(socket: WebSocketRoute) -> None:
            sockets.append(socket)
            socket.connect_to_server().on_message(
                lambda message: held.append(message) if len(sockets) == 1 else socket.send(message)
            )

        ann.route_web_socket("**/kb/ws/**", hold)
        ann.goto("/notes/Fox.md")
        ann.get_by_role("tab", name="Suggestions").click()
        panel = ann.get_by_role("tabpanel")
        expect(panel.get_by_text("Nothing is suggested")).to_be_in_viewport()
        while not held:
            ann.wait_for_timeout(10)
        (socket,) = sockets
        for message in held:
            socket.send(message)
        expect(editor(ann)).to_contain_text("line")
        suggested = panel.get_by_role("button", name="Accept")
        expect(suggested).to_be_in_viewport()
        ann.mouse.move(NARROW[0] / 2, NARROW[1] / 2)
        ann.mouse.wheel(0, -10_000)
        expect(suggested).not_to_be_in_viewport()
        at_the_end(ann)
        ann.keyboard.type(" More.")
        expect(suggested).not_to_be_in_viewport()


def test_a_full_disk_is_called_so(pages: Pages) -> None:
    with pages.serving({"Fox.md": NOTE}) as site:
        ann = opened(site, "ann")
        site.allow("WebSocket")
        ann.route_web_socket(
            "**/kb/ws/**", lambda socket: socket.close(code=Close.OVERLOADED, reason=NO_ROOM)
        )
        ann.reload()
        told = re.compile("^The disk of the server is full")
        expect(ann.locator(".save-state").filter(has_text=told)).to_be_visible()


def test_a_suggestion_that_is_deleted_and_taken_back_is_still_the_agents(pages: Pages) -> None:
    with pages.serving({"Fox.md": NOTE}) as site:
        robot = site.agent("robot")
        robot.suggest("Fox.md", "quick", "slow")
        (before,) = site.running.get("/kb/suggestions").json()["suggestions"]
        ann = opened(site, "ann")
        editor(ann).click()
        ann.keyboard.press("Control+a")
        ann.keyboard.press("Delete")
        expect(editor(ann)).not_to_contain_text("fox")
        saved(ann)
        assert site.running.get("/kb/suggestions").json()["suggestions"] == []
        ann.keyboard.press("Control+z")
        expect(editor(ann).locator("ins")).to_have_text("slow")
        saved(ann)
        (after,) = site.running.get("/kb/suggestions").json()["suggestions"]
        assert after == before
        ann.get_by_role("tab", name="Suggestions").click()
        ann.get_by_role("tabpanel").get_by_role("button", name="Accept").click()
        toast(ann, "Accepted")
        assert "accepted by ann" in robot.read("Fox.md")
