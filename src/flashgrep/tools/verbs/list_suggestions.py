"""list_suggestions: what is proposed in the notes, for those who may decide."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from flashgrep import limits
from flashgrep.notes.access.roles import Role
from flashgrep.system.clock import milliseconds
from flashgrep.tools.dispatch.answer import Answer, fitting, json_answer, json_room
from flashgrep.tools.dispatch.spec import Parameter, ToolSpec

if TYPE_CHECKING:
    from flashgrep.notes.review.review import Query
    from flashgrep.notes.suggestions.pending import Found
    from flashgrep.tools.dispatch.arguments import Arguments
    from flashgrep.tools.dispatch.toolbox import Call


def list_suggestions(call: Call, arguments: Arguments) -> Answer:
    """Answer a page of suggestions, the oldest first."""
    from flashgrep.tools.mounts.notes import notes_of  # with the engine of the notes

    review = notes_of(call).notes.review
    query = _query(call, arguments)
    page = review.suggestions(query, call.caller.principal, lambda: bool(call.cancelled))
    shown = [_described(call, found) for found in page.suggestions]
    few = fitting(shown, json_room(call.output_chars))
    if len(few) < len(shown):
        page = review.suggestions(replace(query, limit=len(few)), call.caller.principal)
        few = [_described(call, found) for found in page.suggestions]
    return json_answer({"suggestions": few, "next": page.next})


def _query(call: Call, arguments: Arguments) -> Query:
    from flashgrep.notes.review.review import Query
    from flashgrep.system.clock import moment

    now = milliseconds()
    note: str | None = arguments.get("note")
    times = {name: arguments.get(name) for name in ("older_than", "newer_than")}
    return Query(
        note=None if note is None else call.mount.resolve(note, "document"),
        author=arguments.get("author"),
        **{name: moment(name, text, now) for name, text in times.items() if text is not None},
        limit=arguments.get("limit"),
        cursor=arguments.get("cursor"),
    )


def _described(call: Call, found: Found) -> dict[str, Any]:
    from flashgrep.system.clock import written

    return {
        "id": found.id,
        "note": call.mount.shown(found.path),
        "line": found.line,
        "author": found.author,
        "time": written(found.time),
        "old": found.old,
        "new": found.new,
        "context": {"before": found.before, "after": found.after},
    }


SPEC = ToolSpec(
    name="list_suggestions",
    title="List suggestions",
    description=(
        "The suggestions that wait for a decision, oldest first, as JSON: suggestions (id, note, "
        "line as read shows it, author, time, old, new, context before and after), next (the "
        "cursor of the next page, or null). Decide on them with decide_suggestions."
    ),
    parameters=(
        Parameter("note", "string", "Only those of this note", aliases=("file_path", "path")),
        Parameter("author", "string", "Only those of this author"),
        Parameter("older_than", "string", "Only those made before: an age (7d, 12h) or a time"),
        Parameter("newer_than", "string", "Only those made after: an age (7d, 12h) or a time"),
        Parameter(
            "limit",
            "integer",
            "At most this many",
            default=limits.LISTED_SUGGESTIONS,
            minimum=1,
        ),
        Parameter("cursor", "string", "next of the page before"),
    ),
    handler=list_suggestions,
    toolset="kb",
    role=Role.WRITE,
)
