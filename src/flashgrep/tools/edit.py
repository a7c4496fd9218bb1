"""edit: replace a string in a file the caller has read; in a note, suggest that."""

from __future__ import annotations

from flashgrep.tools.answer import Answer
from flashgrep.tools.arguments import Arguments
from flashgrep.tools.editing import Edit, apply_edit
from flashgrep.tools.places import note_path
from flashgrep.tools.registry import Parameter, ToolSpec
from flashgrep.tools.toolbox import Call


def edit(call: Call, arguments: Arguments) -> Answer:
    """Replace `old_string` by `new_string`."""
    asked = Edit(
        old=arguments.text("old_string"),
        new=arguments.text("new_string"),
        replace_all=arguments.get("replace_all"),
        word="old_string",
        new_word="new_string",
        fold_quotes=True,
        needs_read=call.settings.require_view_before_edit != "false",
    )
    path = arguments.text("path")
    note = note_path(call, path)
    if note is not None:
        from flashgrep.tools.note_editing import suggest_edit  # with the engine of the notes

        return suggest_edit(call, note, asked)
    return apply_edit(call, path, asked)


SPEC = ToolSpec(
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
            notes_help="Path of the note, such as Folder/Note.md",
        ),
        Parameter("old_string", "string", "Text to replace", aliases=("old_str",), required=True),
        Parameter("new_string", "string", "Text to put there", aliases=("new_str",), required=True),
        Parameter("replace_all", "boolean", "Replace every occurrence", default=False),
    ),
    notes=(
        "On a note (kb://Folder/Note.md) it is the same; there the change becomes a suggestion "
        "that people accept or reject, and read shows it as made."
    ),
    notes_alone=(
        "Replace old_string by new_string in a note you have read. old_string must match what read "
        "shows exactly, whitespace included (the style of quotes aside), and stand there once, "
        "unless replace_all is true. An empty new_string deletes it. The change becomes a "
        "suggestion that people accept or reject, and read shows it as made."
    ),
    notes_title="Suggest an edit of a note",
    handler=edit,
    normal=False,
    read_only=False,
    destructive=True,
    idempotent=False,
)
