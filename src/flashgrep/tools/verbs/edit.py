"""edit and str_replace: replace a string in a document."""

from __future__ import annotations

from flashgrep.mount import StringEdit
from flashgrep.tools.dispatch.call import Answer, Call
from flashgrep.tools.dispatch.spec import Arguments, Parameter, ToolSpec


def edit(call: Call, arguments: Arguments) -> Answer:
    """Replace `old_string` by `new_string`."""
    asked = StringEdit(
        old=arguments.text("old_string"),
        new=arguments.text("new_string"),
        replace_all=arguments.get("replace_all"),
        word="old_string",
        new_word="new_string",
        fold_quotes=True,
        needs_read=call.settings.require_view_before_edit != "false",
    )
    target = call.target(arguments.text("path"), "document")
    return Answer(target.mount.edit(target.path, asked))


EDIT = ToolSpec(
    name="edit",
    title="Edit file",
    description=(
        "Replace old_string by new_string in a file you have read. old_string must match the file "
        "exactly, whitespace included (line ends and the style of quotes aside), and stand there "
        "once, unless replace_all is true. An empty new_string deletes it. Only the bytes of the "
        "match change: encoding, line ends and mode stay."
    ),
    parameters=(
        Parameter(
            "path",
            "string",
            "File to edit",
            compat="file_path",
            required=True,
        ),
        Parameter("old_string", "string", "Text to replace", aliases=("old_str",), required=True),
        Parameter("new_string", "string", "Text to put there", aliases=("new_str",), required=True),
        Parameter("replace_all", "boolean", "Replace every occurrence", default=False),
    ),
    handler=edit,
    normal=False,
    read_only=False,
    destructive=True,
    idempotent=False,
)


# ── str replace ──────────────────────────────────────────────────────────────────────────────────
# str_replace: replace a string that stands once in a document, or every one.


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


STR_REPLACE = ToolSpec(
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
