"""Carries an index to another machine: a file with the texts of a tree, each with its git id.

    8 bytes   magic and version, b"flashsn1"
    4 bytes   length of the header, little end first
    header    JSON: {"hash": "sha1", "files": number, "bytes": of all texts}
    stream    zlib: a record for each file (see `carried_files`), in walk order
    32 bytes  sha256 of everything before

Only what a hash proves is believed: a text that does not match its id is an error. Everything else
in a segment is rebuilt here from the texts, postings included, by processes that build while the
next texts are unpacked and verified. So a file may hold less than the tree, or another tree, and
answers still equal those of a scan; its texts are used only for files of the same name and id.

Files whose bytes are not their text (other line ends, other encodings, binary ones) are not
carried: a segment does not have their bytes. The next server reads them.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import struct
import urllib.request
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import IO, Any, Final

from flashgrep import limits
from flashgrep.errors import InvalidParams, IOFailure, Unavailable, from_os_error
from flashgrep.index.answer.view import IndexView
from flashgrep.index.format.header import HASHES
from flashgrep.index.format.segment import BINARY, Segment, path_key
from flashgrep.index.format.store import Store
from flashgrep.index.update.builders import (
    SEGMENT_BYTES,
    SEGMENT_FILES,
    BuildFailed,
    CarriedJob,
    build_carried,
    builder_count,
)
from flashgrep.index.update.carried_files import RECORD, CarriedFile
from flashgrep.index.update.writer import blob_id
from flashgrep.system.atomic import open_private, replacing

MAGIC: Final = b"flashsn1"
_LENGTH: Final = struct.Struct("<I")
_HEADER_BYTES: Final = 64 * 1024
_NAME_BYTES: Final = 4096
_NAMES_BYTES: Final = 256 * limits.MIB
"""Bytes of all names together: the stated size leaves them out, and they pack to next to
nothing."""
_SUM_BYTES: Final = 32
_PORTION: Final = limits.MIB
"""Unpacked at a time: what a few bytes unpack to may be any amount."""
_PACKED_PORTION: Final = limits.MIB // 8
"""Read at a time: what was not unpacked yet is copied for each call."""
_SPOOL_SUFFIX: Final = ".spool"
_ANSWER_SECONDS: Final = 60.0
_MARGIN_BYTES: Final = 64 * limits.MIB
Report = Callable[[float], None]


@dataclass(frozen=True)
class Transferred:
    """What an export or import carried."""

    files: int
    left_out: int
    """Files of the tree that are not in it, or 0 if unknown."""
    bytes: int
    """Bytes of the texts."""


# ── export ───────────────────────────────────────────────────────────────────────────────────────


def export_view(view: IndexView, target: str, hash_name: str, report: Report) -> Transferred:
    """Write the texts of a tree's index to a file, whole or not at all."""
    target = os.path.realpath(target)
    if os.path.lexists(target) and not os.path.isfile(target):
        raise InvalidParams(f"{target} is not a regular file; name one to write or replace")
    places, total = _carried(view)
    head = json.dumps({"hash": hash_name, "files": len(places), "bytes": total}).encode()
    left_out = view.snapshot.files + len(view.entries) - len(places)
    try:
        with replacing(target) as file:
            _write(file, head, places, report)
    except OSError as error:
        raise from_os_error(error, target) from None  # and not the name of a draft
    return Transferred(len(places), left_out, total)


def _write(file: IO[bytes], head: bytes, places: list[tuple[Segment, int]], report: Report) -> None:
    stream = _Summed(file)
    stream.write(MAGIC + _LENGTH.pack(len(head)) + head)
    packer = zlib.compressobj(1)
    for done, (segment, slot) in enumerate(places):
        name = segment.name(slot).encode("utf-8", "surrogateescape")
        record = CarriedFile(name, segment.id(slot), segment.text(slot))
        stream.write(packer.compress(record.packed()))
        report(done / len(places))
    stream.write(packer.flush())
    file.write(stream.sum.digest())


class _Summed:
    """A file being written, and the hash of what has been written."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.sum = hashlib.sha256()

    def write(self, data: bytes) -> None:
        self.sum.update(data)
        self._file.write(data)


def _carried(view: IndexView) -> tuple[list[tuple[Segment, int]], int]:
    """The files with text that is exactly what their id covers, in walk order, and their bytes."""
    found = [
        (segment.key(slot), segment, slot)
        for segment, alive in view.snapshot.parts()
        for slot in alive.nonzero()[0].tolist()
        if not segment.flags[slot] & BINARY
    ]
    found.sort(key=lambda one: one[0])
    places = [
        (segment, slot)
        for _, segment, slot in found
        if blob_id(segment.text(slot), segment.hash_name) == segment.id(slot)
    ]
    return places, sum(int(segment.sizes[slot]) for segment, slot in places)


# ── import ───────────────────────────────────────────────────────────────────────────────────────


def import_into(store: Store, source: str, hash_name: str, report: Report) -> Transferred:
    """Make an index from such a file, or from a URL, replacing the one that is there. An error
    leaves that unchanged.
    """
    with closing(store):
        if not store.lock():
            raise Unavailable(f"a server uses the index in {store.directory}; stop it first")
        try:
            with _opened(source) as file:
                found = _Incoming(file, source)
                if found.hash_name != hash_name:
                    raise found.bad(f"ids by {found.hash_name}; this tree has {hash_name}")
                need = 2 * found.bytes + _MARGIN_BYTES
                if store.free() < need:
                    raise IOFailure(
                        f"{store.directory} has {store.free() // limits.MIB} MiB free and needs "
                        f"{need // limits.MIB}; make room, or name another place with --state-dir"
                    )
                # All of it has been checked when the last of them is built.
                paths = build_carried(_spooled(store, found, report), builder_count())
            segments = [Segment(path) for path in paths]
            store.commit(segments, len(segments))
        except BaseException as error:
            store.sweep()  # what was begun counts for nobody
            if isinstance(error, BuildFailed):
                raise IOFailure(f"the index could not be written: {error}") from None
            if isinstance(error, OSError) and error.filename is None:  # a write: the disk is full
                raise from_os_error(error, str(store.directory)) from None
            raise
    return Transferred(found.files, 0, found.bytes)


def _spooled(store: Store, found: _Incoming, report: Report) -> Iterator[CarriedJob]:
    """What comes in, in files of ours for one segment each."""
    records, number = found.records(), 0
    record = next(records, None)
    while record is not None:
        path = store.new_path()
        job = CarriedJob(path + _SPOOL_SUFFIX, path, found.hash_name)
        size, first = 0, number
        with open_private(job.spool) as spool:
            while record is not None and size < SEGMENT_BYTES and number - first < SEGMENT_FILES:
                spool.write(record.packed())
                size, number = size + len(record.text), number + 1
                report(number / found.files)
                record = next(records, None)
        yield job


class _Incoming:
    """Such a file, read from start to end; anything wrong with it is an error."""

    def __init__(self, file: IO[bytes], source: str) -> None:
        self._file = file
        self._source = source
        self._sum = hashlib.sha256()
        self._unpacker = zlib.decompressobj()
        self._raw = b""
        """Read and not summed yet: the last bytes may be the sum."""
        self._waiting, self._at = b"", 0
        """Unpacked and not given out yet, from there on."""
        start = self._plain(len(MAGIC))
        if start != MAGIC:
            raise self.bad("not a snapshot of this version; export it with the same flashgrep")
        (length,) = _LENGTH.unpack(self._plain(_LENGTH.size))
        if length > _HEADER_BYTES:
            raise self.bad("the header is too long")
        try:
            told: dict[str, Any] = json.loads(self._plain(length))
            self.hash_name = str(told["hash"])
            self.files, self.bytes = int(told["files"]), int(told["bytes"])
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            raise self.bad("the header is damaged") from None
        if self.hash_name not in HASHES or self.files < 0 or self.bytes < 0:
            raise self.bad("the header says what cannot be")

    def bad(self, what: str) -> InvalidParams:
        """Why the file cannot be used."""
        return InvalidParams(f"{self._source}: {what}")

    def records(self) -> Iterator[CarriedFile]:
        """Each file; its text has its id."""
        width, previous, total, names = HASHES[self.hash_name], "", 0, 0
        for _ in range(self.files):
            name_bytes, size = RECORD.unpack(self._unpacked(RECORD.size))
            total, names = total + size, names + name_bytes
            if names > _NAMES_BYTES:
                raise self.bad("the names are longer than those of a tree may be")
            if name_bytes > _NAME_BYTES or size > limits.INDEXED_FILE_BYTES or total > self.bytes:
                raise self.bad("a file is larger than it may be")
            held, raw = self._unpacked(width), self._unpacked(name_bytes)
            text = self._unpacked(size)
            key = path_key(raw)
            if not _is_inside(raw) or key <= previous:
                raise self.bad(f"{raw!r} is not the path of a file, or not in order")
            if blob_id(text, self.hash_name) != held:
                raise self.bad(f"{raw!r} is not what its id says")
            previous = key
            yield CarriedFile(raw, held, text)
        self._end()

    def _end(self) -> None:
        while not self._unpacker.eof:
            if self._more():
                raise self.bad("there is more in it than it says")
        rest = self._unpacker.unused_data + self._rest()
        stream, told = rest[:-_SUM_BYTES], rest[-_SUM_BYTES:]
        is_all = not stream and self._at == len(self._waiting)
        if not is_all or self._sum.digest() != told:
            raise self.bad("cut short or damaged: its checksum is another")

    def _plain(self, size: int) -> bytes:
        data = self._read(size)
        if len(data) != size:
            raise self.bad("cut short")
        self._sum.update(data)
        return data

    def _unpacked(self, size: int) -> bytes:
        if self._at + size > len(self._waiting):
            self._unpack(size)
        start, self._at = self._at, self._at + size
        return self._waiting[start : self._at]

    def _unpack(self, size: int) -> None:
        """Have so much waiting."""
        parts = [self._waiting[self._at :]]
        missing = size - len(parts[0])
        while missing > 0:
            data = self._more()
            if not data:
                raise self.bad("there is less in it than it says")
            parts.append(data)
            missing -= len(data)
        self._waiting, self._at = b"".join(parts), 0

    def _more(self) -> bytes:
        """Some more of the stream; nothing at its end."""
        while not self._unpacker.eof:
            packed = self._unpacker.unconsumed_tail or self._next()
            try:
                data = self._unpacker.decompress(packed, _PORTION)
            except zlib.error:
                raise self.bad("damaged") from None
            self._sum.update(packed[: len(packed) - len(self._left())])
            if data:
                return data
        return b""

    def _left(self) -> bytes:
        return self._unpacker.unconsumed_tail or self._unpacker.unused_data

    def _next(self) -> bytes:
        data = self._read(_PACKED_PORTION)
        if not data:
            raise self.bad("cut short")
        return data

    def _rest(self) -> bytes:
        return self._read(_SUM_BYTES + 1)

    def _read(self, size: int) -> bytes:
        try:
            return self._file.read(size)
        except (OSError, http.client.HTTPException) as error:
            raise _unreadable(self._source, error) from None


def _is_inside(name: bytes) -> bool:
    """Whether a name can be that of a file of a tree."""
    parts = name.split(b"/")
    return b"\0" not in name and not {b"", b".", b"..", b".git"} & set(parts)


@contextmanager
def _opened(source: str) -> Iterator[IO[bytes]]:
    """A file, or what a URL gives."""
    if "://" not in source:
        with open(source, "rb") as file:
            yield file
        return
    if not source.startswith(("http://", "https://", "file://")):
        raise InvalidParams(f"{source}: only http, https and file URLs can be read")
    try:
        answer = _opener().open(source, timeout=_ANSWER_SECONDS)
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise _unreadable(source, error) from None
    with answer:
        yield answer


def _opener() -> urllib.request.OpenerDirector:
    """`urlopen` without FTP, which a server could redirect to."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler,
        urllib.request.UnknownHandler,
        urllib.request.HTTPHandler,
        urllib.request.HTTPSHandler,
        urllib.request.FileHandler,
        urllib.request.HTTPDefaultErrorHandler,
        urllib.request.HTTPRedirectHandler,
        urllib.request.HTTPErrorProcessor,
    ):
        opener.add_handler(handler())
    return opener


def _unreadable(source: str, error: Exception) -> IOFailure:
    return IOFailure(f"{source} cannot be read: {error!s:.200}")
