"""A running server with its pages, people in browsers and agents beside them.

    with pages.serving({"One.md": "a fox\\n"}) as site:
        ann = site.person("ann", to="/review")
        site.agent("robot").suggest("One.md", "fox", "cat")
        ann.get_by_role("button", name="Accept").click()

`pages` is the fixture. A person has a browser context of their own; what goes wrong in it (an
error in the console, an exception, a breach of the content security policy) fails the test, but
for what `allow` names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2
from playwright.sync_api import Browser, BrowserContext, Page, expect

from flashgrep.notes.access.roles import Role
from tests.browser.agent import Agent, joined
from tests.transports.clients import PATIENCE_SECONDS, serving
from tests.web.served import TOKEN, Served, served

WIDE = (1280, 900)
NARROW = (380, 800)
_BREACHES = """addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`))"""
_OPEN = re.compile(r"^Open:\s+(http\S+)$")


class Watched:
    """What went wrong in a browser context."""

    def __init__(self, context: BrowserContext) -> None:
        self._wrong: list[str] = []
        self._allowed: list[re.Pattern[str]] = []
        context.add_init_script(_BREACHES)
        context.on("console", lambda message: self._hear(message.type, message.text))
        context.on("weberror", lambda error: self._hear("error", str(error.error)))

    def _hear(self, kind: str, text: str) -> None:
        if kind == "error":
            self._wrong.append(text)

    def allow(self, pattern: str) -> None:
        """Errors that hold this are meant to happen."""
        self._allowed.append(re.compile(pattern))

    @property
    def wrong(self) -> list[str]:
        return [text for text in self._wrong if not any(one.search(text) for one in self._allowed)]


class Site:
    """A running server, and who is there."""

    def __init__(self, running: Served, browser: Browser, ends: ExitStack) -> None:
        self.running = running
        self._browser, self._ends = browser, ends
        self._watched: list[Watched] = []
        self._people: set[str] = set()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.running.server.http}"

    @property
    def link(self) -> str | None:
        """The sign-in link that the server printed."""
        found = [match for line in self.running.server.told if (match := _OPEN.match(line))]
        return found[0][1] if found else None

    def visitor(self, size: tuple[int, int] = WIDE, is_dark: bool = False, **options: Any) -> Page:
        """A page of somebody who is not signed in."""
        context = self._browser.new_context(
            base_url=self.address,
            viewport={"width": size[0], "height": size[1]},
            color_scheme="dark" if is_dark else "light",
            **options,
        )
        self._ends.callback(context.close)
        context.set_default_timeout(PATIENCE_SECONDS * 1000)
        self._watched.append(Watched(context))
        return context.new_page()

    def person(
        self,
        name: str,
        role: Role = Role.WRITE,
        to: str = "/review",
        folder: str = "",
        **look: Any,
    ) -> Page:
        """A page of somebody who has signed in by a link of their own; `look` as for visitors."""
        if name not in self._people:
            self.running.token(name, role, folder)
            self._people.add(name)
        page = self.visitor(**look)
        page.goto(self.running.link(name, to))
        expect(page.get_by_role("banner")).to_be_visible()  # before that nobody hears its keys
        return page

    def allow(self, pattern: str) -> None:
        """Errors in a console that hold this are meant to happen."""
        for one in self._watched:
            one.allow(pattern)

    def agent(self, name: str = "robot", token: str | None = None) -> Agent:
        """An agent with the role suggest, or with what its token allows; it signs as NAME/NAME."""
        token = token or self.running.token(name, Role.SUGGEST)
        return self._ends.enter_context(joined(self.running.server, token, name))

    def check(self) -> None:
        """Nothing went wrong in any browser."""
        wrong = [text for one in self._watched for text in one.wrong]
        assert not wrong, "\n".join(["errors in a browser:", *wrong])


class Pages:
    """Starts servers for the tests of one browser."""

    def __init__(self, browser: Browser, place: Path) -> None:
        self._browser, self._place = browser, place

    @property
    def workspace(self) -> Path:
        """The files that a server finds when it starts."""
        return self._place / "workspace"

    @contextmanager
    def serving(
        self,
        notes: Mapping[str, str],
        edits: Sequence[tuple[str, str, str, str]] = (),
        flags: Sequence[str] = ("--token", TOKEN),
        is_indexed: bool = False,
    ) -> Iterator[Site]:
        """Serve these notes, with suggestions (note, old, new, author), until the block ends."""
        with served(self._place, notes, edits, flags, is_indexed=is_indexed) as running:
            with ExitStack() as ends:
                site = Site(running, self._browser, ends)
                yield site
            site.check()

    @contextmanager
    def files_alone(self) -> Iterator[Site]:
        """Serve files and no notes, to everybody, until the block ends."""
        self.workspace.mkdir(exist_ok=True)
        flags = ["--http-port", "auto", "--tcp-port", "none", "--socket", "none"]
        flags += ["--no-index", "--no-auth"]
        with (
            serving(self.workspace, flags, ports=False) as server,
            httpx2.Client(base_url=f"http://127.0.0.1:{server.http}", trust_env=False) as client,
        ):
            with ExitStack() as ends:
                running = Served(server, self._place / "kb", client)
                site = Site(running, self._browser, ends)
                yield site
            site.check()
