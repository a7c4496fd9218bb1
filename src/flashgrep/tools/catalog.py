"""Every tool there is: a row is the name of a module in `verbs/` that has a `SPEC`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from flashgrep.tools.dispatch.spec import ToolSpec

TOOLS: Final = (
    "grep",
    "glob",
    "view",
    "str_replace",
    "create_file",
    "read",
    "edit",
    "write",
    # answers in JSON
    "query",
    "get_symbol",
    "get_slice",
    "list_files",
    "stats",
    "read_code",
    "write_code",
    "batch_write_code",
    "bootstrap_skill",
    # of notes alone
    "get_links",
    "list_suggestions",
    "decide_suggestions",
)
"""In the order clients see them."""


def all_tools() -> tuple[ToolSpec, ...]:
    """The rows of all tools; imported here, so that reading settings costs no engine."""
    return tuple(import_module(f"flashgrep.tools.verbs.{name}").SPEC for name in TOOLS)
