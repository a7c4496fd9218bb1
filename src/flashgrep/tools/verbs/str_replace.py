"""str_replace: replace a string that stands once in a document, or every one."""

from __future__ import annotations

from flashgrep.mount import StringEdit
from flashgrep.tools.dispatch.answer import Answer
from flashgrep.tools.dispatch.arguments import Arguments
from flashgrep.tools.dispatch.spec import Parameter, ToolSpec
from flashgrep.tools.dispatch.toolbox import Call


def str_replace(call: Call, arguments: Arguments) -> Answer:
    """Replace `old_str` by `new_str`."""
    asked = StringEdit(
        old=arguments.text("old_str"),
        new=arguments.text("new_str"),
        replace_all=arguments.get("replace_all"),
        word="old_str",
        new_word="new_str",
        fold_quotes=False,
        needs_read=call.settings.require_view_before_edit == "true",
    )
    target = call.target(arguments.text("path"), "document")
    return Answer(target.mount.edit(target.path, asked))


SPEC = ToolSpec(
    name="str_replace",
    title="Replace string in file",
    description=(
        "Replace old_str by new_str in a file. old_str must match the file exactly, whitespace "
        "included (line ends aside), and stand there once, unless replace_all is true. An empty "
        "or omitted new_str deletes it. Only the bytes of the match change: encoding, line ends "
        "and mode stay."
    ),
    parameters=(
        Parameter("path", "string", "File to edit", compat="file_path", required=True),
        Parameter("old_str", "string", "Text to replace", compat="old_string", required=True),
        Parameter(
            "new_str",
            "string",
            "Text to put there; omit to delete",
            compat="new_string",
            default="",
        ),
        Parameter("replace_all", "boolean", "Replace every occurrence", default=False),
    ),
    handler=str_replace,
    compat=False,
    read_only=False,
    destructive=True,
    idempotent=False,
)
