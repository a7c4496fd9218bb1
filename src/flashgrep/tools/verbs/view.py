"""view: a file with line numbers, an image, or a directory two levels deep."""

from __future__ import annotations

from flashgrep.errors import InvalidParams
from flashgrep.mount import Document
from flashgrep.tools.dispatch.answer import Answer
from flashgrep.tools.dispatch.arguments import Arguments
from flashgrep.tools.dispatch.spec import Parameter, ToolSpec
from flashgrep.tools.dispatch.toolbox import Call
from flashgrep.tools.format.numbered import binary_of, image_of, view_lines, with_trailer


def view(call: Call, arguments: Arguments) -> Answer:
    """Show what stands at a path."""
    view_range = arguments.get("view_range")
    _check_range(view_range)
    target = call.target(arguments.text("path"), "either")
    mount, chars = target.mount, call.settings.max_output_chars
    if mount.is_folder(target.path):
        if view_range:
            raise InvalidParams(f"{target.shown} is a directory; view_range is for files")
        return Answer(mount.outline(target.path, chars))
    with mount.read(target.path) as document:
        answer = image_of(document, bool(view_range)) or binary_of(document)
        answer = answer or _lines(document, view_range, chars)
        document.was_shown()
    return answer


def _lines(document: Document, view_range: list[int] | None, chars: int) -> Answer:
    document.require_size(document.shown)
    return with_trailer(
        document,
        view_range[0] if view_range else 1,
        chars,
        lambda budget: view_lines(document.text_chunks(keep_odd=True), view_range, budget),
    )


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
    handler=view,
    compat=False,
)
