"""Every tool there is, in the order clients see them."""

from __future__ import annotations

from types import ModuleType

from flashgrep.tools.registry import ToolSpec


def all_tools() -> tuple[ToolSpec, ...]:
    """The rows of all tools; imported here, so that reading settings costs no engine."""
    from flashgrep.tools import create_file, edit, glob, grep, read, str_replace, view, write

    files = (grep, glob, view, str_replace, create_file, read, edit, write)
    return tuple(module.SPEC for module in (*files, *_of_the_index(), *_of_the_notes()))


def _of_the_notes() -> tuple[ModuleType, ...]:
    """The tools that only notes have."""
    from flashgrep.tools import decide_suggestions, get_links, list_suggestions

    return get_links, list_suggestions, decide_suggestions


def _of_the_index() -> tuple[ModuleType, ...]:
    """The tools that answer JSON."""
    from flashgrep.tools import (
        batch_write_code,
        bootstrap_skill,
        get_slice,
        get_symbol,
        list_files,
        query,
        read_code,
        stats,
        write_code,
    )

    reading = (query, get_symbol, get_slice, list_files, stats, read_code)
    return (*reading, write_code, batch_write_code, bootstrap_skill)
