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
from flashgrep.search import texts
from flashgrep.search.counting import Counter
from flashgrep.search.excerpt import Excerpts, Line, PageRequest
from flashgrep.search.pattern import PatternSpec, check
from flashgrep.search.request import Counting, Found
from flashgrep.search.scan import Flag, Report
from flashgrep.search.texts import MemoryText, Named

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
        cancelled: Flag = False,
        report: Report = lambda done, total, message: None,
    ) -> None:
        """Search notes, which are in walk order."""
        check(question.pattern)
        self._question = question
        self.skipped: list[tuple[str, str]] = []
        """Notes that could not be searched, with the reason and what to do."""
        self.notes: list[str] = []
        self._texts: dict[str, bytes] = {}
        readable = self._readable(notes, leaves, cancelled, report)
        counter = Counter(question.pattern, question.counting)
        self.found: list[Found] = list(texts.search(counter, readable, question.wanted, cancelled))

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
        return Excerpts(self._question.pattern, self._text).page(request)

    def _text(self, path: str) -> MemoryText:
        return MemoryText(self._texts[path])


def reason(error: FlashgrepError) -> str:
    """Why a note is passed over, in a few words, and what a person does about it."""
    if isinstance(error, Quarantined):
        return QUARANTINED
    return error.message
