"""A process that lists directories for the server; see `listing`."""

from __future__ import annotations

from typing import Any

from flashgrep.index.listing import answer
from flashgrep.search.worker import serve
from flashgrep.workspace.scope import Scope


def main() -> None:
    """Serve the pipe until it closes."""
    scopes: dict[Any, Scope] = {}
    serve(lambda message: answer(message, scopes))


if __name__ == "__main__":
    main()
