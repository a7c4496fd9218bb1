"""get_slice: exact lines of a file, as JSON."""

from __future__ import annotations

from typing import Any

from flashgrep.tools.dispatch.answer import Answer, json_answer, json_text
from flashgrep.tools.dispatch.arguments import Arguments
from flashgrep.tools.dispatch.spec import Parameter, ToolSpec
from flashgrep.tools.dispatch.toolbox import Call
from flashgrep.tools.format.slices import Room, Window, read_slice


def get_slice(call: Call, arguments: Arguments) -> Answer:
    """Give the lines from start_line to end_line."""
    window = Window(arguments.get("start_line"), arguments.get("end_line"))
    place = call.services.scope.place(arguments.text("file_path"))
    room = Room(call, overhead=len(json_text(place.shown)))
    part = read_slice(call, place, window, room)
    answer: dict[str, Any] = {
        "file_path": place.shown,
        "start_line": part.first,
        "end_line": part.last,
        "content": part.content,
        "total_lines": part.total,
        "truncated": part.is_cut,
    }
    if part.is_cut:
        answer["continuation_start_line"] = part.following
    return json_answer(answer)


FILE_PATH = Parameter(
    "file_path",
    "string",
    "File, absolute or relative to the working directory",
    aliases=("path",),
    required=True,
)

SPEC = ToolSpec(
    name="get_slice",
    title="Get lines of a file",
    description=(
        "Lines start_line to end_line of a file as JSON (1-based, inclusive; the end may lie past "
        "the file): file_path, start_line, end_line, content (lines joined by newlines, none at "
        "the end), total_lines, truncated. Cut answers name continuation_start_line. Use it when "
        "you know the lines, e.g. from query, get_symbol or grep."
    ),
    parameters=(
        FILE_PATH,
        Parameter("start_line", "integer", "First line, 1-based", required=True, minimum=1),
        Parameter("end_line", "integer", "Last line, inclusive", required=True, minimum=1),
    ),
    handler=get_slice,
    toolset="index",
)
