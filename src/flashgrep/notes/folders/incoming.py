"""A folder is imported: its files are read here, and handed to whoever owns the notes.

The folder is read by the process that was asked to import it, with its own rights; the owner sees
bytes and paths, and checks both. Attachments are copied straight into the knowledge base's
directory. Files go over in batches, each of which is durable as a whole: an import that was cut
short has done some of them, and the next one does the others.
"""

from __future__ import annotations

import base64
import json
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flashgrep import limits
from flashgrep.errors import FlashgrepError, from_os_error
from flashgrep.notes.administration import Desk
from flashgrep.notes.folders import note_file
from flashgrep.notes.folders.attachments import Attachments
from flashgrep.notes.folders.exporting import NO_ROOM
from flashgrep.notes.folders.importing import Fate
from flashgrep.notes.folders.manifest import Exported, Manifest
from flashgrep.notes.folders.vault import Found, Vault
from flashgrep.notes.home import ATTACHMENTS
from flashgrep.notes.store import paths
from flashgrep.workspace.safe_open import open_folder


@dataclass
class Imported:
    """What became of a folder's files."""

    fates: Counter[str] = field(default_factory=Counter)
    attachments: int = 0
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
    desk: Desk,
    root: Path,
    author: str,
    force: bool = False,
    report: Callable[[int], None] = lambda _: None,
) -> Imported:
    """Import a folder; everything that could not be taken is told, and holds up nothing else."""
    return _Import(desk, root, author, force, report).run()


class _Import:
    def __init__(
        self, desk: Desk, root: Path, author: str, force: bool, report: Callable[[int], None]
    ) -> None:
        self._desk = desk
        self._vault = Vault(root, desk.home)
        self._author = author
        self._force = force
        self._report = report
        self._attachments = Attachments(desk.home / ATTACHMENTS)
        self._held: list[dict[str, Any]] = []
        self._size = 0
        self._count = 0
        self._done = Imported()

    def run(self) -> Imported:
        self._exported = _manifest(self._vault.root)
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
            for note in self._desk.call("kb/list", {})["notes"]
        }
        for found in beside:
            self._attach(found)
        self._done.failed |= self._vault.skipped
        self._done.attached |= self._vault.attached
        self._done.hidden = self._vault.hidden
        return self._done

    # ── notes ───────────────────────────────────────────────────────────────────────────────────

    def _hold(self, path: str, data: bytes) -> None:
        full = self._size + len(data) > limits.IMPORT_BATCH_BYTES
        if self._held and (full or len(self._held) >= limits.IMPORT_BATCH_FILES):
            self._send()
        known = self._exported.get(path, Exported())
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
        known = self._exported.get(path) or self._moved.get(digest, Exported())
        told = known.suggested(digest)
        if not isinstance(told, list):
            return []
        if len(json.dumps(told)) > limits.CARRIED_BYTES:
            self._done.lost[path] = [f"{len(told):,} that are too many for an import"]
            return []
        return told

    def _send(self) -> None:
        if not self._held:
            return
        params = {"files": self._held, "by": self._author, "force": self._force}
        for outcome in self._desk.call("kb/take", params)["outcomes"]:
            self._take(outcome["path"], Fate(outcome["fate"]), outcome["reason"])
            self._done.restored += outcome["restored"]
            if outcome["lost"]:
                self._done.lost.setdefault(outcome["path"], []).extend(outcome["lost"])
        self._step(len(self._held))
        self._held, self._size = [], 0

    def _take(self, path: str, fate: Fate, reason: str) -> None:
        self._done.fates[fate] += 1
        if reason:
            self._done.failed[path] = reason
        elif self._twins.get(paths.twin_key(path)) == path:
            self._attachments.remove(path)  # a file that no note could hold, until now

    # ── attachments ─────────────────────────────────────────────────────────────────────────────

    def _attach(self, found: Found) -> None:
        key = paths.twin_key(found.path)
        taken = self._notes.get(key) or self._twins.get(key, found.path)
        if taken != found.path or key in self._notes:
            self._done.failed[found.path] = f"{taken} is there already; rename one of them"
            return
        try:
            self._done.attachments += self._attachments.put(found.path, found.source)
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


def _manifest(root: Path) -> dict[str, Exported]:
    """What an export wrote into the folder, if one did."""
    try:
        directory = open_folder(root)
    except OSError:
        return {}  # told when the folder is read
    try:
        return Manifest(directory).files
    except OSError as error:
        raise from_os_error(error, str(root)) from None
    finally:
        os.close(directory)
