"""Many decisions by one request: answered at once with a job, whose progress is news."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from flashgrep import limits
from flashgrep.notes.access.roles import Role, everywhere
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.notes.review.review import Query
from flashgrep.system.login import login_name
from tests.transports.clients import with_limits
from tests.web.served import served
from tests.web.test_events import events

ADMIN = everywhere("ann", Role.ADMIN)
WORDS = [f"w{number}." for number in range(4)]
NOTES = {f"N{number}.md": " ".join(WORDS) for number in range(3)}
EDITS = [(note, word, word.upper(), "agent") for note in NOTES for word in WORDS]


def test_above_the_limit_the_answer_is_202_and_the_job_is_told_to_whoever_began_it(
    tmp_path: Path,
) -> None:
    tools = with_limits({"limits.DECISIONS_AT_ONCE": 5})
    with served(tmp_path, NOTES, EDITS, tools=tools) as server:
        ids = [one["id"] for one in server.get("/kb/suggestions").json()["suggestions"]]
        other = server.token("other", Role.ADMIN)
        with events(server) as own, events(server, token=other) as others:
            few = {"ids": ids[:5], "action": "reject"}
            assert server.post("/kb/suggestions/decide", few).status_code == 200
            many = {"ids": ids[5:], "action": "accept"}
            answer = server.post("/kb/suggestions/decide", many)
            assert answer.status_code == 202
            job = answer.json()["job"]
            assert answer.json()["total"] == 7
            last = own.until("job", job=job, state="done")
            assert (last["done"], last["counts"]) == (7, {"done": 7})
            server.post("/kb/notes", {"path": "Last.md", "text": ""})
            kinds: list[tuple[str, str]] = []
            while not kinds or kinds[-1] != ("note", "Last.md"):
                kind, told = others.next()
                kinds.append((kind, told.get("note", "")))
            assert "job" not in [kind for kind, _ in kinds]
            assert [kind for kind, _ in kinds].count("decided") == 12
        texts = [server.text(note) for note in NOTES]
        assert "".join(texts).count("W") == 7
        again = server.post("/kb/suggestions/decide", many)
        assert again.status_code == 202


@pytest.mark.thorough
def test_a_token_called_as_the_servers_user_is_somebody_else(tmp_path: Path) -> None:
    tools = with_limits({"limits.DECISIONS_AT_ONCE": 5})
    with served(tmp_path, NOTES, EDITS, tools=tools) as server:
        name = login_name()
        other = server.token(name, Role.ADMIN)
        cookie, origin = server.cookie(), server.address
        assert server.get("/api/session", "", cookie=cookie).json()["name"] == name
        assert server.get("/api/session", other).json()["name"] == f"{name} (token)"
        ids = [one["id"] for one in server.get("/kb/suggestions").json()["suggestions"]]
        with events(server, cookie=cookie) as own, events(server, token=other) as others:
            body = {"ids": ids, "action": "accept"}
            decide = "/kb/suggestions/decide"
            job = server.post(decide, body, "", cookie=cookie, origin=origin).json()["job"]
            own.until("job", job=job, state="done")
            server.post("/kb/notes", {"path": "Last.md", "text": ""}, other)
            kinds = []
            while (news := others.next()) != ("note", news[1]):
                kinds.append(news[0])
            assert "job" not in kinds
            assert kinds.count("decided") == len(ids)
            assert own.until("changed", note="Last.md")["author"] == f"{name} (token)"
        mine = server.get(f"/kb/decisions?by={name}").json()["decisions"]
        assert {row["suggestion"] for row in mine} == set(ids)
        assert server.get(f"/kb/decisions?by={name} (token)").json()["decisions"] == []


def test_a_job_needs_no_less_than_a_decision(tmp_path: Path) -> None:
    tools = with_limits({"limits.DECISIONS_AT_ONCE": 5})
    with served(tmp_path, NOTES, EDITS, tools=tools) as server:
        reader = server.token("reader", Role.READ)
        found = server.get("/kb/suggestions", token=reader).json()["suggestions"]
        body = {"ids": [one["id"] for one in found], "action": "accept"}
        refused = server.post("/kb/suggestions/decide", body, token=reader)
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "access_denied")
        writer = server.token("writer", Role.WRITE, "Elsewhere")
        with events(server, token=writer) as own:
            job = server.post("/kb/suggestions/decide", body, token=writer).json()["job"]
            last = own.until("job", job=job, state="done")
        assert last["counts"] == {"not_found": 12}
        assert len(server.get("/kb/suggestions").json()["suggestions"]) == 12


@pytest.mark.thorough
def test_a_job_carries_its_reason_to_every_decision(tmp_path: Path) -> None:
    tools = with_limits({"limits.DECISIONS_AT_ONCE": 5})
    with served(tmp_path, NOTES, EDITS, tools=tools) as server:
        found = server.get("/kb/suggestions").json()["suggestions"]
        body = {"ids": [one["id"] for one in found], "action": "reject", "reason": "not now"}
        refused = server.post("/kb/suggestions/decide", {**body, "action": "accept"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "invalid_params")
        with events(server) as own:
            job = server.post("/kb/suggestions/decide", body).json()["job"]
            own.until("job", job=job, state="done")
        rows = server.get("/kb/decisions").json()["decisions"]
        assert [(row["outcome"], row["reason"]) for row in rows] == [("rejected", "not now")] * 12


def test_what_a_job_has_decided_is_undone_by_whoever_began_it(tmp_path: Path) -> None:
    tools = with_limits({"limits.DECISIONS_AT_ONCE": 5})
    with served(tmp_path, NOTES, EDITS, tools=tools) as server:
        ids = [one["id"] for one in server.get("/kb/suggestions").json()["suggestions"]]
        other = server.token("other", Role.ADMIN)
        texts = {note: server.text(note) for note in NOTES}
        with events(server) as own:
            body = {"ids": ids, "action": "accept"}
            job = server.post("/kb/suggestions/decide", body).json()["job"]
            own.until("job", job=job, state="done")
            told = server.get(f"/kb/jobs/{job}").json()
            assert (told["state"], told["counts"]) == ("done", {"done": 12})
            undo = {"job": job}
            assert server.get(f"/kb/jobs/{job}", other).status_code == 404
            assert server.post("/kb/suggestions/undo", undo, other).status_code == 404
            newest = server.get("/kb/decisions?limit=1").json()["decisions"][0]["decision"]
            assert server.post("/kb/suggestions/undo", {"decision": newest}, other).is_success
            answer = server.post("/kb/suggestions/undo", undo)
            assert (answer.status_code, answer.json()["total"]) == (202, 12)
            last = own.until("job", job=answer.json()["job"], state="done")
            assert last["counts"] == {"done": 11, "already_decided": 1}
        assert {note: server.text(note) for note in NOTES} == texts
        again = server.post("/kb/suggestions/undo", {"job": answer.json()["job"]})
        assert (again.status_code, again.json()["error"]["code"]) == (409, "conflict")
        for wrong in ({}, {"job": job, "decision": newest}):
            assert server.post("/kb/suggestions/undo", wrong).status_code == 400


def test_a_job_leaves_what_has_changed_since_it_was_seen(tmp_path: Path) -> None:
    text = " ".join(f"{{++w{at}.++}}" for at in range(180))
    with served(tmp_path, {}) as server:
        for note in NOTES:
            assert server.post("/kb/notes", {"path": note, "text": text}).status_code == 201
        seen = server.get("/kb/suggestions?limit=1000").json()["suggestions"]
        ids = [one["id"] for one in seen]
        assert len(ids) > limits.DECISIONS_AT_ONCE
        with server.live("N1.md") as peer:
            peer.sync()
            peer.type("9999", after="w150.")
            peer.sync()
        expected = {one["id"]: one["digest"] for one in seen}
        body = {"ids": ids, "action": "accept", "expected": expected}
        fewer = {**body, "expected": dict(list(expected.items())[1:])}
        assert server.post("/kb/suggestions/decide", fewer).status_code == 400
        with events(server) as own:
            job = server.post("/kb/suggestions/decide", body).json()["job"]
            last = own.until("job", job=job, state="done")
        assert last["counts"] == {"done": len(ids) - 1, "changed": 1}
        (left,) = server.get("/kb/suggestions").json()["suggestions"]
        assert (left["note"], left["new"]) == ("N1.md", "w150.9999")
        assert "{++w150.9999++}" in server.text("N1.md")


def test_a_signal_in_the_middle_of_a_job_leaves_each_note_decided_or_not(tmp_path: Path) -> None:
    notes = {f"M{number}.md": " ".join(WORDS) for number in range(12)}
    edits = [(note, word, word.upper(), "agent") for note in notes for word in WORDS]
    tools = with_limits({"limits.DECISIONS_AT_ONCE": 5})
    with served(tmp_path, notes, edits, tools=tools) as server:
        ids = [one["id"] for one in server.get("/kb/suggestions?limit=1000").json()["suggestions"]]
        with events(server) as own:
            body = {"ids": ids, "action": "accept"}
            assert server.post("/kb/suggestions/decide", body).status_code == 202
            own.until("job")
            assert server.server.stop() == 0
    kb = KnowledgeBase(tmp_path / "kb")
    try:
        decided = Counter(path for path, _ in kb.review.decisions(ADMIN, 1_000))
        page = kb.review.suggestions(Query(limit=1_000), ADMIN)
        left = Counter(one.path for one in page.suggestions)
        assert set(decided.values()) | set(left.values()) == {len(WORDS)}
        assert decided.keys().isdisjoint(left)
        assert decided.keys() | left.keys() == notes.keys()
    finally:
        kb.close()
