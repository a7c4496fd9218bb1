"""A server that is killed under an open page, and one that comes back in its place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.notes.library import Library
from tests.browser.site import Site
from tests.transports.clients import PATIENCE_SECONDS
from tests.web.served import TOKEN, served

OUTAGE = (
    "ERR_CONNECTION|ERR_CONTENT_LENGTH|ERR_INCOMPLETE|ERR_EMPTY|ERR_NETWORK|WebSocket connection"
)
"""What a browser logs of it."""


def kill(site: Site) -> None:
    """End the server at once; whatever it has not written is lost."""
    site.allow(OUTAGE)
    site.running.server.process.kill()
    site.running.server.process.wait(PATIENCE_SECONDS)


@contextmanager
def restarted(site: Site) -> Iterator[None]:
    """The same notes on the same port again, until the block ends."""
    killed = site.running
    flags = ("--token", TOKEN, "--http-port", str(killed.server.http))
    with served(killed.home.parent, flags=flags) as running:
        site.running = running
        yield


def move_unseen(site: Site, note: str, to: str, then: str | None = None) -> None:
    """Move a note while no server runs, and maybe put another one in its place."""
    kb = KnowledgeBase(site.running.home)
    try:
        kb.ask(lambda library: library.catalogue.move(library.find(note).id, to))
        if then is not None:
            kb.ask(partial(Library.create, path=note, text=then, author="start"))
    finally:
        kb.close()


def begin_anew(site: Site, note: str, text: str) -> None:
    """Put another note in the place of one while no server runs."""
    kb = KnowledgeBase(site.running.home)
    try:
        kb.ask(lambda library: library.delete(library.find(note).id))
        kb.ask(partial(Library.create, path=note, text=text, author="start"))
    finally:
        kb.close()
