"""What a page asks about whole notes: the tree, links, versions, the trash."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

from flashgrep.notes.access.roles import Role
from flashgrep.system.login import login_name
from tests.web.served import TOKEN, Served
from tests.web.test_events import events

Note = Callable[..., str]


def rows(server: Served, folder: str, token: str = "") -> dict[str, Any]:
    answer = server.get("/kb/tree", token) if token else server.get("/kb/tree")
    assert answer.status_code == 200, answer.text
    return {row["path"]: row for row in answer.json()["notes"] if row["path"].startswith(folder)}


def folder_of(path: str) -> str:
    return path.partition("/")[0]


def error(answer: Any, status: int) -> str:
    assert answer.status_code == status, answer.text
    return str(answer.json()["error"]["message"])


# ── the tree ────────────────────────────────────────────────────────────────────────────────────


def test_the_tree_has_every_note_with_its_last_change_and_pending_suggestions(
    server: Served, note: Note
) -> None:
    marked = note("a {++b++} {--c--} d", "Zwei/Ünder.md")
    plain = note("a", "Eins.md")
    found = rows(server, folder_of(plain))
    assert list(found) == [plain, marked]
    assert [found[path]["pending"] for path in (plain, marked)] == [0, 2]
    before = found[plain]["changed"]
    with server.live(plain) as peer:
        peer.sync()
        peer.type("b")
        with server.live(plain) as other:
            other.sync()
            other.until(lambda: other.text == "ab")
    assert rows(server, folder_of(plain))[plain]["changed"] >= before > 1_600_000_000_000


def test_the_same_tree_again_is_304_until_something_in_it_changes(
    server: Served, note: Note
) -> None:
    path = note("a")
    token = server.token("tree-reader", Role.READ, folder_of(path))
    first = server.get("/kb/tree", token)
    tag = first.headers["etag"]
    for asked in (tag, f'"x", W/{tag}'):
        again = server.get("/kb/tree", token, if_none_match=asked)
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    server.post("/kb/notes", {"path": "Elsewhere-of-tree.md", "text": "x"})
    assert server.get("/kb/tree", token, if_none_match=tag).status_code == 304
    other = note("b", "Other.md")
    answer = server.get("/kb/tree", token, if_none_match=tag)
    assert answer.status_code == 200
    assert [row["path"] for row in answer.json()["notes"]] == sorted([path, other])
    assert answer.json()["generation"] != first.json()["generation"]


def test_the_tree_follows_notes_that_come_move_and_go(server: Served, note: Note) -> None:
    one, two = note("", "A/One.md"), note("", "B/Two.md")
    folder = folder_of(one)
    there = f"{folder}/C/One.md"
    server.post("/kb/notes/move", {"from": one, "to": there})
    assert list(rows(server, folder)) == [two, there]
    server.ask("DELETE", f"/kb/notes/{quote(two)}", None)
    assert list(rows(server, folder)) == [there]


def test_a_token_sees_the_tree_of_its_folders_alone(server: Served, note: Note) -> None:
    mine = note("", "Mine/A.md")
    note("", "Other/B.md")
    token = server.token("folder-reader", Role.READ, mine.removesuffix("/A.md"))
    assert list(rows(server, "", token)) == [mine]


# ── links ───────────────────────────────────────────────────────────────────────────────────────


def test_links_of_a_note_both_ways(server: Served, note: Note) -> None:
    target = note("# T\n", "Target.md")
    folder = folder_of(target)
    text = f"one\nsee [[{folder}/Target#T|the target]] and [[Nowhere at all]]\n"
    source = note(text, "Source.md")
    found = server.get(f"/kb/links/{quote(source)}").json()
    assert found["outgoing"] == [
        {
            "target": f"{folder}/Target",
            "line": 2,
            "resolved": target,
            "label": "the target",
            "kind": "wiki",
            "anchor": "T",
        },
        {
            "target": "Nowhere at all",
            "line": 2,
            "resolved": None,
            "label": "",
            "kind": "wiki",
        },
    ]
    assert found["unresolved"] == [{"target": "Nowhere at all", "line": 2}]
    back = server.get(f"/kb/links/{quote(target)}").json()
    context = text.split("\n")[1]
    assert back["backlinks"] == [{"source": source, "line": 2, "context": context}]
    assert (back["total_outgoing"], back["total_backlinks"]) == (0, 1)


def test_links_name_nothing_that_the_token_may_not_read(server: Served, note: Note) -> None:
    mine = note("x", "Mine/A.md")
    folder = mine.removesuffix("/A.md")
    top = folder_of(mine)
    note(f"[[{folder}/A]]", "Hidden/Secret.md")
    inside = note(f"[[{top}/Hidden/Secret]] [[A]]", "Mine/B.md")
    token = server.token("link-reader", Role.READ, folder)
    found = server.get(f"/kb/links/{quote(inside)}", token).json()
    assert [row["resolved"] for row in found["outgoing"]] == [None, mine]
    back = server.get(f"/kb/links/{quote(mine)}", token)
    assert [row["source"] for row in back.json()["backlinks"]] == [inside]
    assert back.json()["total_backlinks"] == 1
    assert server.get(f"/kb/links/{quote(top)}/Hidden/Secret.md", token).status_code == 403


def test_links_come_by_pages_and_a_long_line_is_cut_around_the_link(
    server: Served, note: Note
) -> None:
    target = note("", "T.md")
    name = target.removesuffix(".md")
    note("x" * 1_000 + f" [[{name}]] " + "y" * 1_000 + f"\n[[{name}]]\n[[{name}]]", "Long.md")
    url = f"/kb/links/{quote(target)}"
    first = server.get(f"{url}?limit=1").json()["backlinks"]
    assert f"[[{name}]]" in first[0]["context"]
    assert len(first[0]["context"]) < 500
    rest = server.get(f"{url}?limit=2&offset=1").json()
    assert [row["line"] for row in rest["backlinks"]] == [2, 3]
    assert rest["total_backlinks"] == 3
    assert "limit is 0" in error(server.get(f"{url}?limit=0"), 400)


# ── versions ────────────────────────────────────────────────────────────────────────────────────


def test_a_note_goes_back_to_a_version(server: Served, note: Note) -> None:
    path = note("first")
    url = f"/kb/history/{quote(path)}"
    (first,) = server.get(url).json()["versions"]
    assert first["author"] == login_name()
    with server.live(path) as peer:
        peer.sync()
        peer.type(" second")
        peer.sync()
    with server.live(path, server.token("hans", Role.WRITE)) as peer:
        peer.sync()
        peer.type("!")
        peer.sync()
    newest = server.get(url).json()["versions"][0]
    assert (newest["author"], newest["others"]) == ("hans", [login_name()])
    newest = newest["version"]
    texts = [
        server.get(f"{url}?version={version}").json() for version in (first["version"], newest)
    ]
    assert [one["text"] for one in texts] == ["first", "first second!"]
    with server.live(path) as peer:
        peer.sync()
        body = {"path": path, "version": first["version"]}
        assert server.post("/kb/notes/restore", body).json()["path"] == path
        peer.until(lambda: peer.text == "first")
    again = server.post("/kb/notes/restore", {"path": path, "version": newest}).json()
    assert (again["path"], server.text(path)) == (path, "first second!")
    reader = server.token("version-reader", Role.READ, folder_of(path))
    assert server.get(url, reader).status_code == 200
    assert server.post("/kb/notes/restore", body, reader).status_code == 403
    message = error(server.get(f"{url}?version=99"), 404)
    assert "has no version 99" in message
    assert str(newest) in message


# ── moving ──────────────────────────────────────────────────────────────────────────────────────


def test_links_follow_a_note_that_moves_and_editors_see_it(server: Served, note: Note) -> None:
    old = note("[[./Other]]", "Old.md")
    folder = folder_of(old)
    other = note(f"see [[{folder}/Old|it]]", "Other.md")
    there = f"{folder}/Deeper/New.md"
    with server.live(other) as peer, events(server) as stream:
        peer.sync()
        peer.type(" typed")
        answer = server.post("/kb/notes/move", {"from": old, "to": there}).json()
        assert (answer["path"], answer["links"], answer["left"]) == (there, 2, 0)
        peer.until(lambda: peer.text == f"see [[{folder}/Deeper/New|it]] typed")
        stream.until("note", note=there, was="moved")
        stream.until("changed", note=other, author=login_name())
    assert server.text(there) == "[[../Other]]"


def test_a_folder_moves_and_is_deleted(server: Served, note: Note) -> None:
    one, two = note("[[./Two]]", "A/One.md"), note("", "A/B/Two.md")
    folder = folder_of(one)
    home = note(f"[[{folder}/A/One]] [[{folder}/A/B/Two]]", "Home.md")
    moved = server.post("/kb/folders/move", {"from": f"{folder}/A", "to": f"{folder}/C d"})
    assert moved.json() == {"notes": 2, "links": 2, "left": 0}
    assert server.text(home) == f"[[{folder}/C d/One]] [[{folder}/C d/B/Two]]"
    assert server.get(f"/kb/notes/{quote(two)}").status_code == 404
    taken = {"from": f"{folder}/C d", "to": f"{folder}/C d/B"}
    assert "choose a folder outside" in error(server.post("/kb/folders/move", taken), 400)
    gone = server.ask("DELETE", f"/kb/folders/{quote(folder)}/C%20d", None)
    assert gone.json() == {"notes": 2}
    assert list(rows(server, folder)) == [home]
    assert "there is no folder" in error(
        server.ask("DELETE", f"/kb/folders/{quote(folder)}/C%20d", None), 404
    )


def test_a_move_needs_the_role_on_both_paths_and_counts_what_it_leaves(
    server: Served, note: Note
) -> None:
    old = note("", "Mine/Old.md")
    folder = folder_of(old)
    hidden = note(f"[[{folder}/Mine/Old]]", "Hidden/Secret.md")
    token = server.token("mover", Role.WRITE, f"{folder}/Mine")
    outside = {"from": old, "to": f"{folder}/Hidden/New.md"}
    assert server.post("/kb/notes/move", outside, token).status_code == 403
    up = {"from": f"{folder}/Mine", "to": f"{folder}/Other"}
    assert server.post("/kb/folders/move", up, token).status_code == 403
    assert server.ask("DELETE", f"/kb/folders/{folder}", None, token).status_code == 403
    inside = {"from": old, "to": f"{folder}/Mine/New.md"}
    answer = server.post("/kb/notes/move", inside, token)
    assert (answer.json()["links"], answer.json()["left"]) == (0, 0)
    assert "Secret" not in answer.text
    assert server.text(hidden) == f"[[{folder}/Mine/Old]]"


def test_a_link_to_a_note_that_the_mover_may_not_see_is_left_as_it_is(
    server: Served, note: Note
) -> None:
    mine = note("see [[Salary]]", "Mine/A.md")
    folder = folder_of(mine)
    moved = note("", "Mine/b.md")
    note("", "Hidden/Deep Secret/Salary.md")
    token = server.token("mover-of-names", Role.WRITE, f"{folder}/Mine")
    body = {"from": moved, "to": f"{folder}/Mine/Salary.md"}
    answer = server.post("/kb/notes/move", body, token).json()
    assert (answer["links"], answer["left"]) == (0, 0)
    assert server.text(mine) == "see [[Salary]]"


# ── the trash ───────────────────────────────────────────────────────────────────────────────────


def deleted(server: Served, path: str) -> str:
    assert server.ask("DELETE", f"/kb/notes/{quote(path)}", None).status_code == 200
    gone = server.get("/kb/trash").json()["notes"]
    return str(next(row["id"] for row in gone if row["path"] == path))


def test_a_deleted_note_is_in_the_trash_and_comes_back(server: Served, note: Note) -> None:
    path = note("words")
    epoch = server.get(f"/kb/notes/{quote(path)}").json()["epoch"]
    name = deleted(server, path)
    newest = server.get("/kb/trash").json()["notes"][0]
    assert (newest["id"], newest["path"]) == (name, path)
    assert newest["deleted"] > 1_600_000_000_000
    assert server.post("/kb/trash/restore", {"id": name}).json() == {"path": path, "epoch": epoch}
    assert server.text(path) == "words"
    assert "no note in the trash" in error(server.post("/kb/trash/restore", {"id": name}), 404)


def test_a_note_that_was_open_is_found_where_it_is_now(server: Served, note: Note) -> None:
    path = note("words", "Where/A.md")
    folder = path.removesuffix("/A.md")
    there = f"{folder_of(path)}/Other/A.md"
    reader = server.token("where-reader", Role.READ, folder)
    epoch = server.get(f"/kb/notes/{quote(path)}").json()["epoch"]

    def where(token: str = TOKEN) -> tuple[int, Any]:
        answer = server.get(f"/kb/where?epoch={epoch}", token)
        return answer.status_code, answer.json()

    here = {"path": path, "epoch": epoch, "trash": None}
    assert where() == where(reader) == (200, here)
    server.post("/kb/notes/move", {"from": path, "to": there})
    assert where() == (200, {**here, "path": there})
    # Who may not see it there learns no more than of an epoch that never was.
    missing = error(server.get(f"/kb/where?epoch={'0' * 16}", reader), 404)
    assert where(reader)[1]["error"]["message"] == missing.replace("0" * 16, epoch)
    name = deleted(server, there)
    assert where() == (200, {"path": there, "epoch": epoch, "trash": name})
    assert where(reader)[0] == 404


def test_a_note_whose_path_is_taken_comes_back_elsewhere(server: Served, note: Note) -> None:
    path = note("old")
    name = deleted(server, path)
    note("new")
    there = path.replace("Note.md", "Note 2.md")
    assert there in error(server.post("/kb/trash/restore", {"id": name}), 409)
    answer = server.post("/kb/trash/restore", {"id": name, "path": there})
    assert answer.json()["path"] == there
    assert (server.text(path), server.text(there)) == ("new", "old")


def test_the_trash_of_others_is_neither_seen_nor_emptied(server: Served, note: Note) -> None:
    mine, other = note("", "Mine/A.md"), note("", "Other/B.md")
    names = [deleted(server, path) for path in (mine, other)]
    folder = mine.removesuffix("/A.md")
    reader = server.token("trash-reader", Role.READ, folder)
    writer = server.token("trash-writer", Role.WRITE, folder)
    assert [row["id"] for row in server.get("/kb/trash", reader).json()["notes"]] == names[:1]
    back = {"id": names[0]}
    assert server.post("/kb/trash/restore", back, reader).status_code == 403
    missing = error(server.post("/kb/trash/restore", {"id": names[1]}, writer), 404)
    assert missing == error(
        server.post("/kb/trash/restore", {"id": "0" * 16}, writer), 404
    ).replace("0" * 16, names[1])
    outside = {"id": names[0], "path": other}
    assert server.post("/kb/trash/restore", outside, writer).status_code == 403
    assert server.post("/kb/trash/restore", back, writer).status_code == 200


@pytest.mark.parametrize("route", ["/kb/tree", "/kb/trash", "/kb/links/A.md", "/kb/history/A.md"])
def test_an_unknown_parameter_is_refused(server: Served, route: str) -> None:
    assert "'depth' is not a parameter" in error(server.get(f"{route}?depth=1"), 400)
