"""A folder of Markdown, an Obsidian vault for one: what in it is a note, what a file beside them.

    Folder/Note.md      a note, if its bytes are UTF-8 and not more than a note holds
    anything else       an attachment; so is a .md that no note can hold, which is told
    .name               left out, as Obsidian does: .obsidian, .git and .trash among them
    links               left out and told: followed, they lead out of the folder, or to a file that
                        is in it anyway
    sockets, devices    left out and told; nothing is opened that could block

Directories are entered by descriptor and without following links, so that a folder that changes
while it is read leads nowhere else.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from flashgrep import limits
from flashgrep.errors import FlashgrepError, InvalidParams, NotFound, from_os_error
from flashgrep.notes.folders import manifest, note_file
from flashgrep.notes.store import paths
from flashgrep.workspace.safe_open import open_regular, walk_folder


@dataclass(frozen=True, slots=True)
class Found:
    """A file of the folder."""

    path: str
    data: bytes | None
    """A note's bytes; None for an attachment, which is copied without being held."""
    source: Path


@dataclass
class Vault:
    """A folder, and what of it was left out."""

    root: Path
    besides: Path
    """The knowledge base's own directory, which may lie in the folder."""
    skipped: dict[str, str] = field(default_factory=dict)
    """Path → why it is not in; hidden names are only counted."""
    attached: dict[str, str] = field(default_factory=dict)
    """Path of a .md that is an attachment → why."""
    hidden: list[str] = field(default_factory=list)

    def files(self) -> Iterator[Found]:
        """All files in the order of their paths, folder by folder."""
        root = os.path.realpath(self.root)
        if not os.path.isdir(root):
            raise NotFound(f"{self.root} is not a directory; name the folder with the notes")
        own = os.path.realpath(self.besides)
        if root == own or root.startswith(own + os.sep):
            raise InvalidParams(f"{self.root} is the knowledge base itself; name another folder")
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
        def told(error: OSError) -> None:
            shown = os.path.relpath(str(error.filename or root), root)
            self.skipped[_shown(shown)] = from_os_error(error, "the folder").message

        return told

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
            else:
                entered.append(name)
        return entered

    def _is_wanted(self, path: str, name: str) -> bool:
        if name.startswith("."):
            if path != manifest.NAME:  # that one is read, by whoever imports
                self.hidden.append(_shown(path))
            return False
        return True

    def _file(self, path: str, name: str, descriptor: int, directory: str) -> Found | None:
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
        return Found(path, data, Path(directory, name))


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
