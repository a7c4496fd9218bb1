"""What tests take from the registry, so that a new tool is in their lists by its row alone."""

from __future__ import annotations

from flashgrep.tools.catalog import all_tools


def names_of(toolset: str) -> list[str]:
    """The names of a toolset's tools, aliases among them, in the order clients see them."""
    return [name for spec in all_tools() if spec.toolset == toolset for name in spec.names]
