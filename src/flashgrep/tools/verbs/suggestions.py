"""list_suggestions and decide_suggestions: what is proposed in the notes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from flashgrep import limits
from flashgrep.errors import InvalidParams
from flashgrep.notes.access.roles import Role
from flashgrep.system.clock import milliseconds
from flashgrep.tools.dispatch.call import Answer, fitting, json_answer, json_room
from flashgrep.tools.dispatch.spec import Parameter, ToolSpec

if TYPE_CHECKING:
    from flashgrep.notes.review.review import Query, StepResult
    from flashgrep.notes.suggestions.pending import ListedSuggestion
    from flashgrep.tools.dispatch.call import Call
    from flashgrep.tools.dispatch.spec import Arguments


def list_suggestions(call: Call, arguments: Arguments) -> Answer:
    """Answer a page of suggestions, the oldest first."""
    from flashgrep.tools.mounts.notes import notes_of  # with the engine of the notes

    review = notes_of(call).notes.review
    query = _query(call, arguments)
    page = review.suggestions(query, call.caller.principal, call.cancelled.is_set)
    shown = _described_suggestions(call, page.suggestions)
    few = fitting(shown, json_room(call.output_chars))
    if len(few) < len(shown):
        page = review.suggestions(replace(query, limit=len(few)), call.caller.principal)
        few = _described_suggestions(call, page.suggestions)
    return json_answer({"suggestions": few, "next": page.next})


def _query(call: Call, arguments: Arguments) -> Query:
    from flashgrep.notes.review.review import Query
    from flashgrep.system.clock import moment

    now = milliseconds()
    note: str | None = arguments.get("note")
    older, newer = arguments.get("older_than"), arguments.get("newer_than")
    return Query(
        note=None if note is None else call.mount.resolve(note, "document"),
        author=arguments.get("author"),
        folder=arguments.get("folder"),
        older_than=None if older is None else moment("older_than", older, now),
        newer_than=None if newer is None else moment("newer_than", newer, now),
        limit=arguments.get("limit"),
        cursor=arguments.get("cursor"),
    )


def _described_suggestions(
    call: Call, suggestions: Sequence[ListedSuggestion]
) -> list[dict[str, Any]]:
    from flashgrep.tools.mounts.notes import notes_of

    said = notes_of(call).notes.commenting.on_suggestions(one.id for one in suggestions)
    return [
        _described_suggestion(call, found) | {"comments": described_comments(said[found.id])}
        for found in suggestions
    ]


def described_comments(threads: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The comments on a suggestion: who said what, and when."""
    from flashgrep.system.clock import written

    def one(comment: Mapping[str, Any]) -> dict[str, Any]:
        said = {name: comment[name] for name in ("id", "author", "text")}
        return {**said, "time": written(comment["time"])}

    found = []
    for thread in threads:
        row = {**one(thread), "replies": [one(reply) for reply in thread["replies"]]}
        if resolved := thread.get("resolved"):
            row["resolved"] = {"by": resolved["by"], "time": written(resolved["time"])}
        found.append(row)
    return found


def _described_suggestion(call: Call, found: ListedSuggestion) -> dict[str, Any]:
    from flashgrep.notes.suggestions.pending import proposal_digest
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
        "digest": proposal_digest(found.old, found.new),
    }


LIST_SUGGESTIONS = ToolSpec(
    name="list_suggestions",
    title="List suggestions",
    description=(
        "Suggestions awaiting a decision, oldest first, as JSON: suggestions (id, note, line as "
        "read shows it, author, time, old, new, context before and after, digest of old and new, "
        "comments with replies), next (the cursor of the next page, or null). Decide on them with "
        "decide_suggestions."
    ),
    parameters=(
        Parameter("note", "string", "Only those of this note", aliases=("file_path", "path")),
        Parameter("author", "string", "Only those of this author"),
        Parameter("folder", "string", "Only those of notes below this folder"),
        Parameter("older_than", "string", "Only those made before: an age (7d, 12h) or a time"),
        Parameter("newer_than", "string", "Only those made after: an age (7d, 12h) or a time"),
        Parameter(
            "limit", "integer", "At most this many", default=limits.LISTED_SUGGESTIONS, minimum=1
        ),
        Parameter("cursor", "string", "next from the previous page"),
    ),
    handler=list_suggestions,
    toolset="kb",
    role=Role.WRITE,
)


# ── decide suggestions ───────────────────────────────────────────────────────────────────────────
# decide_suggestions: accept or reject what is proposed in the notes.


def decide_suggestions(call: Call, arguments: Arguments) -> Answer:
    """Decide each suggestion; one that was decided before stays as it was."""
    from flashgrep.notes.document.text import with_lf
    from flashgrep.notes.review.verdict import verdict_named
    from flashgrep.tools.mounts.notes import notes_of  # with the engine of the notes

    ids: list[str] = arguments.get("ids")
    if not ids:
        raise InvalidParams("ids must name at least one suggestion; list_suggestions lists them")
    wanted = list(dict.fromkeys(ids))
    if len(wanted) > limits.DECISIONS_A_JOB:
        raise InvalidParams(f"{len(wanted)} ids; decide at most {limits.DECISIONS_A_JOB} at once")
    review, caller = notes_of(call).notes.review, call.caller
    text = arguments.get("text")
    verdict = verdict_named(
        arguments.text("action"),
        arguments.get("reason"),
        None if text is None else with_lf(text),
        caller.source,
        arguments.get("expected"),
    )
    outcomes: dict[str, StepResult] = {}
    for decided in review.decide_each_note(
        wanted, verdict, caller.principal, caller.author, call.cancelled.is_set
    ):
        outcomes |= decided
        call.report(len(outcomes), len(wanted), "deciding")
    return _answer([outcomes[name] for name in wanted])


def _answer(outcomes: list[StepResult]) -> Answer:
    """A result for each id; of very many only those that are worth a look."""
    done = [one for one in outcomes if one.status == "done"]
    shown = outcomes
    summary: dict[str, Any] = {"decided": len(done)}
    if len(outcomes) > limits.DECISIONS_AT_ONCE:
        failed = [one for one in outcomes if one.status != "done"]
        shown = failed[: limits.DECISIONS_AT_ONCE]
        summary |= {"failed": len(failed), "results_are": "of those that were not decided"}
    return json_answer({**summary, "results": [_described_result(one) for one in shown]})


def _described_result(outcome: StepResult) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": outcome.id,
        "status": str(outcome.status),
        "message": outcome.message,
    }
    if outcome.decided is not None:
        row["decision"] = outcome.decided.id
        row["action"] = str(outcome.decided.action)
        row["outcome"] = str(outcome.decided.outcome)
        row["by"] = outcome.decided.by
        if outcome.decided.reason is not None:
            row["reason"] = outcome.decided.reason
    return row


DECIDE_SUGGESTIONS = ToolSpec(
    name="decide_suggestions",
    title="Decide suggestions",
    description=(
        "Accept or reject suggestions by id (see list_suggestions), as JSON: decided (how many), "
        "results (id, status, message, and the decision that counts). Status is done, "
        "already_decided (the first decision counts), gone (its marks were edited away by hand), "
        "changed (it is no longer what was expected; it stays pending), "
        "refused (the remaining text would become a mark that nobody made; it stays pending), "
        "not_found or forbidden. Accepting leaves the new text, rejecting the old one; reason "
        "tells the author why, text is accepted instead of the new text. Above "
        f"{limits.DECISIONS_AT_ONCE} ids only results other than done are listed."
    ),
    parameters=(
        Parameter("ids", "strings", "Ids of suggestions", required=True),
        Parameter(
            "action", "string", "What becomes of them", required=True, choices=("accept", "reject")
        ),
        Parameter("reason", "string", "With reject: the reason, for whoever suggested it"),
        Parameter(
            "text", "string", "With accept and one id: what to accept instead of the new text"
        ),
        Parameter(
            "expected",
            "strings_by_name",
            "The listed digest of each suggestion, by id: one that has changed stays pending",
        ),
    ),
    handler=decide_suggestions,
    toolset="kb",
    role=Role.WRITE,
    read_only=False,
)
