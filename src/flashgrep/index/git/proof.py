"""Tells what files contain without reading them: from git's index, where that is certain.

An entry of the index says that a file of this status had this content. It is believed if
the file has exactly that status now, if the entry was not made in the very moment of a change (git
calls that racily clean), and if nothing converts the file. Converted line ends are not checked
here: whoever uses an id compares the sizes of file and blob (see `attributes`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from flashgrep.index.format.segment import short_ids
from flashgrep.index.git.attributes import FILE, converted_files
from flashgrep.index.git.git_index import GitEntries, read_index
from flashgrep.index.git.repository import GitRepository

_SECOND: Final = 1_000_000_000
_CUT: Final = 0xFFFFFFFF
_FINE_NS: Final = 20_000_000
"""Times of a file system come from a clock that moves every few milliseconds …"""
_COARSE_NS: Final = 2 * _SECOND
"""… or, where they have no fractions, every second or two."""

Status = tuple[int, int, int, int]
"""Size, mtime_ns, ctime_ns and inode of a file."""


def blob_ids(
    repository: GitRepository, files: Mapping[str, Status], environment: Mapping[str, str]
) -> dict[str, bytes]:
    """The ids of those workspace files for which git's index is sure of the content."""
    entries = read_index(repository)
    if entries is None:
        return {}
    numbers, names = _named(entries, repository.prefix, files)
    if not names:
        return {}
    known = np.array([files[name] for name in names], np.int64)
    rows = np.array(numbers, np.int64)
    sure = np.flatnonzero(_is_same(entries.status[rows], known) & _is_settled(entries, known))
    converted = converted_files(
        repository,
        _directories(entries.names),
        [name for name in entries.all_names if name.rpartition(b"/")[2] == FILE],
        environment,
    )
    ids = entries.ids[rows[sure]]
    width = ids.shape[1]
    data = ids.tobytes()
    found = {names[at]: data[n * width : (n + 1) * width] for n, at in enumerate(sure.tolist())}
    if converted:
        for row, name in zip(rows[sure].tolist(), list(found), strict=True):
            if entries.names[row] in converted:
                del found[name]
    return found


def index_ids(repository: GitRepository) -> Any:
    """The beginnings of all ids that git's index has, sure or not."""
    entries = read_index(repository)
    return np.zeros(0, np.uint64) if entries is None else short_ids(entries.ids)


def _named(
    entries: GitEntries, prefix: bytes, files: Mapping[str, Status]
) -> tuple[list[int], list[str]]:
    """The entries of some files of the workspace: their numbers, and the files' names."""
    rows, names = [], []
    cut = len(prefix)
    for row, path in enumerate(entries.names):
        if cut and not path.startswith(prefix):
            continue
        name = os.fsdecode(path[cut:])
        if name in files:
            rows.append(row)
            names.append(name)
    return rows, names


def _is_same(status: Any, known: Any) -> Any:
    """Whether the status of each entry is that of its file; git keeps 32 bits of each number."""
    size, modified, changed, inode = known.T
    return (
        (status[:, 0] == (changed // _SECOND & _CUT))
        & (status[:, 1] == changed % _SECOND)
        & (status[:, 2] == (modified // _SECOND & _CUT))
        & (status[:, 3] == modified % _SECOND)
        & (status[:, 5] == (inode & _CUT))
        & (status[:, 9] == (size & _CUT))
    )


def _is_settled(entries: GitEntries, known: Any) -> Any:
    """Whether a change after the index was written would show in the file's times."""
    changed = np.maximum(known[:, 1], known[:, 2])
    is_coarse = (known[:, 2] % _SECOND == 0) | (entries.written_ns % _SECOND == 0)
    return changed + np.where(is_coarse, _COARSE_NS, _FINE_NS) < entries.written_ns


def _directories(names: list[bytes]) -> set[bytes]:
    """All directories of some paths, those above others included."""
    found: set[bytes] = set()
    for name in names:
        directory = name.rpartition(b"/")[0]
        while directory and directory not in found:
            found.add(directory)
            directory = directory.rpartition(b"/")[0]
    return found
