"""Every tool there is, in the order clients see them."""

from __future__ import annotations

from flashgrep.tools.registry import ToolSpec


def all_tools() -> tuple[ToolSpec, ...]:
    """The rows of all tools; imported here, so that reading settings costs no engine."""
    from flashgrep.tools import create_file, edit, glob, grep, read, str_replace, view, write

    modules = (grep, glob, view, str_replace, create_file, read, edit, write)
    return tuple(module.SPEC for module in modules)
