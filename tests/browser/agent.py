"""An agent beside the browser: the SDK's own MCP client, on a thread of its own.

Playwright's blocking interface keeps the test's thread, so the client's loop runs elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import ClientSession

from tests.transports.clients import Server, join


class Agent:
    """A connected agent."""

    def __init__(self, portal: BlockingPortal, session: ClientSession) -> None:
        self._portal, self._session = portal, session

    def call(self, tool: str, **arguments: Any) -> str:
        """The text of a tool's answer, which must not be an error."""

        async def ask() -> Any:
            return await self._session.call_tool(tool, arguments)

        answer = self._portal.call(ask)
        text = "\n".join(str(getattr(part, "text", "")) for part in answer.content)
        assert not answer.is_error, text
        return text

    def read(self, note: str) -> str:
        return self.call("read", file_path=f"kb://{note}")

    def suggest(self, note: str, old: str, new: str) -> None:
        """Read a note, then suggest a change of it."""
        self.read(note)
        self.call("edit", file_path=f"kb://{note}", old_string=old, new_string=new)


@contextmanager
def joined(server: Server, token: str | None, name: str) -> Iterator[Agent]:
    """An agent that is connected over HTTP until the block ends."""
    with start_blocking_portal() as portal:
        own = Server(server.process, server.told, server.log, http=server.http, token=token)
        connection = portal.wrap_async_context_manager(join(own, "http", name=name))
        session = connection.__enter__()
        try:
            yield Agent(portal, session)
        finally:
            # Without the test's own failure, which the task groups would wrap into groups.
            connection.__exit__(None, None, None)
