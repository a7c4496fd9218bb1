"""An agent's view of a server: a real `flashgrep mcp` on stdio, called without await.

    with agent(workdir, ["--anthropic-compat"]) as claude:
        claude.text("grep", pattern="TODO")

The event loop runs in a thread of its own, so one process can serve many plain tests.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mcp_types as types
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import ClientSession
from tests.transports.clients import connect


@dataclass(frozen=True)
class Agent:
    """A client session, and the tools as functions."""

    portal: BlockingPortal
    session: ClientSession

    def call(self, tool: str, /, **arguments: Any) -> types.CallToolResult:
        """Call a tool; whatever comes back."""
        result: types.CallToolResult = self.portal.call(self.session.call_tool, tool, arguments)
        return result

    def text(self, tool: str, /, **arguments: Any) -> str:
        """The text of a call that must succeed."""
        result = self.call(tool, **arguments)
        assert not result.is_error, text_of(result)
        return text_of(result)

    def lines(self, tool: str, /, **arguments: Any) -> list[str]:
        """The lines of that text."""
        return self.text(tool, **arguments).split("\n")

    def refused(self, tool: str, code: str, /, **arguments: Any) -> str:
        """The text of a call that must fail with this code."""
        result = self.call(tool, **arguments)
        assert result.is_error, text_of(result)
        assert result.meta == {"flashgrep/error": code}, text_of(result)
        return text_of(result)

    def listed(self) -> dict[str, types.Tool]:
        """The tools the server lists, by name, in its order."""
        return {tool.name: tool for tool in self.portal.call(self.session.list_tools).tools}


def text_of(result: types.CallToolResult) -> str:
    """The one text block of a result."""
    (block,) = result.content
    assert isinstance(block, types.TextContent), block
    return block.text


@contextmanager
def agent(workdir: Path, flags: Sequence[str] = ()) -> Iterator[Agent]:
    """An agent with a server of its own."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(connect("stdio", workdir, flags)) as session,
    ):
        yield Agent(portal, session)


@dataclass(frozen=True)
class Workspace:
    """The directory the servers serve."""

    root: Path

    def file(self, name: str, data: str | bytes = "", modified: int | None = None) -> Path:
        """Make a file and its parents; `modified` is its age in seconds since 1970."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        if modified is not None:
            os.utime(path, (modified, modified))
        return path

    def files(self, data: str, *names: str) -> None:
        """Make several files that hold the same."""
        for name in names:
            self.file(name, data)

    def numbered(self, name: str, count: int, **special: str) -> Path:
        """A file of lines `line 1`, `line 2`, …; `L10="x"` makes line 10 an `x`."""
        rows = [special.get(f"L{number}", f"line {number}") for number in range(1, count + 1)]
        return self.file(name, "\n".join(rows) + "\n")

    def link(self, name: str, target: str | Path) -> None:
        """Make a symbolic link."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)

    def read(self, name: str) -> str:
        """What a file holds."""
        return (self.root / name).read_bytes().decode()
