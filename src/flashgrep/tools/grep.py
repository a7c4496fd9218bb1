"""grep: find a regular expression in files."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from flashgrep import limits
from flashgrep.search.result import Report, SearchQuestion, SearchResult
from flashgrep.search.turns import Flag
from flashgrep.tools import places
from flashgrep.tools.answer import Answer, json_answer
from flashgrep.tools.grep_answer import GrepArguments, SearchedPlace, as_rows, as_text, printable
from flashgrep.tools.places import VIEW, refuse_scheme, refuse_view, scope_path
from flashgrep.tools.registry import Parameter, ToolSpec
from flashgrep.tools.searched import remember, shown_root
from flashgrep.workspace import names
from flashgrep.workspace.scope import Place, Scope
from flashgrep.workspace.sniffing import is_text

if TYPE_CHECKING:
    from flashgrep.tools.arguments import Arguments
    from flashgrep.tools.toolbox import Call

Search = Callable[[SearchQuestion, Flag, Report], SearchResult]

DESCRIPTION = """\
Search file contents with a regular expression (RE2 syntax: no look-around, no backreferences).
- Output modes: "files_with_matches" (default; newest file first), "content" (matching lines as \
path:line:text, with context if asked), "count" (path:number).
- Narrow by path (results are then relative to it), by glob on the file name, or by file type. \
.gitignore is respected; .git, \
node_modules and binary files are left out.
- Patterns match within a line; set multiline to let them span lines.
- head_limit and offset page through results.
Always exact: no results means there are none."""

NOTES_ALONE = """\
Search notes with a regular expression (RE2 syntax: no look-around, no backreferences).
- Output modes: "files_with_matches" (default), "content" (matching lines as path:line:text, with \
context if asked), "count" (path:number). Sorted by path; paths in full, as read accepts them.
- Narrow by path (a folder or a note), by glob on the note's name, or by type.
- Patterns match within a line; set multiline to let them span lines.
- head_limit and offset page through results.
- Lines are those that read shows: pending suggestions count as accepted (see view).
Always exact: no results means there are none."""


_ATTEMPTS = 3  # files that change without an event, while they are searched


def run(call: Call, arguments: Arguments) -> Answer:
    """Search the workspace, or the notes."""
    refuse_scheme(call, "glob (include)", arguments.get("include"))
    folder = scope_path(call, arguments.get("path"))
    if folder is None:
        refuse_view(arguments)
    asked = GrepArguments.read(arguments)
    place, search = _files(call, arguments) if folder is None else _notes(call, arguments, folder)
    for _ in range(_ATTEMPTS):
        result = search(asked.question(), call.cancelled, call.report)
        if call.direct:
            rows, shown = as_rows(asked, result, place)
            answer = json_answer(rows)
        else:
            text, shown = as_text(asked, result, place, call.settings.max_output_chars)
            answer = Answer(text)
        if not result.stale(shown):
            break
    return answer


def _files(call: Call, arguments: Arguments) -> tuple[SearchedPlace, Search]:
    """Files below a directory, or one file, which the answer names as the caller did."""
    scope, named = call.services.scope, arguments.get("path")
    path: str = "." if named is None else named
    where = scope.place(path)
    kind = scope.kind(where)
    if kind == "directory":
        remember(call.caller, scope, where)
    if kind == "file":
        place = SearchedPlace(
            label=lambda paths: [path for _ in paths],
            label_skipped=printable,
            why_empty=lambda: _why_empty(scope, where),
        )
    else:
        place = SearchedPlace(
            label=names.shown_paths,
            label_skipped=printable,
            order="newest",
            root=shown_root(scope, where),
        )
    return place, partial(call.services.search.search, where)


def _why_empty(scope: Scope, where: Place) -> str:
    # Silent in a walk, as documented; but who names a file must not take this for "no match".
    fd, _ = scope.open_regular(where)
    try:
        is_binary = not is_text(os.pread(fd, limits.SNIFF_BYTES, 0))
    finally:
        os.close(fd)
    return f"{where.shown} is a binary file and was not searched" if is_binary else ""


def _notes(call: Call, arguments: Arguments, folder: str) -> tuple[SearchedPlace, Search]:
    """The notes in a folder, or one note; paths are in full, so they have no root."""
    from flashgrep.kb.notesearch import NoteSearcher  # with the engine of the notes
    from flashgrep.kb.notetexts import Shown

    tree = places.tree(call)
    view = Shown(arguments.get("view") or Shown.ACCEPTED)
    searcher = NoteSearcher(places.mounted(call), tree, call.services.search.pool, view)
    place = SearchedPlace(
        label=lambda paths: [tree.prefix + path for path in paths],
        label_skipped=lambda path: tree.prefix + path,
        kind="note",
    )
    return place, partial(searcher.search, folder)


SPEC = ToolSpec(
    name="grep",
    title="Search file contents",
    description=DESCRIPTION,
    handler=run,
    direct=True,
    parameters=(
        Parameter("pattern", "string", "The regular expression to find (RE2)", required=True),
        Parameter(
            "path",
            "string",
            "File or directory to search; the working directory if absent",
            aliases=("file_path",),
            notes_help="Folder or note to search; all notes if absent",
        ),
        Parameter(
            "include",
            "string_or_strings",
            'Only files whose name matches this glob, e.g. "*.py", "*.{ts,tsx}"; with a / it is '
            "matched on the path. A list may exclude with !",
            compat="glob",
            notes_help='Only notes whose name matches this glob, e.g. "*plan*.md"; with a / it is '
            "matched on the path below the folder. A list may exclude with !",
        ),
        Parameter(
            "type",
            "string",
            "Only files of this type: js, py, rust, go, java, …",
            notes_help="Only notes of this type; all of them are markdown",
        ),
        Parameter(
            "output_mode",
            "string",
            "What to return",
            choices=("content", "files_with_matches", "count"),
            default="files_with_matches",
        ),
        Parameter("case_insensitive", "boolean", "Ignore case", compat="-i", default=False),
        Parameter(
            "line_numbers",
            "boolean",
            "Show line numbers (content only)",
            compat="-n",
            default=True,
        ),
        Parameter(
            "context_before",
            "integer",
            "Lines to show before each match (content only)",
            compat="-B",
            minimum=0,
        ),
        Parameter(
            "context_after",
            "integer",
            "Lines to show after each match (content only)",
            compat="-A",
            minimum=0,
        ),
        Parameter(
            "context",
            "integer",
            "Lines to show before and after each match (content only)",
            compat="-C",
            minimum=0,
        ),
        Parameter(
            "multiline",
            "boolean",
            "Let patterns span lines, and . match newlines; ^ and $ are then the ends of the file, "
            "those of lines with (?m)",
            default=False,
            notes_help="Let patterns span lines, and . match newlines; ^ and $ are then the ends "
            "of the note, those of lines with (?m)",
        ),
        Parameter(
            "head_limit",
            "integer",
            "At most this many results: matching lines (content) or files; 0 = all",
            default=0,
            minimum=0,
            notes_help="At most this many results: matching lines (content) or notes; 0 = all",
        ),
        Parameter(
            "offset",
            "integer",
            "Skip this many results first",
            default=0,
            minimum=0,
        ),
        Parameter(
            "only_matching",
            "boolean",
            "Only the matching parts, each on its own line (content only)",
            compat="-o",
            default=False,
            listed_normal=False,
        ),
        VIEW,
    ),
    notes=(
        'Notes are searched with path "kb://", "kb://Folder" or one note; without path only the '
        "workspace is. Results name notes in full, sorted by path, as read accepts them."
    ),
    notes_alone=NOTES_ALONE,
    notes_title="Search notes",
)
