"""Suggestions over HTTP: listed, decided once, taken back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

import pytest

from flashgrep.notes.access.roles import Role
from flashgrep.system.login import login_name
from tests.web.served import Served, served

NOTES = {
    "A.md": "one two three\n",
    "B.md": "one two three\n",
    "Many.md": " ".join(f"w{number}." for number in range(20)),
    "Live.md": "alpha beta\n",
    "Undo.md": "alpha beta\n",
    "Said.md": "alpha beta\n",
    "Found.md": "x1. x2. x3. x4. x5. x6.\n",
    "Words/Edit.md": "alpha beta\n",
    "Words/Refuse.md": "alpha Größe\n",
    "Seen.md": "alpha beta\n",
    "Several.md": "one two three\n",
}
EDITS = [
    ("A.md", "two", "2", "agent/one"),
    ("B.md", "two", "2", "agent/two"),
    ("Live.md", "beta", "gamma", "agent/one"),
    ("Undo.md", "beta", "gamma", "agent/one"),
    ("Said.md", "beta", "gamma", "agent/said"),
    *(("Found.md", f"x{n}.", f"Y{n}.", "agent/found") for n in range(1, 7)),
    ("Seen.md", "beta", "gamma", "agent/seen"),
    *(("Several.md", word, word.upper(), "agent/seen") for word in ("one", "two", "three")),
    ("Words/Edit.md", "beta", "gamma", "agent/words"),
    ("Words/Refuse.md", "Größe", "size", "agent/words"),
    *(("Many.md", f"w{n}.", f"W{n}.", "agent/many") for n in range(20)),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("web"), NOTES, EDITS) as running:
        yield running


def _listed(server: Served, query: str) -> list[dict[str, Any]]:
    answer = server.get(f"/kb/suggestions?{query}")
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["suggestions"]
    return found


def _decide(server: Served, action: str, *ids: str, **more: Any) -> Any:
    body = {"ids": list(ids), "action": action}
    return server.post("/kb/suggestions/decide", body, **more)


def test_what_is_listed_is_what_the_contract_names(server: Served) -> None:
    (found,) = _listed(server, "note=A.md")
    fields = {"id", "note", "line", "author", "time", "old", "new", "context", "comments"}
    assert set(found) == fields | {"digest"}
    assert (found["note"], found["line"], found["author"]) == ("A.md", 1, "agent/one")
    assert (found["old"], found["new"]) == ("two", "2")
    assert found["context"] == {"before": "one ", "after": " three\n"}


@pytest.mark.parametrize("route", ["/kb/suggestions", "/kb/decisions"])
def test_a_parameter_that_is_none_is_refused_and_not_passed_over(
    server: Served, route: str
) -> None:
    """Passed over, it would list, and let somebody decide, more than was meant."""
    answer = server.get(f"{route}?path=A.md")
    assert answer.status_code == 400
    assert "'path' is not a parameter; the parameters are " in answer.json()["error"]["message"]


def test_filters_limits_and_cursors(server: Served) -> None:
    assert [one["note"] for one in _listed(server, "note=kb://A.md")] == ["A.md"]
    assert [one["note"] for one in _listed(server, "author=agent/two")] == ["B.md"]
    assert _listed(server, "older_than=1d") == []
    assert len(_listed(server, "newer_than=1d&author=agent/many")) == 20
    first = server.get("/kb/suggestions?author=agent/many&limit=15").json()
    rest = server.get(f"/kb/suggestions?author=agent/many&cursor={first['next']}").json()
    assert (len(first["suggestions"]), len(rest["suggestions"]), rest["next"]) == (15, 5, None)
    for bad in ("limit=0", "limit=x", "older_than=soon", "cursor=x"):
        assert server.get(f"/kb/suggestions?{bad}").status_code == 400


def test_a_decision_arrives_at_peers_and_the_second_one_is_409(server: Served) -> None:
    (found,) = _listed(server, "note=Live.md")
    with server.live("Live.md") as peer:
        peer.sync()
        answer = _decide(server, "accept", found["id"])
        assert answer.status_code == 200
        (result,) = answer.json()["results"]
        assert (result["status"], result["action"], result["by"]) == (
            "done",
            "accept",
            login_name(),
        )
        peer.until(lambda: peer.text == "alpha gamma\n")
    again = _decide(server, "reject", found["id"])
    assert again.status_code == 409
    (result,) = again.json()["results"]
    assert (result["status"], result["action"]) == ("already_decided", "accept")
    assert server.text("Live.md") == "alpha gamma\n"
    mixed = _decide(server, "reject", found["id"], "s_unknown")
    assert mixed.status_code == 200
    assert [one["status"] for one in mixed.json()["results"]] == ["already_decided", "not_found"]


def test_accept_and_reject_at_once_one_wins_for_each(server: Served) -> None:
    found = _listed(server, "note=Many.md")
    ids = [one["id"] for one in found]
    with ThreadPoolExecutor(8) as pool:
        jobs = [
            (one, action, pool.submit(_decide, server, action, one))
            for one in ids
            for action in ("accept", "reject")
        ]
        codes = {(one, action): job.result().status_code for one, action, job in jobs}
    kept = []
    for one in found:
        outcome = {action: codes[one["id"], action] for action in ("accept", "reject")}
        assert sorted(outcome.values()) == [200, 409]
        kept.append(one["new"] if outcome["accept"] == 200 else one["old"])
    assert sorted(server.text("Many.md").split()) == sorted(kept)


def test_a_decision_is_logged_and_undone(server: Served) -> None:
    (found,) = _listed(server, "note=Undo.md")
    writer = server.token("Bo", Role.WRITE)
    decision = _decide(server, "reject", found["id"], token=writer).json()["results"][0]["decision"]
    rows = server.get("/kb/decisions?limit=1").json()
    (row,) = rows["decisions"]
    assert (row["decision"], row["note"], row["by"]) == (decision, "Undo.md", "Bo")
    assert (row["author"], row["old"], row["new"]) == ("agent/one", "beta", "gamma")
    assert rows["next"] == decision
    undone = server.post("/kb/suggestions/undo", {"decision": decision})
    assert undone.json()["undone"]["undone_by"] == login_name()
    assert server.text("Undo.md") == "alpha {--beta--}{++gamma++}\n"
    assert server.post("/kb/suggestions/undo", {"decision": decision}).status_code == 409
    assert server.post("/kb/suggestions/undo", {"decision": 999}).status_code == 404


def test_what_was_said_about_a_suggestion_is_with_its_decision(server: Served) -> None:
    (found,) = _listed(server, "note=Said.md")
    said = {"note": "Said.md", "text": "Why gamma?", "suggestion": found["id"]}
    assert server.post("/kb/comments", said).status_code == 201
    _decide(server, "accept", found["id"])
    (row,) = server.get("/kb/decisions?limit=1").json()["decisions"]
    (comment,) = row["comments"]
    assert (comment["author"], comment["text"]) == (login_name(), "Why gamma?")
    assert comment["time"] >= found["time"]
    server.post("/kb/suggestions/undo", {"decision": row["decision"]})
    (again,) = server.get("/kb/comments?note=Said.md").json()["comments"]
    assert again["text"] == "Why gamma?"


WRONG = [
    ({}, "ids"),
    ({"ids": []}, "action"),
    ({"ids": [], "action": "accept"}, "at least one"),
    ({"ids": [1], "action": "accept"}, "ids"),
    ({"ids": ["s"], "action": "maybe"}, "accept or reject"),
    ({"ids": ["s"], "action": "accept", "why": 1}, "why"),
    ([], "object"),
]


@pytest.mark.parametrize(("body", "hint"), WRONG)
def test_a_request_that_is_off_is_400_and_says_why(server: Served, body: Any, hint: str) -> None:
    answer = server.post("/kb/suggestions/decide", body)
    assert answer.status_code == 400
    assert hint in answer.json()["error"]["message"]


def test_who_may_only_suggest_may_not_decide(server: Served) -> None:
    (found,) = _listed(server, "note=A.md")
    for role in (Role.READ, Role.SUGGEST):
        answer = _decide(server, "accept", found["id"], token=server.token(role.shown, role))
        assert answer.status_code == 403
    assert _listed(server, "note=A.md") == [found]


# ── reasons and texts ───────────────────────────────────────────────────────────────────────────


def test_suggestions_are_found_by_folder_and_by_text(server: Served) -> None:
    def found(query: str) -> set[str]:
        return {one["note"] for one in _listed(server, query)}

    assert found("folder=Words") == {"Words/Edit.md", "Words/Refuse.md"}
    assert found("folder=kb://Words/") == found("folder=Words")
    assert found("folder=Word") == set()
    assert found("text=GRÖSSE") == {"Words/Refuse.md"}
    assert found("text=gamma&folder=Words") == {"Words/Edit.md"}
    assert found("text=words/ref") == {"Words/Refuse.md"}
    assert found("text=100%25") == set()
    first = server.get("/kb/suggestions?text=y&author=agent/found&limit=4").json()
    rest = server.get(f"/kb/suggestions?text=y&author=agent/found&cursor={first['next']}").json()
    ids = [one["id"] for one in first["suggestions"] + rest["suggestions"]]
    assert ids == [one["id"] for one in _listed(server, "text=y&author=agent/found")]
    assert server.get("/kb/suggestions?folder=/x").status_code == 200
    assert server.get("/kb/suggestions?folder=a//b").status_code == 400
    for nameless in ("", "/", "kb://"):
        assert server.get(f"/kb/suggestions?folder={nameless}").status_code == 400


def test_the_summary_counts_what_one_may_read(server: Served) -> None:
    listed = _listed(server, "limit=1000")
    whole = server.get("/kb/suggestions/summary").json()
    assert whole["total"] == len(listed)
    assert {row["note"]: row["count"] for row in whole["notes"]} == Counter(
        one["note"] for one in listed
    )
    assert {row["author"]: row["count"] for row in whole["authors"]} == Counter(
        one["author"] for one in listed
    )
    scoped = server.token("only-words", Role.READ, "Words")
    assert server.get("/kb/suggestions/summary", scoped).json() == {
        "total": 2,
        "authors": [{"author": "agent/words", "count": 2}],
        "notes": [{"note": "Words/Edit.md", "count": 1}, {"note": "Words/Refuse.md", "count": 1}],
    }
    assert server.get("/kb/suggestions/summary?note=A.md").status_code == 400


def test_a_reason_and_a_text_are_kept_and_told(server: Served) -> None:
    (edited,) = _listed(server, "note=Words/Edit.md")
    (refused,) = _listed(server, "note=Words/Refuse.md")

    def decide(one: dict[str, Any], action: str, **words: Any) -> Any:
        body = {"ids": [one["id"]], "action": action, **words}
        return server.post("/kb/suggestions/decide", body)

    for words in ({"action": "accept", "reason": "x"}, {"action": "reject", "text": "x"}):
        assert decide(edited, **words).status_code == 400
    taken = decide(edited, "accept", text="gamut").json()["results"][0]
    assert (taken["outcome"], taken["text"]) == ("edited", "gamut")
    assert server.text("Words/Edit.md") == "alpha gamut\n"
    said = decide(refused, "reject", reason=" no size \n").json()["results"][0]
    assert (said["outcome"], said["reason"]) == ("rejected", "no size")
    late = decide(refused, "accept")
    assert late.status_code == 409
    (first,) = late.json()["results"]
    assert (first["outcome"], first["reason"], first["by"]) == ("rejected", "no size", said["by"])
    rows = server.get("/kb/decisions?note=Words/Edit.md").json()["decisions"]
    assert [(row["outcome"], row["text"], row["reason"]) for row in rows] == [
        ("edited", "gamut", None)
    ]
    mine = server.get(f"/kb/decisions?by={quote(said['by'])}&limit=2").json()["decisions"]
    assert [row["suggestion"] for row in mine] == [refused["id"], edited["id"]]
    assert server.get("/kb/decisions?by=nobody").json()["decisions"] == []
    undone = server.post("/kb/suggestions/undo", {"decision": taken["decision"]}).json()["undone"]
    assert (undone["outcome"], undone["text"]) == ("edited", "gamut")
    assert server.text("Words/Edit.md") == "alpha {--beta--}{++gamma++}\n"


def test_a_text_replaces_only_the_proposal_that_its_writer_saw(server: Served) -> None:
    (seen,) = _listed(server, "note=Seen.md")
    expected = {"old": seen["old"], "new": seen["new"]}
    with server.live("Seen.md") as peer:
        peer.sync()
        peer.type(" rays", after="gamma")
        peer.sync()
    body = {"ids": [seen["id"]], "action": "accept", "text": "delta", "expected": expected}
    refused = server.post("/kb/suggestions/decide", body)
    assert refused.status_code == 409
    (result,) = refused.json()["results"]
    assert (result["status"], result["old"], result["new"]) == ("changed", "beta", "gamma rays")
    assert "it brings 'gamma rays' now, not 'gamma'" in result["message"]
    assert server.text("Seen.md") == "alpha {--beta--}{++gamma rays++}\n"
    for wrong in ({"new": 1}, {"now": "x"}, "gamma"):
        assert server.post("/kb/suggestions/decide", {**body, "expected": wrong}).status_code == 400
    several = {**body, "text": None, "ids": [seen["id"], "s_other"]}
    assert "goes with one id" in server.post("/kb/suggestions/decide", several).text
    body["expected"] = {"old": "beta", "new": "gamma rays"}
    taken = server.post("/kb/suggestions/decide", body)
    assert taken.json()["results"][0]["outcome"] == "edited"
    assert server.text("Seen.md") == "alpha delta\n"


def test_of_many_those_that_have_changed_since_they_were_seen_stay_pending(server: Served) -> None:
    seen = {one["old"]: one for one in _listed(server, "note=Several.md")}
    with server.live("Several.md") as peer:
        peer.sync()
        peer.type(", or 9999", after="TWO")
        peer.sync()
    ids = [one["id"] for one in seen.values()]
    expected = {one["id"]: one["digest"] for one in seen.values()}
    decide = "/kb/suggestions/decide"
    body = {"ids": ids, "action": "accept", "expected": expected}
    for action in ("reject", "accept"):
        changed = {**body, "ids": [seen["two"]["id"]], "action": action}
        changed["expected"] = {seen["two"]["id"]: seen["two"]["digest"]}
        assert server.post(decide, changed).status_code == 409
    answer = server.post(decide, body)
    assert answer.status_code == 200
    results = {one["id"]: one for one in answer.json()["results"]}
    statuses = {old: results[one["id"]]["status"] for old, one in seen.items()}
    assert statuses == {"one": "done", "two": "changed", "three": "done"}
    (left,) = _listed(server, "note=Several.md")
    result = results[left["id"]]
    assert (result["old"], result["new"]) == ("two", "TWO, or 9999")
    assert "has changed since you saw it: it replaces 'two' and brings 'TWO," in result["message"]
    assert server.text("Several.md") == "ONE {--two--}{++TWO, or 9999++} THREE\n"
    assert left["digest"] == result["digest"] != seen["two"]["digest"]
    changed["expected"] = {left["id"]: result["digest"]}
    assert server.post(decide, changed).json()["results"][0]["status"] == "done"
    late = server.post(decide, body)
    assert {one["status"] for one in late.json()["results"]} == {"already_decided"}


@pytest.mark.parametrize(
    "expected",
    [{"s_1": "x"}, {"s_1": "x", "s_2": "x", "s_3": "x"}, {"s_1": "x", "s_2": 1}, {"new": "x"}],
)
def test_what_was_seen_is_named_for_each_of_the_ids_and_for_no_other(
    server: Served, expected: dict[str, Any]
) -> None:
    body = {"ids": ["s_1", "s_2"], "action": "accept", "expected": expected}
    answer = server.post("/kb/suggestions/decide", body)
    assert answer.status_code == 400
    assert "expected" in answer.json()["error"]["message"]
    mixed = {**body, "expected": {"old": "x", "s_1": "x", "s_2": "x"}}
    assert server.post("/kb/suggestions/decide", mixed).status_code == 400
