"""A knowledge base with a server of its own, and clients that speak to it over real sockets.

with served(tmp_path, {"One.md": "text"}) as server:
    with server.live("One.md") as peer: ...
    server.post("/kb/notes", {"path": "Two.md", "text": ""})
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2

from flashgrep.notes.access.roles import Role
from flashgrep.notes.access.tokens import Tokens
from flashgrep.notes.home import Home
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.notes.library import Library
from flashgrep.notes.suggestions.plan import Edit
from flashgrep.notes.suggestions.propose import propose
from flashgrep.system.state import state_path
from flashgrep.web.sign_in_links import SIGN_IN, SignInLinks, link_for
from tests.transports.clients import FLASHGREP, PATIENCE_SECONDS, Server, serving
from tests.web.live import Live

TOKEN = "the-servers-own"


@dataclass
class Served:
    """A running server, and the directory of its notes."""

    server: Server
    home: Path
    client: httpx2.Client

    @property
    def tokens(self) -> Tokens:
        return Tokens(self.home)

    def token(self, name: str, role: Role, folder: str = "") -> str:
        return self.tokens.make(name, role, folder)

    def get(self, path: str, token: str = TOKEN, **headers: str) -> httpx2.Response:
        return self.ask("GET", path, None, token, **headers)

    def post(self, path: str, body: Any, token: str = TOKEN, **headers: str) -> httpx2.Response:
        return self.ask("POST", path, body, token, **headers)

    def ask(
        self, method: str, path: str, body: Any, token: str = TOKEN, **headers: str
    ) -> httpx2.Response:
        shown = {"authorization": f"Bearer {token}"} if token else {}
        shown |= {name.replace("_", "-"): value for name, value in headers.items()}
        data = json.dumps(body).encode() if method == "POST" else None
        return self.client.request(method, path, content=data, headers=shown)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server.http}"

    @property
    def state(self) -> Path:
        """The server's state directory."""
        workdir = self.home.parent / "workspace"
        cache = {"XDG_CACHE_HOME": str(self.home.parent / "workspace-home" / ".cache")}
        return state_path("", os.path.realpath(os.fsencode(workdir)), cache)

    def link(self, name: str | None = None, to: str = "") -> str:
        """A sign-in link: the server's own, or one for the token with a name."""
        if name is None:
            link = self.address + SIGN_IN + SignInLinks(self.state).make(3_600)
        else:
            token = next(one for one in self.tokens.listed() if one.name == name)
            link = link_for(self.home, token, self.address)
        return link + (f"?to={quote(to)}" if to else "")

    def cookie(self, name: str | None = None) -> str:
        """The cookie of somebody who has signed in."""
        answer = self.ask("GET", self.link(name).removeprefix(self.address), None, "")
        self.client.cookies.clear()
        assert answer.status_code == 303, answer.text
        return answer.headers["set-cookie"].partition(";")[0]

    def text(self, note: str) -> str:
        return str(self.get(f"/kb/notes/{quote(note)}").json()["text"])

    def url(self, note: str, **query: str) -> str:
        asked = "&".join(f"{name}={quote(value)}" for name, value in query.items())
        return f"ws://127.0.0.1:{self.server.http}/kb/ws/{quote(note)}" + f"?{asked}" * bool(asked)

    @contextmanager
    def live(self, note: str, token: str = TOKEN, **headers: str) -> Iterator[Live]:
        with Live.opened(self.url(note, token=token), headers) as peer:
            yield peer


def make(home: Path, notes: Mapping[str, str], edits: Sequence[tuple[str, str, str, str]]) -> None:
    """A knowledge base with notes, and suggestions: (note, old, new, author) each."""
    Home.create(home)
    kb = KnowledgeBase(home)
    try:
        for path, text in notes.items():
            kb.ask(partial(Library.create, path=path, text=text, author="start"))
        for path, old, new, author in edits:
            propose(kb, path, Edit(old, new), author)
    finally:
        kb.close()


@contextmanager
def served(
    place: Path,
    notes: Mapping[str, str] | None = None,
    edits: Sequence[tuple[str, str, str, str]] = (),
    flags: Sequence[str] = ("--token", TOKEN),
    tools: Sequence[str] = FLASHGREP,
    is_indexed: bool = False,
) -> Iterator[Served]:
    """Serve the notes in `place`, made where there are none."""
    home, workdir = place / "kb", place / "workspace"
    workdir.mkdir(exist_ok=True)
    if notes is not None:
        make(home, notes, edits)
    index = [] if is_indexed else ["--no-index"]
    every = ["--kb", str(home), *index, "--tcp-port", "none", "--socket", "none", *flags]
    with serving(workdir, ["--http-port", "auto", *every], tools, ports=False) as server:
        base = f"http://127.0.0.1:{server.http or 0}"
        with httpx2.Client(base_url=base, timeout=PATIENCE_SECONDS, trust_env=False) as client:
            yield Served(server, home, client)
