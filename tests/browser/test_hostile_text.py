"""A note full of scripts runs none of them: in the editor, the preview and all around them."""

from __future__ import annotations

import json

from playwright.sync_api import Page, expect

from flashgrep.web import protocol
from flashgrep.web.protocol import Present
from tests.browser.hostile import FIRE, HOSTILE
from tests.browser.site import Pages, Site
from tests.browser.test_note import editor

_ALARM = "window.fired = () => console.error('executed')"
_NAMES = (
    f"<img src=x onerror={FIRE}>",
    f"' onmouseover='{FIRE}",
    f'"><svg onload={FIRE}>',
    f"javascript:{FIRE}",
)
_MARKS = ("++}", "--}", "{>>", "==}", "<<}")
_SUGGESTED = [text for text in HOSTILE if not any(mark in text for mark in _MARKS)][:30]
_TEXT = "\n\n".join(HOSTILE)
_SEEN = """(box) => [...box.querySelectorAll("*")].flatMap((one) => [
    ...[...one.attributes].filter((each) => each.name.startsWith("on")).map((each) => each.name),
    ...(one.matches("a[href]") && !/^(https?|mailto):$/.test(one.protocol) ? [one.href] : []),
    ...(one.matches("script, iframe, object, embed, style, base, meta, link, video, audio")
        ? [one.outerHTML.slice(0, 100)] : []),
    ...(one.matches(".preview :is(form, svg, img, input, button, details)") ? [one.tagName] : []),
])"""


def _open(site: Site, path: str) -> Page:
    page = site.person("ann", to="/notes")
    page.context.add_init_script(_ALARM)
    page.goto(f"/notes/{path}")
    return page


def _is_harmless(page: Page, place: str) -> None:
    expect(page.locator(place).first).to_be_visible()
    assert page.locator(place).first.evaluate(_SEEN) == []


def test_the_alarm_of_these_tests_rings(pages: Pages) -> None:
    with pages.serving({"Fox.md": "x\n"}) as site:
        page = _open(site, "Fox.md")
        with page.expect_console_message(lambda message: message.text == "executed"):
            page.evaluate(FIRE)
        site.allow("executed")


def test_a_hundred_hostile_strings_in_a_note_run_nothing(pages: Pages) -> None:
    assert len(set(HOSTILE)) == 100
    with pages.serving({"Hostile.md": _TEXT}) as site:
        page = _open(site, "Hostile.md")
        expect(editor(page)).to_be_visible()
        _is_harmless(page, ".cm-content")
        page.get_by_role("button", name="Side by side").click()
        preview = page.get_by_role("article", name="Preview")
        expect(preview).to_contain_text(FIRE)
        _is_harmless(page, ".preview")
        for link in preview.get_by_role("link").all():
            link.dispatch_event("mouseover")
            link.dispatch_event("focus")
        editor(page).click()
        page.keyboard.press("Control+Home")
        for _ in range(12):
            page.keyboard.press("PageDown")
        for tab in ("Outline", "Suggestions", "Comments", "Links", "History"):
            page.get_by_role("tab", name=tab).click()
            _is_harmless(page, ".note-panel")
        page.locator(".versions button").last.click()
        _is_harmless(page, "dialog")


def test_hostile_suggestions_authors_comments_and_people_run_nothing(pages: Pages) -> None:
    words = " ".join(f"word{n}." for n in range(len(_SUGGESTED)))
    edits = [
        ("Fox.md", f"word{n}.", text, f"{text[:60]}/agent") for n, text in enumerate(_SUGGESTED)
    ]
    with pages.serving({"Fox.md": words + " commented\n"}, edits) as site:
        text = site.running.text("Fox.md")
        start = len(text.removesuffix("commented\n").encode("utf-16-le")) // 2
        for hostile in HOSTILE[:5]:
            passage = {"start": start, "end": start + 9, "quote": "commented"}
            body = {"note": "Fox.md", "text": hostile, "passage": passage}
            made = site.running.post("/kb/comments", body)
            assert made.status_code in (201, 409), made.text
        with site.running.live("Fox.md") as peer:
            peer.sync()
            user = {"name": HOSTILE[28], "color": f"red;}} {HOSTILE[0]}"}
            state = {"user": user, "cursor": {"anchor": HOSTILE[0], "head": {"x": 1}}}
            peer.send(protocol.presence([Present(7, 1, json.dumps(state).encode())]))
            page = _open(site, "Fox.md")
            expect(editor(page).locator("ins").first).to_be_visible()
            people = page.get_by_role("list", name="People here").get_by_role("listitem")
            expect(people).to_have_count(2)
            _is_harmless(page, ".note-head")
            editor(page).locator("ins").first.hover()
            _is_harmless(page, ".suggestion-card")
            for tab in ("Suggestions", "Comments"):
                page.get_by_role("tab", name=tab).click()
                _is_harmless(page, ".note-panel")
            page.get_by_role("button", name="Preview").click()
            _is_harmless(page, ".preview")
            page.get_by_role("tab", name="Suggestions").click()
            page.get_by_role("tabpanel").get_by_role("button", name="Edit").first.click()
            _is_harmless(page, "dialog")


def test_hostile_names_of_notes_and_folders_run_nothing(pages: Pages) -> None:
    notes = {f"{name}.md": f"[[{name}]]\n" for name in _NAMES}
    notes |= {f"<script>{FIRE}</script>/Note.md": "x\n", "Links.md": f"[[{_NAMES[0]}]]\n"}
    with pages.serving(notes) as site:
        page = _open(site, "")
        expect(page.get_by_role("link", name=_NAMES[0]).first).to_be_visible()
        _is_harmless(page, "#app")
        page.keyboard.press("Control+k")
        page.get_by_role("combobox").fill("fired")
        _is_harmless(page, "dialog")
        page.keyboard.press("Enter")
        expect(editor(page)).to_be_visible()
        _is_harmless(page, "#app")
        editor(page).click()
        page.keyboard.press("Control+End")
        page.keyboard.type("[[fired")
        _is_harmless(page, ".cm-tooltip-autocomplete")
        page.keyboard.press("Enter")
        page.get_by_role("tab", name="Links").click()
        _is_harmless(page, ".note-panel")
        page.get_by_role("button", name="Delete").click()
        _is_harmless(page, "dialog")
        page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        _is_harmless(page, ".toasts")
        page.get_by_role("heading", name="Trash").click()
        _is_harmless(page, "#app")
