"""decide_suggestions: accept or reject what is proposed in the notes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flashgrep.errors import InvalidParams
from flashgrep.kb.roles import Role
from flashgrep.tools import places
from flashgrep.tools.answer import Answer, json_answer
from flashgrep.tools.registry import Parameter, ToolSpec

if TYPE_CHECKING:
    from flashgrep.kb.reviewing import Outcome
    from flashgrep.tools.arguments import Arguments
    from flashgrep.tools.toolbox import Call


def decide_suggestions(call: Call, arguments: Arguments) -> Answer:
    """Decide each suggestion; one that was decided before stays as it was."""
    from flashgrep.kb.deciding import Action

    ids: list[str] = arguments.get("ids")
    if not ids:
        raise InvalidParams("ids must name at least one suggestion; list_suggestions lists them")
    caller = call.caller
    action = Action(arguments.text("action"))
    outcomes = places.mounted(call).review.decide(ids, action, caller.principal, caller.author)
    done = [one for one in outcomes if one.status == "done"]
    return json_answer({"decided": len(done), "results": [_described(one) for one in outcomes]})


def _described(outcome: Outcome) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": outcome.id,
        "status": str(outcome.status),
        "message": outcome.message,
    }
    if outcome.decided is not None:
        row["decision"] = outcome.decided.id
        row["action"] = str(outcome.decided.action)
        row["by"] = outcome.decided.by
    return row


SPEC = ToolSpec(
    name="decide_suggestions",
    title="Decide suggestions",
    description=(
        "Accept or reject suggestions by id (see list_suggestions), as JSON: decided (how many "
        "were), results (id, status, message, and the decision that stands). Status is done, "
        "already_decided (the first decision counts), gone (its marks were edited away by hand), "
        "not_found or forbidden. Accepting leaves the new text, rejecting the old one."
    ),
    parameters=(
        Parameter("ids", "strings", "Ids of suggestions", required=True),
        Parameter(
            "action",
            "string",
            "What becomes of them",
            required=True,
            choices=("accept", "reject"),
        ),
    ),
    handler=decide_suggestions,
    toolset="kb",
    role=Role.WRITE,
    read_only=False,
    destructive=True,
)
