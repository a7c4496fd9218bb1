"""A client session over stdio: list the tools, call some, print what a model would see.

python examples/session.py [--anthropic-compat]
"""

from __future__ import annotations

import sys
from pathlib import Path

import anyio
from mcp import ClientSession, StdioServerParameters, stdio_client

ROOT = str(Path(__file__).resolve().parent.parent)
NORMAL = (
    ("grep", {"pattern": r"\bsublicense\b|MERCHANT", "output_mode": "content", "path": "LICENSE"}),
    ("glob", {"pattern": "src/flashgrep/*.py", "sort_by": "path"}),
    ("view", {"path": "LICENSE", "view_range": [1, 3]}),
    ("str_replace", {"path": "LICENSE", "old_str": "no such text", "new_str": ""}),
)
COMPAT = (
    ("grep", {"pattern": "no_such_word", "glob": "*.toml", "-i": True}),
    ("read", {"file_path": "LICENSE", "offset": 1, "limit": 3}),
    ("edit", {"file_path": "README.md", "old_string": "a", "new_string": "b"}),
)


async def main(flags: list[str]) -> None:
    """Start a server on this repository and talk to it."""
    command = ["-P", "-m", "flashgrep", "mcp", "--workdir", ROOT, *flags]
    server = StdioServerParameters(command=sys.executable, args=command)
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()
        tools = await session.list_tools()
        print("tools:", *(tool.name for tool in tools.tools))
        for name, arguments in COMPAT if flags else NORMAL:
            result = await session.call_tool(name, dict(arguments))
            print(f"\n> {name} {arguments}")
            print("\n".join(block.text for block in result.content if block.type == "text"))


def cause(failure: BaseException) -> BaseException:
    """The first failure of a group of them."""
    while isinstance(failure, BaseExceptionGroup):
        failure = failure.exceptions[0]
    return failure


if __name__ == "__main__":
    if sys.argv[1:] not in ([], ["--anthropic-compat"]):
        print("usage: python examples/session.py [--anthropic-compat]", file=sys.stderr)
        sys.exit(2)
    try:
        anyio.run(main, sys.argv[1:])
    except Exception as failure:  # the streams are read in task groups, which raise groups
        print(f"flashgrep mcp: {cause(failure)}", file=sys.stderr)
        sys.exit(2)
