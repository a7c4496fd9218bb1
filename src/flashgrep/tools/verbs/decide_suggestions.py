"""decide_suggestions: accept or reject what is proposed in the notes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flashgrep import limits
from flashgrep.errors import InvalidParams
from flashgrep.notes.access.roles import Role
from flashgrep.tools.dispatch.answer import Answer, json_answer
from flashgrep.tools.dispatch.spec import Parameter, ToolSpec

if TYPE_CHECKING:
    from flashgrep.notes.review.review import Outcome
    from flashgrep.tools.dispatch.arguments import Arguments
    from flashgrep.tools.dispatch.toolbox import Call


def decide_suggestions(call: Call, arguments: Arguments) -> Answer:
    """Decide each suggestion; one that was decided before stays as it was."""
    from flashgrep.notes.review.decide import Action
    from flashgrep.tools.mounts.notes import notes_of  # with the engine of the notes

    ids: list[str] = arguments.get("ids")
    if not ids:
        raise InvalidParams("ids must name at least one suggestion; list_suggestions lists them")
    wanted = list(dict.fromkeys(ids))
    if len(wanted) > limits.DECISIONS_A_JOB:
        raise InvalidParams(f"{len(wanted)} ids; decide at most {limits.DECISIONS_A_JOB} at once")
    review, caller = notes_of(call).notes.review, call.caller
    action = Action(arguments.text("action"))
    outcomes: dict[str, Outcome] = {}
    for decided in review.decide_each_note(
        wanted, action, caller.principal, caller.author, lambda: bool(call.cancelled)
    ):
        outcomes |= decided
        call.report(len(outcomes), len(wanted), "deciding")
    return _answer([outcomes[name] for name in wanted])


def _answer(outcomes: list[Outcome]) -> Answer:
    """A result for each id; of very many only those that are worth a look."""
    done = [one for one in outcomes if one.status == "done"]
    shown = outcomes
    told: dict[str, Any] = {"decided": len(done)}
    if len(outcomes) > limits.DECISIONS_AT_ONCE:
        failed = [one for one in outcomes if one.status != "done"]
        shown = failed[: limits.DECISIONS_AT_ONCE]
        told |= {"failed": len(failed), "results_are": "of those that were not decided"}
    return json_answer({**told, "results": [_described(one) for one in shown]})


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
        "not_found or forbidden. Accepting leaves the new text, rejecting the old one. Above "
        f"{limits.DECISIONS_AT_ONCE} ids only results other than done are listed."
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
