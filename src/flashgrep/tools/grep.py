"""grep: find a regular expression in files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from flashgrep import limits
from flashgrep.search.engine import Question
from flashgrep.search.excerpt import Line, PageRequest
from flashgrep.tools.answer import Answer
from flashgrep.tools.grep_answer import Query, printable
from flashgrep.tools.places import VIEW, refuse_scheme, refuse_view, scope_path
from flashgrep.tools.registry import Parameter, ToolSpec
from flashgrep.tools.searched import remember, shown_root
from flashgrep.workspace import names
from flashgrep.workspace.scope import Place
from flashgrep.workspace.sniffing import is_text

if TYPE_CHECKING:
    from flashgrep.search.request import Found
    from flashgrep.search.scan import Search
    from flashgrep.tools.arguments import Arguments
    from flashgrep.tools.toolbox import Call

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


def run(call: Call, arguments: Arguments) -> Answer:
    """Search the workspace, or the notes."""
    refuse_scheme(call, "glob (include)", arguments.get("include"))
    folder = scope_path(call, arguments.get("path"))
    if folder is not None:
        from flashgrep.tools.note_grep import NoteQuery  # with the engine of the notes

        return NoteQuery(call, arguments, folder).answer()
    refuse_view(arguments)
    return FileQuery(call, arguments).answer()


class FileQuery(Query["Search"]):
    """Over the files of the workspace."""

    def __init__(self, call: Call, arguments: Arguments) -> None:
        super().__init__(call, arguments)
        self.place: Place = call.services.scope.place(self.path)
        kind = call.services.scope.kind(self.place)
        self.is_file = kind == "file"
        if kind == "directory":
            remember(call.caller, call.services.scope, self.place)

    def search(self) -> Search:
        question = Question(
            self.place, self.pattern, self.counting(), self.filters, self.wanted(), True
        )
        return self.call.services.search.scan(question, self.call.cancelled, self.call.report)

    def page(self, scan: Search, request: PageRequest) -> list[tuple[str, list[Line]]]:
        return self.call.services.search.page(scan, request, self.call.cancelled)

    def is_current(self, scan: Search) -> bool:
        return self.call.services.search.is_current(scan, self.named)

    def nothing(self) -> str:
        if self.is_file and self._is_binary():
            return f"{self.place.shown} is a binary file and was not searched"
        return super().nothing()

    def root(self) -> str:
        return "" if self.is_file else shown_root(self.call.services.scope, self.place)

    def _is_binary(self) -> bool:
        # Silent in a walk, as documented; but who names a file must not take this for "no match".
        fd, _ = self.call.services.scope.open_regular(self.place)
        try:
            return not is_text(os.pread(fd, limits.SNIFF_BYTES, 0))
        finally:
            os.close(fd)

    def ordered(self, scan: Search) -> Sequence[Found]:
        files = self.mode == "files_with_matches"
        return scan.newest_first() if files else scan.in_walk_order()

    def label(self, shown: str) -> str:
        """Relative to the root, or as the caller named it."""
        return self.path if self.is_file else printable(shown)

    def labels(self, files: list[Found]) -> list[str]:
        return [self.path] if self.is_file else names.shown_paths([file.shown for file in files])


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
