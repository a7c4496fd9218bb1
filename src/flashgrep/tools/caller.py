"""Who is calling, and what that caller has read: edits of unread files are refused.

Reads are remembered by content hash, not by time: a file touched without a change is still
"read", and a file changed within the clock's grain is not. A caller is a connection, a legacy
HTTP session, or, on stateless HTTP, the principal with its client name.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from dataclasses import dataclass, field

import anyio

from flashgrep import limits


def content_hash(data: bytes) -> str:
    """The identity of a file's bytes."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


@dataclass
class Caller:
    """One caller: a key that outlives a call, and the files it has seen."""

    key: str
    may_write: bool = True
    turns: anyio.Semaphore = field(
        default_factory=lambda: anyio.Semaphore(limits.CALLS_AT_ONCE), repr=False
    )
    """Taken by each call while it runs, so that one busy caller does not use up the threads."""
    _seen: OrderedDict[bytes, str] = field(default_factory=OrderedDict, repr=False)
    _skill: str | None = field(default=None, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def remember(self, path: bytes, digest: str) -> None:
        """Note that this caller has seen the file at `path` with this content."""
        with self._lock:
            self._seen[path] = digest
            self._seen.move_to_end(path)
            while len(self._seen) > limits.REMEMBERED_FILES:
                self._seen.popitem(last=False)

    def seen(self, path: bytes) -> str | None:
        """The content hash this caller last saw at `path`, or None."""
        with self._lock:
            return self._seen.get(path)

    def introduce(self, skill: str) -> bool:
        """Note that this caller is given a skill, by its hash; False where it was given before."""
        with self._lock:
            is_new = self._skill != skill
            self._skill = skill
            return is_new


class Callers:
    """All remembered callers; the one idle longest is forgotten first."""

    def __init__(self) -> None:
        self._callers: OrderedDict[str, Caller] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> Caller:
        """The caller with this key, made at its first call."""
        with self._lock:
            caller = self._callers.setdefault(key, Caller(key))
            self._callers.move_to_end(key)
            while len(self._callers) > limits.REMEMBERED_CALLERS:
                self._callers.popitem(last=False)
            return caller
