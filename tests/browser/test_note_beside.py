"""What is written beside a note stays with its place, and with its writer, while others type."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser.site import Pages
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
        expect(editor(ann)).not_to_contain_text("quick")
        ann.get_by_role("button", name="Add comment").click()
        toast(ann, "The passage was deleted meanwhile")
        expect(ann.get_by_role("textbox", name="Comment")).to_have_value("Really quick?")
        begin = NOTE.removeprefix("The quick")
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
