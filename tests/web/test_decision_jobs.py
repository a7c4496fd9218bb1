"""Many decisions by one request: answered at once with a job, whose progress is news."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from flashgrep.notes.access.roles import Role, everywhere
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.notes.review.review import Query
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
