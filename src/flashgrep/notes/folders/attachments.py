"""Files that are no notes, kept under their paths in the knowledge base's directory.

They have no history: what an import brings replaces what was there, as a whole or not at all.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from flashgrep.notes.store import paths as note_paths
from flashgrep.system.atomic import replace_file
from flashgrep.workspace.safe_open import open_regular

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
