"""write and create_file: write a document whole."""

from __future__ import annotations

from flashgrep.settings import size_text
from flashgrep.tools.dispatch.call import Answer, Call
from flashgrep.tools.dispatch.spec import Arguments, Parameter, ToolSpec


def write(call: Call, arguments: Arguments) -> Answer:
    """Create a file, or overwrite one the caller has read."""
    target = call.target(arguments.text("path"), "new")
    data = arguments.text("content").encode("utf-8")
    must_be_read = call.settings.require_view_before_edit != "false"
    existed = target.mount.write(target.path, data, must_be_read)
    verb = "has been updated" if existed else "created"
    return Answer(f"File {verb}: {target.shown} ({size_text(len(data))})")


WRITE = ToolSpec(
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


# ── create file ──────────────────────────────────────────────────────────────────────────────────
# create_file: write a file whole, over whatever stands there.


def create_file(call: Call, arguments: Arguments) -> Answer:
    """Create a file or overwrite it."""
    target = call.target(arguments.text("path"), "new")
    data = arguments.text("content").encode("utf-8")
    existed = target.mount.write(target.path, data, must_be_read=False)
    verb = "overwritten" if existed else "created"
    return Answer(f"File {verb}: {target.shown} ({size_text(len(data))})")


CREATE_FILE = ToolSpec(
    name="create_file",
    title="Create or overwrite file",
    description=(
        "Write content to a file, creating it and its parent directories, or overwriting it if it "
        "exists. The content is written exactly as given, as UTF-8."
    ),
    parameters=(
        Parameter("path", "string", "File to write", compat="file_path", required=True),
        Parameter("content", "string", "The whole content", required=True),
    ),
    handler=create_file,
    compat=False,
    read_only=False,
    destructive=True,
)
