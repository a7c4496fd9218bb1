"""Live editing over the websocket: what peers see, and why a connection is closed."""

from __future__ import annotations

import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import anyio
import pytest
from websockets.exceptions import ConnectionClosed

from flashgrep import limits
from flashgrep.notes.access.roles import Role
from flashgrep.web import protocol
from flashgrep.web.protocol import GONE, Present
from tests.transports.clients import PATIENCE_SECONDS, join, with_limits
from tests.web.live import Live
from tests.web.served import TOKEN, Served, served

Note = Callable[..., str]


def test_two_peers_see_what_each_other_types(server: Served, note: Note) -> None:
    path = note("start\n")
    with server.live(path) as one, server.live(path) as two:
        one.sync()
        two.sync()
        one.type("one 😀\n")
        two.until(lambda: "one" in two.text)
        two.type("two\n")
        one.until(lambda: "two" in one.text)
        assert one.text == two.text == server.text(path) == "start\none 😀\ntwo\n"


def test_what_others_were_told_is_durable(tmp_path: Path) -> None:
    with (
        served(tmp_path, {"N.md": ""}) as first,
        first.live("N.md") as one,
        first.live("N.md") as two,
    ):
        one.sync()
        two.sync()
        for number in range(20):
            one.type(f"{number}\n")
        two.until(lambda: "19" in two.text)
        told = two.text
        first.server.process.kill()
    with served(tmp_path) as again:
        assert again.text("N.md") == told


def test_a_suggestion_of_an_agent_arrives_at_a_peer(server: Served, note: Note) -> None:
    path = note("alpha beta\n")

    async def suggest() -> None:
        async with join(server.server, "http", name="agent") as session:
            where = f"kb://{path}"
            await session.call_tool("read", {"file_path": where})
            edit = {"file_path": where, "old_string": "beta", "new_string": "gamma"}
            answer = await session.call_tool("edit", edit)
            assert not answer.is_error, answer.content

    server.server.token = TOKEN
    with server.live(path) as peer:
        peer.sync()
        anyio.run(suggest)
        peer.until(lambda: "gamma" in peer.text)
        assert peer.text == "alpha {--beta--}{++gamma++}\n"


def test_slashes_of_the_path_may_be_escaped(server: Served, note: Note) -> None:
    path = note("here")
    url = server.url("x", token=TOKEN).replace("/x?", f"/{quote(path, safe='')}?")
    with Live.opened(url) as peer:
        assert peer.sync().text == "here"


def test_an_update_whose_predecessor_is_missing_is_asked_for_again(
    server: Served, note: Note
) -> None:
    path = note()
    with server.live(path) as one, server.live(path) as two:
        one.sync()
        two.sync()
        one.type("first ", is_sent=False)
        one.type("second")
        one.until(lambda: one.asked == 2)
        two.until(lambda: "second" in two.text)
        assert two.text == "first second"


def test_presence_is_told_kept_while_the_peer_is_there_and_taken_back(
    server: Served, note: Note
) -> None:
    path = note()
    ann = Present(77, 1, '{"user":{"name":"Ånn"}}'.encode())
    with server.live(path) as watching:
        watching.sync()
        with server.live(path) as one:
            one.sync()
            one.send(protocol.presence([ann]))
            watching.until(lambda: 77 in watching.seen)
            assert watching.seen[77] == ann
            with server.live(path) as late:
                late.until(lambda: 77 in late.seen)
            watching.seen.clear()
            watching.send(b"\3")
            watching.until(lambda: 77 in watching.seen)
        watching.until(lambda: watching.seen[77].state == GONE)


def test_unknown_messages_are_passed_over(server: Served, note: Note) -> None:
    with server.live(note("text")) as peer:
        peer.send(b"\x09later")
        assert peer.sync().text == "text"


def test_the_last_words_of_one_who_leaves_are_kept_whatever_others_say_meanwhile(
    server: Served, note: Note
) -> None:
    path = note()
    with server.live(path) as other, ThreadPoolExecutor() as threads:
        other.sync()
        is_over = threading.Event()
        pointing = threads.submit(_point, other, is_over)
        try:
            for number in range(20):
                with server.live(path) as peer:
                    peer.sync()
                    before = peer.text
                    for letter in f"<word {number}>":
                        peer.type(letter)
                _until_text(server, path, f"{before}<word {number}>")
        finally:
            is_over.set()
        pointing.result()


def _point(peer: Live, is_over: threading.Event) -> None:
    """Move a cursor, so that everybody else in the note is sent something all the time."""
    clock = 0
    while not is_over.wait(0.003):
        clock += 1
        peer.send(protocol.presence([Present(77, clock, b'{"at":%d}' % clock)]))


def _until_text(server: Served, path: str, text: str) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (found := server.text(path)) != text:
        assert time.monotonic() < deadline, f"{found!r} instead of {text!r}"


# ── close codes ─────────────────────────────────────────────────────────────────────────────────

REFUSED = [
    ("no token", {"token": ""}, {}, 4401),
    ("another token", {"token": "wrong"}, {}, 4401),
    ("a token in the wrong scheme", {}, {"authorization": f"Basic {TOKEN}"}, 4401),
    ("a wrong header beside a right query", {"token": TOKEN}, {"authorization": "Bearer x"}, 4401),
    ("a cookie without an Origin", {}, {"cookie": "flashgrep_session={session}"}, 4401),
    ("a token in a cookie", {}, {"cookie": f"flashgrep_session={TOKEN}"}, 4401),
    ("a session in the query", {"token": "{session}"}, {}, 4401),
    ("a session in the header", {}, {"authorization": "Bearer {session}"}, 4401),
    ("another Host", {"token": TOKEN}, {"host": "evil.example"}, 4403),
    ("another Origin", {"token": TOKEN}, {"origin": "http://evil.example"}, 4403),
    ("another epoch", {"token": TOKEN, "epoch": "0123456789abcdef"}, {}, 4409),
]


@pytest.mark.parametrize(
    ("query", "headers", "code"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_who_may_not_is_closed_before_any_frame(
    server: Served, note: Note, query: dict[str, str], headers: dict[str, str], code: int
) -> None:
    session = server.cookie().partition("=")[2]
    headers = {name: value.replace("{session}", session) for name, value in headers.items()}
    query = {name: value.replace("{session}", session) for name, value in query.items()}
    url = server.url(note("secret"), **query)
    if host := headers.pop("host", ""):
        # The name in the address becomes the Host; the connection goes where it always does.
        assert _closed_under(url, host) == code
        return
    with Live.opened(url, headers) as peer:
        assert peer.closed() == code
        assert peer.text == ""


def _closed_under(url: str, host: str) -> int:
    from websockets.sync.client import connect

    address = url.removeprefix("ws://").split("/")[0]
    name, _, port = address.partition(":")
    with connect(url.replace(address, host), address=(name, int(port)), proxy=None) as socket:
        return Live(socket).closed()


@pytest.mark.parametrize(
    ("header", "value"),
    [("authorization", f"Bearer {TOKEN}"), ("cookie", "x=y; {cookie}")],
)
def test_the_token_may_come_as_a_header_or_as_a_cookie_of_our_own_page(
    server: Served, note: Note, header: str, value: str
) -> None:
    value = value.replace("{cookie}", server.cookie())
    with Live.opened(server.url(note("text")), {header: value, "origin": server.address}) as peer:
        assert peer.sync().text == "text"


@pytest.mark.parametrize(
    "path", ["Nowhere.md", "", "a//b.md", "../x.md", "a/..%2fb.md", "X", "%00.md", "trailing..md"]
)
def test_a_note_that_is_not_there_is_4404(server: Served, path: str) -> None:
    with server.live(path) as peer:
        assert peer.closed() == 4404


def test_the_epoch_that_is_the_notes_own_is_let_in(server: Served, note: Note) -> None:
    path = note("text")
    epoch = server.get(f"/kb/notes/{path}").json()["epoch"]
    with Live.opened(server.url(path, token=TOKEN, epoch=epoch)) as peer:
        assert peer.sync().text == "text"


MALFORMED = [
    ("a frame of text", "hello", 1003),
    ("an empty frame", b"", 1007),
    ("a message cut off", b"\0\2\x09abc", 1007),
    ("an update that is none", protocol.update(b"\xff\xff\xff"), 1007),
    ("a state vector that is none", protocol.have(b"\5"), 1007),
    ("presence that is none", b"\1\1\7", 1007),
    ("a frame over the ceiling", b"\0" * (limits.LIVE_MESSAGE_BYTES + 1), 4413),
]


@pytest.mark.parametrize(
    ("frame", "code"), [row[1:] for row in MALFORMED], ids=[row[0] for row in MALFORMED]
)
def test_a_peer_that_sends_what_cannot_be_is_closed_and_others_are_not(
    server: Served, note: Note, frame: bytes | str, code: int
) -> None:
    path = note("text")
    with server.live(path) as other:
        other.sync()
        with server.live(path) as peer:
            peer.send(frame)
            assert peer.closed() == code
        other.type(" and more")
        assert other.sync().text == server.text(path) == "text and more"


def test_a_note_that_would_grow_too_large_closes_the_peer_with_4413(
    server: Served, note: Note
) -> None:
    path = note()
    with server.live(path) as peer:
        peer.sync()
        peer.type("x" * (limits.NOTE_BYTES + 1))
        assert peer.closed() == 4413
    assert server.text(path) == ""


# ── roles ───────────────────────────────────────────────────────────────────────────────────────


def test_a_reader_receives_and_is_closed_when_it_writes(server: Served, note: Note) -> None:
    path = note("text")
    secret = server.token("reader", Role.READ)
    with server.live(path) as writer, server.live(path, secret) as reader:
        writer.sync()
        reader.sync()
        writer.type("!")
        reader.until(lambda: reader.text == "text!")
        reader.send(protocol.lack(reader.doc.get_update()[:0] or b"\0\0"))
        reader.type("mine")
        assert reader.closed() == 4403
    assert server.text(path) == "text!"


def test_one_who_suggests_does_not_write_past_the_suggestions(server: Served, note: Note) -> None:
    path = note("text")
    with server.live(path, server.token("suggester", Role.SUGGEST)) as peer:
        peer.sync()
        peer.type("mine")
        assert peer.closed() == 4403
    assert server.text(path) == "text"


def test_a_token_for_another_folder_is_4403_whether_or_not_the_note_is_there(
    server: Served, note: Note
) -> None:
    secret = server.token("outsider", Role.WRITE, "Elsewhere")
    for path in (note("text"), "Nowhere.md"):
        with server.live(path, secret) as peer:
            assert peer.closed() == 4403


def test_a_token_taken_back_closes_its_connections(tmp_path: Path) -> None:
    quick = with_limits({"limits.TOKEN_LOOK_SECONDS": 0.1})
    with served(tmp_path, {"N.md": "text"}, tools=quick) as server:
        for turn in range(1, 4):  # the second and third right after a look of the server's
            secret = server.token("revoked", Role.WRITE)
            with server.live("N.md", secret) as peer, server.live("N.md") as other:
                peer.sync()
                other.sync()
                server.tokens.revoke("revoked")
                assert peer.closed() == 4401
                other.type("!")
                assert other.sync().text == "text" + "!" * turn


@pytest.mark.thorough
def test_a_token_that_expires_closes_its_connections(server: Served, note: Note) -> None:
    path = note("text")
    soon = time.time_ns() // 1_000_000 + 1_500
    secret = server.tokens.make("brief", Role.WRITE, "", soon)
    with server.live(path, secret) as peer:
        assert peer.sync().text == "text"
        assert peer.closed() == 4401


def test_a_role_that_was_lowered_counts_for_open_connections(server: Served, note: Note) -> None:
    path = note("text")
    secret = server.token("lowered", Role.WRITE)
    with server.live(path, secret) as peer:
        peer.sync()
        _lower(server, "lowered", Role.READ)
        peer.type("mine")
        assert peer.closed() == 4403
    assert server.text(path) == "text"


def _lower(server: Served, name: str, role: Role) -> None:
    """Give a token another role, as an edit of the file would."""
    from dataclasses import replace

    from flashgrep.notes.access import tokens as token_file
    from flashgrep.system.atomic import replace_file

    path = server.home / token_file.FILE
    tokens = [
        replace(one, role=role) if one.name == name else one for one in server.tokens.listed()
    ]
    replace_file(path, [token_file.encoded(tokens)])


# ── notes that go away ──────────────────────────────────────────────────────────────────────────


def test_a_note_that_is_deleted_or_moved_closes_its_peers_with_4404(
    server: Served, note: Note
) -> None:
    gone, moved = note("text", "Gone.md"), note("text", "Moved.md")
    with server.live(gone) as one, server.live(moved) as two:
        one.sync()
        two.sync()
        assert server.ask("DELETE", f"/kb/notes/{gone}", None).status_code == 200
        assert one.closed() == 4404
        there = {"from": moved, "to": moved.replace("Moved", "There")}
        assert server.post("/kb/notes/move", there).status_code == 200
        assert two.closed() == 4404


# ── quiet ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.thorough
def test_a_quiet_peer_hears_from_the_server_now_and_then_and_no_more(tmp_path: Path) -> None:
    with (
        served(
            tmp_path, {"N.md": "text"}, tools=with_limits({"web.peer.QUIET_SECONDS": 0.2})
        ) as running,
        running.live("N.md") as peer,
    ):
        peer.sync()
        before = peer.heard
        peer.until(lambda: peer.heard == before + 5)  # nothing but quiet
        peer.type("!")
        assert peer.sync().text == "text!"
        assert peer.heard < before + 100  # the answer was not behind a flood
        assert running.text("N.md") == "text!"


# ── the server's own limits ─────────────────────────────────────────────────────────────────────


@pytest.mark.thorough
def test_a_peer_that_does_not_read_is_closed_and_holds_up_nobody(
    server: Served, note: Note
) -> None:
    path = note()
    lazy = Live.opened(server.url(path, token=TOKEN), ahead=1)
    with server.live(path) as writer, lazy as slow, server.live(path) as quick:
        writer.sync()
        slow.sync()
        quick.sync()
        for _ in range(14):
            writer.type("x" * 2**21)
            quick.until(lambda: bool(quick.text))
            before = writer.doc.get_state()
            writer._text.clear()
            writer.send(protocol.update(writer.doc.get_update(before)))
            quick.until(lambda: not quick.text)
        assert slow.closed() in (1013, 0)  # cut off where even the close does not get through
        writer.type("end")
        quick.until(lambda: quick.text == "end")


@pytest.mark.thorough
def test_a_peer_that_went_deaf_in_the_middle_of_a_note_is_cut_off(tmp_path: Path) -> None:
    """What it does not read fills the buffers; no close gets through behind that."""
    program = with_limits(
        {f"transports.http.connections.{name}_SECONDS": 0.3 for name in ("PING", "CLOSE")}
    )
    notes = {"Big.md": "x" * 3_900_000, "N.md": ""}
    flags = ("--token", TOKEN, "--live-connections", "2")
    with served(tmp_path, notes, flags=flags, tools=program) as running:
        for _ in range(2):
            with _deaf(running, "Big.md"), _deaf(running, "Big.md"):
                _until_let_in(running)
        assert "Traceback" not in running.server.log.read_text(encoding="utf-8")


def shake_hands(server: Served, connection: socket.socket, note: str, token: str) -> None:
    """Open a websocket by hand; the answer is there, and unread."""
    connection.connect(("127.0.0.1", server.server.http or 0))
    connection.sendall(
        f"GET /kb/ws/{note}?token={token} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n".encode()
    )
    connection.recv(1, socket.MSG_PEEK)


@contextmanager
def _deaf(server: Served, note: str) -> Iterator[None]:
    """One who asks for a note and reads nothing, not even the answer to the handshake."""
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        shake_hands(server, connection, note, TOKEN)
        asked = protocol.have(b"\0")
        connection.sendall(bytes([0x82, 0x80 | len(asked), 0, 0, 0, 0]) + asked)
        yield


def _until_let_in(server: Served) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        with server.live("N.md") as peer:
            try:
                peer.sync()
                return
            except ConnectionClosed:  # there are as many peers as may be
                time.sleep(0.1)
    raise AssertionError("nobody else is let in")


def test_a_server_that_ends_asks_its_peers_to_come_again(tmp_path: Path) -> None:
    with served(tmp_path, {"N.md": "text"}) as running:
        with running.live("N.md") as peer:
            peer.sync()
            assert running.server.stop(signal.SIGTERM) == 0
            assert peer.closed() in (1001, 1012)
        assert TOKEN not in running.server.log.read_text(encoding="utf-8")
