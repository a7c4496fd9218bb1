"""One-time links by which people sign in, and where the server is that takes them.

A link is `ADDRESS/sign-in/CODE`. Whoever may write into a private directory of ours can make one
without asking the server: `serve` for itself, `flashgrep open`, and `flashgrep kb token`.

DIRECTORY/sign-in/         0700
    HASH                   0600, {"format": 1, "token": hash | null, "expires": milliseconds}
DIRECTORY/serving/         0700
    RANDOM                 0600, held (flock) by a server while it runs:
                           {"format": 1, "address": "http://127.0.0.1:7778", "asks": true,
                            "off": "", "pid": 4711, "workdir": "/home/ann/project"}
                           without pages the address is null, and "off" says why

The name is the SHA-256 of the code; the code itself is stored nowhere. Using a code removes its
file: of several that try, one succeeds. In the state directory of a workspace a link is the
server's own, an admin's. In the directory of a knowledge base it stands for the token with that
hash, and allows no more than the token does.

A killed server leaves its file in `serving`, but not the lock, so the file counts for nothing; the
next server removes it.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import random
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from flashgrep import limits
from flashgrep.errors import FlashgrepError, Unavailable, from_os_error
from flashgrep.notes.access.tokens import Token
from flashgrep.system.atomic import create_first, is_ours_alone, make_private, open_own, write_all
from flashgrep.system.clock import milliseconds
from flashgrep.system.lock import is_locked, open_lock_file, try_lock
from flashgrep.system.program import own_command
from flashgrep.workspace.scope import shown_name

log = logging.getLogger(__name__)

SIGN_IN: Final = "/sign-in/"
_LINKS: Final = "sign-in"
_SERVING: Final = "serving"
_FORMAT: Final = 1
_CODE_BYTES: Final = 32
_FILE_BYTES: Final = 4_096
_NAME: Final = re.compile(r"[0-9a-f]{64}")
_TRIES: Final = 5
_SWEPT: Final = 100
"""Links looked at when another one is made: more expire than are made only for a while."""


def hash_of(secret: str) -> str:
    """What is kept of a secret: its bits are random, so the hash cannot be turned around."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


# ── links ────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class SignInLink:
    """What a code stands for."""

    token: str | None
    """The hash of a token of the knowledge base; None for the server's own."""
    expires: int


class SignInLinks:
    """The links in one directory; without a directory they live as long as this object."""

    def __init__(
        self,
        directory: Path | None,
        now: Callable[[], int] = milliseconds,
        *,
        of_notes: bool = False,
    ) -> None:
        """With `of_notes` every link stands for a token of the knowledge base there, otherwise none
        does."""
        self._of_notes = of_notes
        self._folder = directory / _LINKS if directory else None
        self._now = now
        self._unkept: dict[str, SignInLink] = {}

    def make(self, seconds: float, token: str | None = None) -> str:
        """A new link that can be used for so long; its code is returned here and never again."""
        code = secrets.token_urlsafe(_CODE_BYTES)
        link = SignInLink(token, self._now() + int(seconds * 1_000))
        self._sweep()
        if self._folder is None:
            self._unkept[hash_of(code)] = link
            return code
        held = {"format": _FORMAT, "token": link.token, "expires": link.expires}
        try:
            make_private(self._folder)
            create_first(self._folder / hash_of(code), json.dumps(held).encode() + b"\n")
        except OSError as error:
            raise from_os_error(error, str(self._folder)) from None
        return code

    def use(self, code: str) -> SignInLink | None:
        """What a code stands for, once; None if it is wrong, used or expired."""
        name = hash_of(code)
        link = self._read(name)
        if link is None or not self._remove(name) or link.expires <= self._now():
            return None
        return link

    def _read(self, name: str) -> SignInLink | None:
        if self._folder is None:
            return self._unkept.get(name)
        held = _private_json(self._folder / name)
        try:
            token = held["token"]
            if (token is not None) is not self._of_notes:
                return None
            return SignInLink(None if token is None else str(token), int(held["expires"]))
        except (KeyError, TypeError, ValueError):
            return None

    def _remove(self, name: str) -> bool:
        """Whether this very call removed it."""
        if self._folder is None:
            return self._unkept.pop(name, None) is not None
        try:
            os.unlink(self._folder / name)
        except OSError:
            return False
        return True

    def _sweep(self) -> None:
        """Remove links that have expired: of many some at a time, in no order."""
        names = list(self._unkept) if self._folder is None else _names(self._folder)
        for name in random.sample(names, min(len(names), _SWEPT)):
            link = self._read(name) if _NAME.fullmatch(name) else None
            if link is not None and link.expires <= self._now():
                self._remove(name)


def link_for(home: Path, token: Token, address: str) -> str:
    """A link for the person a token of a knowledge base was made for."""
    links = SignInLinks(home, of_notes=True)
    return address + SIGN_IN + links.make(limits.PERSON_LINK_SECONDS, token.hash)


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _private_json(path: Path) -> dict[str, Any]:
    """What a file of ours says; nothing where it is missing, damaged, or may be another's."""
    try:
        with open_own(path) as file:
            if not is_ours_alone(os.fstat(file.fileno()), 0o077):
                log.warning("%s is not for its owner alone, and does not count; remove it", path)
                return {}
            held = json.loads(file.read(_FILE_BYTES))
    except (OSError, ValueError):
        return {}
    return held if isinstance(held, dict) and held.get("format") == _FORMAT else {}


# ── servers ──────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class ServerAddress:
    """Where a server is, and whether it requires a login."""

    url: str
    """Empty where it has no pages."""
    asks: bool
    off: str = ""
    """Why it has none."""
    pid: int = 0
    workdir: str = ""
    """The real path; empty for an older server, which does not say."""


def announce(directory: Path, address: ServerAddress) -> Callable[[], None]:
    """Say where this server is until it ends; gives what takes it back."""
    folder = directory / _SERVING
    try:
        make_private(folder)
        _remove_dead(folder)
        path, descriptor = _held(folder)
        held = {"format": _FORMAT, **asdict(address), "address": address.url or None}
        del held["url"]
        write_all(descriptor, json.dumps(held).encode() + b"\n")
    except OSError as error:
        raise from_os_error(error, str(folder)) from None

    def end() -> None:
        with suppress(OSError):
            os.unlink(path)
        with suppress(OSError):
            os.close(descriptor)

    return end


def _held(folder: Path) -> tuple[Path, int]:
    """A new file and its lock; another server may take it for a dead one's before it is held."""
    for _ in range(_TRIES):
        path = folder / secrets.token_hex(8)
        descriptor = open_lock_file(path)
        if try_lock(descriptor) and os.fstat(descriptor).st_nlink:
            return path, descriptor
        os.close(descriptor)
    raise Unavailable(f"{folder}: its files are removed again and again")


def _remove_dead(folder: Path) -> None:
    for name in _names(folder):
        with suppress(OSError):
            if not is_locked(folder / name):
                os.unlink(folder / name)


def servers(directory: Path) -> list[ServerAddress]:
    """The servers with pages that run now and have said so in a directory, the newest first."""
    return [one for one in announced(directory) if one.url]


def announced(directory: Path) -> list[ServerAddress]:
    """All servers that run now and have said so, the newest first; some may have no pages."""
    found = sorted(_living(directory / _SERVING), key=lambda one: one[0], reverse=True)
    return [address for _, address in found]


def told_of_running(directory: Path, workdir: str) -> str:
    """What to tell who starts another server of a workspace; empty where none runs."""
    for one in announced(directory):
        if one.workdir == workdir:
            told = f"a flashgrep serve already runs here (pid {one.pid})"
            return f"{told}{_way_in(one)}"
    return ""


def holder_of(states: Path, port: int) -> str:
    """Who has a port that is taken: our own user's servers say so in their state directories."""
    for name in _names(states):
        for one in servers(states / name):
            with suppress(ValueError):
                if urlsplit(one.url).port == port:
                    shown = shown_name(os.fsencode(one.workdir or name))
                    return f"another flashgrep, serving {shown}"
    return "another program"


def _way_in(one: ServerAddress) -> str:
    if one.url:
        return f": {own_command()} open opens its pages"
    off = f", but its HTTP listener is off: {one.off}"
    return f"{off}. Stop it, and start it with --http-port auto"


def _living(folder: Path) -> Iterator[tuple[int, ServerAddress]]:
    for name in _names(folder):
        path = folder / name
        with suppress(OSError, FlashgrepError):
            if is_locked(path) and (held := _private_json(path)):
                yield path.stat().st_mtime_ns, _address(held)


def _address(held: Mapping[str, Any]) -> ServerAddress:
    return ServerAddress(
        url=str(held.get("address") or ""),
        asks=held.get("asks") is not False,
        off=str(held.get("off", "")),
        pid=held["pid"] if isinstance(held.get("pid"), int) else 0,
        workdir=str(held.get("workdir", "")),
    )
