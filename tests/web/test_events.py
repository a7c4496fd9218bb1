"""News: told as they happen, caught up on after a break, and nothing of what one may not read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from flashgrep import limits
from flashgrep.kb.roles import Role
from tests.web.served import TOKEN, Served

Note = Callable[..., str]


class Stream:
    """The events of one connection, read as a page does."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self.last = ""

    def next(self) -> tuple[str, dict[str, Any]]:
        kind, data = "", ""
        for line in self._lines:
            name, _, value = line.partition(": ")
            if name == "id":
                self.last = value
            elif name == "event":
                kind = value
            elif name == "data":
                data = value
            elif not line and kind:
                return kind, json.loads(data)
        raise AssertionError("the stream ended")

    def opened(self) -> Stream:
        """Wait until the server has begun to listen for us."""
        for line in self._lines:
            if not line:
                return self
        raise AssertionError("the stream ended")

    def until(self, kind: str, **told: Any) -> dict[str, Any]:
        while True:
            found, data = self.next()
            if found == kind and told.items() <= data.items():
                return data


@contextmanager
def events(server: Served, last: str = "", token: str = TOKEN) -> Iterator[Stream]:
    headers = {"authorization": f"Bearer {token}"} | ({"last-event-id": last} if last else {})
    with server.client.stream("GET", "/kb/events", headers=headers) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield Stream(answer.iter_lines()).opened()


def test_what_happens_to_notes_is_told(server: Served, note: Note) -> None:
    with events(server) as stream:
        path = note("alpha beta")
        there = path.replace("Note", "There")
        stream.until("note", note=path, was="created")
        assert stream.until("changed", note=path)["author"] == "server"
        with server.live(path) as peer:
            peer.sync()
            peer.type(" {++x++}")
            stream.until("changed", note=path, sequence=2)
        server.post("/kb/notes/move", {"from": path, "to": there})
        stream.until("note", note=there, was="moved", **{"from": path})
        server.ask("DELETE", f"/kb/notes/{there}", None)
        stream.until("note", note=there, was="deleted")


def test_a_page_that_comes_back_hears_what_it_missed_or_is_told_to_load_again(
    server: Served, note: Note
) -> None:
    with events(server) as stream:
        path = note("text", "One.md")
        stream.until("changed", note=path)
        last = stream.last
    missed = note("text", "Two.md")
    with events(server, last) as stream:
        assert stream.next() == ("note", {"note": missed, "was": "created", "from": None})
    start, _, number = last.partition("-")
    for stale in (
        f"{start}-{int(number) + 9_999}",
        f"00000000-{number}",
        "nonsense",
        f"{start}--1",
    ):
        with events(server, stale) as stream:
            assert stream.next() == ("reload", {})


def test_a_page_that_missed_more_than_is_kept_is_told_to_load_again(
    server: Served, note: Note
) -> None:
    with events(server) as stream:
        path = note("text")
        stream.until("note", note=path)
        last = stream.last
    here, there = path, path.replace("Note", "Other")
    for _ in range(limits.EVENTS_KEPT // 2 + 1):
        for move in ({"from": here, "to": there}, {"from": there, "to": here}):
            assert server.post("/kb/notes/move", move).status_code == 200
    with events(server, last) as stream:
        assert stream.next() == ("reload", {})


def test_nobody_hears_of_what_they_may_not_read_and_a_token_taken_back_hears_no_more(
    server: Served, note: Note
) -> None:
    hidden, seen = note("", "Hidden.md"), "Seen/By-events.md"
    secret = server.token("listener", Role.READ, "Seen")
    with events(server, token=secret) as stream:
        server.post("/kb/notes/move", {"from": hidden, "to": f"{hidden}2.md"})
        server.post("/kb/notes", {"path": seen, "text": ""})
        assert stream.next()[1]["note"] == seen
        server.tokens.revoke("listener")
        server.ask("DELETE", f"/kb/notes/{seen}", None)
        told = [line for line in stream._lines if line.startswith("data")]
        assert not any("deleted" in line for line in told)
