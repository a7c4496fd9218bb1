"""Reviewing: the suggestions in all notes, and the decisions on them, which can be undone.

A list of suggestions comes from a table in the store (`tables`), which every change updates, so it
loads no note. Decisions are made on the thread of the notes, by id; the first one wins. The change,
the end of the suggestions' records and the rows in the log (`decisions`) are one transaction for
each note.

Undoing a decision brings the marks back where the text is now (`undoing`).

The methods wait for the thread of the notes; call them from any other.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import groupby, islice
from typing import TYPE_CHECKING, Final

from flashgrep import limits
from flashgrep.errors import (
    AccessDenied,
    Cancelled,
    Conflict,
    InvalidParams,
    NotFound,
    Unavailable,
)
from flashgrep.notes.access.roles import Author, Principal, Role
from flashgrep.notes.library import Library
from flashgrep.notes.review.decision_jobs import DecisionJobs, Job
from flashgrep.notes.review.decision_log import Decided, no_decision
from flashgrep.notes.review.step import Step, path_of
from flashgrep.notes.review.step_result import DecisionStatus as DecisionStatus
from flashgrep.notes.review.step_result import StepResult as StepResult
from flashgrep.notes.review.undoing import UndoneBefore, restoration, undo_each
from flashgrep.notes.review.verdict import Action, Verdict, verdict_of
from flashgrep.notes.store import paths
from flashgrep.notes.suggestions.outcomes import News
from flashgrep.notes.suggestions.own_suggestions import (
    NEWEST,
    OwnFilter,
    OwnSuggestion,
)
from flashgrep.notes.suggestions.pending import ListedSuggestion
from flashgrep.notes.suggestions.pending_table import PendingFilter
from flashgrep.notes.tables import catch_up_all
from flashgrep.system.clock import milliseconds

if TYPE_CHECKING:
    from flashgrep.notes.knowledge_base import KnowledgeBase

DECISIONS_A_TURN: Final = 100
"""More decisions than these on one note (some 20 ms) are prepared before their transaction…"""

IDS_A_TURN: Final = 200
"""How many of many ids are looked up in one turn (10 ms, if all were already decided)."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Query:
    """Which suggestions are asked for; times are milliseconds since 1970."""

    note: str | None = None
    author: str | None = None
    older_than: int | None = None
    newer_than: int | None = None
    folder: str | None = None
    """Only in notes below this folder."""
    text: str | None = None
    """Only where this is in the old or new text, around it or in the note's path; any case."""
    limit: int = limits.LISTED_SUGGESTIONS
    cursor: str | None = None
    """`SuggestionPage.next` of the page before."""


@dataclass(frozen=True, slots=True)
class SuggestionPage:
    """Some suggestions, the oldest first; `next` is None on the last page."""

    suggestions: tuple[ListedSuggestion, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class OwnQuery:
    """Which of one's own suggestions are asked for."""

    note: str | None = None
    state: str | None = None
    """One of `own_suggestions.STATES`."""
    limit: int = limits.LISTED_SUGGESTIONS
    cursor: str | None = None
    """`OwnPage.next` of the page before."""


@dataclass(frozen=True, slots=True)
class OwnPage:
    """Some of one's own suggestions, the newest first; `next` is None on the last page."""

    suggestions: tuple[OwnSuggestion, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class SuggestionCounts:
    """How many suggestions are pending."""

    total: int
    authors: tuple[tuple[str, int], ...]
    """Those with the most first."""
    notes: tuple[tuple[str, int], ...]
    """By path."""


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
        folder = _folder(query.folder)
        catch_up_all(self._kb, is_cancelled)

        def job(library: Library) -> list[ListedSuggestion]:
            note = _note_at(library, query.note)
            if query.note is not None and note is None:
                return []
            wanted = PendingFilter(
                note=note,
                author=query.author,
                older_than=query.older_than,
                newer_than=query.newer_than,
                folder=folder,
                text=query.text.casefold() if query.text else None,
                after=after,
            )
            found = self._kb.tables.pending.listed(wanted)
            seen = (one for one in found if who.may(Role.READ, one.path))
            return list(islice(seen, query.limit + 1))

        found = self._kb.ask(job)
        page = tuple(found[: query.limit])
        more = len(found) > len(page)
        return SuggestionPage(page, f"{page[-1].time}.{page[-1].id}" if more else None)

    def summary(
        self, who: Principal, is_cancelled: Callable[[], bool] = lambda: False
    ) -> SuggestionCounts:
        """How many suggestions somebody may see, of whom and where."""
        catch_up_all(self._kb, is_cancelled)
        authors, notes = Counter[str](), Counter[str]()
        for path, author, count in self._kb.ask(lambda _: self._kb.tables.pending.by_author()):
            if who.may(Role.READ, path):
                authors[author] += count
                notes[path] += count
        return SuggestionCounts(
            total=notes.total(),
            authors=tuple(sorted(authors.items(), key=lambda pair: (-pair[1], pair[0]))),
            notes=tuple(sorted(notes.items())),
        )

    def decisions(
        self,
        who: Principal,
        count: int = limits.LISTED_SUGGESTIONS,
        before: int | None = None,
        note: str | None = None,
        by: str | None = None,
    ) -> list[tuple[str, Decided]]:
        """The newest decisions, or those before one, and the paths of their notes.

        Of one note, or by one person, where that is asked for.
        """

        def job(library: Library) -> list[tuple[str, Decided]]:
            def wanted(note: str) -> bool:
                return who.may(Role.READ, path_of(library, note))

            found = _note_at(library, note)
            if note is not None and found is None:
                return []
            rows = self._kb.decisions.page(count, before, wanted, found, by)
            return [(path_of(library, row.note), row) for row in rows]

        return self._kb.ask(job)

    # ── for authors ─────────────────────────────────────────────────────────────────────────────

    def own(
        self,
        wanted: OwnQuery,
        author: Author,
        who: Principal,
        is_cancelled: Callable[[], bool] = lambda: False,
    ) -> OwnPage:
        """An author's own suggestions and what became of them, the newest first."""
        if not 1 <= wanted.limit <= limits.LISTED_SUGGESTIONS_MOST:
            raise InvalidParams(
                f"limit is {wanted.limit}; it must be 1 to {limits.LISTED_SUGGESTIONS_MOST}"
            )
        before = _cursor(wanted.cursor) if wanted.cursor is not None else NEWEST
        catch_up_all(self._kb, is_cancelled)

        def job(library: Library) -> list[OwnSuggestion]:
            note = _note_at(library, wanted.note)
            if wanted.note is not None and note is None:
                return []
            found = self._kb.tables.own.listed(
                OwnFilter(author=author, note=note, state=wanted.state, before=before)
            )
            seen = (one for one in found if who.may(Role.READ, one.path))
            return list(islice(seen, wanted.limit + 1))

        found = self._kb.ask(job)
        page = tuple(found[: wanted.limit])
        more = len(found) > len(page)
        return OwnPage(page, f"{page[-1].made}.{page[-1].id}" if more else None)

    def news(self, author: Author, note: str) -> tuple[list[News], int]:
        """What an author has yet to learn about a note, as much as is reported at once; and the
        total. Usually there is nothing, and that takes no turn of the notes.
        """
        outcomes = self._kb.tables.outcomes
        if not outcomes.may_have_news(author.name, note):
            return [], 0
        return self._kb.ask(lambda _: outcomes.news(author, note, limits.SHOWN_OUTCOMES))

    def tell(self, author: Author, note: str, told: Sequence[News]) -> None:
        """Note that an author was told these; nobody waits for it."""

        def job(library: Library) -> None:
            with library.together():
                self._kb.tables.outcomes.tell(author, note, told)

        def done(future: Future[None]) -> None:
            if (error := future.exception()) is not None:
                log.warning("what %s was told is told again: %s", author.name, error)

        with suppress(Unavailable):  # closed: told again after the next start
            self._kb.submit(job).add_done_callback(done)

    # ── deciding ────────────────────────────────────────────────────────────────────────────────

    def decide(
        self, ids: Sequence[str], decided: Verdict | Action, who: Principal, by: str = ""
    ) -> list[StepResult]:
        """Accept or reject suggestions; an outcome for each id, in their order. `by` is logged."""
        if (count := len(set(ids))) > limits.DECISIONS_AT_ONCE:
            raise InvalidParams(
                f"{count} ids; decide at most {limits.DECISIONS_AT_ONCE} suggestions at once"
            )
        outcomes: dict[str, StepResult] = {}
        for found in self.decide_each_note(ids, decided, who, by):
            outcomes |= found
        return [outcomes[name] for name in dict.fromkeys(ids)]

    def decide_each_note(
        self,
        ids: Sequence[str],
        decided: Verdict | Action,
        who: Principal,
        by: str,
        is_cancelled: Callable[[], bool] = lambda: False,
    ) -> Iterator[dict[str, StepResult]]:
        """The same note by note, each of them one transaction; others get their turns between.

        Cancelled, it stops between two notes; what was decided stays so.
        """
        wanted, verdict = list(dict.fromkeys(ids)), verdict_of(decided)
        verdict.check_ids(wanted)
        catch_up_all(self._kb, is_cancelled)
        for note, some in self._by_note(wanted):
            if is_cancelled():
                raise Cancelled("stopped between two notes; what was decided stays so")
            step = Step(self._kb, note, verdict, who, by or who.name, self._now())
            if len(some) > DECISIONS_A_TURN:
                step.prepare(self._kb, some)
            outcomes = self._kb.ask(partial(step.run, names=some))
            self._notify(
                [one.decided for one in outcomes.values() if one.status is DecisionStatus.DONE]
            )
            yield outcomes

    def _by_note(self, ids: Sequence[str]) -> Iterator[tuple[str, Sequence[str]]]:
        """The ids of each note, and first, some at a time, those that are pending in none."""

        def notes_of(_: Library, some: Sequence[str]) -> dict[str, str]:
            return self._kb.tables.pending.notes_of(some)

        notes: dict[str, str] = {}
        for some in _some_at_a_time(ids):
            notes |= self._kb.ask(partial(notes_of, some=some))
        for some in _some_at_a_time([name for name in ids if name not in notes]):
            yield "", some
        known = sorted((name for name in ids if name in notes), key=notes.__getitem__)
        for note, names in groupby(known, key=notes.__getitem__):
            yield note, list(names)

    def undo(self, decision: int, who: Principal, by: str = "") -> Decided:
        """Bring a decided suggestion back; `Conflict` where that was done, or cannot be."""

        def job(library: Library) -> Decided:
            row = self._kb.decisions.get(decision)
            _check_role(library, row, who)
            if row.is_undone:
                raise UndoneBefore(f"decision {decision} was undone already, by {row.undone_by}")
            with library.together():
                library.amend(row.note, restoration(library, row), by or who.name)
                return self._kb.decisions.undo(decision, by or who.name, self._now())

        undone = self._kb.ask(job)
        self._notify([undone])
        return undone

    def undo_job(self, name: str, who: Principal, by: str, whose: str) -> Job:
        """Undo all that one's own job has decided, as a job."""
        made = self.jobs.decided_by(self.jobs.find(name, whose))
        if not made:
            raise Conflict("this job has decided nothing that could be undone")
        undo = partial(self.undo, who=who, by=by)
        return self.jobs.begin(len(made), partial(undo_each, undo, made), whose)

    def _notify(self, decided: Sequence[Decided | None]) -> None:
        with self._notifying:
            for one in decided:
                for listener in list(self._listeners):
                    if one is not None:
                        listener(one)


def _some_at_a_time(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for at in range(0, len(ids), IDS_A_TURN):
        yield ids[at : at + IDS_A_TURN]


def _check_role(library: Library, row: Decided, who: Principal) -> None:
    path = path_of(library, row.note)
    if not who.may(Role.READ, path):
        raise no_decision()
    if not who.may(Role.WRITE, path):
        raise AccessDenied(f"undoing a decision needs the role write on {path}")


# ── parsing ─────────────────────────────────────────────────────────────────────────────────────


def _cursor(text: str) -> tuple[int, str]:
    made, _, name = text.partition(".")
    if not made.isdecimal() or len(made) > 18:
        raise InvalidParams("the cursor is not one of ours; begin again without")
    return int(made), name


def _folder(path: str | None) -> str | None:
    """A folder as paths are compared; None for everything."""
    if path is None:
        return None
    paths.check_named(path)
    return paths.form_key(paths.checked_below(path.removeprefix("kb://").strip("/")))


def _note_at(library: Library, path: str | None) -> str | None:
    """The id of the note at a path, spelled as it is; None where there is none."""
    if path is None:
        return None
    try:
        entry = library.find(path)
    except NotFound:
        return None
    return entry.id if entry.path == path else None
