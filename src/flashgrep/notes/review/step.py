"""The decisions on one note as one transaction on the thread of the notes.

Deciding thousands of suggestions takes a second, mostly to work out what to do. That part can be
prepared beforehand, in the caller's thread. If the note changes meanwhile, it is worked out again
in the transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from flashgrep.errors import (
    Conflict,
    FlashgrepError,
    NotFound,
)
from flashgrep.notes.access.roles import Principal, Role
from flashgrep.notes.document.anchors import Anchor
from flashgrep.notes.document.loading import Published, Quarantined
from flashgrep.notes.document.note import CONTENTS, Amendment, NoteRecords
from flashgrep.notes.document.order import Run, TextOrder, order_of
from flashgrep.notes.document.updates import Name, parse
from flashgrep.notes.library import Library
from flashgrep.notes.markup.critic import WIDTH, Mark, Span
from flashgrep.notes.review import decide
from flashgrep.notes.review.decide import Cut, Edge
from flashgrep.notes.review.deciding_many import Deciding
from flashgrep.notes.review.decision_log import Cutting, Decided, Decisions, LeftComment
from flashgrep.notes.review.step_result import (
    DecisionStatus,
    StepResult,
    failed_result,
    not_found_result,
    past,
)
from flashgrep.notes.review.verdict import Action, ProposalChanged, Verdict, verdict_of
from flashgrep.notes.suggestions import comments
from flashgrep.notes.suggestions import pending as pending_suggestions
from flashgrep.notes.suggestions.comments import ThreadComment
from flashgrep.notes.suggestions.pending import pending

if TYPE_CHECKING:
    from flashgrep.notes.knowledge_base import KnowledgeBase


NameOf = Callable[[int], Name | Anchor | None]
"""What a character of a text is called."""


@dataclass(frozen=True, slots=True)
class _DecisionRow:
    """What the log keeps of one decision."""

    record: NoteRecords
    change: tuple[str, str]
    cuttings: tuple[Cutting, ...]
    marks: tuple[tuple[Edge, Edge], ...]
    text: str | None = None
    put: tuple[Run, ...] = ()
    comments: tuple[LeftComment, ...] = ()


@dataclass(frozen=True, slots=True)
class _Prepared:
    """What was worked out before it is done."""

    note: Published
    """What it was worked out for."""
    taken: int
    """How many can be decided together."""
    refused: Mapping[str, Conflict]
    rows: Mapping[str, _DecisionRow]
    change: Amendment


class Step:
    """The suggestions of one note, all decided alike."""

    def __init__(
        self,
        kb: KnowledgeBase,
        note: str,
        decided: Verdict | Action,
        who: Principal,
        by: str,
        now: int,
    ) -> None:
        self._decisions: Decisions = kb.decisions
        self._note = note
        self._verdict = verdict_of(decided)
        self._action = self._verdict.action
        self._who = who
        self._by = by
        self._now = now
        self._outcomes: dict[str, StepResult] = {}
        self._prepared: _Prepared | None = None

    def prepare(self, kb: KnowledgeBase, names: Sequence[str]) -> None:
        """Work out what `run` will do; for any thread but that of the notes."""

        def look(library: Library) -> tuple[Published, dict[str, NoteRecords], bytes] | None:
            if not self._note or self._refusal(library):
                return None
            found = library.read(self._note)
            besides, whole = library.records(self._note), library.whole(self._note)
            return found, besides, whole

        try:
            found = kb.ask(look)
            if found is None:
                return
            note, besides, whole = found
            if order := order_of(parse(whole), CONTENTS, note.text):
                self._prepared = self._worked_out(note, besides, names, order, order.name)
        except FlashgrepError:
            return  # `run` reports it

    def _worked_out(
        self,
        note: Published,
        besides: Mapping[str, NoteRecords],
        names: Sequence[str],
        order: TextOrder | None,
        name_of: NameOf,
    ) -> _Prepared:
        """All that can be decided together, from the first one on."""
        text = note.text
        many = Deciding(text, pending_suggestions.recorded(besides), self._verdict)
        taken = many.take(names)
        rows = {
            name: _DecisionRow(
                record=besides[name],
                change=made.change,
                cuttings=_cuttings(name_of, made.cuts, made.beside),
                marks=made.marks,
                comments=_left(text, besides, made.comments),
            )
            for name, made in many.made.items()
        }
        said = (one.id for row in rows.values() for one in row.comments)
        return _Prepared(
            note=note,
            taken=taken,
            refused=many.refused,
            rows=rows,
            change=Amendment(many.splices, dict.fromkeys([*rows, *said]), order=order),
        )

    def run(self, library: Library, names: Sequence[str]) -> dict[str, StepResult]:
        """An outcome for each name, as if they were decided one after the other."""
        if not self._note:
            return {name: self._unknown(library, name) for name in names}
        if refused := self._refusal(library):
            status, message = refused
            if status is DecisionStatus.NOT_FOUND:
                return {name: not_found_result(name) for name in names}
            return {name: StepResult(name, status, message) for name in names}
        try:
            with library.together():
                left = list(names)
                if self._verdict.is_for_one:
                    self._one(library, left.pop(0))
                while left:
                    left = left[self._many(library, left) :]
                    if left:
                        self._one(library, left.pop(0))
        except Quarantined as error:
            return {
                name: StepResult(name, DecisionStatus.NOT_FOUND, error.message) for name in names
            }
        return {name: self._outcomes[name] for name in names}

    def _many(self, library: Library, names: Sequence[str]) -> int:
        """Decide all that can be decided together, from the first one on; gives how many."""
        done: list[_Prepared] = []

        def plan(text: str, besides: Mapping[str, NoteRecords]) -> Amendment | None:
            prepared, self._prepared = self._prepared, None
            now = library.read(self._note)
            if not prepared or prepared.note != now:
                with library.looking(self._note) as anchors:
                    prepared = self._worked_out(now, besides, names, None, anchors.at)
            done.append(prepared)
            return prepared.change if prepared.rows else None

        library.amend(self._note, plan, self._by)
        (made,) = done
        for name in names[: made.taken]:
            if name in made.rows:
                self._log(name, made.rows[name])
            elif refused := made.refused.get(name):
                self._outcomes[name] = failed_result(name, refused)
            else:
                self._outcomes[name] = self._unknown(library, name)
        return made.taken

    def _one(self, library: Library, name: str) -> None:
        """One suggestion. Only the plan refuses; a storage error ends the whole transaction."""
        made: list[tuple[decide.Decision, _DecisionRow]] = []
        failed: list[FlashgrepError] = []

        def plan(text: str, besides: Mapping[str, NoteRecords]) -> Amendment | None:
            record = besides.get(name)
            if record is None or not pending_suggestions.is_suggestion(record.value):
                return None
            read = pending(text, pending_suggestions.recorded(besides))
            said = comments.on_each(read).get(name, [])
            own = next(one for one in read.suggestions if one.id == name)
            change = read.change(own)
            others = [span for one in read.records for span in one.spans]
            try:
                self._check_seen(name, change, text, record, others)
                decision = self._decision(text, record, others, [one.mark for one in said])
            except Conflict as error:
                failed.append(error)
                return None
            row = _DecisionRow(
                record=record,
                change=change,
                cuttings=(),
                marks=decision.marks,
                text=self._verdict.text if decision.is_edited else None,
                comments=_left(text, besides, said),
            )
            made.append((decision, row))
            gone = dict.fromkeys([name, *(one.id for one in row.comments)])
            return Amendment(decision.splices, gone, keeps_version=decision.is_edited)

        library.amend(self._note, plan, self._by, source=self._verdict.source)
        if failed:
            self._outcomes[name] = failed_result(name, failed[0])
        elif not made:
            self._outcomes[name] = self._unknown(library, name)
        else:
            decision, row = made[0]
            end = len(decision.text)
            beside = [
                (cut.at - 1 if cut.at > 0 else None, cut.at if cut.at < end else None)
                for cut in decision.cuts
            ]
            with library.looking(self._note) as anchors:
                cuttings = _cuttings(anchors.at, decision.cuts, beside)
                put = tuple(run for span in decision.put for run in anchors.runs(*span))
            self._log(name, replace(row, cuttings=cuttings, put=put))

    def _check_seen(
        self,
        name: str,
        change: tuple[str, str],
        text: str,
        record: NoteRecords,
        others: Sequence[Span],
    ) -> None:
        """Refuse a suggestion that is not what was seen; one without marks is gone, not changed."""
        try:
            self._verdict.check_seen(name, *change)
        except ProposalChanged:
            decide.marks_of(text, record.spans, others)
            raise

    def _decision(
        self, text: str, record: NoteRecords, others: Sequence[Span], said: Sequence[Mark]
    ) -> decide.Decision:
        """What carries the verdict out."""
        if self._verdict.text is None:
            return decide.decide(text, record.spans, self._action, others, said)
        return decide.accept_as(text, record.spans, self._verdict.text, others, said)

    def _log(self, name: str, row: _DecisionRow) -> None:
        old, new = row.change
        decided = self._decisions.add(
            Decided(
                id=0,
                suggestion=name,
                note=self._note,
                action=self._action,
                by=self._by,
                time=self._now,
                record=row.record.value,
                old=old,
                new=new,
                cuttings=row.cuttings,
                marks=row.marks,
                reason=self._verdict.reason,
                text=row.text,
                put=row.put,
                comments=row.comments,
            )
        )
        self._outcomes[name] = StepResult(
            id=name, status=DecisionStatus.DONE, message=past(decided), decided=decided
        )

    def _refusal(self, library: Library) -> tuple[DecisionStatus, str] | None:
        """Why none of the note's suggestions may be decided."""
        try:
            path = library.catalogue.entry(self._note).path
        except NotFound:
            path = None
        if path is None or not self._who.may(Role.READ, path):
            return DecisionStatus.NOT_FOUND, ""
        if not self._who.may(Role.WRITE, path):
            return DecisionStatus.FORBIDDEN, f"deciding needs the role write on {path}"
        return None

    def _unknown(self, library: Library, name: str) -> StepResult:
        """Not pending: decided before, or never made."""
        row = self._decisions.latest(name)
        if row is None or not self._who.may(Role.READ, path_of(library, row.note)):
            return not_found_result(name)
        message = f"{name} was {past(row)} by {row.by} already; the first decision counts"
        return StepResult(id=name, status=DecisionStatus.ALREADY, message=message, decided=row)


def path_of(library: Library, note: str) -> str:
    """Where a note is, or was before it went to the trash."""
    entry = library.catalogue.entry(note)
    return entry.path or entry.last_path or ""


def _left(
    text: str, besides: Mapping[str, NoteRecords], said: Iterable[ThreadComment]
) -> tuple[LeftComment, ...]:
    """Comments as the log keeps them."""
    return tuple(
        LeftComment(
            one.record.id,
            besides[one.record.id].value,
            text[one.mark.body : one.mark.end - WIDTH],
        )
        for one in said
    )


def _cuttings(
    name_of: NameOf,
    cuts: Iterable[Cut],
    beside: Iterable[tuple[int | None, int | None]],
) -> tuple[Cutting, ...]:
    """Cuts with the anchors of the characters beside them."""

    def named(place: int | None) -> Anchor | None:
        name = name_of(place) if place is not None else None
        return Anchor(*name) if name else None

    return tuple(
        Cutting(cut, named(before), named(behind))
        for cut, (before, behind) in zip(cuts, beside, strict=True)
    )
