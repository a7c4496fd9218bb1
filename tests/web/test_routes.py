"""Notes over HTTP: read, made, moved, deleted."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

import pytest

from flashgrep import limits
from tests.web.served import Served

Note = Callable[..., str]


def test_a_note_is_made_read_moved_and_deleted(server: Served, note: Note) -> None:
    path = note("text 😀\n", "Ä note.md")
    read = server.get(f"/kb/notes/{quote(path)}").json()
    assert (read["path"], read["text"], len(read["epoch"])) == (path, "text 😀\n", 16)
    there = path.replace("Ä note", "Deeper/There")
    moved = server.post("/kb/notes/move", {"from": path, "to": there})
    assert moved.json() == {"path": there, "epoch": read["epoch"], "links": 0, "left": 0}
    assert server.get(f"/kb/notes/{quote(path)}").status_code == 404
    assert server.ask("DELETE", f"/kb/notes/{quote(there)}", None).json() == {"path": there}
    assert server.get(f"/kb/notes/{quote(there)}").status_code == 404


BAD_PATHS = ["", "/a.md", "a//b.md", "../a.md", "a/./b.md", "a%2fb.md", "a", "a\\b.md", "a .md"]


@pytest.mark.parametrize("path", BAD_PATHS)
def test_a_path_that_cannot_be_is_400_at_every_entrance(
    server: Served, note: Note, path: str
) -> None:
    answer = server.post("/kb/notes", {"path": path, "text": ""})
    assert answer.status_code == 400
    message = answer.json()["error"]["message"]
    assert message.startswith(f"{path!r} is not a valid path of a note: "), "it names the value"
    assert ";" in message, "and what to do"
    there = note()
    assert server.post("/kb/notes/move", {"from": there, "to": path}).status_code == 400
    assert server.post("/kb/notes/move", {"from": path, "to": "X.md"}).status_code == 400


BAD_TEXTS = [("a\r\nb", 400), ("a\0b", 400), ("\ud83d", 400), ("x" * (limits.NOTE_BYTES + 1), 413)]


@pytest.mark.parametrize(("text", "status"), BAD_TEXTS, ids=["CRLF", "NUL", "half", "large"])
def test_a_text_that_cannot_be_is_refused(server: Served, text: str, status: int) -> None:
    answer = server.post("/kb/notes", {"path": "Bad.md", "text": text})
    assert answer.status_code == status
    assert server.get("/kb/notes/Bad.md").status_code == 404


def test_a_path_that_is_taken_is_409(server: Served, note: Note) -> None:
    one, two = note("", "One.md"), note("", "Two.md")
    for path in (one, one.replace("One", "ONE")):
        assert server.post("/kb/notes", {"path": path, "text": ""}).status_code == 409
        assert server.post("/kb/notes/move", {"from": two, "to": path}).status_code == 409
