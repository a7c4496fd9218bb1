"""Imports a folder of Markdown, such as an Obsidian vault: what is in it, and how it is sent.

    Folder/Note.md      a note, if its bytes are UTF-8 and not more than a note holds
    anything else       an attachment; so is a .md that no note can hold, which is listed
    .name               left out, as Obsidian does: .obsidian, .git and .trash among them
    links               left out and listed: they lead out of the folder, or to a file that is in
                        it anyway
    sockets, devices    left out and listed; nothing is opened that could block

Directories are entered by descriptor and without following links, so that a folder that changes
while it is read leads nowhere else.
"""

from __future__ import annotations

import base64
import json
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flashgrep import limits
from flashgrep.errors import FlashgrepError, InvalidParams, NotFound, from_os_error
from flashgrep.notes.administration import NotesApi
from flashgrep.notes.folders import note_file
from flashgrep.notes.folders.carried_suggestions import fit_to_send
from flashgrep.notes.folders.exporting import (
    IMPORT_BATCH_BYTES,
    IMPORT_BATCH_FILES,
    NO_ROOM,
    Attachments,
)
from flashgrep.notes.folders.importing import ImportedAs
from flashgrep.notes.folders.note_file import ExportedFile, ExportManifest
from flashgrep.notes.home import ATTACHMENTS, is_knowledge_base
from flashgrep.notes.store import paths
from flashgrep.workspace.safe_open import open_folder, open_regular, walk_folder


@dataclass(frozen=True, slots=True)
class VaultFile:
    """A file of the folder."""

    path: str
    data: bytes | None
    """A note's bytes; None for an attachment, which is copied without being held."""
    source: Path


@dataclass
class Vault:
    """A folder, and which of its files were left out."""

    root: Path
    besides: Path
    """The knowledge base's own directory, which may be in the folder."""
    skipped: dict[str, str] = field(default_factory=dict)
    """Path → why it is not in; hidden names are only counted."""
    attached: dict[str, str] = field(default_factory=dict)
    """Path of a .md that is an attachment → why."""
    hidden: list[str] = field(default_factory=list)

    def files(self) -> Iterator[VaultFile]:
        """All files in the order of their paths, folder by folder."""
        root = os.path.realpath(self.root)
        if not os.path.isdir(root):
            raise NotFound(f"{self.root} is not a directory; name the folder with the notes")
        own = os.path.realpath(self.besides)
        if root == own or root.startswith(own + os.sep):
            raise InvalidParams(f"{self.root} is the knowledge base itself; name another folder")
        if is_knowledge_base(root):
            raise InvalidParams(
                f"{self.root} is a knowledge base; write it out with flashgrep kb export first, "
                "and import that folder"
            )
        for directory, folders, names, descriptor in walk_folder(root, self._cannot_enter(root)):
            below = os.path.relpath(directory, root)
            prefix = "" if below == "." else below + "/"
            folders[:] = self._entered(prefix, sorted(folders), descriptor, directory, own)
            for name in sorted(names):
                if self._is_wanted(prefix + name, name):
                    found = self._file(prefix + name, name, descriptor, directory)
                    if found is not None:
                        yield found

    def _cannot_enter(self, root: str) -> Callable[[OSError], None]:
        def skip(error: OSError) -> None:
            shown = os.path.relpath(str(error.filename or root), root)
            self.skipped[_shown(shown)] = from_os_error(error, "the folder").message

        return skip

    def _entered(
        self, prefix: str, folders: list[str], descriptor: int, directory: str, own: str
    ) -> list[str]:
        """The folders to look into."""
        entered = []
        for name in folders:
            path = prefix + name
            if not self._is_wanted(path, name):
                continue
            if stat.S_ISLNK(os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mode):
                self.skipped[path] = "it is a link"
            elif len(os.fsencode(path)) > limits.NOTE_PATH_BYTES:
                self.skipped[_shown(path)] = f"its path has over {limits.NOTE_PATH_BYTES} bytes"
            elif os.path.join(directory, name) == own:
                self.skipped[path] = "it is the knowledge base itself"
            elif is_knowledge_base(os.path.join(directory, name)):
                self.skipped[path] = "it is a knowledge base; write it out with flashgrep kb export"
            else:
                entered.append(name)
        return entered

    def _is_wanted(self, path: str, name: str) -> bool:
        if name.startswith("."):
            if path != note_file.NAME:  # that one is read by the import
                self.hidden.append(_shown(path))
            return False
        return True

    def _file(self, path: str, name: str, descriptor: int, directory: str) -> VaultFile | None:
        try:
            is_note = path.endswith(paths.ENDING)
            (paths.checked if is_note else paths.checked_attachment)(path)
            data = _content(name, descriptor, is_note)
        except FlashgrepError as error:
            self.skipped[_shown(path)] = error.message
            return None
        except OSError as error:
            self.skipped[_shown(path)] = from_os_error(error, "the file").message
            return None
        if data is not None and (reason := _no_note(data)):
            self.attached[path] = reason
            data = None
        return VaultFile(path, data, Path(directory, name))


def _content(name: str, descriptor: int, is_note: bool) -> bytes | None:
    """The bytes of a file that may be a note; None for any other file. Only files get here."""
    with os.fdopen(open_regular(name, descriptor), "rb") as stream:
        if not is_note:
            return None
        return stream.read(limits.NOTE_FILE_BYTES + 1)


def count_files(root: Path) -> int:
    """How many files there are below a folder, hidden ones too; 0 where it cannot be read."""
    try:
        return sum(len(names) for _, _, names, _ in walk_folder(root))
    except OSError:
        return 0


def _no_note(data: bytes) -> str | None:
    """Why no note can hold these bytes."""
    if len(data) > limits.NOTE_FILE_BYTES:
        return f"it has more than {limits.NOTE_FILE_BYTES} bytes"
    try:
        note_file.read_file(data)
    except note_file.NoText as error:
        return error.message
    return None


def _shown(path: str) -> str:
    return path.encode("utf-8", "backslashreplace").decode()


# ── the import ───────────────────────────────────────────────────────────────────────────────────
# A folder is imported: its files are read here, and sent to the owner of the notes.
#
# The folder is read by the process that was asked to import it, with its own rights; the owner sees
# bytes and paths, and checks both. Attachments are copied straight into the knowledge base's
# directory. Files go over in batches, each of which is durable as a whole: an import that was cut
# short has done some of them, and the next one does the others.


@dataclass
class Imported:
    """What became of a folder's files."""

    fates: Counter[str] = field(default_factory=Counter)
    attachments: int = 0
    """Those that were copied in."""
    same_attachments: int = 0
    """Those that were there already."""
    failed: dict[str, str] = field(default_factory=dict)
    """Path → why it is not in: conflicts, and what was refused or left out."""
    attached: dict[str, str] = field(default_factory=dict)
    """Path of a .md that was kept as an attachment → why."""
    hidden: list[str] = field(default_factory=list)
    restored: int = 0
    """Suggestions that are again what an export says of them."""
    lost: dict[str, list[str]] = field(default_factory=dict)
    """Path → the suggestions of an export that no longer fit its file."""


def import_folder(
    api: NotesApi,
    root: Path,
    author: str,
    force: bool = False,
    report: Callable[[int], None] = lambda _: None,
) -> Imported:
    """Import a folder; what could not be imported is listed, and stops nothing else."""
    return _Import(api, root, author, force, report).run()


class _Import:
    def __init__(
        self, api: NotesApi, root: Path, author: str, force: bool, report: Callable[[int], None]
    ) -> None:
        self._api = api
        self._vault = Vault(root, api.home)
        self._author = author
        self._force = force
        self._report = report
        self._attachments = Attachments(api.home / ATTACHMENTS)
        self._held: list[dict[str, Any]] = []
        self._size = 0
        self._count = 0
        self._done = Imported()

    def run(self) -> Imported:
        self._exported = self._read_export()
        self._moved = {
            digest: known for known in self._exported.values() for digest in known.suggestions
        }
        self._folder = note_file.folder_name(self._vault.root)
        self._twins = {paths.twin_key(path): path for path in self._attachments.paths()}
        beside = []
        for found in self._vault.files():
            if found.data is None:
                beside.append(found)
            else:
                self._hold(found.path, found.data)
        self._send()
        self._notes = {
            paths.twin_key(note["path"]): note["path"]
            for note in self._api.call("kb/list", {})["notes"]
        }
        for found in beside:
            self._attach(found)
        self._done.failed |= self._vault.skipped
        self._done.attached |= self._vault.attached
        self._done.hidden = self._vault.hidden
        return self._done

    def _read_export(self) -> dict[str, ExportedFile]:
        """What an export wrote into the folder, if one did."""
        root = self._vault.root
        try:
            directory = open_folder(root)
        except OSError:
            return {}  # reported when the folder is read
        try:
            manifest = ExportManifest(directory)
        except OSError as error:
            raise from_os_error(error, str(root)) from None
        finally:
            os.close(directory)
        if manifest.unread:
            lines = "1 line" if manifest.unread == 1 else f"{manifest.unread:,} lines"
            self._done.failed[note_file.NAME] = (
                f"{lines} of it cannot be read; suggestions that were described there are "
                "imported in your name, and those in code as text"
            )
        return manifest.files

    # ── notes ───────────────────────────────────────────────────────────────────────────────────

    def _hold(self, path: str, data: bytes) -> None:
        full = self._size + len(data) > IMPORT_BATCH_BYTES
        if self._held and (full or len(self._held) >= IMPORT_BATCH_FILES):
            self._send()
        known = self._exported.get(path, ExportedFile())
        suggestions = self._suggestions(path, data)
        self._held.append(
            {
                "path": path,
                "data": base64.b64encode(data).decode(),
                "folder": self._folder,
                "note": known.note,
                "exported": sorted(known.digests),
                "suggestions": suggestions,
            }
        )
        self._size += len(data) + len(json.dumps(suggestions))

    def _suggestions(self, path: str, data: bytes) -> list[Any]:
        """What an export said of a file's suggestions; a renamed file is known by its bytes."""
        digest = note_file.digest(data)
        known = self._exported.get(path) or self._moved.get(digest, ExportedFile())
        suggestions = known.suggested(digest)
        if not isinstance(suggestions, list):
            return []
        suggestions = fit_to_send(suggestions)
        if len(json.dumps(suggestions)) > limits.CARRIED_BYTES:
            self._done.lost[path] = [f"{len(suggestions):,} that are too many for an import"]
            return []
        return suggestions

    def _send(self) -> None:
        if not self._held:
            return
        params = {"files": self._held, "by": self._author, "force": self._force}
        for outcome in self._api.call("kb/take", params)["outcomes"]:
            self._take(outcome["path"], ImportedAs(outcome["fate"]), outcome["reason"])
            self._done.restored += outcome["restored"]
            if outcome["lost"]:
                self._done.lost.setdefault(outcome["path"], []).extend(outcome["lost"])
        self._step(len(self._held))
        self._held, self._size = [], 0

    def _take(self, path: str, fate: ImportedAs, reason: str) -> None:
        self._done.fates[fate] += 1
        if reason:
            self._done.failed[path] = reason
        elif self._twins.get(paths.twin_key(path)) == path:
            self._attachments.remove(path)  # a file that no note could hold, until now

    # ── attachments ─────────────────────────────────────────────────────────────────────────────

    def _attach(self, found: VaultFile) -> None:
        key = paths.twin_key(found.path)
        taken = self._notes.get(key) or self._twins.get(key, found.path)
        if taken != found.path or key in self._notes:
            self._done.failed[found.path] = f"{taken} is there already; rename one of them"
            return
        try:
            is_new = self._attachments.put(found.path, found.source)
            self._done.attachments += is_new
            self._done.same_attachments += not is_new
            self._twins[key] = found.path
        except FlashgrepError as error:
            self._done.failed[found.path] = error.message
        except OSError as error:
            if error.errno in NO_ROOM:
                raise from_os_error(error, str(self._attachments.root)) from None
            self._done.failed[found.path] = from_os_error(error, "the file").message
        self._step(1)

    def _step(self, count: int) -> None:
        self._count += count
        self._report(self._count)
