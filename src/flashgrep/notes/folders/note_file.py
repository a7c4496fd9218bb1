"""A note as a file: bytes to text and back, line ends, and the manifest of an export.

What a file has and a text lacks is kept in the note's properties:

    file      {"bom": true, "line_ends": …}; either may be missing
    imported  {"path", "digests", "note"}: where the note came from, and for each folder that it was
              imported from the SHA-256 of the file's bytes, the latest folder last; "note" is the
              id it had where it was exported, if it was made from an export

Line ends of a file, kept beside a text that has LF alone.

    nothing             every line ends with LF, or there is one line
    "crlf" or "cr"      every line ends so
    {"main", "lines"}   the ends are mixed: the most frequent one, and for each line how it ends and
                        what it says: base64 of zlib of one byte a line (0 LF, 1 CRLF, 2 CR), then
                        three bytes of a hash a line

The hashes are for a text that was changed since: lines that remain keep their ends, new ones get
the most frequent end. What did not change comes back byte for byte either way.

What an export wrote into a folder, by which the folder and its files are recognised later.

    DIR/.flashgrep-export    JSON, one object a line
        {"flashgrep-export": 1}
        {"path": "Folder/Note.md", "note": "16 hex digits, or empty", "digest": "SHA-256",
         "suggestions": […]}      only where there are any (see `carried_suggestions`)

A line is added before its file is put in place, so that after a crash every file of ours is known;
at the end of an export the manifest is rewritten with one line per file. A last line that was cut
short is skipped. The folder may come from anybody: lines that are too long or malformed are
skipped, and a manifest that is too large is refused.
"""

from __future__ import annotations

import base64
import binascii
import difflib
import hashlib
import json
import os
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeGuard

from flashgrep import limits
from flashgrep.errors import Conflict, FlashgrepError, InvalidParams, TooLarge
from flashgrep.notes.document.text import check_characters, check_size
from flashgrep.system.atomic import append, replacing
from flashgrep.workspace.safe_open import REGULAR, open_in

_EXPORT_LIST_LINE_BYTES: Final = 16 * limits.MIB
"""A line of `.flashgrep-export`; a longer one is not ours, and is skipped."""

# ── line ends ────────────────────────────────────────────────────────────────────────────────────


_END: Final = re.compile(r"\r\n|\r|\n")
_NAMES: Final = {"\n": "lf", "\r\n": "crlf", "\r": "cr"}
_ENDS: Final = {name: end for end, name in _NAMES.items()}
_KINDS: Final = ("\n", "\r\n", "\r")
_HASH_BYTES: Final = 3
_COMPARED_LINES: Final = 2_000
"""Lines that changed; finding old among new ones takes the square of this."""
_PACKED_BYTES: Final = 64 * 1024 * 1024
"""The size to which packed lines may unpack: several times a note of nothing but line ends."""

LineEnds = str | dict[str, str] | None


def taken(text: str) -> tuple[str, LineEnds]:
    """The text with LF alone, and what to keep of its line ends."""
    if "\r" not in text:
        return text, None
    ends = _END.findall(text)
    plain = _END.sub("\n", text)
    if len(set(ends)) == 1:
        return plain, _NAMES[ends[0]]
    ((main, _),) = Counter(ends).most_common(1)
    kinds = bytes(map(_KINDS.index, ends))
    packed = zlib.compress(kinds + b"".join(_hashes(plain.split("\n")[:-1])))
    return plain, {"main": _NAMES[main], "lines": base64.b64encode(packed).decode()}


def given_back(text: str, kept: Any) -> str:
    """The text with the line ends of the file it came from; LF where nothing sound is kept."""
    if isinstance(kept, str):
        return text.replace("\n", _ENDS.get(kept, "\n"))
    if not isinstance(kept, dict):
        return text
    main = _ENDS.get(str(kept.get("main")), "\n")
    lines = text.split("\n")
    ends = _aligned(_hashes(lines[:-1]), *_unpacked(kept.get("lines")), main)
    for at, end in enumerate(ends[:-1]):
        # CR and then an empty line with LF would be read as one CRLF.
        if end == "\r" and not lines[at + 1] and ends[at + 1] == "\n":
            ends[at] = "\n"
    return "".join(line + end for line, end in zip(lines, [*ends, ""], strict=True))


def _hashes(lines: Iterable[str]) -> list[bytes]:
    return [hashlib.blake2b(line.encode(), digest_size=_HASH_BYTES).digest() for line in lines]


def _unpacked(packed: Any) -> tuple[list[bytes], list[str]]:
    """The hashes and the ends of the lines there were; none where they cannot be read."""
    try:
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(base64.b64decode(str(packed)), _PACKED_BYTES)
        count, rest = divmod(len(data), 1 + _HASH_BYTES)
        ends = [_KINDS[kind] for kind in data[:count]]
    except (zlib.error, binascii.Error, ValueError, IndexError):
        return [], []
    if rest:
        return [], []
    hashes = data[count:]
    return [hashes[at : at + _HASH_BYTES] for at in range(0, len(hashes), _HASH_BYTES)], ends


def _aligned(
    now: Sequence[bytes], before: Sequence[bytes], ends: Sequence[str], main: str
) -> list[str]:
    """The end of each line there is now."""
    first = _common(now, before)
    last = _common(now[first:][::-1], before[first:][::-1])
    found = [main] * len(now)
    found[:first] = ends[:first]
    if last:
        found[-last:] = ends[-last:]
    changed, old = now[first : len(now) - last], before[first : len(before) - last]
    if max(len(changed), len(old)) <= _COMPARED_LINES:
        matcher = difflib.SequenceMatcher(None, old, changed, autojunk=False)
        for block in matcher.get_matching_blocks():
            start = first + block.b
            found[start : start + block.size] = ends[first + block.a :][: block.size]
    return found


def _common(one: Sequence[bytes], other: Sequence[bytes]) -> int:
    """How many lines both begin with."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


# ── note file ────────────────────────────────────────────────────────────────────────────────────


_BOM: Final = b"\xef\xbb\xbf"
FILE: Final = "file"
IMPORTED: Final = "imported"
_FOLDERS: Final = 8
"""Folders that are remembered with a note."""


class NoText(InvalidParams):
    """A file that no note can hold, and why."""


@dataclass(frozen=True, slots=True)
class Held:
    """A file's text as a note holds it, and what is kept beside it."""

    text: str
    file: Mapping[str, Any]


def read_file(data: bytes) -> Held:
    """A file as a note; `NoText` if its bytes are not text that a note can hold."""
    has_bom = data.startswith(_BOM)
    try:
        text = data[len(_BOM) if has_bom else 0 :].decode()
    except UnicodeDecodeError as error:
        raise NoText(f"it is not UTF-8 (byte {error.start + has_bom * len(_BOM)})") from None
    plain, ends = taken(text)
    try:
        check_characters(plain)
        check_size(plain)
    except FlashgrepError as error:
        raise NoText(error.message) from None
    return Held(plain, {**({"bom": True} if has_bom else {}), **_named(ends)})


def _named(ends: LineEnds) -> dict[str, Any]:
    return {} if ends is None else {"line_ends": ends}


def file_bytes(text: str, properties: Mapping[str, Any]) -> bytes:
    """The bytes of a note's file."""
    kept = properties.get(FILE)
    kept = kept if isinstance(kept, dict) else {}
    return _BOM * bool(kept.get("bom")) + given_back(text, kept.get("line_ends")).encode()


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


# ── manifest ─────────────────────────────────────────────────────────────────────────────────────


NAME: Final = ".flashgrep-export"
_HEAD: Final = "flashgrep-export"
_VERSION: Final = 1
_DIGEST_DIGITS: Final = 64
_NOTE_DIGITS: Final = 16
_HEX: Final = frozenset("0123456789abcdef")


@dataclass
class ExportedFile:
    """One file that we wrote."""

    note: str = ""
    digests: set[str] = field(default_factory=set)
    suggestions: dict[str, Any] = field(default_factory=dict)
    """Digest → what the export said of the suggestions in that file; the latest last."""

    def suggested(self, digest: str) -> Any:
        """Of the file with this digest; of one that was changed since, what was in it before."""
        latest: Any = next(reversed(self.suggestions.values()), [])
        return self.suggestions.get(digest, [] if digest in self.digests else latest)


class ExportManifest:
    """The files of one folder, which is open as a descriptor."""

    def __init__(self, directory: int) -> None:
        self._directory = directory
        self.files: dict[str, ExportedFile] = {}
        self.is_there = False
        self.unread = 0
        """Lines that say nothing: cut short, or not ours."""
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
            while line := file.readline(_EXPORT_LIST_LINE_BYTES):
                try:
                    value = json.loads(line)
                except (ValueError, RecursionError):
                    value = None
                if isinstance(value, dict):
                    yield value
                elif line.strip():
                    self.unread += 1

    def _learn(self, line: dict[str, Any]) -> None:
        if _HEAD in line and line[_HEAD] != _VERSION:
            raise Conflict(f"{NAME} is of another version of flashgrep; use that one")
        if isinstance(line.get("path"), str) and _is_hex(line.get("digest"), _DIGEST_DIGITS):
            known = self.files.setdefault(line["path"], ExportedFile())
            note = line.get("note")
            known.note = note if _is_hex(note, _NOTE_DIGITS) else ""
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
        known = self.files.setdefault(path, ExportedFile())
        known.note = note
        before = known.suggestions.get(digest, [])
        is_new = digest not in known.digests or before != list(suggestions)
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
        """Rewrite it: of each file only what it is now."""
        with replacing(NAME, directory=self._directory) as file:
            file.write(json.dumps({_HEAD: _VERSION}).encode() + b"\n")
            for path, known in sorted(self.files.items()):
                for digest in [digests[path]] if path in digests else sorted(known.digests):
                    file.write(json.dumps(_line(path, known, digest)).encode() + b"\n")


def _is_hex(value: Any, digits: int) -> TypeGuard[str]:
    return isinstance(value, str) and len(value) == digits and not set(value) - _HEX


def _line(path: str, known: ExportedFile, digest: str) -> dict[str, Any]:
    row = {"path": path, "note": known.note, "digest": digest}
    suggestions = known.suggestions.get(digest)
    return {**row, "suggestions": suggestions} if suggestions else row
