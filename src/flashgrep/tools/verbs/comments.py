"""reply_comment: an answer to what a person says about a note or a suggestion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flashgrep.notes.access.roles import Author, Role
from flashgrep.tools.dispatch.call import Answer, json_answer
from flashgrep.tools.dispatch.spec import Parameter, ToolSpec

if TYPE_CHECKING:
    from flashgrep.tools.dispatch.call import Call
    from flashgrep.tools.dispatch.spec import Arguments


def reply_comment(call: Call, arguments: Arguments) -> Answer:
    """Add a reply at the end of a comment's thread, unless it is there already."""
    from flashgrep.notes.suggestions.propose import Markup
    from flashgrep.tools.mounts.notes import notes_of  # with the engine of the notes

    caller = call.caller
    said = notes_of(call).notes.commenting.reply(
        arguments.text("id"),
        arguments.text("text"),
        caller.principal,
        Author(caller.author, caller.source),
        markup=Markup(call.settings.kb_markup),
    )
    return json_answer(
        {
            "id": said.id,
            "comment": said.thread["id"],
            "note": call.mount.shown(said.thread["note"]),
            "line": said.thread["line"],
            "status": "already_there" if said.is_repeated else "added",
        }
    )


REPLY_COMMENT = ToolSpec(
    name="reply_comment",
    title="Reply to a comment",
    description=(
        "Answer a comment in a note. read lists the open comments of a note with their ids, under "
        "[Comments]; the id of the comment or of any reply in its thread will do. The reply is "
        "plain text, added to the thread in your name; people see it beside the passage or "
        "suggestion that the thread is about, and resolve the thread. As JSON: id (of the reply), "
        "comment (the first of the thread), note, line, status (added, or already_there: you have "
        "already said this in the thread, so nothing was added)."
    ),
    parameters=(
        Parameter("id", "string", "Id of the comment, such as c_0123456789abcdef", required=True),
        Parameter("text", "string", "What to say, without CriticMarkup delimiters", required=True),
    ),
    handler=reply_comment,
    toolset="kb",
    role=Role.SUGGEST,
    read_only=False,
)
