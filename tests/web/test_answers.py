"""Failures have one shape on every route, whoever refuses: the guard, the router or the notes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from flashgrep import limits
from flashgrep.notes.access.roles import Role
from tests.web.served import TOKEN, Served, served

DECIDE = "/kb/suggestions/decide"
REFUSALS: list[tuple[str, str, Any, dict[str, str], int, str]] = [
    # by the guard
    ("GET", "/kb/suggestions", None, {"token": ""}, 401, "access_denied"),
    ("GET", "/kb/nowhere", None, {"token": "wrong"}, 401, "access_denied"),
    ("GET", "/kb/notes/N.md", None, {"host": "evil.example"}, 421, "access_denied"),
    ("DELETE", "/kb/notes/N.md", None, {"origin": "http://evil.example"}, 403, "access_denied"),
    ("POST", "/kb/notes", {"path": "x" * limits.MESSAGE_BYTES}, {}, 413, "too_large"),
    ("GET", "/health", None, {"host": "evil.example"}, 421, "access_denied"),
    # by the router
    ("GET", "/kb/nowhere", None, {}, 404, "not_found"),
    ("GET", "/nowhere", None, {}, 404, "not_found"),
    ("GET", DECIDE, None, {}, 405, "invalid_params"),
    ("DELETE", "/kb/events", None, {}, 405, "invalid_params"),
    ("POST", "/kb/notes/N.md", {}, {}, 405, "invalid_params"),
    ("POST", "/health", {}, {}, 405, "invalid_params"),
    # by the notes
    ("GET", "/kb/notes/None.md", None, {}, 404, "not_found"),
    ("GET", "/kb/notes/a//b.md", None, {}, 400, "invalid_params"),
    ("DELETE", "/kb/notes/None.md", None, {}, 404, "not_found"),
    ("POST", "/kb/notes", {"path": "N.md"}, {}, 400, "invalid_params"),
    ("POST", "/kb/notes/move", {"from": "None.md", "to": "M.md"}, {}, 404, "not_found"),
    ("POST", "/kb/suggestions/undo", {"decision": 99}, {}, 404, "not_found"),
    ("GET", "/kb/suggestions?limit=x", None, {}, 400, "invalid_params"),
    ("GET", "/kb/decisions?limit=0", None, {}, 400, "invalid_params"),
    ("POST", DECIDE, {"ids": [], "action": "accept"}, {}, 400, "invalid_params"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    edits = [("N.md", "two", "2", "agent")]
    with served(tmp_path_factory.mktemp("web"), {"N.md": "one two"}, edits) as running:
        yield running


def check(answer: httpx2.Response, status: int, code: str) -> str:
    """The message of a failure, which must have the one shape."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    error = answer.json()["error"]
    assert error.keys() == {"code", "message"}
    assert error["code"] == code
    return str(error["message"])


@pytest.mark.parametrize(("method", "path", "body", "how", "status", "code"), REFUSALS)
def test_a_refusal_is_an_error_with_code_and_message(
    server: Served,
    method: str,
    path: str,
    body: Any,
    how: dict[str, str],
    status: int,
    code: str,
) -> None:
    answer = server.ask(method, path, body, **{"token": TOKEN, **how})
    assert answer.json().keys() == {"error"}
    assert check(answer, status, code)


def test_broken_json_is_refused_in_the_same_shape(server: Served) -> None:
    headers = {"authorization": f"Bearer {TOKEN}"}
    answer = server.client.post("/kb/notes", content=b'{"path":', headers=headers)
    check(answer, 400, "invalid_params")


HALF = "x\ud800"
COMMENTS = "/kb/comments"


@pytest.mark.parametrize(
    ("path", "body", "says"),
    [
        (DECIDE, {"ids": ["s_1", HALF], "action": "accept"}, "ids: character 1 is half"),
        (COMMENTS, {"note": "N.md", "text": "x", "suggestion": HALF}, "suggestion: character 1"),
        (
            COMMENTS,
            {"note": "N.md", "text": "x", "passage": {"start": 0, "end": 1, "quote": HALF}},
            "passage.quote: character 1 is half of a surrogate pair (U+D800)",
        ),
        (f"{COMMENTS}/reply", {"id": HALF, "text": "x"}, "id: character 1 is half"),
        (f"{COMMENTS}/resolve", {"id": HALF}, "id: character 1 is half"),
        ("/kb/suggestions/undo", {"decision": 2**63}, f"decision is {2**63}; give a whole number"),
        ("/kb/suggestions/undo", {"decision": -(10**400)}, "decision is a number of more than"),
    ],
)
def test_what_nothing_can_hold_is_refused_with_its_name(
    server: Served, path: str, body: Any, says: str
) -> None:
    answer = server.post(path, body)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (400, "invalid_params")
    assert says in error["message"]


def test_a_method_that_is_none_names_those_that_are(server: Served) -> None:
    message = check(server.get(DECIDE), 405, "invalid_params")
    assert message == f"{DECIDE} takes POST, not GET"
    message = check(server.post("/kb/notes/N.md", {}), 405, "invalid_params")
    assert message == "/kb/notes/N.md takes DELETE, GET, HEAD, not POST"


def test_decisions_that_all_fail_tell_the_failure_beside_the_results(server: Served) -> None:
    (found,) = server.get("/kb/suggestions").json()["suggestions"]
    body = {"ids": [found["id"]], "action": "accept"}
    answer = server.post(DECIDE, body, server.token("reader", Role.READ))
    assert "see the results" in check(answer, 403, "access_denied")
    assert server.post(DECIDE, body).status_code == 200
    answer = server.post(DECIDE, body)
    assert "see the results" in check(answer, 409, "conflict")
    assert [one["status"] for one in answer.json()["results"]] == ["already_decided"]


def test_ids_that_are_not_known_are_told_one_by_one(server: Served) -> None:
    answer = server.post(DECIDE, {"ids": ["s_1", "s_2"], "action": "reject"})
    assert answer.status_code == 200
    assert [one["status"] for one in answer.json()["results"]] == ["not_found"] * 2
