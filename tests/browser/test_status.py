"""The status page in a browser: what the server does, and who may come in."""

from __future__ import annotations

import math
import os
import re
import signal
from functools import partial

from playwright.sync_api import Locator, Page, expect

from flashgrep.notes.access.roles import Role
from tests.browser.accessible import violations
from tests.browser.site import Pages
from tests.browser.test_search import LOOKS, opened
from tests.faults.processes import children, command_line, wait_until
from tests.transports.clients import pause

EDITS = [("One.md", "fox", "cat", "robot/robot")]
NOTES = {"One.md": "a fox\n", "Team/Two.md": "two\n"}


def row(page: Page, table: str, text: str) -> Locator:
    """The row of a table that holds a text."""
    return page.get_by_role("region", name=table).get_by_role("row").filter(has_text=text)


def fact(page: Page, name: str) -> Locator:
    return page.locator(".facts > div").filter(has_text=name).locator("dd")


def test_an_admin_sees_figures_clients_and_calls_as_they_happen(pages: Pages) -> None:
    with pages.serving(NOTES, EDITS) as site:
        page = opened(site, "/status")
        expect(page.get_by_text("Off: searches read every file")).to_be_visible()
        expect(page.get_by_text("Size on disk")).to_have_count(1)  # of the notes: there is no index
        expect(fact(page, "Memory, private")).to_have_text(re.compile(r"^\d+ MB$"))
        expect(fact(page, "Up for")).to_have_text(re.compile(r"\d+ s$"))
        expect(fact(page, "Pending suggestions")).to_have_text("1")
        expect(page.get_by_text("Every note can be read.")).to_be_visible()
        agent = site.agent("robot")
        agent.read("One.md")
        expect(row(page, "Recent calls", "read").first).to_contain_text("ms")
        expect(row(page, "Clients", "robot").first).to_be_visible()
        assert "a fox" not in page.content()


def builders(pid: int) -> list[int]:
    """The processes that build the index of a server."""
    return [one for one in children(pid) if "index.update.builder" in command_line(one)]


def test_an_index_that_is_being_built_shows_how_far_it_is_and_what_works(pages: Pages) -> None:
    pages.workspace.mkdir()
    line = "def name(one): return one + " + "value " * 20 + "\n"
    for number in range(1_500):
        (pages.workspace / f"file{number}.py").write_text(f"# {number}\n{line * 140}")
    with pages.serving(NOTES, is_indexed=True) as site:
        server = site.running.server.process.pid

        def hold() -> None:
            for builder in wait_until(lambda: builders(server), "process that builds"):
                pause(builder)

        def go_on() -> None:
            for builder in builders(server):
                os.kill(builder, signal.SIGCONT)

        def progress() -> float:
            return float(site.running.get("/api/status").json()["index"]["progress"])

        def is_beyond(least: float) -> bool:
            return progress() > least

        hold()
        page = opened(site, "/status")
        card = page.locator(".status-card").filter(has_text="Index")
        expect(card.get_by_text("Everything works meanwhile")).to_be_visible()
        expect(card.get_by_text("Last change")).to_have_count(0)
        bar = card.get_by_role("progressbar")
        for least in (0.02, 0.1):
            go_on()
            wait_until(partial(is_beyond, least), f"progress beyond {least}")
            hold()
            wait_until(lambda: bar.evaluate("(one) => one.value") == progress(), "bar as far")
            expect(card.get_by_text(f"Building, {math.floor(progress() * 100)} %")).to_be_visible()
        search = opened(site, "/?q=7%5Cn&m=1")
        expect(search.locator(".search-total")).to_contain_text("150 matches in 150 files")
        expect(search.locator(".search-facts").first).to_contain_text(
            re.compile(r"building, \d+ %")
        )
        go_on()
        expect(card.get_by_text("Ready")).to_be_visible()
        expect(fact(page, "Files")).to_have_text("1,500")
        expect(card.get_by_text("Everything works meanwhile")).to_have_count(0)


def test_what_a_role_does_not_show_is_explained(pages: Pages) -> None:
    with pages.serving(NOTES) as site:
        page = site.person("ann", Role.WRITE, "/status")
        expect(page.get_by_text("You are signed in as ann, with the role write.")).to_be_visible()
        expect(page.get_by_text("ask whoever runs the server")).to_be_visible()
        expect(page.get_by_role("heading", name="Tokens")).to_have_count(0)


def test_an_admin_makes_a_link_that_signs_somebody_in_and_revokes_it(pages: Pages) -> None:
    with pages.serving(NOTES) as site:
        page = opened(site, "/status")
        page.get_by_role("button", name="New token or link").click()
        form = page.get_by_role("dialog")
        form.get_by_label("Name").fill("bob")
        form.get_by_label("Role").select_option("write")
        form.get_by_label("Folder of notes").fill("Team")
        form.get_by_label("Expires").select_option("7")
        form.get_by_role("button", name="Make").click()
        link = page.get_by_role("textbox", name="Sign-in link").input_value()
        page.get_by_role("button", name="Done").click()
        assert link.rpartition("/")[2] not in page.content()
        bobs = row(page, "Tokens", "bob")
        expect(bobs.get_by_role("button", name="New link for bob")).to_be_visible()
        agents = row(page, "Tokens", "agent")
        expect(agents.get_by_role("button", name="Revoke agent")).to_be_visible()
        expect(agents.get_by_role("button", name="New link")).to_have_count(0)
        expect(bobs).to_contain_text("write")
        expect(bobs).to_contain_text("Team")
        expect(bobs).to_contain_text("never")
        bob = site.visitor()
        bob.goto(f"{link}?to=/status")
        expect(bob.get_by_text("You are signed in as bob, with the role write.")).to_be_visible()
        expect(bobs).to_contain_text("just now")
        bobs.get_by_role("button", name="Revoke bob").click()
        page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
        expect(bobs).to_have_count(1)
        site.allow("401")
        bobs.get_by_role("button", name="Revoke bob").click()
        page.get_by_role("dialog").get_by_role("button", name="Revoke bob").click()
        expect(page.get_by_text("bob is revoked.")).to_be_visible()
        expect(bobs).to_have_count(0)
        expect(bob.get_by_role("alert").first).to_contain_text("sign-in has expired")


def test_a_token_for_a_program_is_shown_once_and_a_taken_name_is_refused(pages: Pages) -> None:
    with pages.serving(NOTES) as site:
        page = opened(site, "/status")
        site.allow("400|409")
        make = page.get_by_role("button", name="New token or link")
        make.click()
        form = page.get_by_role("dialog")
        form.get_by_label("Name").fill("builder")
        form.get_by_label("Give a sign-in link").uncheck()
        form.get_by_role("button", name="Make").click()
        token = page.get_by_role("textbox", name="Token").input_value()
        page.get_by_role("button", name="Done").click()
        assert token not in page.content()
        assert site.running.get("/kb/notes/One.md", token).json()["text"] == "a fox\n"
        make.click()
        form.get_by_label("Name").fill("builder")
        form.get_by_label("Give a sign-in link").uncheck()
        form.get_by_role("button", name="Make").click()
        expect(form.locator(".search-problem")).to_contain_text("builder")


def test_a_server_of_notes_alone_and_one_of_files_alone_show_what_they_have(pages: Pages) -> None:
    with pages.serving(NOTES, flags=("--no-workspace", "--no-auth")) as site:
        page = site.visitor()
        page.goto("/status")
        expect(page.get_by_text("this server has no workspace")).to_be_visible()
        expect(page.get_by_text("Freshness")).to_have_count(0)
        expect(row(page, "Tokens", "agent")).to_have_count(0)
        page.get_by_label("Signed in as anyone").click()
        expect(page.get_by_text("Everybody is let in as anyone")).to_be_visible()
        expect(page.get_by_role("button", name="Sign out")).to_have_count(0)
    with pages.files_alone() as site:
        page = site.visitor()
        page.goto("/status")
        expect(page.get_by_text("this server has none. Its own token")).to_be_visible()
        for where in ("/status", "/review", "/notes", "/notes/One.md"):
            page.goto(where)
            expect(page.get_by_text("This server has no notes")).to_be_visible()
            commands = ["flashgrep kb init --kb ~/notes", "flashgrep serve --kb ~/notes"]
            expect(page.locator("main code")).to_have_text(commands)


def test_the_status_page_shuts_nobody_out(pages: Pages) -> None:
    with pages.serving(NOTES, EDITS) as site:
        site.agent("robot").read("One.md")
        for size, dark in LOOKS:
            page = opened(site, "/status", size, dark)
            expect(page.get_by_role("heading", name="Tokens")).to_be_visible()
            expect(row(page, "Recent calls", "read").first).to_be_visible()
            assert violations(page) == [], (size, dark)
            assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
            page.get_by_role("button", name="New token or link").click()
            expect(page.get_by_role("dialog")).to_be_visible()
            assert violations(page) == [], (size, dark)
