"""Finds the repository of a workspace: its working tree, its git directory and the shared one."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Final

from flashgrep import limits

_POINTER: Final = re.compile(rb"gitdir: (.+?)[\r\n]*\Z", re.DOTALL)
_SHA256: Final = re.compile(rb"^\s*objectformat\s*=\s*sha256\s*$", re.IGNORECASE | re.MULTILINE)
_FILE_BYTES: Final = limits.MIB
"""Git's small files are much smaller; one that is not is not read."""


@dataclass(frozen=True)
class GitRepository:
    """The repository that a workspace is in."""

    top: bytes
    """The root of the working tree; the workspace may be a directory in it."""
    private: bytes
    """What git keeps for this working tree alone."""
    common: bytes
    """What it keeps for all working trees of the repository."""
    prefix: bytes
    """The workspace's path from the root, with a slash after it; empty if it is the root."""

    @property
    def index_path(self) -> bytes:
        return os.path.join(self.private, b"index")

    @property
    def hash_name(self) -> str:
        """What the ids of its blobs are made by."""
        config = small_file(os.path.join(self.common, b"config")) or b""
        return "sha256" if _SHA256.search(config) else "sha1"


def repository_of(workdir: bytes) -> GitRepository | None:
    """The repository of a real path; None where it is in none."""
    top = workdir
    while True:
        private = _private(top)
        if private is not None:
            prefix = os.path.relpath(workdir, top) + b"/" if workdir != top else b""
            common = _common(private)
            return GitRepository(top=top, private=private, common=common, prefix=prefix)
        above = os.path.dirname(top)
        if above == top:
            return None
        top = above


def _private(top: bytes) -> bytes | None:
    """The git directory of a working tree; None where this is not the root of one."""
    place = os.path.join(top, b".git")
    if not os.path.isdir(place):
        pointer = _POINTER.match(small_file(place) or b"")
        if pointer is None:
            return None
        place = os.path.join(top, pointer[1])
    if not os.path.exists(os.path.join(place, b"HEAD")):
        return None
    return os.path.realpath(place)


def _common(private: bytes) -> bytes:
    named = small_file(os.path.join(private, b"commondir"))
    if named is None:
        return private
    return os.path.realpath(os.path.join(private, named.rstrip(b"\r\n")))


def small_file(path: bytes) -> bytes | None:
    """The text of a small file; None if there is none, or if it is not small."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError):
        return None
    try:
        data = os.read(descriptor, _FILE_BYTES + 1)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return data if len(data) <= _FILE_BYTES else None
