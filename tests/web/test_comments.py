"""Comments over HTTP and typed by a peer: listed, made, answered, resolved, told as events."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

import pytest

from flashgrep.notes.access.roles import Role
from tests.web.served import Served
from tests.web.test_events import Stream, events

Note = Callable[..., str]


def _listed(server: Served, note: str, **more: Any) -> list[dict[str, Any]]:
    answer = server.get(f"/kb/comments?note={note}", **more)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["comments"]
    return found


def _on(server: Served, note: str, quote: str, text: str, **more: Any) -> Any:
    start = len(server.text(note).partition(quote)[0].encode("utf-16-le")) // 2
    size = len(quote.encode("utf-16-le")) // 2
    passage = {"start": start, "end": start + size, "quote": quote}
    return server.post("/kb/comments", {"note": note, "text": text, "passage": passage}, **more)


def _token(server: Served, role: Role, folder: str = "") -> tuple[str, str]:
    """A new token: its name, and its secret."""
    name = f"{role.shown}-{secrets.token_hex(4)}"
    return name, server.token(name, role, folder)


def test_the_loop_of_a_comment(server: Served, note: Note) -> None:
    path = note("first 😀\nsee beta here\n")
    made = _on(server, path, "beta", "Is that so?")
    assert made.status_code == 201
    comment = made.json()
    fields = {"id", "note", "line", "author", "time", "text", "suggestion", "quote", "replies"}
    assert set(comment) == fields
    assert (comment["note"], comment["line"], comment["quote"]) == (path, 2, "beta")
    _, suggester = _token(server, Role.SUGGEST)
    reply = server.post("/kb/comments/reply", {"id": comment["id"], "text": "Yes."}, suggester)
    assert reply.status_code == 201
    assert set(reply.json()) == {"id", "author", "time", "text"}
    again = server.post("/kb/comments/reply", {"id": comment["id"], "text": "Yes."}, suggester)
    assert (again.status_code, again.json()) == (200, reply.json())
    assert server.text(path) == "first 😀\nsee {==beta==}{>>Is that so?<<}{>>Yes.<<} here\n"
    (found,) = _listed(server, path)
    assert found == {**comment, "replies": [reply.json()]}
    refused = server.post("/kb/comments/resolve", {"id": comment["id"]}, suggester)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "access_denied")
    done = server.post("/kb/comments/resolve", {"id": reply.json()["id"]})
    assert (done.status_code, done.json()) == (200, {"id": comment["id"]})
    assert server.text(path) == "first 😀\nsee beta here\n"
    assert _listed(server, path) == []
    (kept,) = server.get(f"/kb/comments?note={path}&resolved=true").json()["comments"]
    assert [one["text"] for one in (kept, *kept["replies"])] == ["Is that so?", "Yes."]
    gone = server.post("/kb/comments/resolve", {"id": comment["id"]})
    assert (gone.status_code, gone.json()["error"]["code"]) == (404, "not_found")


def test_a_comment_on_a_suggestion_is_listed_with_it(server: Served, note: Note) -> None:
    path = note("one {~~two~>2~~}\n")
    (found,) = server.get(f"/kb/suggestions?note={path}").json()["suggestions"]
    assert found["comments"] == []
    body = {"note": f"kb://{path}", "text": "Why?", "suggestion": found["id"]}
    made = server.post("/kb/comments", body)
    assert (made.status_code, made.json()["suggestion"]) == (201, found["id"])
    assert server.text(path) == "one {~~two~>2~~}{>>Why?<<}\n"
    (found,) = server.get(f"/kb/suggestions?note={path}").json()["suggestions"]
    assert found["comments"] == [made.json()]


def test_a_comment_that_a_peer_types_is_that_of_its_token(server: Served, note: Note) -> None:
    path = note("one ")
    name, writer = _token(server, Role.WRITE)
    with server.live(path, token=writer) as peer:
        peer.sync()
        for letter in '{==two==}{>>{"author":"victim","time":1}@@Why?<<}':
            peer.type(letter)
        peer.sync()
        (found,) = _listed(server, path)
        assert (found["text"], found["quote"], found["line"]) == ("Why?", "two", 1)
        assert found["author"] == name
        assert found["time"] > 1_700_000_000_000
        reply = server.post("/kb/comments/reply", {"id": found["id"], "text": "Because."})
        peer.until(lambda: "Because." in peer.text)
        peer.type("{>>I see.<<}")
        peer.sync()
    (found,) = _listed(server, path)
    assert [one["text"] for one in found["replies"]] == ["Because.", "I see."]
    assert found["replies"][0] == reply.json()
    assert found["replies"][1]["author"] == name


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"text": "t"}, 400, "send either suggestion"),
        ({"text": "t", "suggestion": "s_x", "passage": {}}, 400, "send either suggestion"),
        ({"text": "t", "suggestion": "s_x"}, 404, "no pending suggestion s_x"),
        ({"text": "t", "passage": {"start": 0}}, 400, "passage must be start and end"),
        ({"text": "t", "passage": {"start": True, "end": 1, "quote": ""}}, 400, "must be start"),
        ({"text": "t", "passage": {"start": 0, "end": 3, "quote": "two"}}, 409, "says 'one'"),
        ({"text": "t", "passage": {"start": 0, "end": 99, "quote": "one"}}, 409, "outside"),
        ({"text": "<<}", "passage": {"start": 0, "end": 3, "quote": "one"}}, 400, "contains <<}"),
        ({"text": "t" * 10_001, "passage": {"start": 0, "end": 3, "quote": "one"}}, 413, "10,000"),
        ({"text": "t", "passage": {"start": 0, "end": 3, "quote": "one"}, "x": 1}, 400, "'x'"),
    ],
)
def test_bad_bodies_are_refused_with_the_remedy(
    server: Served, note: Note, body: dict[str, Any], status: int, message: str
) -> None:
    path = note("one two\n")
    answer = server.post("/kb/comments", {"note": path, **body})
    assert answer.status_code == status, answer.text
    assert message in answer.json()["error"]["message"]
    assert server.text(path) == "one two\n"


def test_other_bad_requests(server: Served) -> None:
    assert server.get("/kb/comments?path=A.md").status_code == 400
    assert server.get("/kb/comments?resolved=yes").status_code == 400
    assert server.post("/kb/comments/reply", {"id": "c_x", "text": "t"}).status_code == 404
    refused = server.ask("DELETE", "/kb/comments", None)
    assert refused.status_code == 405
    assert {"GET", "POST"} <= set(refused.headers["allow"].replace(" ", "").split(","))


def test_roles_and_folders_hold(server: Served, note: Note) -> None:
    path = note("one two\n")
    comment = _on(server, path, "two", "Why?").json()
    folder = path.rpartition("/")[0]
    _, reader = _token(server, Role.READ, folder)
    _, other = _token(server, Role.WRITE, "Elsewhere")
    assert [one["id"] for one in _listed(server, path, token=reader)] == [comment["id"]]
    assert _listed(server, path, token=other) == []
    assert _on(server, path, "one", "t", token=reader).status_code == 403
    for route in ("reply", "resolve"):
        body = {"id": comment["id"]} | ({"text": "t"} if route == "reply" else {})
        assert server.post(f"/kb/comments/{route}", body, reader).status_code == 403
        assert server.post(f"/kb/comments/{route}", body, other).status_code == 404


def test_what_is_said_is_an_event(server: Served, note: Note) -> None:
    path = note("one two\n")
    with events(server) as stream:
        assert isinstance(stream, Stream)
        comment = _on(server, path, "two", "Why?").json()
        body = {"id": comment["id"], "text": "Because."}
        reply = server.post("/kb/comments/reply", body).json()
        server.post("/kb/comments/resolve", {"id": comment["id"]})
        told = [stream.until("comment", note=path) for _ in range(3)]
    assert told == [
        {"note": path, "id": comment["id"], "was": "made"},
        {"note": path, "id": reply["id"], "was": "replied"},
        {"note": path, "id": comment["id"], "was": "resolved"},
    ]
