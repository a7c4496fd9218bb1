"""Brings a decided suggestion back into the text as it is now.

Each cut goes back between the two characters it was between, or beside the one that is left; it
stays with the text that the mark held. What the decision put in is taken out, as far as it is still
there; what others have typed beside it stays. If neither character is left, or another mark is
there now, the undo is refused. `undo_each` goes through many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from flashgrep.errors import AccessDenied, Cancelled, Conflict, NotFound
from flashgrep.notes.document.anchors import Anchor
from flashgrep.notes.document.note import Amendment, NoteRecords
from flashgrep.notes.library import Library
from flashgrep.notes.markup import critic
from flashgrep.notes.markup.critic import Span
from flashgrep.notes.review import decide
from flashgrep.notes.review.decide import Cut
from flashgrep.notes.review.decision_log import Decided
from flashgrep.notes.review.step_result import DecisionStatus, StepResult
from flashgrep.notes.suggestions import pending

UNDONE_A_STEP: Final = 25
"""Decisions that are undone between two pieces of news, each in a turn of its own."""


def undo_each(
    undo: Callable[[int], Decided], decisions: Sequence[int], is_cancelled: Callable[[], bool]
) -> Iterator[dict[str, StepResult]]:
    """Undo decisions, the last one first; those that cannot be undone are skipped and reported."""
    left = list(reversed(decisions))
    for at in range(0, len(left), UNDONE_A_STEP):
        if is_cancelled():
            raise Cancelled("stopped between two decisions; what was undone stays so")
        yield {str(number): _undone(undo, number) for number in left[at : at + UNDONE_A_STEP]}


def _undone(undo: Callable[[int], Decided], number: int) -> StepResult:
    name = str(number)
    try:
        done = undo(number)
        return StepResult(name, DecisionStatus.DONE, "undone", decided=done)
    except NotFound as error:
        return StepResult(name, DecisionStatus.NOT_FOUND, error.message)
    except AccessDenied as error:
        return StepResult(name, DecisionStatus.FORBIDDEN, error.message)
    except UndoneBefore as error:
        return StepResult(name, DecisionStatus.ALREADY, error.message)
    except Conflict as error:
        return StepResult(name, DecisionStatus.GONE, error.message)


class UndoneBefore(Conflict):
    """Somebody has already undone the decision."""


def restoration(
    library: Library, row: Decided
) -> Callable[[str, Mapping[str, NoteRecords]], Amendment]:
    """What brings the suggestion of a decision back, to be planned on the note as it is."""

    def plan(text: str, besides: Mapping[str, NoteRecords]) -> Amendment:
        cuts, put = _moved(library, row, len(text)), _left_of(library, row)
        spans = [span for one in pending.recorded(besides) for span in one.spans]
        for mark in critic.read(text, spans).marks:
            is_inside = any(mark.start < cut.at < mark.end for cut in cuts)
            if is_inside or any(start < mark.end and mark.start < end for start, end in put):
                raise Conflict(
                    f"another mark is now where suggestion {row.suggestion} was; "
                    "decide that one first"
                )
        restored = decide.undo(text, cuts, row.marks, put)
        own = len(restored.spans) - len(row.comments)
        records = {row.suggestion: NoteRecords(row.record, restored.spans[:own])}
        for one, span in zip(row.comments, restored.spans[own:], strict=True):
            records[one.id] = NoteRecords(one.record, (span,))
        return Amendment(restored.splices, records, keeps_version=row.text is not None)

    return plan


def _moved(library: Library, row: Decided, end: int) -> list[Cut]:
    """The cuts of a decision where they belong in the text as it is now."""
    anchors = library.anchors(row.note)
    closing = {b for _, (b, j) in row.marks if j == len(row.cuttings[b].cut.removed)}
    moved = []
    for number, one in enumerate(row.cuttings):
        before = anchors.find(one.before) if one.before else None
        behind = anchors.find(one.behind) if one.behind else None
        left = before + 1 if before is not None else 0 if one.before is None else None
        right = behind if behind is not None else end if one.behind is None else None
        # What closes a mark stays with the text before it, what opens one with the text after it.
        first, second = (left, right) if number in closing else (right, left)
        place = first if first is not None else second
        if place is None:
            raise Conflict(
                f"the text around suggestion {row.suggestion} is gone; "
                "restore an earlier version of the note instead"
            )
        moved.append(Cut(place, one.cut.removed))
    return moved


def _left_of(library: Library, row: Decided) -> list[Span]:
    """Where that is which a decision has put in, as far as it is still there."""
    if not row.put:
        return []
    with library.looking(row.note) as anchors:
        return sorted(
            span
            for run in row.put
            for span in anchors.left_of(Anchor(run.client, run.clock), run.units)
        )
