"""grep over notes: which of them, in which view, and how they are named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from flashgrep.kb import notepath
from flashgrep.kb.notesearch import NoteQuestion, NoteSearch
from flashgrep.kb.notetexts import Shown
from flashgrep.kb.notetree import Leaf
from flashgrep.search.excerpt import Line, PageRequest
from flashgrep.tools import places
from flashgrep.tools.grep_answer import Query
from flashgrep.workspace.globs import NameFilter

if TYPE_CHECKING:
    from flashgrep.tools.arguments import Arguments
    from flashgrep.tools.toolbox import Call


class NoteQuery(Query[NoteSearch]):
    """Over the notes in a folder, or one note; paths are in full, so they have no root."""

    kind = "note"

    def __init__(self, call: Call, arguments: Arguments, folder: str) -> None:
        super().__init__(call, arguments)
        self._tree = places.tree(call)
        self._folder = folder
        self._view = Shown(arguments.get("view") or Shown.ACCEPTED)

    def search(self) -> NoteSearch:
        question = NoteQuestion(self.pattern, self.counting(), self._view, self.wanted())
        leaves = self._kept(self._tree.below(self._folder))
        call = self.call
        pool = call.services.search.pool
        return NoteSearch(places.mounted(call), question, leaves, pool, call.cancelled, call.report)

    def _kept(self, leaves: Sequence[Leaf]) -> Sequence[Leaf]:
        """Those that pass the filters, which look at paths from the folder on."""
        kept = [NameFilter(one if isinstance(one, str) else list(one)) for one in self.filters]
        if not kept:
            return leaves
        return [
            leaf
            for leaf in leaves
            if all(names.keeps(notepath.from_folder(leaf.path, self._folder)) for names in kept)
        ]

    def page(self, scan: NoteSearch, request: PageRequest) -> list[tuple[str, list[Line]]]:
        return scan.page(request)

    def label(self, shown: str) -> str:
        return self._tree.prefix + shown

    def skipped_label(self, shown: str) -> str:
        return self.label(shown)
