"""What notes add to the tools: descriptions beside files and alone, a parameter, refusals.

Everything a tool says about notes is here, so that a verb mentions no mount and describes itself
only for files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from flashgrep.tools.dispatch.spec import Parameter, ToolSpec

VIEW: Final = Parameter(
    "view",
    "string",
    "For a note: pending suggestions accepted (default), left out, or shown as marks",
    choices=("accepted", "base", "raw"),
)
_PATH: Final = "Path of the note, such as Folder/Note.md"


@dataclass(frozen=True)
class Wording:
    """What one tool says where there are notes."""

    beside: str
    """What its description adds where there are files too."""
    alone: str = ""
    """Its whole description where there are only notes; "" for what it adds."""
    title: str = ""
    """Its title there; "" for the same."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """Descriptions of parameters there, where they differ."""
    defaults: Mapping[str, str] = field(default_factory=dict)
    """Defaults there, where they differ."""
    hidden: frozenset[str] = frozenset()
    """Parameters that mean nothing there: accepted, but not listed."""
    added: tuple[Parameter, ...] = ()
    """Parameters that only notes have."""


_GREP_ALONE: Final = """\
Search notes with a regular expression (RE2 syntax: no look-around, no backreferences).
- Output modes: "files_with_matches" (default), "content" (matching lines as path:line:text, with \
context if asked), "count" (path:number). Sorted by path; paths in full, as read accepts them.
- Narrow by path (a folder or a note), by glob on the note's name, or by type.
- Patterns match within a line; set multiline to let them span lines.
- head_limit and offset page through results.
- Lines are those that read shows: pending suggestions count as accepted (see view).
Always exact: no results means there are none."""

_GLOB_ALONE: Final = """\
Find notes by name, sorted by path.
- pattern is a glob: "*.md" matches at any depth, "Projects/**/*plan*.md" by path; ** crosses \
folders, * and ? do not.
- path narrows to a folder; exclude and max_depth narrow further; type "directory" finds folders.
- sort_by, limit and offset order and page the result. One full path per line, as read accepts \
it."""

ON_NOTES: Final[Mapping[str, Wording]] = {
    "grep": Wording(
        'To search notes, set path to "kb://", "kb://Folder" or one note; without path only the '
        "workspace is searched. Results give full note paths, as read accepts them, sorted by "
        "path.",
        alone=_GREP_ALONE,
        title="Search notes",
        parameters={
            "path": "Folder or note to search; all notes if absent",
            "include": 'Only notes whose name matches this glob, e.g. "*plan*.md"; with a / it is '
            "matched on the path below the folder. A list may exclude with !",
            "type": "Only notes of this type; all of them are markdown",
            "multiline": "Let patterns span lines, and . match newlines; ^ and $ then match the "
            "ends of the note, or of lines with (?m)",
            "head_limit": "At most this many results: matching lines (content) or notes; 0 = all",
        },
        added=(VIEW,),
    ),
    "glob": Wording(
        'To find notes, set path to "kb://" or "kb://Folder"; without path only files are found. '
        "Results give full note paths, as read accepts them, sorted by path unless sort_by is "
        "given.",
        alone=_GLOB_ALONE,
        title="Find notes by name",
        parameters={
            "pattern": 'The glob, e.g. "Projects/**/*plan*.md"; required without extensions',
            "path": "Folder to search; all notes if absent",
            "type": "What to find: notes (file) or folders (directory)",
            "extensions": 'Only these extensions; every note has "md"',
            "max_depth": "How deep to go; 0 = the folder's own notes",
        },
        defaults={"sort_by": "path"},
        hidden=frozenset({"follow_symlinks", "respect_gitignore"}),
    ),
    "view": Wording(
        "For a note, path is kb://Folder/Note.md; pending suggestions are shown as if accepted."
    ),
    "read": Wording(
        "For a note, the path is kb://Folder/Note.md; pending suggestions are shown as if "
        "accepted, and listed at the end with open comments and new decisions on yours.",
        alone="Read a note with line numbers (cat -n), by its path such as Folder/Note.md. 2,000 "
        "lines by default; a longer note says where to continue with offset. Pending suggestions "
        "are shown as if accepted, and listed at the end with open comments and new decisions on "
        "yours. Line numbers and the tab after them are not part of the note. Read a note before "
        "you edit it.",
        title="Read note",
        parameters={"path": _PATH},
        hidden=frozenset({"pages"}),
        added=(VIEW,),
    ),
    "edit": Wording(
        "On a note (kb://Folder/Note.md) the change becomes a suggestion that people accept or "
        "reject; read shows it as made.",
        alone="Replace old_string with new_string in a note you have read. old_string must match "
        "what read shows exactly, whitespace included (quote style aside), and occur once, unless "
        "replace_all is true. An empty new_string deletes it. The change becomes a suggestion that "
        "people accept or reject, and read shows it as made.",
        title="Suggest an edit of a note",
        parameters={"path": _PATH},
    ),
    "str_replace": Wording(
        "On a note (kb://Folder/Note.md) the change becomes a suggestion that people accept or "
        "reject; view shows it as made. Quote style does not matter there."
    ),
}
"""The tools that work on notes."""

INSTEAD: Final[Mapping[str, str]] = {
    "create_file": "agents suggest changes to notes and do not create them; use edit on a note",
    "write": "agents suggest changes to notes and do not overwrite them; use edit",
    "write_code": "agents suggest changes of notes; use edit",
    "batch_write_code": "agents suggest changes of notes; use edit, once for each change",
    "get_slice": "use read with offset and limit",
    "read_code": "use read with offset and limit",
}
"""The tools that do not, and what to use."""


def with_notes(spec: ToolSpec, alone: bool) -> ToolSpec:
    """A tool as it is where there are notes; `alone`, where nothing it says is about files."""
    wording = ON_NOTES.get(spec.name)
    if wording is None:
        return spec
    if not alone:
        description = f"{spec.description}\n{wording.beside}"
        parameters = spec.parameters + wording.added
        return replace(spec, description=description, parameters=parameters)
    return replace(
        spec,
        title=wording.title or spec.title,
        description=wording.alone or wording.beside,
        parameters=tuple(_without_files(row, wording) for row in spec.parameters) + wording.added,
    )


def _without_files(parameter: Parameter, wording: Wording) -> Parameter:
    name = parameter.name
    listed = name not in wording.hidden
    return replace(
        parameter,
        help=wording.parameters.get(name, parameter.help),
        default=wording.defaults.get(name, parameter.default),
        listed_normal=parameter.listed_normal and listed,
        listed_compat=parameter.listed_compat and listed,
    )
