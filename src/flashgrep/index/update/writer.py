"""Builds one segment from a list of files.

Runs in other processes, one per core, so that indexing never holds up the server. A file is checked
before and after it is read; one that changed meanwhile is left out, and searched on disk. If
another segment already holds a file's bytes, the file is reported and not written again.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any, Final, NamedTuple

import numpy as np

from flashgrep import limits
from flashgrep.index.format.header import LENGTH, MAGIC
from flashgrep.index.format.roster import RACY_SECONDS
from flashgrep.index.format.segment import BINARY, BLOCK_BYTES, TYPES, UNENDED
from flashgrep.index.update.carried_files import CarriedFile
from flashgrep.index.update.grams import block_keys, inverted
from flashgrep.index.watch.changes import Identity, identity
from flashgrep.search.decode import searchable_text, text_of
from flashgrep.system.atomic import open_own, open_private, put_in_place
from flashgrep.workspace.safe_open import REGULAR
from flashgrep.workspace.scope import Scope
from flashgrep.workspace.text import is_text

_FOLDS: Final = ("\u017f".encode(), "\u212a".encode())  # long s and Kelvin sign: s and k
_ALIGN: Final = 64
_HEAD_BYTES: Final = 2048
_RACY_NS: Final = int(RACY_SECONDS * 1e9)


@dataclass
class _Tables:
    """The columns of a segment as they grow."""

    hash_name: str
    names: list[bytes] = field(default_factory=list)
    ids: list[bytes] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    status: list[Identity] = field(default_factory=list)
    racy: list[bool] = field(default_factory=list)
    flags: list[int] = field(default_factory=list)
    first: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    marks: list[int] = field(default_factory=list)
    sums: list[int] = field(default_factory=list)
    owners: list[int] = field(default_factory=list)
    groups: list[int] = field(default_factory=list)
    grams: list[Any] = field(default_factory=list)
    open_block: bytearray = field(default_factory=bytearray)

    def close_block(self) -> None:
        """Take the grams of the block that is being filled, and begin the next."""
        if self.open_block:
            self.grams.append(block_keys(np.frombuffer(bytes(self.open_block), np.uint8)))
            self.open_block.clear()


class KnownFile(NamedTuple):
    """A file of the tree with the same bytes as another segment's file."""

    name: str
    id: bytes
    status: Identity
    racy: bool


class Written(NamedTuple):
    """What became of the files for a segment."""

    left_out: list[str]
    """Those that could not be read, or changed while they were."""
    known: list[KnownFile]
    status: bytes
    """The status of each file that was written: the rows of its roster."""
    racy: bytes


def write_segment(
    scope: Scope,
    files: Sequence[tuple[str, bytes]],
    path: str,
    report: Callable[[int], None] = lambda count: None,
    known: Mapping[str, Collection[bytes]] | None = None,
    hash_name: str = "sha1",
) -> Written:
    """Write a segment of `files` (shown path, real path).

    `report` gets how many were read; what is left to do then takes about as long again. `known`
    has, by shown path, the ids of files that are in other segments: such a file is not written.
    """
    tables = _Tables(hash_name)
    left_out: list[str] = []
    found: list[KnownFile] = []
    pack_path = path + ".pack"
    try:
        with open_private(pack_path) as pack:
            pack.write(b"\n")  # `^` and `\\b` look at the byte before the first line
            for number, (shown, real) in enumerate(files, 1):
                read = _read_file(scope, shown, real, hash_name)
                if read is None:
                    left_out.append(shown)
                elif known and read[0].id in known.get(shown, ()):
                    found.append(read[0])
                else:
                    _add(tables, *read, pack)
                report(number)
        _assemble(tables, path, pack_path)
    finally:
        os.unlink(pack_path)
    status = np.asarray(tables.status, np.int64).tobytes()
    return Written(
        left_out=left_out,
        known=found,
        status=status,
        racy=np.asarray(tables.racy, np.uint8).tobytes(),
    )


def write_carried(files: Iterable[CarriedFile], path: str, hash_name: str) -> None:
    """Write a segment of contents with known ids; each tree says where such files are."""
    tables = _Tables(hash_name)
    pack_path = path + ".pack"
    try:
        with open_private(pack_path) as pack:
            pack.write(b"\n")
            for carried in files:
                status = (len(carried.text), 0, 0, 0)
                name = carried.name.decode("utf-8", "surrogateescape")
                file = KnownFile(name=name, id=carried.id, status=status, racy=True)
                _add(tables, file, carried.text, pack)
        _assemble(tables, path, pack_path)
    finally:
        os.unlink(pack_path)


# ── files ───────────────────────────────────────────────────────────────────────────────────────


def _read_file(
    scope: Scope, shown: str, real: bytes, hash_name: str
) -> tuple[KnownFile, bytes] | None:
    """A file and its bytes; None where it is not to be had as it is."""
    begun = time.time_ns()  # and not once it is read, which may take any time
    try:
        status, data = _read(scope, real)
    except OSError:
        return None
    if data is None:
        return None
    racy = begun - status.st_ctime_ns < _RACY_NS
    known = KnownFile(name=shown, id=blob_id(data, hash_name), status=identity(status), racy=racy)
    return known, data


def blob_id(data: bytes, hash_name: str) -> bytes:
    """What git calls a file's bytes."""
    digest = hashlib.new(hash_name, b"blob %d\0" % len(data), usedforsecurity=False)
    digest.update(data)
    return digest.digest()


def _add(tables: _Tables, file: KnownFile, data: bytes, pack: IO[bytes]) -> None:
    tables.names.append(file.name.encode("utf-8", "surrogateescape"))
    tables.ids.append(file.id)
    tables.sizes.append(len(data))
    tables.status.append(file.status)
    tables.racy.append(file.racy)
    tables.first.append(len(tables.starts))
    if not is_text(data[: limits.SNIFF_BYTES]):
        tables.flags.append(BINARY)
        return
    text = searchable_text(text_of(data))
    unended = bool(text) and not text.endswith(b"\n")
    tables.flags.append(UNENDED if unended else 0)
    _add_pieces(tables, text + b"\n" if unended else text, pack)


def _read(scope: Scope, real: bytes) -> tuple[os.stat_result, bytes | None]:
    """A file's status and bytes; None where it changed meanwhile, or is too large to keep."""
    fd = scope.open_real(real, REGULAR)
    try:
        before = os.fstat(fd)
        if before.st_size > limits.INDEXED_FILE_BYTES:
            return before, None
        pieces = []
        while piece := os.read(fd, limits.WINDOW_BYTES):
            pieces.append(piece)
        is_same = identity(before) == identity(os.fstat(fd))
    finally:
        os.close(fd)
    data = b"".join(pieces)
    return before, data if is_same and len(data) == before.st_size else None


def _add_pieces(tables: _Tables, text: bytes, pack: IO[bytes]) -> None:
    owner, at, line = len(tables.names) - 1, 0, 0
    place = pack.tell()
    while at < len(text):
        cut = text.rfind(b"\n", at, at + BLOCK_BYTES) + 1 or text.find(b"\n", at) + 1
        piece = text[at:cut]
        if len(tables.open_block) + len(piece) > BLOCK_BYTES:
            tables.close_block()
        tables.open_block += piece
        tables.groups.append(len(tables.grams))
        tables.starts.append(place + at)
        tables.lengths.append(len(piece))
        tables.lines.append(line)
        # Whether all is ASCII is seen ten times as fast as whether two bytes are in it.
        tables.marks.append(not piece.isascii() and any(fold in piece for fold in _FOLDS))
        tables.sums.append(zlib.crc32(piece))
        tables.owners.append(owner)
        line += piece.count(b"\n")
        at = cut
    pack.write(text)


# ── the file ────────────────────────────────────────────────────────────────────────────────────


def _assemble(tables: _Tables, path: str, pack_path: str) -> None:
    tables.close_block()
    keys, offsets, postings = inverted(tables.grams)
    tables.first.append(len(tables.starts))
    columns = {name: getattr(tables, name, None) for name in TYPES}
    columns.update(keys=keys, offsets=offsets)
    columns["name_ends"] = np.cumsum([len(name) for name in tables.names])
    sections = {
        name: _bytes_of(np.asarray(column, TYPES[name])) for name, column in columns.items()
    }
    sections["names"] = memoryview(b"".join(tables.names))
    sections["ids"] = memoryview(b"".join(tables.ids))
    sections["postings"] = _bytes_of(postings)
    _write(path, {"hash": tables.hash_name}, sections, pack_path)


def _bytes_of(array: Any) -> memoryview:
    return memoryview(array.reshape(-1)).cast("B")


def _write(
    path: str, told: dict[str, Any], sections: dict[str, memoryview], pack_path: str
) -> None:
    at = len(MAGIC) + 2 * LENGTH.size + _HEAD_BYTES
    places: dict[str, tuple[int, int, int]] = {}
    for name, data in sections.items():
        at += -at % _ALIGN
        places[name] = (at, len(data), zlib.crc32(data))
        at += len(data)
    places["pack"] = (at + -at % _ALIGN, os.path.getsize(pack_path), 0)
    head = json.dumps({**told, "sections": places}).encode().ljust(_HEAD_BYTES)
    with open_private(path + ".new") as file:
        file.write(MAGIC + LENGTH.pack(len(head)) + head + LENGTH.pack(zlib.crc32(head)))
        for name, data in sections.items():
            file.seek(places[name][0])
            file.write(data)
        file.truncate(places["pack"][0])
        file.seek(places["pack"][0])
        with open_own(pack_path) as pack:
            while piece := pack.read(limits.WINDOW_BYTES):
                file.write(piece)
        file.flush()
        os.fsync(file.fileno())
    put_in_place(path + ".new", path, is_durable=False)  # with the manifest that names it
