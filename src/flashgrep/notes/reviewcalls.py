"""Reviewing, as `administration` offers it: listing, deciding and undoing, with JSON on both ends.

Who asks is the user whose notes these are, at a terminal: an admin on all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from flashgrep import limits
from flashgrep.errors import Conflict, InvalidParams, NotFound
from flashgrep.notes.access.roles import Principal, Role, everywhere
from flashgrep.notes.review.decide import Action
from flashgrep.notes.review.review import Outcome, Query, Review
from flashgrep.notes.suggestions.pending import Found
from flashgrep.system.clock import milliseconds, moment

_OWNER: Final = "owner"
"""Who decides where nobody said who."""


def suggestions(
    review: Review,
    note: str | None = None,
    author: str | None = None,
    older_than: str | None = None,
    newer_than: str | None = None,
    cursor: str | None = None,
) -> dict[str, Any]:
    """A page of what is pending, the oldest first; times as `clock` reads them."""
    now = milliseconds()
    query = Query(
        note=note.removeprefix("kb://") if note else None,
        author=author or None,
        older_than=moment("older_than", older_than, now) if older_than else None,
        newer_than=moment("newer_than", newer_than, now) if newer_than else None,
        limit=limits.LISTED_SUGGESTIONS_MOST,
        cursor=cursor,
    )
    page = review.suggestions(query, everywhere(_OWNER, Role.ADMIN))
    return {"suggestions": [_shown(one) for one in page.suggestions], "next": page.next}


def decide(review: Review, ids: Sequence[str], action: str, by: str = "") -> dict[str, Any]:
    """Accept or reject; a result for each id."""
    if not ids or not all(isinstance(one, str) for one in ids):
        raise InvalidParams("ids must be a list of ids of suggestions, at least one")
    try:
        chosen = Action(action)
    except ValueError:
        raise InvalidParams(f"action is {action!r}; it must be accept or reject") from None
    outcomes = review.decide(ids, chosen, everywhere(by or _OWNER, Role.ADMIN), by or _OWNER)
    return {"results": [_told(one) for one in outcomes]}


def undo(review: Review, decisions: Sequence[int], by: str = "") -> dict[str, Any]:
    """Bring decided suggestions back; a result for each decision."""
    if not decisions or not all(type(one) is int for one in decisions):
        raise InvalidParams("decisions must be a list of numbers of decisions, at least one")
    who = everywhere(by or _OWNER, Role.ADMIN)
    return {"results": [_undone(review, number, who) for number in decisions]}


def _undone(review: Review, number: int, who: Principal) -> dict[str, Any]:
    try:
        row = review.undo(number, who)
    except (Conflict, NotFound) as error:
        return {"decision": number, "status": error.code, "message": error.message}
    return {
        "decision": number,
        "status": "done",
        "message": "pending again",
        "id": row.suggestion,
        "action": row.action.value,
        "by": row.by,
        "time": row.time,
    }


def _shown(one: Found) -> dict[str, Any]:
    return {
        "id": one.id,
        "note": one.path,
        "line": one.line,
        "author": one.author,
        "time": one.time,
        "old": one.old,
        "new": one.new,
        "context": {"before": one.before, "after": one.after},
    }


def _told(one: Outcome) -> dict[str, Any]:
    told: dict[str, Any] = {"id": one.id, "status": one.status.value, "message": one.message}
    if one.decided:
        row = one.decided
        told |= {"decision": row.id, "action": row.action.value, "by": row.by, "time": row.time}
    return told
