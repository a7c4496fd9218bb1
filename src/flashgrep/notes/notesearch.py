"""A search over notes: the same pattern, counts and excerpts as over files, on texts in memory."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from flashgrep import limits
from flashgrep.errors import Cancelled, FlashgrepError
from flashgrep.notes.document.shelf import Quarantined
from flashgrep.notes.store import paths
from flashgrep.notes.texts import Shown
from flashgrep.notes.tree import Leaf, NoteTree
from flashgrep.search.pattern import check
from flashgrep.search.result import Filters, FoundFile, Line, Order, Page, Report, SearchQuestion
from flashgrep.search.scan.fair_queue import Flag
from flashgrep.search.scan.pool import Pool
from flashgrep.search.scan.texts import Named, TextSearch
from flashgrep.workspace.globs import NameFilter

if TYPE_CHECKING:
    from flashgrep.notes.knowledge_base import KnowledgeBase

QUARANTINED: Final = "quarantined; see flashgrep kb history, go back with flashgrep kb restore"
"""What an answer says of a damaged note, with what a person does about it."""


class NoteSearcher:
    """Searches the notes that somebody may see, in one view of them."""

    def __init__(
        self, notes: KnowledgeBase, tree: NoteTree, pool: Pool, shown: Shown = Shown.ACCEPTED
    ) -> None:
        """The pool is for what may take long."""
        self._notes = notes
        self._tree = tree
        self._pool = pool
        self._shown = shown

    def search(
        self, where: str, question: SearchQuestion, cancelled: Flag, report: Report
    ) -> NoteResult:
        """Search the notes in a folder, or one note; "" is all of them."""
        check(question.pattern)
        leaves = _kept(self._tree.below(where), where, question.filters)
        return NoteResult(self._notes, leaves, self._shown, question, self._pool, cancelled, report)


def _kept(leaves: Sequence[Leaf], folder: str, filters: Filters) -> Sequence[Leaf]:
    """Those that pass the filters, which look at paths from the folder on."""
    if not filters:
        return leaves
    kept = [NameFilter(one if isinstance(one, str) else list(one)) for one in filters]
    return [
        leaf
        for leaf in leaves
        if all(names.keeps(paths.from_folder(leaf.path, folder)) for names in kept)
    ]


class NoteResult:
    """What a search of notes found. It keeps the texts that were searched: a note that changes
    while its lines are shown is shown as it was."""

    def __init__(
        self,
        notes: KnowledgeBase,
        leaves: Sequence[Leaf],
        shown: Shown,
        question: SearchQuestion,
        pool: Pool,
        cancelled: Flag,
        report: Report,
    ) -> None:
        """Search notes, which are in walk order."""
        self._notes = notes
        self._shown = shown
        self._cancelled = cancelled
        self._report = report
        self._texts: dict[str, bytes] = {}
        self.skipped: list[tuple[str, str]] = []
        """Notes that could not be searched, with the reason and what to do."""
        self.remarks: list[str] = []
        self._search = TextSearch(question.pattern, pool, cancelled)
        texts = self._readable(leaves)
        self._found = list(self._search.search(texts, question.counting, question.wanted))

    def _readable(self, leaves: Sequence[Leaf]) -> Iterator[Named]:
        """The texts, some at a time: after a start they have to be loaded, which takes seconds."""
        reported = time.monotonic()
        for at in range(0, len(leaves), limits.NOTES_A_SLICE):
            if self._cancelled:
                raise Cancelled("The search was cancelled")
            if time.monotonic() - reported > limits.PROGRESS_SECONDS:
                reported = time.monotonic()
                self._report(at, len(leaves), f"searched {at:,} notes")
            yield from self._slice(leaves[at : at + limits.NOTES_A_SLICE])

    def _slice(self, leaves: Sequence[Leaf]) -> Iterator[Named]:
        found = self._notes.texts.all([leaf.note for leaf in leaves], self._shown)
        for leaf in leaves:
            text = found[leaf.note]
            if isinstance(text, bytes):
                self._texts[leaf.path] = text
                yield leaf.path, text
            else:
                self.skipped.append((leaf.path, reason(text)))

    def files(self, order: Order = "walk") -> Sequence[FoundFile]:
        return self._found  # notes have one order

    def lines(self, page: Page) -> list[tuple[str, list[Line]]]:
        return self._search.lines(page, self._texts)

    def stale(self, paths: Sequence[str]) -> list[str]:
        return []


def reason(error: FlashgrepError) -> str:
    """Why a note is skipped, in a few words, and what a person does about it."""
    if isinstance(error, Quarantined):
        return QUARANTINED
    return error.message
