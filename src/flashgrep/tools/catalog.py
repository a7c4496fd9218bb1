"""Every tool there is, which of them a server offers, and how they describe themselves."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from typing import Final

from flashgrep.errors import SettingsError
from flashgrep.settings import Settings
from flashgrep.tools.dispatch.call import first_few
from flashgrep.tools.dispatch.spec import ToolSpec
from flashgrep.tools.mounts.points import NOTES
from flashgrep.tools.mounts.wording import ON_NOTES, with_notes
from flashgrep.workspace.scope import Scope, shown_name

TOOLS: Final = (
    "grep.SPEC",
    "glob.SPEC",
    "read.VIEW",
    "edit.STR_REPLACE",
    "write.CREATE_FILE",
    "read.READ",
    "edit.EDIT",
    "write.WRITE",
    # answers in JSON
    "query.SPEC",
    "get_symbol.SPEC",
    "read_code.GET_SLICE",
    "list_files.SPEC",
    "stats.SPEC",
    "read_code.READ_CODE",
    "write_code.WRITE_CODE",
    "write_code.BATCH_WRITE_CODE",
    "bootstrap_skill.SPEC",
    # of notes alone
    "get_links.SPEC",
    "my_suggestions.SPEC",
    "comments.REPLY_COMMENT",
    "suggestions.LIST_SUGGESTIONS",
    "suggestions.DECIDE_SUGGESTIONS",
)
"""In the order clients see them."""


PAGES: Final = (
    "page_search.SEARCH",
    "page_search.COUNT",
    "page_files.FIND_FILE",
    "page_files.FILE_LINES",
    "query.SPEC",
    "get_symbol.SPEC",
    "stats.SPEC",
)
"""What the pages for people ask. No client sees these names, and no setting takes them away."""


def page_questions() -> tuple[ToolSpec, ...]:
    """The rows of what the pages ask."""
    return tuple(_row(*name.split(".")) for name in PAGES)


def all_tools() -> tuple[ToolSpec, ...]:
    """The rows of all tools; imported here, so that reading settings costs no engine."""
    return tuple(_row(*name.split(".")) for name in TOOLS)


def _row(module: str, name: str) -> ToolSpec:
    row = getattr(import_module(f"flashgrep.tools.verbs.{module}"), name)
    assert isinstance(row, ToolSpec)  # noqa: S101 - the table above says so
    return row


# ── what is offered ──────────────────────────────────────────────────────────────────────────────
# Which tools a server offers, how they describe themselves, and the instructions for a model.


_INSTRUCTION_BYTES: Final = 2_000
_SHOWN_ENTRIES: Final = 8
_WITH_NOTES: Final = ("read", "edit")
"""Tools that the notes bring with them, where other ones are listed for files."""
_BESIDE_FILES: Final = ("list_my_suggestions", "reply_comment")
"""Tools that are callable but not listed where there are only notes: those listed there are the
ones of a file system, and get_links."""


_SUGGESTS: Final = " An edit of a note is a suggestion that a person accepts or rejects."
_PENDING: Final = "what you read shows all pending suggestions as if they were accepted."
_OF_EDITS: Final = f"An edit is a suggestion that a person accepts or rejects; {_PENDING}"
_OF_PENDING: Final = f"W{_PENDING[1:]}"


def offered(specs: tuple[ToolSpec, ...], settings: Settings) -> tuple[ToolSpec, ...]:
    """The tools of the enabled toolsets without the disabled ones, as they are on this server."""
    known = [name for spec in specs for name in spec.names]
    for name in settings.disable_tools:
        if name not in known:
            raise SettingsError(
                f"--disable-tools: unknown tool {name!r}; valid: {', '.join(known)}"
            )
    _check_together(settings)
    of_sets = (_fitted(spec, settings) for spec in specs if _is_offered(spec, settings))
    left = (spec.without(settings.disable_tools) for spec in of_sets)
    return tuple(
        spec for spec in left if spec is not None and (spec.read_only or not settings.read_only)
    )


def _check_together(settings: Settings) -> None:
    if settings.kb is None and settings.no_workspace:
        raise SettingsError("--no-workspace needs --kb PATH: without it there is nothing to serve")
    if settings.kb is None and settings.toolsets == ("kb",):
        raise SettingsError("--toolsets: kb needs --kb PATH")
    if settings.no_workspace and not {"files", "kb"} & set(settings.toolsets):
        raise SettingsError(
            "--toolsets: index is for a workspace, and --no-workspace takes it away"
        )


def _is_offered(spec: ToolSpec, settings: Settings) -> bool:
    notes = settings.kb is not None and "kb" in settings.toolsets
    if spec.toolset == "kb":
        return notes
    if settings.no_workspace:
        return spec.name in ON_NOTES
    return spec.toolset in settings.toolsets or (notes and spec.name in _WITH_NOTES)


def _fitted(spec: ToolSpec, settings: Settings) -> ToolSpec:
    """The tool as it is with notes, or without any."""
    spec = replace(spec, loaded=_is_loaded(spec, settings))
    if settings.kb is None:
        return spec
    if settings.no_workspace:
        listed = spec.name not in _BESIDE_FILES
        alone = with_notes(spec, alone=True)
        return replace(alone, normal=alone.normal and listed, compat=alone.compat and listed)
    normal = spec.normal or ("kb" in settings.toolsets and spec.name in _WITH_NOTES)
    return replace(with_notes(spec, alone=False), normal=normal)


def _is_loaded(spec: ToolSpec, settings: Settings) -> bool:
    """Whether it is one of the tools an agent cannot do without: those of files, and of links
    where there are only notes."""
    return spec.toolset == "files" or (settings.no_workspace and spec.name == "get_links")


def instructions(scope: Scope, specs: tuple[ToolSpec, ...], settings: Settings) -> str:
    """The instructions that a client gives its model: under 2 KB, essentials first."""
    listed = [
        spec.name for spec in specs if spec.in_mode(settings.compat_names) and _is_agents(spec)
    ]
    lines = (
        _of_notes(listed, settings) if settings.no_workspace else _of_files(scope, listed, settings)
    )
    return _cut(
        "\n".join([*lines, "Long answers say how much is missing and which call continues."])
    )


def _is_agents(spec: ToolSpec) -> bool:
    """Whether an agent can call it: a person who decides has another role than agents have."""
    return spec.role is None or spec.role.shown == "suggest"


def _of_files(scope: Scope, listed: Sequence[str], settings: Settings) -> list[str]:
    kinds = "one workspace and a knowledge base" if settings.kb else "one workspace"
    lines = [
        f"File tools over {kinds}: {', '.join(listed)}.",
        f"Working directory (relative paths start here): {shown_name(scope.workdir)}",
    ]
    if settings.kb:
        takers = _named([name for name in ("read", "edit", "grep", "glob") if name in listed])
        lines.append(
            f"Notes are separate, at {NOTES}Folder/Note.md: {takers or 'some tools'} take such a "
            f'path ("{NOTES}" is all notes); calls without one mean the workspace.'
            + (_SUGGESTS if "edit" in listed else "")
        )
    if scope.allowed:
        lines.append("Only these directories are reachable: " + _few(scope.allowed))
    if settings.deny_dir:
        lines.append("Not reachable: " + _few([os.fsencode(glob) for glob in settings.deny_dir]))
    ways = {
        "grep": "Search with grep (RE2 regular expressions; .gitignore is respected)",
        "glob": "find files with glob",
    }
    found = " and ".join(way for name, way in ways.items() if name in listed)
    if found:
        lines.append(f"{found[0].upper()}{found[1:]} instead of running shell commands.")
    return [*lines, _of_changes("a file", settings)]


def _of_notes(listed: Sequence[str], settings: Settings) -> list[str]:
    return [
        f"File tools over a knowledge base of Markdown notes: {', '.join(listed)}.",
        "Paths are those of notes, such as Folder/Note.md; a folder's path narrows a search.",
        _OF_EDITS if {"edit", "str_replace"} & set(listed) else _OF_PENDING,
        _of_changes("a note", settings),
    ]


def _of_changes(what: str, settings: Settings) -> str:
    if settings.read_only:
        return "This server is read-only: no tool changes anything."
    return f"Read {what} before changing it. Edits replace exact text, which must occur once."


def _named(names: Sequence[str]) -> str:
    """Names as a sentence lists them."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)


def _few(paths: Sequence[bytes]) -> str:
    return first_few([shown_name(path) for path in paths], _SHOWN_ENTRIES)


def _cut(text: str) -> str:
    raw = text.encode("utf-8", "backslashreplace")
    if len(raw) <= _INSTRUCTION_BYTES:
        return raw.decode("utf-8")
    return raw[:_INSTRUCTION_BYTES].decode("utf-8", "ignore") + " ..."
