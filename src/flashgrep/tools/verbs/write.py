"""write and create_file: write a whole document."""

from __future__ import annotations

from flashgrep.limits import size_text
from flashgrep.tools.dispatch.call import Answer, Call
from flashgrep.tools.dispatch.spec import Arguments, Parameter, ToolSpec, path_row


def write(call: Call, arguments: Arguments) -> Answer:
    """Create a file, or overwrite one the caller has read."""
    must_be_read = call.settings.require_view_before_edit != "false"
    return _write(call, arguments, must_be_read, "has been updated")


def create_file(call: Call, arguments: Arguments) -> Answer:
    """Create a file, or overwrite whatever is there."""
    return _write(call, arguments, must_be_read=False, updated="overwritten")


def _write(call: Call, arguments: Arguments, must_be_read: bool, updated: str) -> Answer:
    target = call.target(arguments.text("path"), "new")
    data = arguments.text("content").encode("utf-8")
    existed = target.mount.write(target.path, data, must_be_read)
    done = updated if existed else "created"
    return Answer(f"File {done}: {target.shown} ({size_text(len(data))})")


_PARAMETERS = (
    path_row("File to write"),
    Parameter("content", "string", "The whole content", required=True),
)

WRITE = ToolSpec(
    name="write",
    title="Write file",
    description=(
        "Write content to a file, creating it and its parent directories, or overwriting it. An "
        "existing file must have been read first and be unchanged since. The content is written "
        "exactly as given, as UTF-8. Prefer edit for changes to an existing file."
    ),
    parameters=_PARAMETERS,
    handler=write,
    normal=False,
    read_only=False,
)

CREATE_FILE = ToolSpec(
    name="create_file",
    title="Create or overwrite file",
    description=(
        "Write content to a file, creating it and its parent directories, or overwriting it if it "
        "exists. The content is written exactly as given, as UTF-8."
    ),
    parameters=_PARAMETERS,
    handler=create_file,
    compat=False,
    read_only=False,
)
