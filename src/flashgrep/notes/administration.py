"""What `flashgrep kb` does to the notes of an open knowledge base, as calls with JSON on both ends.

A terminal makes them on notes that it opened itself, or over the owner's socket, with the same
functions either way. `NotesApi` is the interface of both. File contents are base64.

    kb/list     {trash}                       the notes, and which of them are quarantined
    kb/folder   {folder}                      how many notes are below it
    kb/history  {note}                        what can be gone back to
    kb/text     {note, version}               the text of a version
    kb/restore  {note, version, salvage, by}  go back: to a version, to what can be trusted of a
                                              damaged note, or out of the trash
    kb/check    {}                            load everything again, and list what is damaged
    kb/backup   {target}                      copy all into a new directory
    kb/take     {files, by, force}            files become notes (see `importing`)
    kb/give     {notes, folder}               notes as the files they become
    kb/suggestions {note, author, folder, older_than, newer_than, cursor}    what is pending, by
                                              pages
    kb/decide   {ids, action, by, reason, text, expected}  accept or reject it; a reason goes with
                                              reject, a text with accept
    kb/undo     {decisions, by}               bring decided suggestions back
    kb/comments {note, resolved}              the open comments, or what was resolved
"""

from __future__ import annotations

import base64
import binascii
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

from flashgrep import limits
from flashgrep.errors import Conflict, FlashgrepError, InvalidParams, NotFound
from flashgrep.notes import history
from flashgrep.notes.access.roles import Principal, Role, everywhere
from flashgrep.notes.document.loading import Published
from flashgrep.notes.folders import carried_suggestions, importing, note_file
from flashgrep.notes.folders.carried_suggestions import MARK_CLOSERS
from flashgrep.notes.folders.importing import IncomingNote
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.notes.library import Library
from flashgrep.notes.review.review import Query, Review
from flashgrep.notes.review.verdict import verdict_named
from flashgrep.notes.store import paths
from flashgrep.notes.store.catalogue import CatalogueEntry
from flashgrep.notes.store.journal import DamagedNote
from flashgrep.system.clock import milliseconds, moment

_OWNER: Final = "owner"
"""Who decides if nobody is named: at a terminal, the user who owns the notes."""


METHODS: Final = (
    "kb/list",
    "kb/folder",
    "kb/history",
    "kb/text",
    "kb/restore",
    "kb/check",
    "kb/backup",
    "kb/take",
    "kb/give",
    "kb/suggestions",
    "kb/decide",
    "kb/undo",
    "kb/comments",
)


class NotesApi(Protocol):
    """Answers the methods, with notes that are open here or through the process that owns them."""

    home: Path
    """The directory of the knowledge base."""

    def call(self, method: str, params: Mapping[str, Any]) -> Any:
        """The result of one of the methods above; a failure is a `FlashgrepError`."""


class Administration:
    """The methods, on notes that this process owns. Any thread may call them."""

    def __init__(self, notes: KnowledgeBase) -> None:
        self.home = notes.home.path
        self._notes = notes
        self._methods: Mapping[str, Callable[..., Any]] = {
            name: getattr(self, "_" + name.removeprefix("kb/")) for name in METHODS
        }

    def call(self, method: str, params: Mapping[str, Any]) -> Any:
        found = self._methods.get(method)
        if found is None:
            raise InvalidParams(f"no method {method!r}; there are {', '.join(METHODS)}")
        try:
            return found(**params)
        except (
            *(TypeError, KeyError, AttributeError),
            *(binascii.Error, UnicodeError),  # half characters, which JSON can hold
        ) as error:
            raise InvalidParams(f"{method}: {error!r}") from error

    # ── looking ─────────────────────────────────────────────────────────────────────────────────

    def _list(self, trash: bool = False) -> dict[str, Any]:
        entries = self._notes.ask(
            lambda library: library.catalogue.trash() if trash else library.catalogue.entries()
        )
        texts = self._notes.read_all([entry.id for entry in entries])
        return {"notes": [_listed(entry, texts[entry.id]) for entry in entries]}

    def _folder(self, folder: str) -> dict[str, Any]:
        below = paths.form_key(folder.removeprefix("kb://").strip("/")) + "/"
        entries = self._notes.ask(lambda library: library.catalogue.entries())
        found = (paths.form_key(entry.path or "").startswith(below) for entry in entries)
        return {"notes": sum(found)}

    def _history(self, note: str) -> dict[str, Any]:
        def look(library: Library) -> dict[str, Any]:
            entry = _named(library, note)
            versions = [
                {"version": one.sequence, "author": one.author, "time": one.time}
                for one in history.versions(library, entry.id)
            ]
            return {"path": entry.path or entry.last_path, "id": entry.id, "versions": versions}

        return self._notes.ask(look)

    def _text(self, note: str, version: int) -> dict[str, Any]:
        return {
            "text": self._notes.ask(
                lambda library: history.text_at(library, _named(library, note).id, version)
            )
        }

    def _check(self) -> dict[str, Any]:
        """Every note is loaded from what is stored, whatever is in memory; others get turns."""
        problems = self._notes.check()
        entries = self._notes.ask(
            lambda library: [*library.catalogue.entries(), *library.catalogue.trash()]
        )
        damaged = []
        for entry in entries:
            try:
                self._notes.ask(partial(history.verify, note=entry.id))
            except FlashgrepError as error:
                reason = error.reason if isinstance(error, DamagedNote) else error.message
                damaged.append({"path": entry.shown, "reason": reason})
        return {"notes": len(entries), "damaged": damaged, "problems": problems}

    # ── changing ────────────────────────────────────────────────────────────────────────────────

    def _restore(self, note: str, version: int | None, salvage: bool, by: str) -> dict[str, Any]:
        def change(library: Library) -> dict[str, Any]:
            entry = _named(library, note)
            head, known = library.head(entry.id), _marked(library, entry.id)
            with library.together():
                if entry.path is None:
                    entry = library.catalogue.move(entry.id, entry.last_path or "")
                elif version is None and not salvage:
                    raise InvalidParams(f"{entry.path} is not in the trash; name a version")
                if version is not None:
                    history.restore(library, entry.id, version, by)
                elif salvage:
                    _salvage(library, entry, by)
            left = known.keys() - _marked(library, entry.id).keys()
            gone = Counter(known[one] for one in left)
            return {
                "path": entry.path,
                "id": entry.id,
                "before": head.sequence if head else None,
                "suggestions": gone["suggestion"],
                "comments": gone["comment"],
            }

        return self._notes.ask(change)

    def _backup(self, target: str) -> dict[str, Any]:
        self._notes.backup(Path(target))
        return {"target": target}

    # ── reviewing ───────────────────────────────────────────────────────────────────────────────

    def _suggestions(
        self,
        note: str | None = None,
        author: str | None = None,
        folder: str | None = None,
        older_than: str | None = None,
        newer_than: str | None = None,
        cursor: str | None = None,
    ) -> dict[str, Any]:
        """A page of what is pending, the oldest first; times as `clock` reads them."""
        now = milliseconds()
        path = None
        if note:
            path = self._notes.ask(lambda library: _named(library, note).path)
            if path is None:  # in the trash, where nothing is pending
                return {"suggestions": [], "next": None}
        query = Query(
            note=path,
            author=author or None,
            folder=folder,
            older_than=moment("older_than", older_than, now) if older_than else None,
            newer_than=moment("newer_than", newer_than, now) if newer_than else None,
            limit=limits.LISTED_SUGGESTIONS_MOST,
            cursor=cursor,
        )
        page = self._notes.review.suggestions(query, everywhere(_OWNER, Role.ADMIN))
        return {"suggestions": [one.as_json() for one in page.suggestions], "next": page.next}

    def _decide(
        self,
        ids: Sequence[str],
        action: str,
        by: str = "",
        reason: str | None = None,
        text: str | None = None,
        expected: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Accept or reject; a result for each id."""
        if not ids or not all(isinstance(one, str) for one in ids):
            raise InvalidParams("ids must be a list of ids of suggestions, at least one")
        verdict = verdict_named(action, reason, text, expected=expected)
        who = everywhere(by or _OWNER, Role.ADMIN)
        outcomes = self._notes.review.decide(ids, verdict, who, who.name)
        return {"results": [one.as_json() for one in outcomes]}

    def _undo(self, decisions: Sequence[int], by: str = "") -> dict[str, Any]:
        """Bring decided suggestions back; a result for each decision."""
        if not decisions or not all(type(one) is int for one in decisions):
            raise InvalidParams("decisions must be a list of numbers of decisions, at least one")
        who = everywhere(by or _OWNER, Role.ADMIN)
        return {"results": [_undone(self._notes.review, number, who) for number in decisions]}

    def _comments(self, note: str | None = None, resolved: bool = False) -> dict[str, Any]:
        """The open comments, of one note or of all, or the resolved threads."""
        who = everywhere(_OWNER, Role.ADMIN)
        path = None
        if note is not None:
            path = self._notes.ask(lambda library: _named(library, note).path) or ""
        commenting = self._notes.commenting
        look = commenting.resolved if resolved else commenting.listed
        found, more = look(who, path)
        return {"comments": found, "more": more}

    # ── files ───────────────────────────────────────────────────────────────────────────────────

    def _take(self, files: list[Mapping[str, Any]], by: str, force: bool) -> dict[str, Any]:
        arrivals = [_arrival(file) for file in files]
        outcomes = self._notes.ask(
            partial(importing.take, arrivals=arrivals, author=by, force=force)
        )
        return {"outcomes": [asdict(one) for one in outcomes]}

    def _give(self, notes: list[str], folder: str = "") -> dict[str, Any]:
        entries = self._notes.ask(lambda library: [library.catalogue.entry(note) for note in notes])
        texts = self._notes.read_all(notes)
        there = [entry for entry in entries if entry.path is not None]  # not deleted since
        return {"files": [self._file(entry, texts[entry.id], folder) for entry in there]}

    def _file(
        self, entry: CatalogueEntry, text: Published | FlashgrepError, folder: str
    ) -> dict[str, Any]:
        """A note as a file; its suggestions are looked at where its text has marks."""
        if isinstance(text, FlashgrepError) or not MARK_CLOSERS.search(text.data):
            return _file(entry, text, folder)

        def look(library: Library) -> tuple[Published, list[dict[str, Any]]]:
            now = library.read(entry.id)
            besides, authors = library.records(entry.id), partial(library.authors, entry.id)
            return now, carried_suggestions.described(now.text, besides, authors)

        try:
            now, suggestions = self._notes.ask(look)
        except FlashgrepError as error:
            return _file(entry, error, folder)
        return {**_file(entry, now, folder), "suggestions": suggestions}


def _undone(review: Review, number: int, who: Principal) -> dict[str, Any]:
    try:
        row = review.undo(number, who)
    except (Conflict, NotFound) as error:
        return {"decision": number, "status": error.code, "message": error.message}
    return {
        "decision": number,
        "status": "done",
        "message": "pending again",
        "id": row.suggestion,
        "action": row.action.value,
        "by": row.by,
        "time": row.time,
    }


def _named(library: Library, note: str) -> CatalogueEntry:
    """A note by its path, with or without kb://, by its path before the trash, or by its id."""
    path = note.removeprefix("kb://")
    try:
        return library.find(path)
    except NotFound:
        pass
    key = paths.form_key(path)
    for entry in (*library.catalogue.trash(), *library.catalogue.entries()):
        if entry.id == note or paths.form_key(entry.last_path or "") == key:
            return entry
    if near := _near(library, path):
        raise NotFound(f"there is no note {note}; did you mean {near}?")
    raise NotFound(f"there is no note {note}, not in the trash either; see flashgrep kb list")


def _near(library: Library, path: str) -> str | None:
    """The note that is meant where only its ending, its folder or the case is wrong."""
    wanted = paths.form_key(path.removesuffix(paths.ENDING)).casefold()
    name = wanted.rpartition("/")[2]
    found = None
    for entry in library.catalogue.entries():
        there = paths.form_key((entry.path or "").removesuffix(paths.ENDING)).casefold()
        if there == wanted:
            return entry.path
        if found is None and there.rpartition("/")[2] == name:
            found = entry.path
    return found


def _marked(library: Library, note: str) -> dict[str, str]:
    """The suggestions and comments in the text, by id, and which it is; none of a damaged note."""
    try:
        records = library.records(note)
    except FlashgrepError:
        return {}
    return {name: str(one.value.get("kind")) for name, one in records.items() if one.spans}


def _listed(entry: CatalogueEntry, text: Published | FlashgrepError) -> dict[str, Any]:
    row: dict[str, Any] = {"path": entry.path or entry.last_path, "id": entry.id}
    if entry.trashed is not None:
        row["trashed"] = entry.trashed
    if isinstance(text, FlashgrepError):
        return {**row, "quarantined": text.message}
    return {
        **row,
        "version": text.sequence,
        "author": text.author,
        "time": text.time,
        "bytes": len(text.data),
    }


def _salvage(library: Library, entry: CatalogueEntry, by: str) -> None:
    """Begin a damaged note anew with what can be trusted of it."""
    try:
        history.verify(library, entry.id)
    except FlashgrepError:
        trusted = history.salvage(library, entry.id)
        if trusted is None:
            raise NotFound(
                f"nothing of {entry.path} can be trusted; go back to a version, or to a backup"
            ) from None
        text, records = trusted
        library.rebuild(entry.id, text, by, records)
        return
    raise Conflict(f"{entry.path} is not damaged; name a version to go back to")


def _arrival(file: Mapping[str, Any]) -> IncomingNote:
    return IncomingNote(
        path=str(file["path"]),
        data=base64.b64decode(file["data"], validate=True),
        folder=str(file.get("folder", "")),
        note=str(file.get("note", "")),
        exported=frozenset(map(str, file.get("exported", ()))),
        suggestions=file.get("suggestions", ()),
    )


def _file(entry: CatalogueEntry, text: Published | FlashgrepError, folder: str) -> dict[str, Any]:
    row = {"path": entry.path, "id": entry.id}
    if isinstance(text, FlashgrepError):
        return {**row, "reason": text.message}
    data = note_file.file_bytes(text.text, entry.properties)
    path, digests = note_file.origin(entry.properties)
    taken = digests.get(folder) if path == entry.path else None
    return {**row, "data": base64.b64encode(data).decode(), "taken": taken}
