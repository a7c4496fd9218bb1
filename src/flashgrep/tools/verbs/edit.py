"""edit and str_replace: replace a string in a document."""

from __future__ import annotations

from flashgrep.mount import StringEdit
from flashgrep.tools.dispatch.call import Answer, Call
from flashgrep.tools.dispatch.spec import Arguments, Parameter, ToolSpec, path_row


def edit(call: Call, arguments: Arguments) -> Answer:
    """Replace `old_string` by `new_string` in a document that the caller has read."""
    must_be_read = call.settings.require_view_before_edit != "false"
    return _replace(call, arguments, ("old_string", "new_string"), must_be_read, fold_quotes=True)


def str_replace(call: Call, arguments: Arguments) -> Answer:
    """Replace `old_str` by `new_str`; whether it must have been read is a setting."""
    must_be_read = call.settings.require_view_before_edit == "true"
    return _replace(call, arguments, ("old_str", "new_str"), must_be_read, fold_quotes=False)


def _replace(
    call: Call, arguments: Arguments, words: tuple[str, str], must_be_read: bool, fold_quotes: bool
) -> Answer:
    word, new_word = words
    asked = StringEdit(
        old=arguments.text(word),
        new=arguments.text(new_word),
        replace_all=arguments.get("replace_all"),
        word=word,
        new_word=new_word,
        fold_quotes=fold_quotes,
        needs_read=must_be_read,
    )
    target = call.target(arguments.text("path"), "document")
    return Answer(target.mount.edit(target.path, asked))


_PATH = path_row("File to edit")
_ALL = Parameter("replace_all", "boolean", "Replace every occurrence", default=False)

EDIT = ToolSpec(
    name="edit",
    title="Edit file",
    description=(
        "Replace old_string with new_string in a file you have read. old_string must match the "
        "file exactly, whitespace included (line ends and quote style aside), and occur once, "
        "unless replace_all is true. An empty new_string deletes it. Only the bytes of the match "
        "change: encoding, line ends and mode stay."
    ),
    parameters=(
        _PATH,
        Parameter("old_string", "string", "Text to replace", aliases=("old_str",), required=True),
        Parameter("new_string", "string", "Text to put there", aliases=("new_str",), required=True),
        _ALL,
    ),
    handler=edit,
    normal=False,
    read_only=False,
    idempotent=False,
)

STR_REPLACE = ToolSpec(
    name="str_replace",
    title="Replace string in file",
    description=(
        "Replace old_str with new_str in a file. old_str must match the file exactly, whitespace "
        "included (line ends aside), and occur once, unless replace_all is true. An empty or "
        "omitted new_str deletes it. Only the bytes of the match change: encoding, line ends and "
        "mode stay."
    ),
    parameters=(
        _PATH,
        Parameter("old_str", "string", "Text to replace", compat="old_string", required=True),
        Parameter(
            "new_str",
            "string",
            "Text to put there; omit to delete",
            compat="new_string",
            default="",
        ),
        _ALL,
    ),
    handler=str_replace,
    compat=False,
    read_only=False,
    idempotent=False,
)
