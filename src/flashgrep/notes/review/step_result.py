"""What became of each id of a decision, in the words of an answer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from flashgrep import limits
from flashgrep.errors import FlashgrepError
from flashgrep.notes.review.decide import MakesMark
from flashgrep.notes.review.decision_log import Decided
from flashgrep.notes.review.verdict import Outcome, ProposalChanged
from flashgrep.notes.suggestions.pending import proposal_digest


class DecisionStatus(StrEnum):
    """What became of one id of a decision."""

    DONE = "done"
    ALREADY = "already_decided"
    GONE = "gone"
    CHANGED = "changed"
    REFUSED = "refused"
    """It is still pending: to decide it so would make a mark that nobody made."""
    NOT_FOUND = "not_found"
    FORBIDDEN = "forbidden"


@dataclass(frozen=True, slots=True)
class StepResult:
    """What became of one id; `decided` is the decision that counts, ours or an earlier one."""

    id: str
    status: DecisionStatus
    message: str
    decided: Decided | None = None
    now: tuple[str, str] | None = None
    """What the suggestion deletes and inserts, if not what was expected."""

    def as_json(self) -> dict[str, Any]:
        """As routes and commands shown it."""
        shown: dict[str, Any] = {
            "id": self.id,
            "status": self.status.value,
            "message": self.message,
        }
        if row := self.decided:
            shown |= {
                "decision": row.id,
                "action": row.action.value,
                "outcome": row.outcome.value,
                "by": row.by,
                "time": row.time,
                "reason": row.reason,
                "text": row.text,
            }
        if self.now:
            old, new = self.now
            shown |= {"old": old, "new": new, "digest": proposal_digest(old, new)}
        return shown


def not_found_result(name: str) -> StepResult:
    """An id that belongs to no pending suggestion."""
    shown = name[: limits.QUOTED_CHARS]
    return StepResult(name, DecisionStatus.NOT_FOUND, f"there is no pending suggestion {shown}")


def failed_result(name: str, error: FlashgrepError) -> StepResult:
    """A suggestion that could not be decided as it is now."""
    if isinstance(error, ProposalChanged):
        return StepResult(name, DecisionStatus.CHANGED, error.message, now=error.now)
    is_refused = isinstance(error, MakesMark)
    status = DecisionStatus.REFUSED if is_refused else DecisionStatus.GONE
    return StepResult(name, status, error.message)


def past(row: Decided) -> str:
    """What was done, as a message says it."""
    return "edited and accepted" if row.outcome is Outcome.EDITED else row.outcome.value
