"""glob over notes and the folders their paths make."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from flashgrep.errors import InvalidParams
from flashgrep.kb import notepath
from flashgrep.kb.notesearch import QUARANTINED
from flashgrep.kb.notetexts import Shown
from flashgrep.kb.notetree import Leaf
from flashgrep.tools import places
from flashgrep.tools.answer import Answer
from flashgrep.tools.glob import answer, wanted_of
from flashgrep.workspace.finding import Entry, Finder

if TYPE_CHECKING:
    from flashgrep.kb.knowledge_base import KnowledgeBase
    from flashgrep.tools.arguments import Arguments
    from flashgrep.tools.toolbox import Call


def find_notes(call: Call, arguments: Arguments, folder: str) -> Answer:
    """Find, sort, page."""
    tree = places.tree(call)
    above = f"{folder}/" if folder else ""
    leaves = tree.below(folder)
    if [leaf.path for leaf in leaves] == [folder]:
        raise InvalidParams(f"{tree.prefix}{folder} is a note; glob searches below a folder")
    in_full = places.is_note(arguments.get("pattern") or "")  # also where it need not be
    prefix = places.SCHEME if in_full else tree.prefix
    wanted = wanted_of(arguments, (prefix + folder).rstrip("/"))
    by = arguments.get("sort_by") if "sort_by" in arguments.given else "path"
    entries, damaged = _entries(places.mounted(call), leaves, folder, by)
    finder = Finder(call.services.scope, b"", wanted, lambda: bool(call.cancelled))
    found = finder.among(_folders(entries) if wanted.directories else entries, ())
    found.skipped += [(e.shown, QUARANTINED) for e in found.entries if e.shown in damaged]
    found.entries = [entry for entry in found.entries if entry.shown not in damaged]
    return answer(call, arguments, found, by, lambda shown: tree.prefix + above + shown)


def _entries(
    notes: KnowledgeBase, leaves: Sequence[Leaf], folder: str, by: str
) -> tuple[list[Entry], set[str]]:
    """The notes with what they are sorted by, and the paths of those that are quarantined."""
    sizes: dict[str, int] = {}
    if by == "size":
        texts = notes.texts.all([leaf.note for leaf in leaves], Shown.RAW)
        sizes = {note: len(text) for note, text in texts.items() if isinstance(text, bytes)}
    changed = notes.listing.changed() if by == "modified" else {}
    quarantined = notes.listing.quarantined()
    entries, damaged = [], set()
    for leaf in leaves:
        shown = notepath.from_folder(leaf.path, folder)
        entries.append(Entry(shown, sizes.get(leaf.note, 0), changed.get(leaf.note, 0)))
        if leaf.note in quarantined:
            damaged.add(shown)
    return entries, damaged


def _folders(entries: Iterable[Entry]) -> list[Entry]:
    """The folders of some notes; each changed when the last note in it did."""
    found: dict[str, int] = {}
    for entry in entries:
        for folder in notepath.folders(entry.shown):
            found[folder] = max(found.get(folder, 0), entry.modified)
    return [Entry(folder, 0, changed) for folder, changed in found.items()]
