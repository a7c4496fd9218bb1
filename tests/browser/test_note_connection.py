"""The note page when its connection ends: what a person sees, and where their words go."""

from __future__ import annotations

import re
import signal
from contextlib import ExitStack

import pytest
from playwright.sync_api import expect

from flashgrep.notes.access.roles import Role
from tests.browser.outage import kill, move_unseen, restarted
from tests.browser.site import Pages
from tests.browser.test_note import NOTE, at_the_end, editor, opened, saved, toast
from tests.web.served import TOKEN

_UNSAVED = "Object.keys(localStorage).filter((key) => /unsaved/.test(key))"


@pytest.mark.parametrize("then", [None, "Another fox.\n"], ids=["nothing there", "another there"])
def test_a_note_that_moved_while_the_server_was_down_is_followed(
    pages: Pages, then: str | None
) -> None:
    with pages.serving({"Fox.md": NOTE}) as site:
        ann = opened(site, "ann")
        at_the_end(ann)
        kill(site)
        ann.keyboard.type("Typed in the dark. ")
        expect(ann.get_by_text("Not saved yet")).to_be_visible()
        move_unseen(site, "Fox.md", "Den/Fox.md", then)
        with restarted(site):
            ann.wait_for_url("**/notes/Den/Fox.md")
            toast(ann, "The note was moved: it is Den/Fox.md now.")
            ann.keyboard.type("And after. ")
            saved(ann)
            assert site.running.text("Den/Fox.md") == NOTE + "Typed in the dark. And after. "
            assert ann.evaluate(_UNSAVED) == []
            if then is not None:
                assert site.running.text("Fox.md") == then


@pytest.mark.parametrize("then", [None, "Another fox.\n"], ids=["nothing there", "another there"])
def test_words_of_a_closed_tab_find_the_note_that_moved(pages: Pages, then: str | None) -> None:
    with pages.serving({"Fox.md": NOTE}) as site:
        ann = opened(site, "ann")
        at_the_end(ann)
        kill(site)
        ann.keyboard.type("Typed in the dark. ")
        expect(ann.get_by_text("and in this browser")).to_be_visible()
        context = ann.context
        ann.close()
        move_unseen(site, "Fox.md", "Den/Fox.md", then)
        with restarted(site):
            again = context.new_page()
            site.allow("404")
            again.goto("/notes/Fox.md")
            if then is not None:
                expect(again.get_by_text("it is Den/Fox.md now")).to_be_visible()
                expect(editor(again)).to_have_text(then.strip())
                again.get_by_role("button", name="Open it").click()
            again.wait_for_url("**/notes/Den/Fox.md")
            expect(editor(again)).to_contain_text("Typed in the dark.")
            saved(again)
            assert site.running.text("Den/Fox.md") == NOTE + "Typed in the dark. "
            assert again.evaluate(_UNSAVED) == []


def test_who_comes_back_with_a_lesser_role_keeps_their_words_and_sees_why(pages: Pages) -> None:
    with pages.serving({"Fox.md": NOTE}) as site:
        ann = opened(site, "ann")
        at_the_end(ann)
        site.allow("401|403|WebSocket")
        ann.context.clear_cookies()
        site.running.tokens.revoke("ann")
        ann.keyboard.type("Typed as a writer. ")
        expect(ann.get_by_text("Your sign-in has expired")).to_be_visible()
        site.running.token("ann", Role.READ)
        ann.context.new_page().goto(site.running.link("ann"))
        ann.get_by_role("button", name="Try again").click()
        notice = ann.get_by_role("alert")
        expect(notice).to_contain_text("does not let you change this note any more")
        expect(ann.get_by_text("Your role is read; to change this note you need")).to_be_visible()
        expect(ann.get_by_text("Not saved: you may not change this note.")).to_be_visible()
        expect(ann.get_by_role("button", name="Rename")).to_have_count(0)
        ann.keyboard.type("No more. ")
        expect(editor(ann)).to_contain_text("Typed as a writer. ")
        expect(editor(ann)).not_to_contain_text("No more.")
        # Loaded again it is the note of the others, live, with the words beside it.
        notice.get_by_role("button", name="Load again").click()
        expect(ann.get_by_text("You have unsaved changes, and may not")).to_be_visible()
        expect(editor(ann)).to_have_text(NOTE.strip())
        ann.get_by_role("button", name="Show it").click()
        expect(ann.get_by_label("Your unsaved text")).to_contain_text("Typed as a writer.")
        bob = opened(site, "bob")
        at_the_end(bob)
        bob.keyboard.type("By bob.")
        expect(editor(ann)).to_contain_text("By bob.")
        assert site.running.text("Fox.md") == NOTE + "By bob."


def test_an_overloaded_server_is_waited_for_and_no_word_is_lost(pages: Pages) -> None:
    # Ann holds two places, of the events and of the note; who comes later gets one of them.
    flags = ("--token", TOKEN, "--live-connections", "2")
    with pages.serving({"Fox.md": NOTE, "Owl.md": ""}, flags=flags) as site:
        ann = opened(site, "ann")
        at_the_end(ann)
        ann.keyboard.type("Before. ")
        saved(ann)
        site.allow("503|WebSocket")
        with ExitStack() as others:
            others.enter_context(site.running.live("Owl.md"))
            busy = re.compile("The server is busy: all 2 places are taken")
            expect(ann.get_by_text(busy)).to_be_visible()
            ann.keyboard.type("Meanwhile. ")
            expect(ann.get_by_text("Not saved yet: the server is busy")).to_be_visible()
            late = ann.context.new_page()
            late.goto("/notes/Fox.md")
            expect(late.get_by_text(busy).first).to_be_visible()
            late.close()
        saved(ann)
        ann.keyboard.type("After. ")
        saved(ann)
        assert site.running.text("Fox.md") == NOTE + "Before. Meanwhile. After. "


def test_a_server_that_stops_answering_is_told_though_its_connection_stands(pages: Pages) -> None:
    with pages.serving({"Fox.md": NOTE}) as site:
        ann = opened(site, "ann")
        at_the_end(ann)
        saved(ann)
        site.running.server.process.send_signal(signal.SIGSTOP)
        try:
            ann.keyboard.type("Into the void. ")
            expect(ann.get_by_text("Not saved yet: the server does not answer")).to_be_visible()
            assert ann.evaluate(_UNSAVED)
        finally:
            site.running.server.process.send_signal(signal.SIGCONT)
        saved(ann)
        assert site.running.text("Fox.md") == NOTE + "Into the void. "
