"""Who has signed in: sessions, each a secret in the cookie of a browser.

A session stands for a token: the server's own, or one of the knowledge base. It opens what the
token opens and ends with it: when the server gets another token, or the knowledge base token is
revoked or expires. It also ends when the person signs out, and after 30 days.

DIRECTORY/sessions.json   0600, replaced as a whole
    {"format": 1, "sessions": [{"hash", "of", "token", "made", "expires"}, …]}
        hash     SHA-256 of the secret in hex; the secret itself is in the browser alone
        of       "server" or "notes": whose the token is
        token    SHA-256 of the token
        made     milliseconds since 1970; expires the same
DIRECTORY/sessions.lock   held (flock) by the process that changes it

Servers of one workspace share the file, and notice a change by its status. If there is no place for
it, sessions live as long as the server.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from flashgrep import limits
from flashgrep.errors import FlashgrepError, IOFailure, Unavailable, from_os_error
from flashgrep.notes.access.tokens import Tokens
from flashgrep.system.atomic import replace_file
from flashgrep.system.clock import milliseconds
from flashgrep.system.lock import lock, open_lock_file
from flashgrep.system.login import login_name
from flashgrep.system.own_file import FileStatus, read_own, status_of
from flashgrep.system.watching import Watching
from flashgrep.transports.access import SESSION_MARK, Admission, same_token
from flashgrep.web.sign_in_links import SignInLink, hash_of

log = logging.getLogger(__name__)

FILE: Final = "sessions.json"
LOCK: Final = "sessions.lock"
_FORMAT: Final = 1
_SECRET_BYTES: Final = 32
_OWN: Final = "server"
_NOTES: Final = "notes"


@dataclass(frozen=True, kw_only=True)
class SignedIn:
    """A session as stored: all but its secret."""

    hash: str
    of: str
    token: str
    made: int
    expires: int


class LoginSessions:
    """All sessions of a server, for any thread."""

    def __init__(
        self,
        directory: Path | None,
        secret: str | None,
        tokens: Tokens | None = None,
        now: Callable[[], int] = milliseconds,
    ) -> None:
        """`secret` is the server's token, None where none is asked for; `tokens` of the notes."""
        self._kept = _SessionFile(directory)
        self._own = hash_of(secret) if secret is not None else None
        self._tokens = tokens
        self._name = login_name()
        self._now = now
        self._watching = Watching(
            self._state, "flashgrep-sessions", "nobody is signed in until this is mended"
        )

    # ── asking ──────────────────────────────────────────────────────────────────────────────────

    def admit(self, secret: str) -> Admission | None:
        """Who a secret belongs to, as of now; None where the session is over."""
        try:
            session = self._standing(secret)
            return self._admission(session) if session else None
        except FlashgrepError:
            return None  # the file cannot be trusted; the log says so

    def expires(self, secret: str) -> int | None:
        """When a session ends at the latest, in milliseconds since 1970."""
        try:
            session = self._standing(secret)
            if session is None:
                return None
            token = self._tokens.standing(session.token) if self._tokens else None
        except FlashgrepError:
            return None
        ends = [session.expires, *([token.expires] if token and token.expires else [])]
        return min(ends)

    def watch(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call a listener, from a thread of ours, whenever what `admit` says may have changed."""
        ends = [self._watching.add(listener)]
        if self._tokens:
            ends.append(self._tokens.watch(listener))

        def stop() -> None:
            for end in ends:
                end()

        return stop

    def _standing(self, secret: str) -> SignedIn | None:
        session = self._kept.known().get(hash_of(secret))
        return None if session is None or session.expires <= self._now() else session

    def _admission(self, session: SignedIn) -> Admission | None:
        if session.of == _OWN:
            is_same = self._own is not None and same_token(session.token, self._own)
            return Admission(self._name, None) if is_same else None
        token = self._tokens.standing(session.token) if self._tokens else None
        return Admission(token.name, token.principal, opens_files=False) if token else None

    def _state(self) -> Hashable:
        now = self._now()
        known = self._kept.known().values()
        return frozenset(one.hash for one in known if one.expires > now)

    # ── changing ────────────────────────────────────────────────────────────────────────────────

    def begin(self, link: SignInLink) -> str | None:
        """Sign in with a used link; None if its token no longer exists. Returns the secret for the
        cookie.
        """
        token = self._own if link.token is None else link.token
        secret, now = SESSION_MARK + secrets.token_urlsafe(_SECRET_BYTES), self._now()
        if token is None:
            return None
        session = SignedIn(
            hash=hash_of(secret),
            of=_OWN if link.token is None else _NOTES,
            token=token,
            made=now,
            expires=now + limits.SESSION_SECONDS * 1_000,
        )
        if self._admission(session) is None:
            return None
        with self._changing() as sessions:
            sessions.append(session)
        return secret

    def end(self, secret: str) -> None:
        """Sign out; the session's open connections end too."""
        key = hash_of(secret)
        with self._changing() as sessions:
            sessions[:] = [one for one in sessions if one.hash != key]

    @contextmanager
    def _changing(self) -> Iterator[list[SignedIn]]:
        with self._kept.changing() as sessions:
            yield sessions
            now = self._now()
            standing = [one for one in sessions if one.expires > now]
            sessions[:] = standing[-limits.SESSIONS_KEPT :]
        self._watching.look()


class _SessionFile:
    """The sessions in their file, or in memory if there is none."""

    def __init__(self, directory: Path | None) -> None:
        self._path = directory / FILE if directory else None
        self._lock_path = directory / LOCK if directory else None
        self._guard = threading.Lock()
        self._status: FileStatus | None = None
        self._by_hash: dict[str, SignedIn] = {}

    def known(self) -> dict[str, SignedIn]:
        """By the hashes of their secrets."""
        if self._path is None:
            return self._by_hash
        with self._guard:
            status = status_of(self._path)
            if status != self._status:
                self._by_hash = _read(self._path) if status else {}
                self._status = status
            return self._by_hash

    @contextmanager
    def changing(self) -> Iterator[list[SignedIn]]:
        """The sessions, to be changed by one at a time, and kept if nothing is raised."""
        if self._path is None or self._lock_path is None:
            with self._guard:
                sessions = list(self._by_hash.values())
                yield sessions
                self._by_hash = {one.hash: one for one in sessions}
            return
        descriptor = -1
        try:
            descriptor = open_lock_file(self._lock_path)
            lock(descriptor)
            sessions = list(self.known().values())
            yield sessions
            rows = [asdict(one) for one in sessions]
            data = json.dumps({"format": _FORMAT, "sessions": rows}, indent=1).encode() + b"\n"
            replace_file(self._path, [data])
        except OSError as error:
            raise from_os_error(error, str(self._path)) from None
        finally:
            if descriptor >= 0:
                with suppress(OSError):
                    os.close(descriptor)


def _read(path: Path) -> dict[str, SignedIn]:
    """The sessions of a file that is ours alone; anything else is refused."""
    data = read_own(path, "remove it")
    try:
        held: Any = json.loads(data)
        if held["format"] != _FORMAT:
            raise Unavailable(f"{path} has format {held['format']}; remove it and sign in again")
        return {str(one["hash"]): _session(one) for one in held["sessions"]}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise IOFailure(f"{path} is damaged ({error}); remove it and sign in again") from None


def _session(held: Any) -> SignedIn:
    return SignedIn(
        hash=str(held["hash"]),
        of=str(held["of"]),
        token=str(held["token"]),
        made=int(held["made"]),
        expires=int(held["expires"]),
    )
