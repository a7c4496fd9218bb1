"""A search over notes: the same pattern, counts and excerpts as over files, on texts in memory."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from flashgrep import limits
from flashgrep.errors import Cancelled, FlashgrepError
from flashgrep.kb.notetexts import Shown
from flashgrep.kb.notetree import Leaf
from flashgrep.kb.shelf import Quarantined
from flashgrep.search.excerpt import Line, PageRequest
from flashgrep.search.pattern import PatternSpec, check
from flashgrep.search.pool import Pool
from flashgrep.search.request import Counting, Found
from flashgrep.search.scan import Report
from flashgrep.search.textsearch import Named, TextSearch
from flashgrep.search.turns import Flag

if TYPE_CHECKING:
    from flashgrep.kb.knowledge_base import KnowledgeBase

QUARANTINED: Final = "quarantined; see flashgrep kb history, go back with flashgrep kb restore"
"""What is told of a damaged note, with what a person does about it."""


@dataclass(frozen=True)
class NoteQuestion:
    """What is looked for, and in which view."""

    pattern: PatternSpec
    counting: Counting
    shown: Shown = Shown.ACCEPTED
    wanted: int = 0
    """Matching lines after which the rest need not be looked at; 0 = all."""


class NoteSearch:
    """One search that has been done. It keeps the texts it looked at: a note that changes while
    its lines are shown is shown as it was."""

    def __init__(
        self,
        notes: KnowledgeBase,
        question: NoteQuestion,
        leaves: Sequence[Leaf],
        pool: Pool,
        cancelled: Flag = False,
        report: Report = lambda done, total, message: None,
    ) -> None:
        """Search notes, which are in walk order; the pool is for what may take long."""
        check(question.pattern)
        self._question = question
        self.skipped: list[tuple[str, str]] = []
        """Notes that could not be searched, with the reason and what to do."""
        self.notes: list[str] = []
        self._texts: dict[str, bytes] = {}
        readable = self._readable(notes, leaves, cancelled, report)
        self._search = TextSearch(question.pattern, pool, cancelled)
        self.found: list[Found] = list(
            self._search.search(readable, question.counting, question.wanted)
        )

    def _readable(
        self, notes: KnowledgeBase, leaves: Sequence[Leaf], cancelled: Flag, report: Report
    ) -> Iterator[Named]:
        """The texts, some at a time: after a start they have to be loaded, which takes seconds."""
        told = time.monotonic()
        for at in range(0, len(leaves), limits.NOTES_A_SLICE):
            if cancelled:
                raise Cancelled("The search was cancelled")
            if time.monotonic() - told > limits.PROGRESS_SECONDS:
                told = time.monotonic()
                report(at, len(leaves), f"searched {at:,} notes")
            yield from self._slice(notes, leaves[at : at + limits.NOTES_A_SLICE])

    def _slice(self, notes: KnowledgeBase, leaves: Sequence[Leaf]) -> Iterator[Named]:
        found = notes.texts.all([leaf.note for leaf in leaves], self._question.shown)
        for leaf in leaves:
            text = found[leaf.note]
            if isinstance(text, bytes):
                self._texts[leaf.path] = text
                yield leaf.path, text
            else:
                self.skipped.append((leaf.path, reason(text)))

    def in_walk_order(self) -> Sequence[Found]:
        """What was found, depth first, names by bytes."""
        return self.found

    def page(self, request: PageRequest) -> list[tuple[str, list[Line]]]:
        """The lines of a page."""
        return self._search.page(request, self._texts)


def reason(error: FlashgrepError) -> str:
    """Why a note is passed over, in a few words, and what a person does about it."""
    if isinstance(error, Quarantined):
        return QUARANTINED
    return error.message
