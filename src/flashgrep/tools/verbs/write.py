"""write: write a file whole; one that exists must have been read and be as it was read."""

from __future__ import annotations

from flashgrep.tools.dispatch.answer import Answer
from flashgrep.tools.dispatch.arguments import Arguments
from flashgrep.tools.dispatch.spec import Parameter, ToolSpec
from flashgrep.tools.dispatch.toolbox import Call
from flashgrep.tools.sizes import size_text


def write(call: Call, arguments: Arguments) -> Answer:
    """Create a file, or overwrite one the caller has read."""
    target = call.target(arguments.text("path"), "new")
    data = arguments.text("content").encode("utf-8")
    must_be_read = call.settings.require_view_before_edit != "false"
    existed = target.mount.write(target.path, data, must_be_read)
    verb = "has been updated" if existed else "created"
    return Answer(f"File {verb}: {target.shown} ({size_text(len(data))})")


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
