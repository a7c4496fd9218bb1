"""JSON-RPC 2.0 envelopes as the specification writes them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from flashgrep.errors import AccessDenied, InvalidPattern, NotFound, TooLarge
from flashgrep.transports.lines import messages
from flashgrep.transports.lines.messages import BadMessage, Request, read_envelope

V = {"jsonrpc": "2.0"}
READ: list[tuple[Any, Request | None]] = [
    (V | {"id": 1, "method": "m"}, Request(1, "m", None)),
    (V | {"id": "1", "method": "m", "params": {}}, Request("1", "m", {})),
    (V | {"id": "", "method": "m", "params": None}, Request("", "m", None)),
    (V | {"id": 10**40, "method": "m"}, Request(10**40, "m", None)),
    (V | {"method": "m", "params": {"a": 1}}, Request(None, "m", {"a": 1})),
    (V | {"id": 1, "result": {}}, None),
    (V | {"id": 1, "error": {}}, None),
]


@pytest.mark.parametrize(("value", "message"), READ, ids=range(len(READ)))
def test_reads(value: Any, message: Any) -> None:
    assert read_envelope(value) == message


REFUSED: list[tuple[Any, int, Any]] = [
    (1, -32600, None),
    ("text", -32600, None),
    (None, -32600, None),
    ({}, -32600, None),
    ({"id": 1, "method": "m"}, -32600, 1),
    ({"jsonrpc": "1.0", "id": "x", "method": "m"}, -32600, "x"),
    (V | {"id": None, "method": "m"}, -32600, None),
    (V | {"id": True, "method": "m"}, -32600, None),
    (V | {"id": 1.5, "method": "m"}, -32600, None),
    (V | {"id": [1], "method": "m"}, -32600, None),
    (V | {"id": "\ud800", "method": "m"}, -32600, None),
    (V | {"id": 1}, -32600, 1),
    (V | {"id": 1, "method": 7}, -32600, 1),
    (V | {"id": 1, "method": "\udfff"}, -32600, 1),
    (V | {"id": 1, "method": "m", "params": [1]}, -32602, 1),
    (V | {"id": 1, "method": "m", "params": "x"}, -32602, 1),
]


@pytest.mark.parametrize(("value", "code", "request_id"), REFUSED, ids=range(len(REFUSED)))
def test_refuses(value: Any, code: int, request_id: Any) -> None:
    with pytest.raises(BadMessage) as caught:
        read_envelope(value)
    answer = messages.refused(caught.value)
    assert (answer["error"]["code"], answer["id"]) == (code, request_id)


@pytest.mark.parametrize(
    ("failure", "code", "name"),
    [
        (InvalidPattern("x"), -32602, "invalid_pattern"),
        (AccessDenied("x"), -32001, "access_denied"),
        (NotFound("x"), -32002, "not_found"),
        (TooLarge("x"), -32000, "too_large"),
    ],
)
def test_direct_failures_carry_number_and_name(failure: Any, code: int, name: str) -> None:
    error = messages.failed(1, failure)["error"]
    assert (error["code"], error["data"]["code"]) == (code, name)


def test_a_lone_surrogate_that_is_echoed_is_still_json() -> None:
    line = messages.encode({"text": "\ud800 é"})
    assert json.loads(line) == {"text": "\ud800 é"}
    assert line.endswith(b"\n")
    assert messages.encode({"text": "é"}) == '{"text":"é"}\n'.encode()
