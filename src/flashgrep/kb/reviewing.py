"""Reviewing: what is suggested in all notes, and the decisions on it, which can be undone.

Which suggestions there are is known from one look at each note, and from another at those that
changed since: a list does not load thousands of notes. A decision is made on the thread of the
notes, by id; the first one wins. The change, the end of the suggestion's record and the row in the
log (`decisions`) are one transaction.

An undone decision brings the marks back where the text stands now: each cut is put between the two
characters it was between, or beside the one of them that is left; it stays with the text that the
mark held. Where neither is left, or a mark stands there now, it is refused.

The methods wait for the thread of the notes and are for any other one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

from flashgrep import limits
from flashgrep.errors import AccessDenied, Conflict, FlashgrepError, InvalidParams, NotFound
from flashgrep.kb import critic, deciding, records
from flashgrep.kb.catalogue import Entry
from flashgrep.kb.deciding import Action, Cut
from flashgrep.kb.decisions import Cutting, Decided
from flashgrep.kb.library import Library
from flashgrep.kb.note import Amendment, Beside
from flashgrep.kb.pendinglist import Found, PendingList
from flashgrep.kb.roles import Principal, Role
from flashgrep.kb.suggestion import pending

if TYPE_CHECKING:
    from flashgrep.kb.knowledge_base import KnowledgeBase

ALL_DECISIONS = 2**62


@dataclass(frozen=True, slots=True)
class Query:
    """Which suggestions are asked for; times are milliseconds since 1970."""

    note: str | None = None
    author: str | None = None
    older_than: int | None = None
    newer_than: int | None = None
    limit: int = limits.LISTED_SUGGESTIONS
    cursor: str | None = None
    """`Page.next` of the page before."""


@dataclass(frozen=True, slots=True)
class Page:
    """Some suggestions, the oldest first; `next` is None on the last page."""

    suggestions: tuple[Found, ...]
    next: str | None


class Status(StrEnum):
    """What became of one id of a decision."""

    DONE = "done"
    ALREADY = "already_decided"
    GONE = "gone"
    NOT_FOUND = "not_found"
    FORBIDDEN = "forbidden"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one id; `decided` is the decision that stands, ours or an earlier one."""

    id: str
    status: Status
    message: str
    decided: Decided | None = None


class Review:
    """The suggestions of a knowledge base and the decisions on them."""

    def __init__(
        self, kb: KnowledgeBase, now: Callable[[], int] = lambda: time.time_ns() // 1_000_000
    ) -> None:
        self._kb = kb
        self._now = now
        self._pending = PendingList(kb)
        self._listeners: list[Callable[[Decided], None]] = []
        self._telling = threading.Lock()

    def listen(self, told: Callable[[Decided], None]) -> Callable[[], None]:
        """Be told, in any thread, of decisions and of undone ones; gives the way to end that."""
        self._listeners.append(told)
        return lambda: self._listeners.remove(told)

    # ── listing ─────────────────────────────────────────────────────────────────────────────────

    def suggestions(self, query: Query, who: Principal) -> Page:
        """The suggestions that somebody may see."""
        if not 1 <= query.limit <= limits.LISTED_SUGGESTIONS_MOST:
            raise InvalidParams(
                f"limit is {query.limit}; it must be 1 to {limits.LISTED_SUGGESTIONS_MOST}"
            )
        found = [one for one in self._pending.all() if _is_wanted(one, query, who)]
        found.sort(key=_order)
        if query.cursor is not None:
            after = _cursor(query.cursor)
            found = [one for one in found if _order(one) > after]
        page = tuple(found[: query.limit])
        more = len(found) > len(page)
        return Page(page, f"{page[-1].time}.{page[-1].id}" if more else None)

    def decisions(
        self, who: Principal, count: int = limits.LISTED_SUGGESTIONS, before: int = ALL_DECISIONS
    ) -> list[tuple[str, Decided]]:
        """The newest decisions and the paths of their notes."""

        def job(library: Library) -> list[tuple[str, Decided]]:
            def wanted(note: str) -> bool:
                return who.may(Role.READ, _path(library, note))

            rows = self._kb.decisions.page(count, before, wanted)
            return [(_path(library, row.note), row) for row in rows]

        return self._kb.ask(job)

    # ── deciding ────────────────────────────────────────────────────────────────────────────────

    def decide(
        self, ids: Sequence[str], action: Action, who: Principal, by: str = ""
    ) -> list[Outcome]:
        """Accept or reject suggestions; an outcome for each id, in their order. `by` is logged."""
        wanted = list(dict.fromkeys(ids))
        if len(wanted) > limits.DECISIONS_AT_ONCE:
            raise InvalidParams(f"decide at most {limits.DECISIONS_AT_ONCE} suggestions at once")
        notes = {one.id: one.note for one in self._pending.all()}
        wanted.sort(key=lambda name: notes.get(name, ""))
        outcomes: dict[str, Outcome] = {}
        for note, names in groupby(wanted, key=lambda name: notes.get(name, "")):
            group = list(names)
            for at in range(0, len(group), limits.DECISIONS_A_TURN):
                step = _Step(self, note, action, who, by or who.name)
                job = partial(step.run, names=group[at : at + limits.DECISIONS_A_TURN])
                outcomes |= self._kb.ask(job)
        self._tell([one.decided for one in outcomes.values() if one.status is Status.DONE])
        return [outcomes[name] for name in dict.fromkeys(ids)]

    def undo(self, decision: int, who: Principal, by: str = "") -> Decided:
        """Bring a decided suggestion back; `Conflict` where that was done, or cannot be."""

        def job(library: Library) -> Decided:
            row = self._kb.decisions.get(decision)
            _check_role(library, row, who)
            if row.is_undone:
                raise Conflict(f"decision {decision} was undone already, by {row.undone_by}")
            with library.together():
                library.amend(row.note, _restoration(library, row), by or who.name)
                return self._kb.decisions.undo(decision, by or who.name, self._now())

        undone = self._kb.ask(job)
        self._tell([undone])
        return undone

    def _tell(self, decided: Sequence[Decided | None]) -> None:
        with self._telling:
            for one in decided:
                for told in list(self._listeners):
                    if one is not None:
                        told(one)


class _Step:
    """Decisions on suggestions of one note, in one transaction on the thread of the notes."""

    def __init__(self, review: Review, note: str, action: Action, who: Principal, by: str) -> None:
        self._decisions = review._kb.decisions
        self._now = review._now()
        self._note = note
        self._action = action
        self._who = who
        self._by = by

    def run(self, library: Library, names: Sequence[str]) -> dict[str, Outcome]:
        with library.together():
            return {name: self._decided(library, name) for name in names}

    def _decided(self, library: Library, name: str) -> Outcome:
        """One suggestion. Only the plan refuses; a storage error ends the whole transaction."""
        if not self._note:
            return self._unknown(library, name)
        if refused := self._refusal(library, name):
            return refused
        made: list[tuple[deciding.Decision, Beside, tuple[str, str]]] = []
        failed: list[FlashgrepError] = []

        def plan(text: str, besides: Mapping[str, Beside]) -> Amendment | None:
            record = besides.get(name)
            if record is None or not records.is_suggestion(record.value):
                return None
            try:
                others = [span for one in records.recorded(besides) for span in one.spans]
                decision = deciding.decide(text, record.spans, self._action, others)
            except Conflict as error:
                failed.append(error)
                return None
            made.append((decision, record, _change(text, besides, name)))
            return Amendment(decision.splices, {name: None})

        library.amend(self._note, plan, self._by)
        if failed:
            return Outcome(name, Status.GONE, failed[0].message)
        if not made:
            return self._unknown(library, name)
        row = self._decisions.add(self._row(library, name, *made[0]))
        return Outcome(name, Status.DONE, _past(self._action), row)

    def _refusal(self, library: Library, name: str) -> Outcome | None:
        try:
            path = library.entry(self._note).path
        except NotFound:
            path = None
        if path is None or not self._who.may(Role.READ, path):
            return _not_found(name)
        if not self._who.may(Role.WRITE, path):
            return Outcome(name, Status.FORBIDDEN, f"deciding needs the role write on {path}")
        return None

    def _unknown(self, library: Library, name: str) -> Outcome:
        """Not pending: decided before, or never made."""
        row = self._decisions.latest(name)
        if row is None or not self._who.may(Role.READ, _path(library, row.note)):
            return _not_found(name)
        message = f"{name} was {_past(row.action)} by {row.by} already; the first decision counts"
        return Outcome(name, Status.ALREADY, message, row)

    def _row(
        self,
        library: Library,
        name: str,
        decision: deciding.Decision,
        record: Beside,
        change: tuple[str, str],
    ) -> Decided:
        anchors, end = library.anchors(self._note), len(decision.text)
        cuttings = tuple(
            Cutting(
                cut,
                anchors.at(cut.at - 1) if cut.at > 0 else None,
                anchors.at(cut.at) if cut.at < end else None,
            )
            for cut in decision.cuts
        )
        return Decided(
            0,
            name,
            self._note,
            self._action,
            self._by,
            self._now,
            record.value,
            *change,
            cuttings,
            decision.marks,
        )


# ── undoing ─────────────────────────────────────────────────────────────────────────────────────


def _restoration(
    library: Library, row: Decided
) -> Callable[[str, Mapping[str, Beside]], Amendment]:
    def plan(text: str, besides: Mapping[str, Beside]) -> Amendment:
        cuts = _moved(library, row, len(text))
        spans = [span for one in records.recorded(besides) for span in one.spans]
        for mark in critic.read(text, spans).marks:
            if any(mark.start < cut.at < mark.end for cut in cuts):
                raise Conflict(
                    f"where suggestion {row.suggestion} stood there is another mark now; "
                    "decide that one first"
                )
        restored = deciding.undo(text, cuts, row.marks)
        return Amendment(restored.splices, {row.suggestion: Beside(row.record, restored.spans)})

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
        # What closes a mark stays with the text before it, what opens one with that behind it.
        first, second = (left, right) if number in closing else (right, left)
        place = first if first is not None else second
        if place is None:
            raise Conflict(
                f"the text around suggestion {row.suggestion} is gone; "
                "restore an earlier version of the note instead"
            )
        moved.append(Cut(place, one.cut.removed))
    return moved


def _check_role(library: Library, row: Decided, who: Principal) -> None:
    path = _path(library, row.note)
    if not who.may(Role.READ, path):
        raise NotFound(f"there is no decision {row.id}")
    if not who.may(Role.WRITE, path):
        raise AccessDenied(f"undoing a decision needs the role write on {path}")


# ── small matters ───────────────────────────────────────────────────────────────────────────────


def _change(text: str, besides: Mapping[str, Beside], name: str) -> tuple[str, str]:
    known = records.recorded(besides)
    return pending(text, known).change(next(one for one in known if one.id == name))


def _path(library: Library, note: str) -> str:
    entry: Entry = library.entry(note)
    return entry.path or entry.last_path or ""


def _past(action: Action) -> str:
    return "accepted" if action is Action.ACCEPT else "rejected"


def _not_found(name: str) -> Outcome:
    shown = name[: limits.QUOTED_CHARS]
    return Outcome(name, Status.NOT_FOUND, f"there is no pending suggestion {shown}")


def _order(one: Found) -> tuple[int, str]:
    return one.time, one.id


def _cursor(text: str) -> tuple[int, str]:
    made, _, name = text.partition(".")
    if not made.isdecimal() or len(made) > 19:
        raise InvalidParams("the cursor is not one of ours; begin again without")
    return int(made), name


def _is_wanted(one: Found, query: Query, who: Principal) -> bool:
    return (
        who.may(Role.READ, one.path)
        and query.note in (None, one.path)
        and query.author in (None, one.author)
        and (query.older_than is None or one.time < query.older_than)
        and (query.newer_than is None or one.time > query.newer_than)
    )
