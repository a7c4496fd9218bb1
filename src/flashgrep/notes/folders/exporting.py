"""Writes notes and attachments as files of a folder, each put in place as a whole.

Nothing is written outside the folder: it is entered by descriptor, name by name, and no link is
followed. Nothing is deleted. A file that somebody changed since we wrote or imported it is left and
listed, and so are files whose notes are gone. A folder that is neither empty nor one of our exports
is refused. `force` overwrites what is in the way, and nothing else.

Files are not synced one by one: the truth is the journal, and an export can be made again.
"""

from __future__ import annotations

import base64
import errno
import hashlib
import json
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from flashgrep import limits
from flashgrep.errors import Conflict, InvalidParams, from_os_error
from flashgrep.notes.administration import NotesApi
from flashgrep.notes.folders.note_file import ExportManifest, digest, folder_name
from flashgrep.notes.home import ATTACHMENTS, check_no_file
from flashgrep.notes.store import paths as note_paths
from flashgrep.system.atomic import replace_file, replacing
from flashgrep.workspace.safe_open import descend, open_folder, open_regular

IMPORT_BATCH_FILES: Final = 200
"""Files that are imported in one transaction, or read for an export at once…"""

IMPORT_BATCH_BYTES: Final = 1 * limits.MIB
"""…or this many bytes of them, if that is less; a single larger one goes alone."""

# ── attachments ──────────────────────────────────────────────────────────────────────────────────
# Files that are not notes, kept under their paths in the knowledge base's directory.
#
# They have no history: what an import brings replaces what was there, as a whole or not at all.


_CHUNK: Final = 1024 * 1024
_DRAFT: Final = ".draft-"


class Attachments:
    """The files below a directory."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def paths(self) -> list[str]:
        """All of them, sorted; drafts that were cut short are not among them."""
        found = []
        for directory, _, names in os.walk(self.root):
            below = os.path.relpath(directory, self.root)
            prefix = "" if below == "." else below + "/"
            found += [prefix + name for name in names if not name.startswith(_DRAFT)]
        return sorted(found)

    def put(self, path: str, source: Path) -> bool:
        """Copy a file in; False where the same bytes are there already."""
        target = self.root / note_paths.checked_attachment(path)
        if target.is_file() and digest_of(target) == digest_of(source):
            return False
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = target.parent / f"{_DRAFT}{secrets.token_hex(8)}"
        replace_file(target, chunks(source), draft)
        return True

    def remove(self, path: str) -> None:
        """Take one away, if it is there: a note has come in its place."""
        with suppress(FileNotFoundError, NotADirectoryError):
            os.unlink(self.root / path)


def chunks(source: Path) -> Iterator[bytes]:
    """A file's bytes, piece by piece; no link and no special file."""
    with os.fdopen(open_regular(source), "rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


def digest_of(source: Path) -> str:
    """The SHA-256 of a file."""
    found = hashlib.sha256()
    for chunk in chunks(source):
        found.update(chunk)
    return found.hexdigest()


# ── exporting ────────────────────────────────────────────────────────────────────────────────────


Report = Callable[[int, int], None]
"""Called with how many of how many are done."""


@dataclass
class ExportSummary:
    """What became of an export."""

    written: int = 0
    same: int = 0
    attachments: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    """Path → why the folder does not have it as it is here."""
    left: list[str] = field(default_factory=list)
    """Our files in the folder that have lost their notes."""


def export(
    api: NotesApi, root: Path, force: bool, report: Report = lambda *_: None
) -> ExportSummary:
    """Write all notes and attachments into a folder."""
    _check_place(api.home, root)
    check_no_file(root)
    try:
        root.mkdir(parents=True, exist_ok=True)
        with _opened(open_folder(root)) as directory:
            return _Export(api, directory, force, report).run(root)
    except OSError as error:
        raise from_os_error(error, str(error.filename or root)) from None


def _check_place(home: Path, root: Path) -> None:
    if root.resolve().is_relative_to(home.resolve()):
        raise InvalidParams(f"{root} is in the knowledge base's own directory; name another folder")


class _Export:
    def __init__(self, api: NotesApi, directory: int, force: bool, report: Report) -> None:
        self._api = api
        self._directory = directory
        self._force = force
        self._report = report
        self._manifest = ExportManifest(directory)
        self._digests: dict[str, str] = {}
        self._done = ExportSummary()

    def run(self, root: Path) -> ExportSummary:
        if not self._manifest.is_there and not self._force and os.listdir(self._directory):
            raise Conflict(
                f"{root} is not empty, and no export was made there; name another folder, or "
                "overwrite what is in the way with --force"
            )
        self._manifest.begin()
        self._folder_name = folder_name(root)
        listed = self._api.call("kb/list", {})["notes"]
        attachments = Attachments(self._api.home / ATTACHMENTS)
        paths = {note["path"] for note in listed}
        beside = [path for path in attachments.paths() if path not in paths]
        total = len(listed) + len(beside)
        self._notes(listed, total)
        for at, path in enumerate(beside, len(listed) + 1):
            self._attachment(path, attachments.root / path)
            self._report(at, total)
        self._list_left({*paths, *beside, *self._digests})  # some were moved meanwhile
        self._manifest.finish(self._digests)
        return self._done

    def _notes(self, listed: Sequence[dict[str, Any]], total: int) -> None:
        done = 0
        for batch in _batches(listed):
            asked = {"notes": [note["id"] for note in batch], "folder": self._folder_name}
            for file in self._api.call("kb/give", asked)["files"]:
                if "data" in file:
                    self._note(file)
                else:
                    self._done.failed[file["path"]] = file["reason"]
            done += len(batch)
            self._report(done, total)

    def _note(self, file: dict[str, Any]) -> None:
        data = base64.b64decode(file["data"])
        suggestions = self._carried(file)
        if self._put(file["path"], file["id"], digest(data), [data], file["taken"], suggestions):
            self._done.written += 1

    def _carried(self, file: dict[str, Any]) -> list[Any]:
        """What is said of a note's suggestions; of so many that it is too much, of none."""
        suggestions: list[Any] = file.get("suggestions", [])
        if len(json.dumps(suggestions)) <= limits.CARRIED_BYTES:
            return suggestions
        self._done.failed[file["path"]] = (
            f"it is written, but its {len(suggestions):,} suggestions are too many for the export "
            "to carry their authors; decide some of them first"
        )
        return []

    def _attachment(self, path: str, source: Path) -> None:
        if self._put(path, "", digest_of(source), chunks(source)):
            self._done.attachments += 1

    def _put(
        self,
        path: str,
        note: str,
        wanted: str,
        data: Iterable[bytes],
        taken: str | None = None,
        suggestions: Sequence[Any] = (),
    ) -> bool:
        """Put a file in place; False where it is there already, or cannot be written.

        `taken` is the digest of what an import has taken from there.
        """
        *folders, name = path.split("/")
        try:
            with _opened(descend(self._directory, folders, create=True)) as folder:
                found = _digest_at(folder, name)
                if found == wanted:
                    self._done.same += 1
                    self._manifest.add(path, note, wanted, suggestions)
                    self._digests[path] = wanted
                    return False
                if found != taken and (reason := self._in_the_way(path, found)):
                    self._done.failed[path] = reason
                    return False
                self._manifest.add(path, note, wanted, suggestions)
                _write(folder, name, data)
        except OSError as error:
            if error.errno in NO_ROOM:
                raise
            self._done.failed[path] = from_os_error(error, path).message
            return False
        self._digests[path] = wanted
        return True

    def _in_the_way(self, path: str, found: str | None) -> str | None:
        known = self._manifest.files.get(path)
        if found is None or self._force or (known and found in known.digests):
            return None
        if found == _NO_FILE:
            return "something there is not a file; --force replaces it"
        return "the file was changed since the last exchange; import it first, or use --force"

    def _list_left(self, paths: set[str]) -> None:
        for path in sorted(set(self._manifest.files) - paths):
            *folders, name = path.split("/")
            try:
                with _opened(descend(self._directory, folders)) as folder:
                    os.stat(name, dir_fd=folder, follow_symlinks=False)
                self._done.left.append(path)
            except OSError:
                del self._manifest.files[path]


_NO_FILE: Final = "no file"
NO_ROOM: Final = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG))
"""Every other file would fail the same way."""


def _batches(listed: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Some notes at a time, by number and by size."""
    batch: list[dict[str, Any]] = []
    size = 0
    for note in listed:
        size += note.get("bytes", 0)
        if batch and (size > IMPORT_BATCH_BYTES or len(batch) >= IMPORT_BATCH_FILES):
            yield batch
            batch, size = [], note.get("bytes", 0)
        batch.append(note)
    if batch:
        yield batch


def _digest_at(folder: int, name: str) -> str | None:
    """The digest of the file there; None where there is none."""
    try:
        with os.fdopen(open_regular(name, folder), "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return None
    except InvalidParams:
        return _NO_FILE


def _write(folder: int, name: str, data: Iterable[bytes]) -> None:
    """All of the file under its name, or nothing of it."""
    draft = f".flashgrep-{secrets.token_hex(8)}"
    with replacing(name, draft, directory=folder, mode=0o666, is_durable=False) as file:
        file.writelines(data)


@contextmanager
def _opened(descriptor: int) -> Iterator[int]:
    try:
        yield descriptor
    finally:
        os.close(descriptor)
