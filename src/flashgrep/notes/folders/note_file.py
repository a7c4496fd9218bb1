"""A note as a file: bytes to text and back, byte for byte where nothing changed.

What a file has that a text has not stands among the note's properties:

    file      {"bom": true, "line_ends": …}; either may be missing (see `lineends`)
    imported  {"path", "digests", "note"}: where the note came from, and for each folder that it was
              imported from the SHA-256 of the file's bytes, the latest folder last; "note" is the
              id it had where it was exported, if it was made from an export
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from flashgrep.errors import FlashgrepError, InvalidParams
from flashgrep.notes.document.splices import check_characters, check_size
from flashgrep.notes.folders import lineends

_BOM: Final = b"\xef\xbb\xbf"
FILE: Final = "file"
IMPORTED: Final = "imported"
_FOLDERS: Final = 8
"""Folders that are remembered with a note."""


class NoText(InvalidParams):
    """A file that no note can hold; the reason."""


@dataclass(frozen=True, slots=True)
class Held:
    """A file's text as a note holds it, and what is kept beside it."""

    text: str
    file: Mapping[str, Any]


def read_file(data: bytes) -> Held:
    """A file as a note; `NoText` where its bytes are no text that a note can hold."""
    has_bom = data.startswith(_BOM)
    try:
        text = data[len(_BOM) if has_bom else 0 :].decode()
    except UnicodeDecodeError as error:
        raise NoText(f"it is not UTF-8 (byte {error.start + has_bom * len(_BOM)})") from None
    plain, ends = lineends.taken(text)
    try:
        check_characters(plain)
        check_size(plain)
    except FlashgrepError as error:
        raise NoText(error.message) from None
    return Held(plain, {**({"bom": True} if has_bom else {}), **_named(ends)})


def _named(ends: lineends.LineEnds) -> dict[str, Any]:
    return {} if ends is None else {"line_ends": ends}


def file_bytes(text: str, properties: Mapping[str, Any]) -> bytes:
    """The bytes of a note's file."""
    kept = properties.get(FILE)
    kept = kept if isinstance(kept, dict) else {}
    return _BOM * bool(kept.get("bom")) + lineends.given_back(text, kept.get("line_ends")).encode()


def folder_name(root: Path) -> str:
    """What a folder is known by among those that notes were exchanged with."""
    return os.path.realpath(root).encode("utf-8", "replace").decode()


def digest(data: bytes) -> str:
    """By which a file's bytes are known again."""
    return hashlib.sha256(data).hexdigest()


def stamped(
    properties: Mapping[str, Any], folder: str, path: str, data: bytes, held: Held, note: str = ""
) -> dict[str, Any]:
    """The properties of a note that was just taken from a folder's file."""
    _, digests = origin(properties)
    if digests.get(folder) != digest(data):
        digests.pop(folder, None)
        digests[folder] = digest(data)
    latest = dict(list(digests.items())[-_FOLDERS:])
    kept = {name: value for name, value in properties.items() if name not in (FILE, IMPORTED)}
    if held.file:
        kept[FILE] = dict(held.file)
    note = note or exported_as(properties)
    exported = {"note": note} if note else {}
    return {**kept, IMPORTED: {"path": path, "digests": latest, **exported}}


def exported_as(properties: Mapping[str, Any]) -> str:
    """The id that a note had where it was exported; empty where it came from no export."""
    found = properties.get(IMPORTED)
    note = found.get("note", "") if isinstance(found, dict) else ""
    return note if isinstance(note, str) else ""


def origin(properties: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """The path of the file a note was last taken from, and each folder's digest of it."""
    found = properties.get(IMPORTED)
    found = found if isinstance(found, dict) else {}
    return str(found.get("path", "")), dict(found.get("digests") or {})
