"""str_replace: replace a string that stands once, or every one; in a note, suggest that."""

from __future__ import annotations

from flashgrep.tools.answer import Answer
from flashgrep.tools.arguments import Arguments
from flashgrep.tools.editing import Edit, apply_edit
from flashgrep.tools.places import note_path
from flashgrep.tools.registry import Parameter, ToolSpec
from flashgrep.tools.toolbox import Call


def str_replace(call: Call, arguments: Arguments) -> Answer:
    """Replace `old_str` by `new_str`."""
    asked = Edit(
        old=arguments.text("old_str"),
        new=arguments.text("new_str"),
        replace_all=arguments.get("replace_all"),
        word="old_str",
        new_word="new_str",
        fold_quotes=False,
        needs_read=call.settings.require_view_before_edit == "true",
    )
    path = arguments.text("path")
    note = note_path(call, path)
    if note is not None:
        from flashgrep.tools.note_editing import suggest_edit  # with the engine of the notes

        return suggest_edit(call, note, asked)
    return apply_edit(call, path, asked)


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
    notes=(
        "On a note (kb://Folder/Note.md) the change becomes a suggestion that people accept or "
        "reject, and view shows it as made; there the style of quotes does not matter either."
    ),
    handler=str_replace,
    compat=False,
    read_only=False,
    destructive=True,
    idempotent=False,
)
