"""One workspace served on every transport, and calls that are made on all of them and compared.

    stdio               a `flashgrep mcp` of its own
    http, http-modern   one `flashgrep serve`, both protocol eras
    tcp, unix           the same server, as an MCP client
    direct-tcp,         the same server, the tool's name as JSON-RPC method
    direct-unix

What comes back is made comparable first: `{"result": …}` or `{"error": {"code", "message", …}}`,
wherever on the wire it stood.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mcp_types as types
from anyio.from_thread import BlockingPortal, start_blocking_portal
from tests.e2e.agent import Agent, text_of
from tests.transports.clients import RawLines, Server, connect, join, serving

DIRECT = ("direct-tcp", "direct-unix")
TOOLS = ("stdio", "http", "http-modern", "tcp", "unix")
WAYS = (*TOOLS, *DIRECT)

Outcome = dict[str, Any]


@dataclass
class Everywhere:
    """A client on every way."""

    workdir: Path
    flags: Sequence[str]
    portal: BlockingPortal
    server: Server
    open: ExitStack
    agents: dict[str, Agent] = field(default_factory=dict)
    lines: dict[str, RawLines] = field(default_factory=dict)

    def connect(self) -> None:
        """New connections of every kind, each a caller of its own."""
        for way in TOOLS[1:]:
            kind, _, era = way.partition("-")
            joined = join(
                self.server, kind, era or "legacy", f"client-{len(self.agents)}-{id(self)}"
            )
            session = self.open.enter_context(self.portal.wrap_async_context_manager(joined))
            self.agents[way] = Agent(self.portal, session)
        for way in DIRECT:
            tcp = way == "direct-tcp"
            opened = self.server.open_tcp() if tcp else self.server.open_unix()
            self.lines[way] = self.open.enter_context(RawLines(opened))
            if tcp:
                told = self.lines[way].ask("auth", "auth", token=self.server.token)
                assert told["result"] == {"ok": True}

    # ── calls ───────────────────────────────────────────────────────────────────────────────────

    def each(
        self, name: str, before: Callable[[], object] | None = None, /, **arguments: Any
    ) -> dict[str, Outcome]:
        """The outcome on each way; `before` is done before each."""
        outcomes = {}
        for way in WAYS:
            if before is not None:
                before()
            outcomes[way] = self.one(way, name, **arguments)
        return outcomes

    def one(self, way: str, name: str, /, **arguments: Any) -> Outcome:
        """The outcome on one way."""
        if way in DIRECT:
            return of_direct(self.lines[way].ask(name, f"id of {name}", **arguments))
        return of_tool(self.agents[way].call(name, **arguments))

    def ask(
        self,
        name: str,
        before: Callable[[], object] | None = None,
        /,
        ignoring: Sequence[str] = (),
        **arguments: Any,
    ) -> Any:
        """The one result that every way gives, but for the fields `ignoring`."""
        outcome = same(self.each(name, before, **arguments), ignoring)
        assert "result" in outcome, outcome
        return outcome["result"]

    def refuse(self, name: str, code: str, /, **arguments: Any) -> Any:
        """The one error that every way gives."""
        outcome = same(self.each(name, **arguments))
        assert outcome.get("error", {}).get("code") == code, outcome
        return outcome["error"]

    def listed(self) -> dict[str, list[str]]:
        """The names of the tools that each way lists."""
        return {way: list(agent.listed()) for way, agent in self.agents.items()}


def of_tool(result: types.CallToolResult) -> Outcome:
    text = text_of(result)
    body: Any = json.loads(text) if text.startswith("{") else text
    if not result.is_error:
        return {"result": body}
    code = (result.meta or {})["flashgrep/error"]
    if isinstance(body, str):
        return {"error": {"code": code, "message": body}}
    assert body["ok"] is False
    assert body["error"]["code"] == code
    return {"error": body["error"]}


NUMBERS: Mapping[str, int] = {
    "invalid_params": -32602,
    "invalid_pattern": -32602,
    "invalid_trigger": -32602,
    "access_denied": -32001,
    "not_found": -32002,
}


def of_direct(answer: Any) -> Outcome:
    assert answer["jsonrpc"] == "2.0"
    assert isinstance(answer["id"], str)
    if "result" in answer:
        return {"result": answer["result"]}
    error = answer["error"]
    assert error["code"] == NUMBERS.get(error["data"]["code"], -32000), error
    return {"error": {"message": error["message"], **error["data"]}}


def same(outcomes: Mapping[str, Outcome], ignoring: Sequence[str] = ()) -> Outcome:
    """The outcome that all of them are."""
    first = next(iter(outcomes.values()))
    for way, outcome in outcomes.items():
        assert _without(outcome, ignoring) == _without(first, ignoring), way
    return first


def _without(value: Any, names: Sequence[str]) -> Any:
    if isinstance(value, dict):
        return {key: _without(item, names) for key, item in value.items() if key not in names}
    return [_without(item, names) for item in value] if isinstance(value, list) else value


@contextmanager
def everywhere(workdir: Path, flags: Sequence[str] = ()) -> Iterator[Everywhere]:
    """Servers over a workspace, and clients on every way."""
    with ExitStack() as opened:
        portal = opened.enter_context(start_blocking_portal())
        # First of all, so that it finds no daemon to join and serves by itself.
        alone = portal.wrap_async_context_manager(connect("stdio", workdir, flags))
        agents = {"stdio": Agent(portal, opened.enter_context(alone))}
        server = opened.enter_context(serving(workdir, flags))
        made = Everywhere(workdir, flags, portal, server, opened, agents)
        made.connect()
        yield made
