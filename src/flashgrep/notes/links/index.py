"""The links from and to a note, from the table of links.

No resolution is stored: a new note can change what a link elsewhere means, and a stored answer
would have to be found and corrected. The table keys links by the *name* they end with, so a query
looks only at links that could match, and the present paths decide.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from flashgrep.errors import Unavailable
from flashgrep.notes.library import KEPT_A_TURN, Library
from flashgrep.notes.links.parse import Link, Paths, looked_up, name_of, names_for
from flashgrep.notes.store.catalogue import CatalogueEntry
from flashgrep.notes.tables import LinkTable, catch_up, catch_up_all

if TYPE_CHECKING:
    from flashgrep.notes.knowledge_base import KnowledgeBase


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A link of a note, and where it leads."""

    link: Link
    path: str | None
    others: tuple[str, ...] = ()
    """Further notes the link could have meant, were the first one not there."""


@dataclass(frozen=True, slots=True)
class Backlink:
    """A link that leads to a note."""

    source: str
    link: Link


@dataclass(frozen=True, slots=True)
class NoteLinks:
    """All about one note's links."""

    outgoing: tuple[Outgoing, ...]
    backlinks: tuple[Backlink, ...]


# ── links in the store ───────────────────────────────────────────────────────────────────────────
# The links of all notes of an open knowledge base: asked of the table in the store.
#
# Which links there are is in `tables`, which every change keeps up; where they lead is worked
# out from the paths of all notes and attachments as they are now. A question looks at the links of
# one note and at those whose target has its name. Only what the table is behind (after a migration,
# or where somebody typed in a long note) is read first, in turns between which others have theirs.
#
# All of it happens on the thread of the notes, so that nothing needs a lock.


Sight = Callable[[str], bool]
"""Whether somebody may see that there is something at a path."""
_PAUSE_SECONDS: Final = 0.02
"""Between two turns of reading ahead: the first calls of a session matter more."""


@dataclass(frozen=True, slots=True)
class Linked:
    """A note's links, and which notes could not be read."""

    links: NoteLinks
    attachments: frozenset[str]
    """Files beside the notes, which links lead to as well."""
    skipped: tuple[tuple[str, str], ...]
    """Notes that cannot be read, and why: links from them are missing."""


class Linking:
    """Which note links to which, in an open knowledge base."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._paths: Paths | None = None
        """The paths of all notes and attachments; made for the first question."""
        self._where: dict[str, str] = {}
        """The notes' paths among these, by id."""
        self._attachments: frozenset[str] = frozenset()
        self._is_closing = threading.Event()
        self._ahead: threading.Thread | None = None
        kb.ask(lambda library: library.catalogue.watch(self._filed))

    def start(self) -> None:
        """Begin to read ahead, in a thread of its own."""
        self._ahead = threading.Thread(target=self._read_ahead, name="flashgrep-links", daemon=True)
        self._ahead.start()

    def close(self) -> None:
        """Stop reading ahead; the notes are still open."""
        self._is_closing.set()
        if self._ahead:
            self._ahead.join()

    def _read_ahead(self) -> None:
        try:
            self._read_texts()
            while not self._is_closing.wait(_PAUSE_SECONDS):
                if self._kb.ask(catch_up):
                    return
        except Unavailable:
            return

    def _read_texts(self) -> None:
        """Have all texts in memory first: a search is likely to come before a look at links."""
        notes = [leaf.note for leaf in self._kb.listing.all()]
        for at in range(0, len(notes), KEPT_A_TURN):
            if self._is_closing.wait(_PAUSE_SECONDS / 4):
                return
            self._kb.read_all(notes[at : at + KEPT_A_TURN])

    def links_of(
        self,
        path: str,
        is_cancelled: Callable[[], bool] = lambda: False,
        sees: Sight | None = None,
    ) -> Linked:
        """The links from and to the note at a path, as all notes are now.

        `sees` tells which paths there are for the one who asks, where those are not all: links lead
        as if there were no others.
        """
        attachments = self.attachments()
        catch_up_all(self._kb, is_cancelled)
        return self._kb.ask(lambda library: self._answer(library, path, attachments, sees))

    def attachments(self) -> frozenset[str]:
        """The files beside the notes, as they are on disk; not for the thread of the notes."""
        return frozenset(_files(self._kb.home.attachments))

    def paths(self, library: Library, attachments: frozenset[str]) -> Paths:
        """All paths that links can mean, for a job on the thread of the notes."""
        paths = self._known_paths(library)
        self._take(paths, attachments)
        return paths

    def _answer(
        self, library: Library, path: str, attachments: frozenset[str], sees: Sight | None
    ) -> Linked:
        entry = library.find(path)
        while not catch_up(library):
            pass  # what came in between two turns: a few notes at most
        unreadable = self._kb.tables.unreadable
        if entry.id in unreadable or entry.id in library.quarantined():
            library.read(entry.id)  # says why
        paths = self.paths(library, attachments)
        if sees is not None:
            paths = self._seen(paths, sees, entry.id, entry.path or path)
        links = self._links(paths, entry.id, entry.path or path)
        there = ((library.catalogue.entry(note).path, why) for note, why in unreadable.items())
        skipped = sorted((where, why) for where, why in there if where is not None)
        return Linked(links, attachments, tuple(skipped))

    def _seen(self, paths: Paths, sees: Sight, note: str, path: str) -> Paths:
        """What somebody sees of the paths that the links from and to a note can mean."""
        names = {name_of(link.target) for link in self._kb.tables.links.of(note)} | names_for(path)
        return Paths(filter(sees, paths.named(sorted(looked_up(names)))))

    def _links(self, paths: Paths, note: str, path: str) -> NoteLinks:
        table = self._kb.tables.links
        outgoing = []
        for link in table.of(note):
            found = paths.candidates(link.target, path)
            outgoing.append(Outgoing(link, found[0] if found else None, tuple(found[1:])))
        return NoteLinks(tuple(outgoing), tuple(_backlinks(table, paths, path)))

    # ── paths ───────────────────────────────────────────────────────────────────────────────────

    def _known_paths(self, library: Library) -> Paths:
        if self._paths is None:
            self._where = {
                entry.id: entry.path
                for entry in library.catalogue.entries()
                if entry.path is not None
            }
            self._paths = Paths((*self._where.values(), *self._attachments))
        return self._paths

    def _filed(self, entry: CatalogueEntry) -> None:
        """A note came, went or moved."""
        if self._paths is None:
            return
        before = self._where.pop(entry.id, None)
        if before is not None and before not in self._attachments:
            self._paths.remove(before)
        if entry.path is not None:
            self._where[entry.id] = entry.path
            self._paths.add(entry.path)

    def _take(self, paths: Paths, attachments: frozenset[str]) -> None:
        for path in self._attachments - attachments:
            paths.remove(path)
        for path in attachments - self._attachments:
            paths.add(path)
        self._attachments = attachments


def _backlinks(table: LinkTable, paths: Paths, path: str) -> Iterator[Backlink]:
    """Links from other notes, and those of the note itself that name it.

    Where a link leads depends on its target and on the folder of its note, so of many alike
    one is looked up.
    """
    known: dict[tuple[str, str], str | None] = {}
    for source, link in table.named(sorted(names_for(path))):
        key = (link.target, source.rpartition("/")[0])
        if key not in known:
            known[key] = paths.resolve(link.target, source)
        if known[key] == path:
            yield Backlink(source, link)


def _files(directory: Path) -> Iterable[str]:
    """The paths of all files below a directory, with slashes; names must be text."""
    for folder, _, names in os.walk(directory):
        below = Path(folder).relative_to(directory)
        for name in names:
            path = (below / name).as_posix()
            if path.isprintable():
                yield path
