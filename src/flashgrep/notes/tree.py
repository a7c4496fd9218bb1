"""All notes with what a page shows of each: path, last change, pending suggestions.

The notes themselves are not read: paths are in the catalogue, times in the heads of the journal,
and suggestions are counted in the table. The thread of the notes only copies; the asking thread
does the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flashgrep.notes.access.roles import Principal
from flashgrep.notes.knowledge_base import KnowledgeBase, NoteLeaf, NoteTree
from flashgrep.notes.library import Library
from flashgrep.notes.tables import catch_up, catch_up_all

if TYPE_CHECKING:
    from flashgrep.notes.store.journal import Head

Stamp = tuple[int, int]
"""Another one whenever a note came, went, moved or changed."""


@dataclass(frozen=True, slots=True)
class TreeMoment:
    """The notes that somebody may see, at one moment."""

    stamp: Stamp
    leaves: Sequence[NoteLeaf]
    """In walk order."""
    heads: Mapping[str, Head]
    pending: Mapping[str, int]
    """How many suggestions wait for a decision, by the notes' ids."""

    def changed(self, leaf: NoteLeaf) -> int:
        """When a note was changed last, in milliseconds since 1970."""
        head = self.heads.get(leaf.note)
        return head.time if head else 0


def stamp_of(kb: KnowledgeBase) -> Stamp:
    """The stamp of the tree as it is now."""
    catch_up_all(kb)
    return kb.ask(_stamp)


def tree_of(kb: KnowledgeBase, who: Principal) -> TreeMoment:
    """The notes that somebody may see."""

    def look(library: Library) -> tuple[Stamp, Mapping[str, Head], Mapping[str, int]]:
        return _stamp(library), library.heads(), kb.tables.pending.counts()

    catch_up_all(kb)
    stamp, heads, pending = kb.ask(look)
    # The paths may be a moment newer: then the stamp is old, and the next question asks again.
    leaves = NoteTree(kb, who).all()
    return TreeMoment(stamp=stamp, leaves=leaves, heads=heads, pending=pending)


def _stamp(library: Library) -> Stamp:
    while not catch_up(library):
        pass  # what came in between two turns: a few notes at most
    return library.catalogue.generation, library.changes
