"""create_file: write a file whole, over whatever stands there."""

from __future__ import annotations

from flashgrep.tools.dispatch.answer import Answer
from flashgrep.tools.dispatch.arguments import Arguments
from flashgrep.tools.dispatch.spec import Parameter, ToolSpec
from flashgrep.tools.dispatch.toolbox import Call
from flashgrep.tools.sizes import size_text


def create_file(call: Call, arguments: Arguments) -> Answer:
    """Create a file or overwrite it."""
    target = call.target(arguments.text("path"), "new")
    data = arguments.text("content").encode("utf-8")
    existed = target.mount.write(target.path, data, must_be_read=False)
    verb = "overwritten" if existed else "created"
    return Answer(f"File {verb}: {target.shown} ({size_text(len(data))})")


SPEC = ToolSpec(
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
