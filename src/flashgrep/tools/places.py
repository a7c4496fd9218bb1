"""Where an argument leads: into the workspace, or to the notes.

`kb://Folder/Note.md` is a note and `kb://Folder` or `kb://` all notes below; on a server without a
workspace bare paths are notes too. Answers name notes in full, as `read` accepts them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from flashgrep.errors import AccessDenied, InvalidParams, Unavailable
from flashgrep.kb import notepath
from flashgrep.tools.registry import Parameter

if TYPE_CHECKING:
    from flashgrep.kb.knowledge_base import KnowledgeBase
    from flashgrep.kb.notetree import NoteTree
    from flashgrep.settings import Settings
    from flashgrep.tools.arguments import Arguments
    from flashgrep.tools.caller import Caller
    from flashgrep.tools.registry import ToolSpec
    from flashgrep.tools.toolbox import Call

SCHEME: Final = "kb://"
VIEW: Final = Parameter(
    "view",
    "string",
    "Of a note: with pending suggestions accepted (default), without any, or with their marks",
    choices=("accepted", "base", "raw"),
    of_notes=True,
)


def names_notes(settings: Settings, given: str | None) -> bool:
    """Whether an argument leads to the notes; one that is not given leads where all else does."""
    if given is None or settings.no_workspace:
        return settings.no_workspace
    return is_note(given)


def note_path(call: Call, given: str) -> str | None:
    """The path of the note an argument names, if it is that of a note; None for a file's."""
    if not names_notes(call.settings, given):
        return None
    mounted(call)
    return notepath.checked(_bare(given))


def noted(call: Call, given: str) -> str:
    """The path of the note an argument names where only notes are meant, so that `kb://` may be
    left out."""
    mounted(call)
    return notepath.checked(_bare(given))


def scope_path(call: Call, given: str | None) -> str | None:
    """The path below which notes are looked for, "" for all of them; None for the workspace.

    It may be that of a single note.
    """
    if not names_notes(call.settings, given):
        return None
    mounted(call)
    if given is None or given in (SCHEME, ".", "./"):
        return ""
    path = _bare(given)
    return notepath.checked_below(path.removesuffix("/"))


def refuse_view(arguments: Arguments) -> None:
    """Refuse `view` where a file is named: files have one view."""
    if "view" in arguments.given:
        raise InvalidParams(f"view is for notes ({SCHEME}Folder/Note.md); files have one view only")


def refuse_scheme(call: Call, name: str, globs: str | Sequence[str] | None) -> None:
    """Refuse `kb://` in a glob on names: nothing it is matched with begins so."""
    for glob in [globs] if isinstance(globs, str) else globs or ():
        if call.settings.kb is not None and is_note(glob.removeprefix("!")):
            raise InvalidParams(
                f"{name} {glob!r} can match nothing: it is matched on names below path; search "
                f'the notes with path "{SCHEME}" or "{SCHEME}Folder", and write {name} without it'
            )


def tree(call: Call) -> NoteTree:
    """The notes as the caller may see them, under the names it is told."""
    from flashgrep.kb.notetree import NoteTree

    prefix = "" if call.settings.no_workspace else SCHEME
    return NoteTree(mounted(call), call.caller.principal, prefix, lambda: bool(call.cancelled))


def mounted(call: Call) -> KnowledgeBase:
    """The notes; refused where there are none."""
    if call.services.notes is None:
        raise _not_mounted()
    return call.services.notes


def shown_note(settings: Settings, path: str) -> str:
    """A note's path as answers print it and `read` accepts it."""
    return path if settings.no_workspace else SCHEME + path


def _bare(given: str) -> str:
    return given[len(SCHEME) :] if is_note(given) else given


# ── tools that do not work on notes ─────────────────────────────────────────────────────────────

_INSTEAD: Final = {
    "create_file": "agents suggest changes of notes and do not create them; use edit on a note",
    "write": "agents suggest changes of notes and do not overwrite them; use edit",
    "write_code": "agents suggest changes of notes; use edit",
    "batch_write_code": "agents suggest changes of notes; use edit, once for each change",
    "view": "use read",
    "get_slice": "use read with offset and limit",
    "read_code": "use read with offset and limit",
    "query": "use grep",
    "get_symbol": "use grep",
    "list_files": "use glob",
}


def check_notes(spec: ToolSpec, settings: Settings, arguments: Arguments) -> None:
    """Refuse a note where a tool takes files only, naming the tool that takes notes."""
    if spec.notes or spec.toolset == "kb" or settings.no_workspace:
        return
    for parameter in spec.parameters:
        value = arguments.get(parameter.name)
        if given := next(filter(is_note, _paths(parameter, value)), None):
            if settings.kb is None:
                raise _not_mounted()
            raise InvalidParams(
                f"{spec.name} works on files of the workspace, and {given} is a note; "
                + _INSTEAD.get(spec.name, "use read, edit, grep or glob")
            )


def lead_to_notes(spec: ToolSpec, settings: Settings, arguments: Arguments) -> bool:
    """Whether a call is about notes: all of them without a workspace, else by its paths."""
    if settings.kb is None or settings.no_workspace or spec.toolset == "kb":
        return settings.kb is not None
    values = ((parameter, arguments.get(parameter.name)) for parameter in spec.parameters)
    return any(is_note(path) for parameter, value in values for path in _paths(parameter, value))


def check_reach(caller: Caller, spec: ToolSpec, settings: Settings, arguments: Arguments) -> None:
    """Refuse files to a caller whose token is one of the knowledge base's."""
    if not caller.notes_only or settings.no_workspace:
        return
    values = ((parameter, arguments.get(parameter.name)) for parameter in spec.parameters)
    given = [path for parameter, value in values for path in _paths(parameter, value)]
    leads_to_notes = bool(given) or spec.toolset == "kb"
    if not (leads_to_notes and all(map(is_note, given))):
        raise AccessDenied(
            f"the token {caller.token} is for notes, not for files; "
            f"name a note ({SCHEME}Folder/Note.md) or {SCHEME} for all of them"
        )


def _paths(parameter: Parameter, value: object) -> Iterator[str]:
    """What stands where a path is wanted, in lists of operations too."""
    if isinstance(value, str) and {"path", "file_path"} & set(parameter.names):
        yield value
    if isinstance(value, str) and parameter.leads and is_note(value):
        yield value
    for item in value if parameter.kind == "objects" and isinstance(value, list) else ():
        for field in parameter.fields:
            yield from _paths(field, item.get(field.name))


def is_note(given: str) -> bool:
    """Whether a path, or a pattern, is written as those of notes are."""
    return given[: len(SCHEME)].lower() == SCHEME


def _not_mounted() -> Unavailable:
    return Unavailable(
        f"{SCHEME} paths are notes, and this server has no knowledge base; it has one when it is "
        "started with --kb PATH"
    )
