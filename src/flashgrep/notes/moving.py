"""Moves notes and folders, with the links that follow them; and deletes folders.

Everything is one transaction: the new paths and the mended links of all other notes. The table of
links tells what to mend; a note is read only if one of its links is broken (`links.rewrite`). The
asking thread reads many notes and works out their links beforehand, so that the thread of the notes
has only the changes left to make; what changed in between is worked out again there.

Links follow in the notes that the mover may write. Those in notes that they may only read are left
alone and counted, and so are those that suggestions cut apart, or in notes that cannot be read. A
link means what it means to the mover: if one led to a note that they may not see, the mended link
would reveal its path. So nothing depends on such a note, and links in one are not counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final

from flashgrep import limits
from flashgrep.errors import Conflict, InvalidParams, NotFound
from flashgrep.notes.access.roles import Principal, Role
from flashgrep.notes.document.loading import Published, Quarantined
from flashgrep.notes.document.note import Amendment, NoteRecords
from flashgrep.notes.document.text import spliced
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.notes.library import Library, ReadyChange, ReadyText
from flashgrep.notes.links.parse import Link, links_of, looked_up, name_of
from flashgrep.notes.links.rewrite import Relinked, Renaming, names_of, relink
from flashgrep.notes.markup import critic
from flashgrep.notes.store import paths
from flashgrep.notes.store.catalogue import CatalogueEntry
from flashgrep.notes.suggestions import pending
from flashgrep.notes.tables import catch_up, catch_up_all

_PREPARED: Final = 20
"""More notes than these are read before the transaction."""
_READY_A_TURN: Final = 5
"""How many of these are worked out (10 ms, with a version of each) before others get a turn."""
ORIGIN: Final = "rename"
"""The value that listeners get with a change that mends links."""

Moves = Mapping[str, str]
"""New paths by the notes' ids."""


@dataclass(frozen=True, slots=True)
class MoveResult:
    """What was moved."""

    notes: Sequence[CatalogueEntry]
    links: int
    """How many were mended."""
    left: int
    """How many lead elsewhere now, or nowhere."""


def move_note(kb: KnowledgeBase, source: str, target: str, who: Principal, by: str) -> MoveResult:
    """Move a note; the caller checks roles on both paths, `by` is the author of the change."""
    paths.checked(source)

    def moves(library: Library) -> Moves:
        return {library.find(source).id: target}

    return _Move(kb, moves, who, by).run()


def move_folder(kb: KnowledgeBase, source: str, target: str, who: Principal, by: str) -> MoveResult:
    """Move all notes of a folder; the same."""
    paths.checked_folder(target)

    def moves(library: Library) -> Moves:
        found = _below(library, source)
        old, new = paths.twin_key(source), paths.twin_key(target)
        if new.startswith(old + "/"):
            raise InvalidParams(f"{target} is inside {source}; choose a folder outside of it")
        if new != old and library.catalogue.is_taken(target):
            raise Conflict(
                f"{target} is there already; choose another name, or move the notes one by one"
            )
        return {
            entry.id: f"{target}/{paths.from_folder(entry.path or '', source)}" for entry in found
        }

    return _Move(kb, moves, who, by).run()


def delete_folder(kb: KnowledgeBase, folder: str) -> int:
    """Move all notes of a folder to the trash; how many."""

    def job(library: Library) -> int:
        found = _below(library, folder)
        with library.together():
            for entry in found:
                library.delete(entry.id)
        return len(found)

    return kb.ask(job)


def _below(library: Library, folder: str) -> Sequence[CatalogueEntry]:
    """The notes in a folder and below it; refused where there are none, or too many."""
    paths.checked_below(folder)
    start = paths.form_key(folder) + "/"
    found = [
        entry
        for entry in library.catalogue.entries()
        if paths.form_key(entry.path or "").startswith(start)
    ]
    if not found or not folder:
        raise NotFound(f"there is no folder {folder}; a folder is there as long as it has notes")
    if len(found) > limits.FOLDER_NOTES:
        raise InvalidParams(
            f"{folder} holds {len(found):,} notes, and at most {limits.FOLDER_NOTES:,} are moved "
            "or deleted at once; take the folders in it one by one"
        )
    return found


# ── a move ───────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Broken:
    """What a move would break, given the notes at one moment."""

    moves: Moves
    renaming: Renaming
    known: tuple[str, ...]
    """The paths by which that was worked out."""
    links: Mapping[str, int]
    """How many links of each note are broken, by path."""

    def is_same(self, other: _Broken) -> bool:
        """Whether links are mended in the same way for both."""
        return self.renaming.moved == other.renaming.moved and self.known == other.known


class _Move:
    def __init__(
        self, kb: KnowledgeBase, moves: Callable[[Library], Moves], who: Principal, by: str
    ) -> None:
        self._kb = kb
        self._moves = moves
        self._who = who
        self._by = by
        self._attachments = kb.links.attachments()
        self._prepared: dict[str, tuple[Published, Relinked]] = {}
        self._ready: dict[str, ReadyChange] = {}

    def run(self) -> MoveResult:
        catch_up_all(self._kb)
        ahead = self._kb.ask(self._look)
        if len(ahead.links) > _PREPARED:
            self._prepare(ahead)
        return self._kb.ask(lambda library: self._commit(library, ahead))

    # ── what is broken ──────────────────────────────────────────────────────────────────────────

    def _look(self, library: Library) -> _Broken:
        while not catch_up(library):
            pass  # what came in between two turns: a few notes at most
        moves = self._moves(library)
        moved = {library.catalogue.entry(note).path or "": path for note, path in moves.items()}
        links = list(self._links(library, moves, moved))
        names = {*names_of(moved), *(name_of(link.target) for _, link in links)}
        named = self._kb.links.paths(library, self._attachments).named(sorted(looked_up(names)))
        found = [path for path in named if self._who.sees(path)]
        renaming = Renaming(found, moved)
        broken = Counter(
            source for source, link in links if renaming.broken(link.target, source) is not None
        )
        self._check_many(broken)
        return _Broken(moves=moves, renaming=renaming, known=tuple(found), links=broken)

    def _links(
        self, library: Library, moves: Moves, moved: Mapping[str, str]
    ) -> Iterator[tuple[str, Link]]:
        """All links that may be broken, with the paths of their notes."""
        table = self._kb.tables.links
        for note in moves:
            path = library.catalogue.entry(note).path or ""
            yield from ((path, link) for link in table.of(note) if link.target)
        for source, link in table.named(sorted(names_of(moved))):
            if source not in moved and self._who.sees(source):
                yield source, link

    def _check_many(self, broken: Mapping[str, int]) -> None:
        count = sum(map(self._may_change, broken))
        if count > limits.RELINKED_NOTES:
            raise InvalidParams(
                f"links in {count:,} notes would have to follow, and at most "
                f"{limits.RELINKED_NOTES:,} notes are changed at once; keep the name"
            )

    def _may_change(self, path: str) -> bool:
        return self._who.may(Role.WRITE, path)

    # ── how it is mended ────────────────────────────────────────────────────────────────────────

    def _prepare(self, broken: _Broken) -> None:
        """Work out how links are mended, while others have their turns."""

        def ids(library: Library) -> dict[str, str]:
            found = ((path, library.catalogue.find(path)) for path in broken.links)
            return {path: entry.id for path, entry in found if entry}

        notes = self._kb.ask(ids)
        changed = [(path, note) for path, note in notes.items() if self._may_change(path)]
        self._kb.read_all([note for _, note in changed])
        for at in range(0, len(changed), _READY_A_TURN):
            some = []
            for path, note in changed[at : at + _READY_A_TURN]:
                with suppress(Quarantined, NotFound):  # the transaction finds that out too
                    some.append(self._worked_out(path, note, broken.renaming))
            self._kb.ask(partial(self._make_ready, texts=[one for one in some if one]))

    def _worked_out(self, path: str, note: str, renaming: Renaming) -> ReadyText | None:
        """How a note is mended; None for one with marks, which is left to the transaction."""
        reading = self._kb.texts.reading(note)
        text = reading.published.text
        mended = _mended(path, reading.published, reading.besides, renaming)
        self._prepared[note] = reading.published, mended
        if critic.token(text):
            return None
        links = links_of(critic.read(spliced(text, mended.splices)))
        return ReadyText(reading.published, mended.splices, links)

    def _make_ready(self, library: Library, texts: Sequence[ReadyText]) -> None:
        for one in texts:
            if ready := library.ready(one.published.note, one, self._by):
                self._ready[one.published.note] = ready

    def _commit(self, library: Library, ahead: _Broken) -> MoveResult:
        broken = self._look(library)
        if not broken.is_same(ahead):
            self._prepared.clear()
            self._ready.clear()
        mended: dict[str, Relinked] = {}
        left = 0
        for path, count in broken.links.items():
            found = self._may_change(path) and self._mend(library, path, broken.renaming)
            if found:
                mended[library.find(path).id] = found
                left += found.left
            else:
                left += count
        with library.together():
            moved = library.catalogue.move_all(broken.moves)
            for note, one in mended.items():
                ready = self._ready.get(note)
                if ready is None or not library.make(ready, ORIGIN):
                    library.amend(note, _plan(one), self._by, ORIGIN)
        links = sum(len(one.splices) for one in mended.values())
        return MoveResult(notes=moved, links=links, left=left)

    def _mend(self, library: Library, path: str, renaming: Renaming) -> Relinked | None:
        """How the links of a note are mended; None for one that cannot be read."""
        note = library.find(path).id
        try:
            published = library.read(note)
            known = self._prepared.get(note)
            if known and known[0] is published:
                return known[1]
            besides = library.records(note) if critic.token(published.text) else {}
        except Quarantined:
            return None
        return _mended(path, published, besides, renaming)


def _mended(
    path: str, published: Published, besides: Mapping[str, NoteRecords], renaming: Renaming
) -> Relinked:
    spans = [span for one in pending.recorded(besides) for span in one.spans]
    return relink(path, critic.read(published.text, spans), spans, renaming)


def _plan(mended: Relinked) -> Callable[[str, Mapping[str, NoteRecords]], Amendment]:
    def plan(_: str, __: Mapping[str, NoteRecords]) -> Amendment:
        return Amendment(mended.splices)

    return plan
