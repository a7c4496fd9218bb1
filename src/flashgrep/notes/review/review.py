"""Reviewing: what is suggested in all notes, and the decisions on it, which can be undone.

Which suggestions there are is asked of a table in the store (`tables`), which every change
keeps up: a list loads no note. A decision is made on the thread of the notes, by id; the first one
wins. The change, the end of the suggestions' records and the rows in the log (`decisions`) are one
transaction for each note.

An undone decision brings the marks back where the text is now: each cut is put between the two
characters it was between, or beside the one of them that is left; it stays with the text that the
mark held. Where neither is left, or another mark is there now, it is refused.

The methods wait for the thread of the notes and are for any other one.
"""

from __future__ import annotations

import logging
import secrets
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from itertools import groupby, islice
from typing import TYPE_CHECKING, Final

from flashgrep import limits
from flashgrep.errors import (
    AccessDenied,
    Cancelled,
    Conflict,
    FlashgrepError,
    InvalidParams,
    NotFound,
    Unavailable,
)
from flashgrep.notes.access.roles import Principal, Role
from flashgrep.notes.document.note import Amendment, NoteRecords
from flashgrep.notes.library import Library
from flashgrep.notes.markup import critic
from flashgrep.notes.review import decide
from flashgrep.notes.review.decide import Action, Cut
from flashgrep.notes.review.decision_log import Decided
from flashgrep.notes.review.step import DecisionStatus as DecisionStatus
from flashgrep.notes.review.step import Step, path_of
from flashgrep.notes.review.step import StepResult as StepResult
from flashgrep.notes.suggestions import pending
from flashgrep.notes.suggestions.pending import ListedSuggestion
from flashgrep.notes.tables import PendingFilter, catch_up_all
from flashgrep.system.clock import milliseconds

if TYPE_CHECKING:
    from flashgrep.notes.knowledge_base import KnowledgeBase

DECISIONS_A_TURN: Final = 100
"""More decisions than these on one note (some 20 ms) are prepared before their transaction…"""

log = logging.getLogger(__name__)

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
    """`SuggestionPage.next` of the page before."""


@dataclass(frozen=True, slots=True)
class SuggestionPage:
    """Some suggestions, the oldest first; `next` is None on the last page."""

    suggestions: tuple[ListedSuggestion, ...]
    next: str | None


class Review:
    """The suggestions of a knowledge base and the decisions on them."""

    def __init__(self, kb: KnowledgeBase, now: Callable[[], int] = milliseconds) -> None:
        self._kb = kb
        self._now = now
        self.jobs = DecisionJobs(self.decide_each_note)
        """For more decisions than anybody waits for."""
        self._listeners: list[Callable[[Decided], None]] = []
        self._notifying = threading.Lock()

    def listen(self, listener: Callable[[Decided], None]) -> Callable[[], None]:
        """Call a listener, in any thread, after each decision and undo; gives the way to stop."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    # ── listing ─────────────────────────────────────────────────────────────────────────────────

    def suggestions(
        self, query: Query, who: Principal, is_cancelled: Callable[[], bool] = lambda: False
    ) -> SuggestionPage:
        """The suggestions that somebody may see."""
        if not 1 <= query.limit <= limits.LISTED_SUGGESTIONS_MOST:
            raise InvalidParams(
                f"limit is {query.limit}; it must be 1 to {limits.LISTED_SUGGESTIONS_MOST}"
            )
        after = _cursor(query.cursor) if query.cursor is not None else None
        catch_up_all(self._kb, is_cancelled)

        def job(library: Library) -> list[ListedSuggestion]:
            note = _note_at(library, query.note)
            if query.note is not None and note is None:
                return []
            wanted = PendingFilter(note, query.author, query.older_than, query.newer_than, after)
            found = self._kb.tables.pending.listed(wanted)
            seen = (one for one in found if who.may(Role.READ, one.path))
            return list(islice(seen, query.limit + 1))

        found = self._kb.ask(job)
        page = tuple(found[: query.limit])
        more = len(found) > len(page)
        return SuggestionPage(page, f"{page[-1].time}.{page[-1].id}" if more else None)

    def decisions(
        self, who: Principal, count: int = limits.LISTED_SUGGESTIONS, before: int = ALL_DECISIONS
    ) -> list[tuple[str, Decided]]:
        """The newest decisions and the paths of their notes."""

        def job(library: Library) -> list[tuple[str, Decided]]:
            def wanted(note: str) -> bool:
                return who.may(Role.READ, path_of(library, note))

            rows = self._kb.decisions.page(count, before, wanted)
            return [(path_of(library, row.note), row) for row in rows]

        return self._kb.ask(job)

    # ── deciding ────────────────────────────────────────────────────────────────────────────────

    def decide(
        self, ids: Sequence[str], action: Action, who: Principal, by: str = ""
    ) -> list[StepResult]:
        """Accept or reject suggestions; an outcome for each id, in their order. `by` is logged."""
        if (count := len(set(ids))) > limits.DECISIONS_AT_ONCE:
            raise InvalidParams(
                f"{count} ids; decide at most {limits.DECISIONS_AT_ONCE} suggestions at once"
            )
        outcomes: dict[str, StepResult] = {}
        for decided in self.decide_each_note(ids, action, who, by):
            outcomes |= decided
        return [outcomes[name] for name in dict.fromkeys(ids)]

    def decide_each_note(
        self,
        ids: Sequence[str],
        action: Action,
        who: Principal,
        by: str,
        is_cancelled: Callable[[], bool] = lambda: False,
    ) -> Iterator[dict[str, StepResult]]:
        """The same note by note, each of them one transaction; others get their turns between.

        Cancelled, it stops between two notes; what was decided stays so.
        """
        wanted = list(dict.fromkeys(ids))
        catch_up_all(self._kb, is_cancelled)
        notes = self._kb.ask(lambda _: self._kb.tables.pending.notes_of(wanted))
        wanted.sort(key=lambda name: notes.get(name, ""))
        for note, names in groupby(wanted, key=lambda name: notes.get(name, "")):
            if is_cancelled():
                raise Cancelled("stopped between two notes; what was decided stays so")
            step = Step(self._kb, note, action, who, by or who.name, self._now())
            some = list(names)
            if len(some) > DECISIONS_A_TURN:
                step.prepare(self._kb, some)
            outcomes = self._kb.ask(partial(step.run, names=some))
            self._notify(
                [one.decided for one in outcomes.values() if one.status is DecisionStatus.DONE]
            )
            yield outcomes

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
        self._notify([undone])
        return undone

    def _notify(self, decided: Sequence[Decided | None]) -> None:
        with self._notifying:
            for one in decided:
                for listener in list(self._listeners):
                    if one is not None:
                        listener(one)


# ── undoing ─────────────────────────────────────────────────────────────────────────────────────


def _restoration(
    library: Library, row: Decided
) -> Callable[[str, Mapping[str, NoteRecords]], Amendment]:
    def plan(text: str, besides: Mapping[str, NoteRecords]) -> Amendment:
        cuts = _moved(library, row, len(text))
        spans = [span for one in pending.recorded(besides) for span in one.spans]
        for mark in critic.read(text, spans).marks:
            if any(mark.start < cut.at < mark.end for cut in cuts):
                raise Conflict(
                    f"another mark is now where suggestion {row.suggestion} was; "
                    "decide that one first"
                )
        restored = decide.undo(text, cuts, row.marks)
        return Amendment(
            restored.splices, {row.suggestion: NoteRecords(row.record, restored.spans)}
        )

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


def _check_role(library: Library, row: Decided, who: Principal) -> None:
    path = path_of(library, row.note)
    if not who.may(Role.READ, path):
        raise NotFound("there is no such decision")
    if not who.may(Role.WRITE, path):
        raise AccessDenied(f"undoing a decision needs the role write on {path}")


# ── parsing ─────────────────────────────────────────────────────────────────────────────────────


def _cursor(text: str) -> tuple[int, str]:
    made, _, name = text.partition(".")
    if not made.isdecimal() or len(made) > 18:
        raise InvalidParams("the cursor is not one of ours; begin again without")
    return int(made), name


def _note_at(library: Library, path: str | None) -> str | None:
    """The id of the note at a path, spelled as it is; None where there is none."""
    if path is None:
        return None
    try:
        entry = library.find(path)
    except NotFound:
        return None
    return entry.id if entry.path == path else None


# ── jobs ─────────────────────────────────────────────────────────────────────────────────────────
# Decisions on so many suggestions that nobody waits for the answer: a job, which reports progress.
#
# Each note is one transaction, and what is decided stays so: a job that is stopped, by the end of
# the server for one, has decided some notes and not the others. The ids of the rest are pending as
# they were, and can be sent again.


Decide = Callable[
    [Sequence[str], Action, Principal, str, Callable[[], bool]], Iterator[Mapping[str, StepResult]]
]


class State(StrEnum):
    """How far a job is."""

    RUNNING = "running"
    DONE = "done"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Job:
    """A job as it is at one moment."""

    id: str
    whose: str
    """The token that began it, and that gets its progress."""
    total: int
    done: int = 0
    """Ids that have an outcome."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """How many of each status."""
    state: State = State.RUNNING
    message: str = ""
    """Why it stopped or failed."""


class DecisionJobs:
    """The jobs of a knowledge base; for any thread but that of the notes."""

    def __init__(self, decide: Decide) -> None:
        self._decide = decide
        self._guard = threading.Lock()
        self._threads: dict[str, threading.Thread] = {}
        self._is_closing = threading.Event()
        self._listeners: list[Callable[[Job], None]] = []

    def listen(self, listener: Callable[[Job], None]) -> Callable[[], None]:
        """Call a listener, in any thread, after each step of a job; gives the way to stop."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def start(self, ids: Sequence[str], action: Action, who: Principal, by: str) -> Job:
        """Begin to decide; refused where too many are named, or too many jobs run."""
        wanted = list(dict.fromkeys(ids))
        if len(wanted) > limits.DECISIONS_A_JOB:
            raise InvalidParams(
                f"{len(wanted)} ids; decide at most {limits.DECISIONS_A_JOB} suggestions at once"
            )
        job = Job(secrets.token_hex(8), by, len(wanted))
        with self._guard:
            if self._is_closing.is_set() or len(self._threads) >= limits.DECISION_JOBS:
                raise Unavailable(
                    f"{limits.DECISION_JOBS} jobs are deciding already; try again when one is done"
                )
            thread = threading.Thread(
                target=self._run,
                args=(job, wanted, action, who, by),
                name="flashgrep-deciding",
                daemon=True,
            )
            self._threads[job.id] = thread
            thread.start()
        return job

    def close(self) -> None:
        """Stop all jobs, each after the note it is at."""
        self._is_closing.set()
        for thread in list(self._threads.values()):
            thread.join()

    def _run(self, job: Job, ids: list[str], action: Action, who: Principal, by: str) -> None:
        counts: Counter[str] = Counter()
        last = job
        try:
            for outcomes in self._decide(ids, action, who, by, self._is_closing.is_set):
                counts.update(str(one.status) for one in outcomes.values())
                last = replace(job, done=counts.total(), counts=dict(counts))
                if last.done < last.total:
                    self._notify(last)
            last = replace(last, state=State.DONE)
        except (Cancelled, Unavailable) as error:
            last = replace(last, state=State.STOPPED, message=error.message)
        except FlashgrepError as error:
            last = replace(last, state=State.FAILED, message=error.message)
        except Exception:
            log.exception("a job that decides suggestions failed")
            last = replace(last, state=State.FAILED, message="it failed inside; see the log")
        finally:
            with self._guard:
                del self._threads[job.id]
            self._notify(last)

    def _notify(self, job: Job) -> None:
        for listener in list(self._listeners):
            listener(job)
