"""list_my_suggestions: what became of the caller's own suggestions in the notes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from flashgrep import limits
from flashgrep.notes.access.roles import Author, Role
from flashgrep.tools.dispatch.call import Answer, fitting, json_answer, json_room
from flashgrep.tools.dispatch.spec import Parameter, ToolSpec
from flashgrep.tools.verbs.suggestions import described_comments

if TYPE_CHECKING:
    from flashgrep.notes.review.review import OwnPage, OwnQuery
    from flashgrep.tools.dispatch.call import Call
    from flashgrep.tools.dispatch.spec import Arguments

_STATES = ("pending", "accepted", "rejected", "edited", "withdrawn", "gone")


def list_my_suggestions(call: Call, arguments: Arguments) -> Answer:
    """Answer a page of the caller's own suggestions, the newest first."""
    from flashgrep.notes.review.review import OwnQuery  # with the engine of the notes

    note: str | None = arguments.get("note")
    query = OwnQuery(
        note=None if note is None else call.mount.resolve(note, "document"),
        state=arguments.get("state"),
        limit=arguments.get("limit"),
        cursor=arguments.get("cursor"),
    )
    page = _page(call, query)
    rows = _described(call, page)
    few = fitting(rows, json_room(call.output_chars))
    if len(few) < len(rows):
        page = _page(call, replace(query, limit=len(few)))
        few = _described(call, page)
    return json_answer({"suggestions": few, "next": page.next})


def _page(call: Call, query: OwnQuery) -> OwnPage:
    from flashgrep.tools.mounts.notes import notes_of

    author = Author(call.caller.author, call.caller.source)
    review = notes_of(call).notes.review
    return review.own(query, author, call.caller.principal, call.cancelled.is_set)


def _described(call: Call, page: OwnPage) -> list[dict[str, Any]]:
    from flashgrep.system.clock import written
    from flashgrep.tools.mounts.notes import notes_of

    comments = notes_of(call).notes.commenting.on_suggestions(one.id for one in page.suggestions)
    rows = []
    for one in page.suggestions:
        row: dict[str, Any] = {
            "id": one.id,
            "note": call.mount.shown(one.path),
            "state": one.state,
            "time": written(one.made),
            "old": one.old,
            "new": one.new,
        }
        if one.line is not None:
            row["line"] = one.line
        if one.decided is not None:
            row |= {"by": one.by, "decided": written(one.decided), "reason": one.reason}
        if one.text is not None:
            row["text"] = one.text
        rows.append({**row, "comments": described_comments(comments[one.id])})
    return rows


SPEC = ToolSpec(
    name="list_my_suggestions",
    title="List my suggestions",
    description=(
        "Your own suggestions in the notes and what became of them, newest first, as JSON: "
        "suggestions (id, note, state, time, old, new, comments; line while pending; by, decided "
        "and reason once decided; text if a person accepted a different text), next (the cursor of "
        "the next page, or null). State is pending, accepted, rejected, edited (accepted with a "
        "different text), withdrawn (by you) or gone (its marks were edited away, or its note was "
        "deleted). read lists new decisions at the end of a note."
    ),
    parameters=(
        Parameter("note", "string", "Only those of this note", aliases=("file_path", "path")),
        Parameter("state", "string", "Only those in this state", choices=_STATES),
        Parameter(
            "limit", "integer", "At most this many", default=limits.LISTED_SUGGESTIONS, minimum=1
        ),
        Parameter("cursor", "string", "next from the previous page"),
    ),
    handler=list_my_suggestions,
    toolset="kb",
    role=Role.SUGGEST,
)
