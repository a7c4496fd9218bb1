"""News: told as they happen, caught up on after a break, and nothing of what one may not read."""

from __future__ import annotations

import json
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from flashgrep import limits
from flashgrep.notes.access.roles import Grant, Principal, Role
from flashgrep.system.login import login_name
from flashgrep.web.events import EventIds, NoteEvent, _Page
from tests.transports.clients import PATIENCE_SECONDS, with_limits
from tests.web.live import Live
from tests.web.served import TOKEN, Served, served

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
            if line.startswith("id: "):
                self.last = line.removeprefix("id: ")
            if not line:
                return self
        raise AssertionError("the stream ended")

    def until(self, kind: str, **told: Any) -> dict[str, Any]:
        while True:
            found, data = self.next()
            if found == kind and told.items() <= data.items():
                return data


@contextmanager
def events(
    server: Served, last: str = "", token: str = TOKEN, cookie: str = ""
) -> Iterator[Stream]:
    who = {"cookie": cookie} if cookie else {"authorization": f"Bearer {token}"}
    headers = who | ({"last-event-id": last} if last else {})
    with server.client.stream("GET", "/kb/events", headers=headers) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield Stream(answer.iter_lines()).opened()


def test_what_happens_to_notes_is_told(server: Served, note: Note) -> None:
    with events(server) as stream:
        path = note("alpha beta")
        there = path.replace("Note", "There")
        stream.until("note", note=path, was="created")
        assert stream.until("changed", note=path)["author"] == login_name()
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
    flipped = "".join("1" if digit == "0" else "0" for digit in last)
    for stale in (
        last[:-1] + flipped[-1],
        flipped[0] + last[1:],
        last[:-2],
        EventIds().made(1),
        "nonsense",
    ):
        with events(server, stale) as stream:
            assert stream.next() == ("reload", {})


@pytest.mark.thorough
def test_a_page_that_missed_more_than_is_kept_is_told_to_load_again(
    tmp_path: Path,
) -> None:
    kept = 20
    program = with_limits({"limits.EVENTS_KEPT": kept})
    with served(tmp_path, {}, tools=program) as running:
        with events(running) as stream:
            assert running.post("/kb/notes", {"path": "0.md", "text": ""}).status_code == 201
            stream.until("note", note="0.md")
            last = stream.last
        for number in range(kept + 1):
            move = {"from": f"{number}.md", "to": f"{number + 1}.md"}
            assert running.post("/kb/notes/move", move).status_code == 200
            if number == kept // 2:
                with events(running, last) as stream:
                    assert stream.next()[0] != "reload"  # all that it missed is still there
        with events(running, last) as stream:
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


def test_a_note_that_is_moved_into_or_out_of_sight_is_made_or_deleted_for_who_sees_one_end(
    server: Served, note: Note
) -> None:
    path = note("text")
    folder = path.split("/", maxsplit=1)[0]
    seen, hidden = f"{folder}/Seen/N.md", f"{folder}/Hidden/N.md"
    secret = server.token(f"mover-{folder[-8:]}", Role.READ, f"{folder}/Seen")
    with events(server, token=secret) as stream:
        last = stream.last
        for here, there in ((path, hidden), (hidden, seen), (seen, hidden), (hidden, path)):
            assert server.post("/kb/notes/move", {"from": here, "to": there}).status_code == 200
        server.post("/kb/notes/move", {"from": path, "to": seen})
        made = {"note": seen, "was": "created", "from": None}
        gone = {"note": seen, "was": "deleted", "from": seen}
        assert [stream.until("note") for _ in range(3)] == [made, gone, made]
    with events(server, last, secret) as stream:  # the same for a page that comes back
        assert [stream.until("note") for _ in range(3)] == [made, gone, made]


def test_ids_tell_nothing_of_what_one_may_not_hear_and_lead_back_to_the_place(
    server: Served, note: Note
) -> None:
    folder = note("text").split("/", maxsplit=1)[0]
    secret = server.token(f"counter-{folder[-8:]}", Role.READ, f"{folder}/Seen")
    with events(server, token=secret) as stream:
        ids = [stream.last]
        for number in range(3):
            note("", f"Hidden{number}.md")
            note("", f"Seen/{number}.md")
            stream.until("note", note=f"{folder}/Seen/{number}.md")
            ids.append(stream.last)
    with events(server, ids[1], secret) as stream:
        ids.append(stream.last)  # of the same event as the second
        assert stream.until("note")["note"] == f"{folder}/Seen/1.md"
        ids.append(stream.last)
    assert len({one[:16] for one in ids}) == len({one[16:32] for one in ids}) == len(ids)
    assert len({len(one) for one in ids}) == 1


def test_a_page_whose_queue_is_full_of_what_it_may_not_hear_has_missed_nothing() -> None:
    page = _Page(Principal("reader", (Grant(Role.READ, "Seen"),)))
    told = {"note": "Seen/N.md"}
    page.put(NoteEvent(0, "changed", ("Seen/N.md",), told))
    for number in range(1, 3 * limits.EVENTS_UNSENT):
        page.put(NoteEvent(number, "changed", ("Hidden.md",), {}))
    assert (page.has_missed, page.unsent[0].told) == (False, told)
    for number in range(limits.EVENTS_UNSENT + 1):
        page.put(NoteEvent(number, "changed", ("Seen/N.md",), told))
    assert page.has_missed


def test_a_page_that_does_not_keep_up_still_hears_what_became_of_a_job() -> None:
    page = _Page(Principal("reader", (Grant(Role.READ),)))
    for done in (1, 2):
        page.put(NoteEvent(done, "job", (), {"job": "one", "done": done}, "reader"))
    for number in range(3, 3 * limits.EVENTS_UNSENT):
        page.put(NoteEvent(number, "changed", ("N.md",), {"note": "N.md"}))
    assert page.has_missed
    assert [one.told["done"] for one in page.unsent if one.kind == "job"] == [2]


def test_a_stream_ends_with_the_token_that_opened_it(tmp_path: Path) -> None:
    program = with_limits({"limits.TOKEN_LOOK_SECONDS": 0.05, "web.events.EVENT_SECONDS": 3_600.0})
    with served(tmp_path, {"N.md": "text"}, tools=program) as running:
        for turn in range(2):  # the second after a while without any page
            secret = running.token(f"page {turn}", Role.READ)
            with events(running, token=secret) as stream:
                running.tokens.revoke(f"page {turn}")
                with pytest.raises(AssertionError, match="the stream ended"):
                    stream.next()


def test_a_page_that_may_not_hear_the_news_hears_that_we_are_here(tmp_path: Path) -> None:
    program = with_limits({"web.events.EVENT_SECONDS": 0.5, "web.events.NEWS_SECONDS": 0.05})
    with served(tmp_path, {"Mine/N.md": "", "N.md": ""}, tools=program) as running:
        secret = running.token("page", Role.READ, "Mine")
        with running.live("N.md") as peer, events(running, token=secret) as stream:
            peer.sync()
            heard = iter(stream._lines)
            for line in heard:
                if line.startswith("id: "):
                    break
                assert line == ": still here", "it may not hear this"
            is_over = threading.Event()
            with ThreadPoolExecutor() as threads:
                typing = threads.submit(_type, peer, is_over)
                try:
                    assert next(line for line in heard if line) == ": still here"
                finally:
                    is_over.set()
                typing.result()


def _type(peer: Live, is_over: threading.Event) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_over.wait(0.02):
        assert time.monotonic() < deadline, "news elsewhere all the time, and nothing for the page"
        peer.type("x")


def test_pages_that_hang_up_at_once_leave_their_places(server: Served, note: Note) -> None:
    """With a token of their own: none of them is in the way of another test."""
    secret = server.token(f"hasty-{secrets.token_hex(4)}", Role.READ)
    for _ in range(2 * limits.LIVE_SHARE):
        with socket.create_connection(("127.0.0.1", server.server.http or 0)) as page:
            page.sendall(
                f"GET /kb/events HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                f"Authorization: Bearer {secret}\r\n\r\n".encode()
            )
    headers = {"authorization": f"Bearer {secret}"}
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:  # the server sees in a moment that they are gone; some have not come yet
        with server.client.stream("GET", "/kb/events", headers=headers) as answer:
            if answer.status_code == 200:
                Stream(answer.iter_lines()).opened().until("note", note=note(), was="created")
                return
        assert time.monotonic() < deadline, "their places are taken for good"
