"""The notes as a tree of files, as somebody may see it: folders are what paths have in common.

In walk order, as a directory is searched: depth first, names by their bytes.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from flashgrep.errors import NotFound
from flashgrep.notes.access.roles import Principal, Role
from flashgrep.notes.library import Library
from flashgrep.notes.store import paths
from flashgrep.notes.store.catalogue import CatalogueEntry
from flashgrep.search.result import walk_key

if TYPE_CHECKING:
    from flashgrep.notes.knowledge_base import KnowledgeBase

_LIKENESS: Final = 0.6
"""How much of two paths must be alike for one to be offered in place of the other."""


@dataclass(frozen=True, slots=True)
class NoteLeaf:
    """A note in the tree."""

    path: str
    note: str
    """Its id."""


class NoteList:
    """All notes in walk order; sorted anew when one came, went or moved."""

    def __init__(self, notes: KnowledgeBase) -> None:
        self._notes = notes
        self._known: tuple[int, Sequence[NoteLeaf]] = (-1, ())

    def all(self) -> Sequence[NoteLeaf]:
        """As they are now."""
        self._known = self._notes.ask(self._listed)
        return self._known[1]

    def changed(self) -> dict[str, int]:
        """When each note was changed last, by its id, in milliseconds since 1970."""
        return self._notes.ask(_changed)

    def quarantined(self) -> dict[str, str]:
        """The notes that are known to be damaged, by id, and why."""
        return self._notes.ask(lambda library: library.quarantined())

    def _listed(self, library: Library) -> tuple[int, Sequence[NoteLeaf]]:
        known = self._known
        return known if known[0] == library.generation else (library.generation, _leaves(library))


def _leaves(library: Library) -> Sequence[NoteLeaf]:
    leaves = [
        NoteLeaf(entry.path, entry.id) for entry in library.entries() if entry.path is not None
    ]
    return sorted(leaves, key=lambda leaf: walk_key(leaf.path))


def _changed(library: Library) -> dict[str, int]:
    heads = {entry.id: library.head(entry.id) for entry in library.entries()}
    return {note: head.time if head else 0 for note, head in heads.items()}


class NoteTree:
    """What one principal sees of the notes.

    It is the results that are left out: to whoever may not see a note, it is not there.
    """

    def __init__(
        self,
        notes: KnowledgeBase,
        principal: Principal,
        prefix: str = "",
        is_cancelled: Callable[[], bool] | None = None,
    ) -> None:
        """`prefix` stands before every path that is told."""
        self._is_cancelled = is_cancelled
        self._notes = notes
        self._principal = principal
        self.prefix = prefix

    def find(self, path: str) -> NoteLeaf:
        """The note at a path; one that is not there is refused with a near one that is."""
        try:
            entry: CatalogueEntry = self._notes.ask(
                lambda library: library.find(path), self._is_cancelled
            )
        except NotFound:
            raise self.missing(path) from None
        if entry.path is None or not self._principal.may(Role.READ, entry.path):
            raise self.missing(path)
        return NoteLeaf(entry.path, entry.id)

    def all(self) -> Sequence[NoteLeaf]:
        """Every note there is to see."""
        leaves, who = self._notes.listing.all(), self._principal
        if who.may(Role.READ, ""):
            return leaves
        return [leaf for leaf in leaves if who.may(Role.READ, leaf.path)]

    def below(self, folder: str) -> Sequence[NoteLeaf]:
        """The notes in a folder and below it, or the one note of that path; all for ""."""
        leaves = self.all()
        if not folder:
            return leaves
        wanted = paths.form_key(folder)
        found = [leaf for leaf in leaves if _lies(paths.form_key(leaf.path), wanted)]
        if not found:
            raise self.missing(folder)
        return found

    def missing(self, path: str) -> NotFound:
        """The refusal of a path without a note, with what was perhaps meant."""
        near = self._near(path)
        hint = f" Did you mean {self.prefix}{near}?" if near else ""
        return NotFound(f"Document not found: {self.prefix}{path}. File does not exist.{hint}")

    def _near(self, path: str) -> str | None:
        """The path in another spelling, the same name elsewhere, or what is most like it."""
        wanted = _key(path)
        known: dict[str, str] = {}
        for leaf in self.all():
            known.setdefault(_key(leaf.path), leaf.path)
        if wanted in known:
            return known[wanted]
        name = "/" + wanted.rpartition("/")[2]
        elsewhere = next((key for key in known if ("/" + key).endswith(name)), None)
        close = difflib.get_close_matches(wanted, known, 1, _LIKENESS) if not elsewhere else []
        found = elsewhere or (close[0] if close else None)
        return known[found] if found else None


def _lies(path: str, wanted: str) -> bool:
    return path.startswith(wanted) and (len(path) == len(wanted) or path[len(wanted)] == "/")


def _key(path: str) -> str:
    return paths.twin_key(path.removesuffix(paths.ENDING))
