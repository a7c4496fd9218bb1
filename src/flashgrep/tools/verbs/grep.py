"""grep: find a regular expression in documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flashgrep.tools.dispatch.spec import Answer, Parameter, ToolSpec, json_answer
from flashgrep.tools.format.grep import GrepArguments, as_rows, as_text

if TYPE_CHECKING:
    from flashgrep.tools.dispatch.arguments import Arguments
    from flashgrep.tools.dispatch.toolbox import Call

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

_ATTEMPTS = 3  # files that change without an event, while they are searched


def run(call: Call, arguments: Arguments) -> Answer:
    """Search, page, and search again where what is shown changed meanwhile."""
    asked = GrepArguments.read(arguments)
    target = call.target(arguments.get("path"), "tree")
    searched = target.mount.search(target.path, arguments.get("path"), arguments.find("view"))
    for _ in range(_ATTEMPTS):
        result = searched.search(asked.question(), call.cancelled, call.report)
        if call.direct:
            rows, shown = as_rows(asked, result, searched)
            answer = json_answer(rows)
        else:
            text, shown = as_text(asked, result, searched, call.settings.max_output_chars)
            answer = Answer(text)
        if not result.stale(shown):
            break
    return answer


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
        ),
        Parameter(
            "include",
            "string_or_strings",
            'Only files whose name matches this glob, e.g. "*.py", "*.{ts,tsx}"; with a / it is '
            "matched on the path. A list may exclude with !",
            compat="glob",
            on_names=True,
        ),
        Parameter(
            "type",
            "string",
            "Only files of this type: js, py, rust, go, java, …",
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
        ),
        Parameter(
            "head_limit",
            "integer",
            "At most this many results: matching lines (content) or files; 0 = all",
            default=0,
            minimum=0,
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
    ),
)
