"""write: write a file whole; one that exists must have been read and be as it was read."""

from __future__ import annotations

from flashgrep.errors import Conflict
from flashgrep.tools import reads
from flashgrep.tools.answer import Answer
from flashgrep.tools.arguments import Arguments
from flashgrep.tools.changing import Current, change, overwrite, require_file_name
from flashgrep.tools.reads import Seen
from flashgrep.tools.registry import Parameter, ToolSpec
from flashgrep.tools.sizes import size_text
from flashgrep.tools.toolbox import Call
from flashgrep.workspace.scope import Place

CHANGED = (
    "File has been modified since read, either by the user or by a linter. Read it again before "
    "attempting to write it."
)


def write(call: Call, arguments: Arguments) -> Answer:
    """Create a file, or overwrite one the caller has read."""
    path = arguments.text("path")
    require_file_name(path)
    place = call.services.scope.place(path)
    data = arguments.text("content").encode("utf-8")
    if call.settings.require_view_before_edit == "false":
        existed = overwrite(call, place, data)
    else:
        existed = _write_read(call, place, data)
    verb = "has been updated" if existed else "created"
    return Answer(f"File {verb}: {place.shown} ({size_text(len(data))})")


def _write_read(call: Call, place: Place, data: bytes) -> bool:
    existed = False

    def make(current: Current | None) -> bytes:
        nonlocal existed
        existed = current is not None
        if current is not None:
            _require_read(call, place, current)
        return data

    change(call, place, make)
    return existed


def _require_read(call: Call, place: Place, current: Current) -> None:
    seen = reads.judge(call.caller, place, current.data, current.status)
    if seen is Seen.NEVER:
        raise reads.not_read(place)
    if seen is Seen.CHANGED:
        raise Conflict(CHANGED)


SPEC = ToolSpec(
    name="write",
    title="Write file",
    description=(
        "Write content to a file, creating it and its parent directories, or overwriting it. A "
        "file that exists must have been read first and be unchanged since. The content is "
        "written exactly as given, as UTF-8. Prefer edit for changes to an existing file."
    ),
    parameters=(
        Parameter("path", "string", "File to write", compat="file_path", required=True),
        Parameter("content", "string", "The whole content", required=True),
    ),
    handler=write,
    normal=False,
    read_only=False,
    destructive=True,
)
