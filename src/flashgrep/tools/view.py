"""view: a file with line numbers, an image, or a directory two levels deep."""

from __future__ import annotations

from flashgrep.errors import InvalidParams
from flashgrep.tools.answer import Answer
from flashgrep.tools.arguments import Arguments
from flashgrep.tools.budget import Budget
from flashgrep.tools.listing import list_directory
from flashgrep.tools.places import names_notes
from flashgrep.tools.registry import Parameter, ToolSpec
from flashgrep.tools.showing import binary_of, image_of, open_source, remember
from flashgrep.tools.source import Source
from flashgrep.tools.toolbox import Call
from flashgrep.tools.viewing import view_lines


def view(call: Call, arguments: Arguments) -> Answer:
    """Show what stands at a path."""
    view_range = arguments.get("view_range")
    _check_range(view_range)
    if names_notes(call.settings, arguments.text("path")):
        from flashgrep.tools.note_reading import view_note  # with the engine of the notes

        return view_note(call, arguments.text("path"), view_range)
    scope = call.services.scope
    place = scope.place(arguments.text("path"))
    budget = Budget(call.settings.max_output_chars)
    if scope.kind(place) == "directory":
        if view_range:
            raise InvalidParams(f"{place.shown} is a directory; view_range is for files")
        return Answer(list_directory(scope, place, budget, lambda: bool(call.cancelled)))
    with open_source(call, place) as source:
        answer = image_of(source, bool(view_range)) or binary_of(source)
        if answer is None:
            answer = Answer(_lines(source, view_range, budget))
        remember(call, source)
    return answer


def _lines(source: Source, view_range: list[int] | None, budget: Budget) -> str:
    source.require_size(source.place.shown)
    return view_lines(source.text_chunks(keep_odd=True), view_range, budget)


def _check_range(view_range: list[int] | None) -> None:
    if view_range and not 1 <= view_range[0] <= view_range[1]:
        raise InvalidParams(
            f"view_range is {view_range}; it must be [start, end] with 1 <= start <= end"
        )


SPEC = ToolSpec(
    name="view",
    title="View file or directory",
    description=(
        "Show a file with line numbers, an image, or a directory (2 levels). view_range "
        "[start, end] shows only those lines (1-based, inclusive; the end may lie past the file). "
        "Lines over 2,000 characters are cut. Line numbers and the tab after them are not part of "
        "the file."
    ),
    parameters=(
        Parameter(
            "path",
            "string",
            "File or directory, absolute or relative to the working directory",
            compat="file_path",
            required=True,
        ),
        Parameter("view_range", "line_range", "Lines to show: [start, end], 1-based, inclusive"),
    ),
    notes="Notes are shown by kb://Folder/Note.md, with pending suggestions as if accepted.",
    handler=view,
    compat=False,
)
