"""A client session over HTTP: list the tools, call one, print what a model would see.

flashgrep serve                                # in another terminal; it prints URL and token
FLASHGREP_TOKEN=… python examples/http_session.py [http://127.0.0.1:7778/mcp]
"""

from __future__ import annotations

import os
import sys

import anyio
import httpx2
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

URL = "http://127.0.0.1:7778/mcp"


def cause(failure: BaseException) -> BaseException:
    """The first failure of a group of them."""
    while isinstance(failure, BaseExceptionGroup):
        failure = failure.exceptions[0]
    return failure


async def main(url: str, token: str) -> None:
    """Talk to a server that runs."""
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        streamable_http_client(url, http_client=http) as streams,
        ClientSession(*streams) as session,
    ):
        await session.initialize()
        tools = await session.list_tools()
        print("tools:", *(tool.name for tool in tools.tools))
        wanted = {"pattern": "MERCHANT", "output_mode": "content", "path": "LICENSE"}
        result = await session.call_tool("grep", wanted)
        print("\n".join(block.text for block in result.content if block.type == "text"))


if __name__ == "__main__":
    if "FLASHGREP_TOKEN" not in os.environ:
        print("set FLASHGREP_TOKEN to the token that flashgrep serve prints", file=sys.stderr)
        sys.exit(2)
    url = sys.argv[1] if sys.argv[1:] else URL
    try:
        anyio.run(main, url, os.environ["FLASHGREP_TOKEN"])
    except Exception as failure:  # the streams are read in task groups, which raise groups
        print(f"{url}: {cause(failure)}", file=sys.stderr)
        sys.exit(2)
