"""What the pages need of files: finding them by a few letters, and some lines of one.

    find_file   → {"files": [path, …], "total"}
    file_lines  → {"path", "start_line", "end_line", "total_lines", "lines", "cut", "truncated"}
        total_lines  null where nobody has counted: the file is large and was not read to its end
        cut          [line, characters] of each line that is shown in part
        truncated    whether lines that were asked for follow; ask for them with start

No file is too large: a window is small whatever the file's size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flashgrep import limits
from flashgrep.errors import InvalidParams
from flashgrep.limits import size_text
from flashgrep.tools.dispatch.call import Answer, json_answer
from flashgrep.tools.dispatch.spec import Parameter, ToolSpec, file_path_row, page_rows
from flashgrep.tools.format.fuzzy_names import ranked
from flashgrep.tools.format.line_window import line_window
from flashgrep.tools.mounts.files import Files
from flashgrep.tools.verbs.list_files import listed_files
from flashgrep.workspace.scope import shown_path
from flashgrep.workspace.text import is_text

if TYPE_CHECKING:
    from flashgrep.tools.dispatch.call import Call
    from flashgrep.tools.dispatch.spec import Arguments


def find_file(call: Call, arguments: Arguments) -> Answer:
    """The files whose path has some letters in this order, best first."""
    found, total = ranked(
        listed_files(call).paths(), arguments.text("text"), arguments.get("limit")
    )
    return json_answer({"files": [shown_path(path) for path in found], "total": total})


FIND_FILE = ToolSpec(
    name="find_file",
    title="Find a file by letters of its path",
    description="",
    parameters=(
        Parameter("text", "string", "Letters of the path, in order", required=True),
        page_rows("files", 50)[0],
    ),
    handler=find_file,
    toolset="index",
)


def file_lines(call: Call, arguments: Arguments) -> Answer:
    """Lines of a file."""
    first: int = arguments.get("start_line")
    asked: int = arguments.get("end_line") or first + limits.PAGE_LINES - 1
    if asked < first:
        raise InvalidParams(f"start is {first} and end {asked}; the end must not be before it")
    last = min(asked, first + limits.PAGE_LINES - 1)
    place = call.services.scope.place(arguments.text("file_path"))
    with Files(call).read(place) as source:
        if source.head and not is_text(source.head):
            size = size_text(source.size)
            raise InvalidParams(f"{source.shown} is a binary file ({size}) and has no lines")
        window = line_window(
            source.descriptor, source.status, source.head, first, last, call.cancelled.is_set
        )
    end = first + len(window.lines) - 1
    answer: dict[str, Any] = {
        "path": source.shown,
        "start_line": first,
        "end_line": end,
        "total_lines": window.total,
        "lines": window.lines,
        "cut": window.cut,
        "truncated": end == last < asked and window.total != end,
    }
    return json_answer(answer)


FILE_LINES = ToolSpec(
    name="file_lines",
    title="Lines of a file",
    description="",
    parameters=(
        file_path_row("File, absolute or relative to the working directory"),
        Parameter("start_line", "integer", "First line, 1-based", default=1, minimum=1),
        Parameter("end_line", "integer", "Last line, inclusive", minimum=1),
    ),
    handler=file_lines,
    toolset="index",
)
