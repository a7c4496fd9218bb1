"""Reads git's index: the files it tracks, each with the id of its blob and its status then.

Versions 2, 3 and 4 are read. An index that is damaged, split or sparse, or has an extension that
git itself would not skip, is not used. Only entries with an id that holds for the file's content
while its status is the same are returned: no conflicts, no links or submodules, nothing that git
was told to assume unchanged or to skip.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from flashgrep import limits
from flashgrep.index.git.repository import GitRepository

_HEAD: Final = struct.Struct(">4sII")
_EXTENSION: Final = struct.Struct(">4sI")
_STATUS_BYTES: Final = 40
_ASSUMED_OR_STAGED: Final = 0xB000
_EXTENDED: Final = 0x4000
_NAME_BYTES: Final = 0xFFF
_REGULAR: Final = 0o10
_INDEX_BYTES: Final = 1024 * limits.MIB


@dataclass(frozen=True)
class GitEntries:
    """The entries of an index that tell a file's content."""

    names: list[bytes]
    """From the root of the working tree."""
    status: Any
    """Per entry, cut to 32 bits: ctime in seconds and nanoseconds, mtime in both, device, inode,
    mode, user, group, size."""
    ids: Any
    """Per entry the bytes of its id."""
    written_ns: int
    """When the index was written."""
    all_names: list[bytes]
    """Those of all entries, the others included."""


class _Unusable(Exception):
    """The index says nothing for certain."""


def read_index(repository: GitRepository) -> GitEntries | None:
    """The entries of a working tree's index; None where it is not to be used."""
    try:
        descriptor = os.open(repository.index_path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        if status.st_size > _INDEX_BYTES:
            return None
        with os.fdopen(os.dup(descriptor), "rb") as file:
            data = file.read(_INDEX_BYTES)
        return parsed(data, repository.hash_name, status.st_mtime_ns)
    except (OSError, _Unusable, IndexError, ValueError, struct.error):
        return None
    finally:
        os.close(descriptor)


def parsed(data: bytes, hash_name: str, written_ns: int) -> GitEntries:
    """The entries of an index's bytes; an error of several kinds where they are damaged."""
    width = hashlib.new(hash_name, usedforsecurity=False).digest_size
    body, checksum = data[:-width], data[-width:]
    magic, version, count = _HEAD.unpack_from(body)
    if magic != b"DIRC" or version not in (2, 3, 4):
        raise _Unusable
    is_summed = any(checksum)  # with `index.skipHash` git writes zeros
    if is_summed and hashlib.new(hash_name, body, usedforsecurity=False).digest() != checksum:
        raise _Unusable
    names: list[bytes] = []
    offsets: list[int] = []
    past = _HEAD.size
    entries = _compressed if version == 4 else _plain
    for start, name, end in entries(body, count, width):
        offsets.append(start)
        names.append(name)
        past = end
    _check_extensions(body, past)
    return _usable(body, names, offsets, width, written_ns)


def _plain(body: bytes, count: int, width: int) -> Iterator[tuple[int, bytes, int]]:
    """Start, name and end of each entry, padded to a multiple of eight bytes."""
    at, head = _HEAD.size, _STATUS_BYTES + width + 2
    for _ in range(count):
        flags = body[at + head - 2] << 8 | body[at + head - 1]
        start = at + head + (2 if flags & _EXTENDED else 0)
        length = flags & _NAME_BYTES
        end = body.index(b"\0", start + (length if length == _NAME_BYTES else 0))
        if length < _NAME_BYTES and end != start + length:
            raise _Unusable
        past = at + (end - at + 8) // 8 * 8
        yield at, body[start:end], past
        at = past


def _compressed(body: bytes, count: int, width: int) -> Iterator[tuple[int, bytes, int]]:
    """The same of version 4: a name is what it shares with the one before, and the rest."""
    at, head, name = _HEAD.size, _STATUS_BYTES + width + 2, b""
    for _ in range(count):
        flags = body[at + head - 2] << 8 | body[at + head - 1]
        place = at + head + (2 if flags & _EXTENDED else 0)
        byte = body[place]
        dropped = byte & 127
        while byte & 128:
            place += 1
            byte = body[place]
            dropped = (dropped + 1) << 7 | byte & 127
        end = body.index(b"\0", place + 1)
        if dropped > len(name):
            raise _Unusable
        name = name[: len(name) - dropped] + body[place + 1 : end]
        yield at, name, end + 1
        at = end + 1


def _check_extensions(body: bytes, at: int) -> None:
    """Refuse an index if its entries are incomplete or mean something else."""
    while at < len(body):
        name, size = _EXTENSION.unpack_from(body, at)
        if not name[:1].isupper():  # `link` (split), `sdir` (sparse): not to be skipped
            raise _Unusable
        at += _EXTENSION.size + size
    if at != len(body):
        raise _Unusable


def _usable(
    body: bytes, names: list[bytes], offsets: list[int], width: int, written_ns: int
) -> GitEntries:
    size = _STATUS_BYTES + width + 4
    data = np.frombuffer(body + bytes(size), np.uint8)
    rows = data[np.array(offsets, np.int64).reshape(-1, 1) + np.arange(size)]
    status = np.ascontiguousarray(rows[:, :_STATUS_BYTES]).view(">u4").astype(np.int64)
    flags = np.ascontiguousarray(rows[:, -4:]).view(">u2").astype(np.int64).reshape(-1, 2)
    is_plain = (flags[:, 0] & _ASSUMED_OR_STAGED) == 0
    is_plain &= ((flags[:, 0] & _EXTENDED) == 0) | (flags[:, 1] == 0)
    is_plain &= (status[:, 6] >> 12) == _REGULAR
    kept = np.flatnonzero(is_plain)
    return GitEntries(
        names=[names[at] for at in kept.tolist()],
        status=status[kept],
        ids=rows[kept, _STATUS_BYTES : _STATUS_BYTES + width],
        written_ns=written_ns,
        all_names=names,
    )
