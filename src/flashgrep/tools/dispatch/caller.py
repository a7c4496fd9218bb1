"""Who is calling: the client, what it has read and searched, and whose call runs next.

Reads are remembered by content hash, not by time: a file touched without a change is still
"read", and a file changed within the clock's grain is not. A caller is a connection, a legacy
HTTP session, or, on stateless HTTP, the principal with its client name.

A caller also has an author name, which its suggestions carry: it outlives connections and restarts,
and suggestions with the same author are the caller's own. And it has a principal, which says what
it may do with which notes.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from flashgrep import limits
from flashgrep.notes.access.roles import AuthorKind, Principal, Role, everywhere
from flashgrep.system.clock import milliseconds
from flashgrep.workspace.scope import ResolvedPath

# ── clients ──────────────────────────────────────────────────────────────────────────────────────
# What is known of clients, by the name they give themselves: what they do with long answers.
#
# Claude Code replaces an answer of more than about 50,000 characters by a file and a preview,
# unless the tool says in its `_meta` that its answers may be longer. It has read that since version
# 2.1.91, and kept to it for answers of many tokens since 2.1.98. It calls itself `claude-code`
# (seen with 2.1.197; `make claude` shows it).


LOADED_META: Final[Mapping[str, bool | int]] = {
    "anthropic/alwaysLoad": True,
    "anthropic/maxResultSizeChars": limits.RESULT_SIZE_CHARS,
}
"""What a tool says of itself that a client is to load at once, not only when it looks for it."""

_HONOURS_SIZE: Final[Mapping[str, tuple[int, ...]]] = {"claude-code": (2, 1, 98)}
"""The first version of each client that keeps to `anthropic/maxResultSizeChars`."""

_VERSION: Final = re.compile(r"(\d{1,6})\.(\d{1,6})\.(\d{1,6})", re.ASCII)


def takes_long_answers(client: str, version: str) -> bool:
    """Whether a client shows its model a long answer whole where the tool asks for it."""
    first = _HONOURS_SIZE.get(client)
    found = _VERSION.match(version)
    return first is not None and found is not None and tuple(map(int, found.groups())) >= first


# ── caller ───────────────────────────────────────────────────────────────────────────────────────


UNNAMED = "unknown"
"""The author name of a client that gives none."""


READ_NOTES: Final = b"note:"
"""Begins the key of a note in a caller's memory: keys of files are absolute paths."""


def note_key(note: str) -> bytes:
    """A note in a caller's memory, by its id, which outlives its path."""
    return READ_NOTES + note.encode()


def content_hash(data: bytes) -> str:
    """The identity of a file's bytes."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


@dataclass(eq=False)
class Caller:
    """One caller: a key that outlives a call, and the files it has seen."""

    key: str
    may_write: bool = True
    token: str = ""
    """What the token is called that it came with; empty where none is asked for."""
    notes_only: bool = False
    """Whether it came with a token of the knowledge base: that opens notes, and no files."""
    takes_long_answers: bool = False
    """Whether its client honours what a tool says of the size of its answers."""
    author: str = UNNAMED
    """The name that its suggestions carry."""
    principal: Principal = field(default_factory=lambda: everywhere(UNNAMED, Role.SUGGEST))
    """What it may do with which notes."""
    since: int = field(default_factory=milliseconds, repr=False)
    """When it came, in milliseconds since 1970."""
    latest_call: int = field(default=0, repr=False)
    """When its last call ended, the same; 0 before the first one."""
    calls: int = field(default=0, repr=False)
    """How many it has made."""
    searched: ResolvedPath | None = field(default=None, repr=False)
    """The directory that its last grep or glob searched; None for the working directory."""
    _client: tuple[str, str] = field(default=("", ""), repr=False)
    """What the client calls itself, and its version."""
    _seen: OrderedDict[bytes, str] = field(default_factory=OrderedDict, repr=False)
    _skill: str | None = field(default=None, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @cached_property
    def transport(self) -> str:
        """How it is connected: "http", "tcp", "unix", "stdio", "page" …"""
        kind = self.key.partition(":")[0]
        return _TRANSPORTS.get(kind, kind)

    @property
    def client(self) -> str:
        """What the client calls itself, on one line; empty where it has not said."""
        return author_name(self._client[0]) if self._client[0] else ""

    def saw_call(self) -> int:
        """Count a call that has ended; gives the time."""
        self.calls += 1
        self.latest_call = milliseconds()
        return self.latest_call

    @property
    def source(self) -> AuthorKind:
        """What kind of author it is."""
        return AuthorKind.TOKEN if self.token else AuthorKind.LOCAL

    def call_itself(self, client: str, version: str = "") -> None:
        """Take the name a client gives itself, after that of the token it came with."""
        self._client = (client, version)
        self.takes_long_answers = takes_long_answers(client, version)
        name = author_name(client)
        author = f"{self.token}/{name}" if self.token else name
        if author != self.author:
            self.author = author
            self.principal = replace(self.principal, name=author)

    def come_with(self, token: str, principal: Principal, notes_only: bool) -> None:
        """Act with a token from now on."""
        self.token, self.principal, self.notes_only = token, principal, notes_only
        self.call_itself(*self._client)
        self.principal = replace(principal, name=self.author)

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

    def latest(self, prefix: bytes, most: int) -> list[tuple[bytes, str]]:
        """What this caller last saw under keys with this prefix, oldest first."""
        with self._lock:
            found = [pair for pair in self._seen.items() if pair[0].startswith(prefix)]
        return found[-most:]

    def introduce(self, skill: str) -> bool:
        """Note that this caller is given a skill, by its hash; False where it was given before."""
        with self._lock:
            is_new = self._skill != skill
            self._skill = skill
            return is_new


def author_name(client: str) -> str:
    """A client's name as answers and records have it: one line, not long, never empty."""
    seen = "".join(c if c.isprintable() else " " for c in client[: limits.AUTHOR_CHARS])
    return " ".join(seen.split()) or UNNAMED


_TRANSPORTS: Final = {"session": "http", "kb": "notes"}
"""By how a key begins, where that is not the transport's name; `kb`: a server that asks the owner
of the notes."""


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

    def listed(self) -> list[Caller]:
        """All of them, the one idle longest first."""
        with self._lock:
            return list(self._callers.values())
