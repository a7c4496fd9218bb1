"""What an export wrote into a folder: by it a folder and its files are known again.

    DIR/.flashgrep-export    JSON, one object a line
        {"flashgrep-export": 1}
        {"path": "Folder/Note.md", "note": "16 hex digits, or empty", "digest": "SHA-256",
         "suggestions": […]}      only where there are any (see `carried_suggestions`)

A line is added before its file is put in place, so that after a crash every file of ours is known;
at the end of an export the whole is written anew with one line a file. A last line that was cut
short is skipped. The folder may come from anybody: lines that are too long or not of this shape are
skipped, and a file that is too large is refused.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from flashgrep import limits
from flashgrep.errors import Conflict, TooLarge
from flashgrep.system.atomic import append, replacing
from flashgrep.workspace.safe_open import REGULAR, open_in

NAME: Final = ".flashgrep-export"
_HEAD: Final = "flashgrep-export"
_VERSION: Final = 1


@dataclass
class Exported:
    """One file that we wrote."""

    note: str = ""
    digests: set[str] = field(default_factory=set)
    suggestions: dict[str, Any] = field(default_factory=dict)
    """Digest → what the export said of the suggestions in that file; the latest last."""

    def suggested(self, digest: str) -> Any:
        """Of the file with this digest; of one that was changed since, what was in it before."""
        latest: Any = next(reversed(self.suggestions.values()), [])
        return self.suggestions.get(digest, [] if digest in self.digests else latest)


class Manifest:
    """The files of one folder, which is open as a descriptor."""

    def __init__(self, directory: int) -> None:
        self._directory = directory
        self.files: dict[str, Exported] = {}
        self.is_there = False
        for line in self._lines():
            self._learn(line)

    def _lines(self) -> Iterator[dict[str, Any]]:
        try:
            descriptor = open_in(NAME, REGULAR, dir_fd=self._directory)
        except FileNotFoundError:
            return
        self.is_there = True
        with os.fdopen(descriptor, "rb") as file:
            size = os.fstat(descriptor).st_size
            if size > limits.EXPORT_LIST_BYTES:
                raise TooLarge(
                    f"{NAME} has {size} bytes, and at most {limits.EXPORT_LIST_BYTES} are read; "
                    "remove it, and all files count as new ones"
                )
            while line := file.readline(limits.EXPORT_LIST_LINE_BYTES):
                try:
                    value = json.loads(line)
                except (ValueError, RecursionError):
                    continue
                if isinstance(value, dict):
                    yield value

    def _learn(self, line: dict[str, Any]) -> None:
        if _HEAD in line and line[_HEAD] != _VERSION:
            raise Conflict(f"{NAME} is of another version of flashgrep; use that one")
        if isinstance(line.get("path"), str) and isinstance(line.get("digest"), str):
            known = self.files.setdefault(line["path"], Exported())
            known.note = str(line.get("note", ""))
            known.digests.add(line["digest"])
            known.suggestions.pop(line["digest"], None)
            if suggestions := line.get("suggestions"):
                known.suggestions[line["digest"]] = suggestions

    def begin(self) -> None:
        """Say that this folder is ours, before anything is in it."""
        if not self.is_there:
            self._append({_HEAD: _VERSION})
            self.is_there = True

    def add(self, path: str, note: str, digest: str, suggestions: Sequence[Any] = ()) -> None:
        """A file is about to be put in place."""
        known = self.files.setdefault(path, Exported())
        known.note = note
        told = known.suggestions.get(digest, [])
        is_new = digest not in known.digests or told != list(suggestions)
        known.digests.add(digest)
        known.suggestions.pop(digest, None)
        if suggestions:
            known.suggestions[digest] = list(suggestions)
        if is_new:
            self._append(_line(path, known, digest))

    def _append(self, value: dict[str, Any]) -> None:
        # A line that was cut short before must not swallow this one.
        append(NAME, b"\n" + json.dumps(value).encode() + b"\n", self._directory)

    def finish(self, digests: dict[str, str]) -> None:
        """Write it anew: of each file only what it is now."""
        with replacing(NAME, directory=self._directory) as file:
            file.write(json.dumps({_HEAD: _VERSION}).encode() + b"\n")
            for path, known in sorted(self.files.items()):
                for digest in [digests[path]] if path in digests else sorted(known.digests):
                    file.write(json.dumps(_line(path, known, digest)).encode() + b"\n")


def _line(path: str, known: Exported, digest: str) -> dict[str, Any]:
    told = {"path": path, "note": known.note, "digest": digest}
    suggestions = known.suggestions.get(digest)
    return {**told, "suggestions": suggestions} if suggestions else told
