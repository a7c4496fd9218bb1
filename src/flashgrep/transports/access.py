"""Who calls, by token, and how many connections may stay open.

The server's own token, given or generated, opens everything, as does no token with `--no-auth`: on
notes it has the role admin, but through the tools the role suggest. A knowledge base token has the
roles it was made with, on every route, and opens only notes; the one made for the agents of this
workspace opens its files as well. The session of somebody who has signed in stands for one of these
tokens (see `web.sessions`), and counts only in a cookie.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Protocol

from flashgrep import limits
from flashgrep.errors import AccessDenied, FlashgrepError, InvalidParams, Unavailable
from flashgrep.notes.access.roles import Principal, Role, everywhere
from flashgrep.system.clock import milliseconds
from flashgrep.system.login import login_name
from flashgrep.tools.dispatch.caller import Caller

if TYPE_CHECKING:
    from flashgrep.notes.access.tokens import Tokens

log = logging.getLogger(__name__)


# ── connections that stay open ───────────────────────────────────────────────────────────────────
# Slots for connections that stay open on HTTP: live editing, events, MCP streams. Their number is
# limited so that requests always find a connection, and so is the number one token may hold. While
# some are free, every newcomer gets one. When all are taken, another connection gives its slot up,
# or the newcomer is refused:
#
#     for a token that may write, a reader gives up: one of the token with the most among readers
#     otherwise a token that would still hold as many as the newcomer's does afterwards; a reader
#     never takes the slot of a token that may write
#
# Of that token the newest connection goes. So no token locks out another, and since no token takes
# from one that holds fewer, two never take turns.


class NoPlace(Unavailable):
    """All slots, or those of the token, are taken."""


@dataclass(eq=False)
class ConnectionSlot:
    """The slot of one connection."""

    is_lost: bool = False
    since: int = field(default_factory=milliseconds)
    """When it was taken, in milliseconds since 1970."""
    _told: list[Callable[[], None]] = field(default_factory=list)

    def when_lost(self, told: Callable[[], None]) -> None:
        """Call `told` once, when another connection gets this slot."""
        self._told.append(told)
        if self.is_lost:
            told()

    def lose(self) -> None:
        """Say that another connection has it now."""
        self.is_lost = True
        for told in self._told:
            told()


class ConnectionSlots:
    """All slots of a server. Used on its event loop."""

    def __init__(self, most: int = limits.LIVE_CONNECTIONS, share: int = limits.LIVE_SHARE) -> None:
        """`share` is what one token may hold."""
        self.most = most
        self._share = min(share, most)
        self._held: dict[tuple[str, bool], list[ConnectionSlot]] = {}
        """By token and whether it may write, those that came last at the end."""

    @contextmanager
    def taken(self, token: str, writes: bool) -> Iterator[ConnectionSlot]:
        """Hold a slot for the block, or `NoPlace`; it may be lost meanwhile."""
        key = (token, writes)
        self._make_room(key)
        place = ConnectionSlot()
        self._held.setdefault(key, []).append(place)
        try:
            yield place
        finally:
            self._remove(key, place)

    def held(self) -> list[tuple[str, int]]:
        """Which slots are taken, by the key of the token, and since when."""
        return [
            (token, place.since)
            for (token, _), places in tuple(self._held.items())
            for place in tuple(places)
        ]

    def _make_room(self, key: tuple[str, bool]) -> None:
        own = len(self._held.get(key, ()))
        if own >= self._share:
            raise NoPlace(
                f"{own} connections of this token are open, all it may hold; close one, or raise "
                "--live-share"
            )
        if sum(map(len, self._held.values())) < self.most:
            return
        found = self._who_gives_up(key, own)
        if found is None:
            raise NoPlace(
                f"all {self.most} places are taken; come again, or raise --live-connections"
            )
        place = self._held[found][-1]
        self._remove(found, place)
        log.info("a connection of %s gives up its place to one of %s", found[0], key[0])
        place.lose()

    def _who_gives_up(self, key: tuple[str, bool], own: int) -> tuple[str, bool] | None:
        """The token that holds the most of those that have to give one up."""
        readers = [(len(held), who) for who, held in self._held.items() if not who[1]]
        if key[1] and readers:
            return max(readers)[1]
        writers = [(len(held), who) for who, held in self._held.items() if who[1] and key[1]]
        count, who = max(chain(readers, writers), default=(0, None))
        return who if count > own + 1 else None

    def _remove(self, key: tuple[str, bool], place: ConnectionSlot) -> None:
        held = self._held.get(key, [])
        if place in held:
            held.remove(place)
        if not held:
            self._held.pop(key, None)


# ── admission ────────────────────────────────────────────────────────────────────────────────────


ADMISSION: Final = "flashgrep.admission"
"""The key of the admission in an ASGI scope."""
SERVER: Final = "server"
"""What the server's own token, given or generated, is called in the names of agents' authors."""
ANYONE: Final = "anyone"
"""Who decides and writes where no token is asked for."""
_OF_NOTES: Final = "kb:"
"""What the keys of tokens of a knowledge base begin with."""
_MARK: Final = "fgkb_"
"""What tokens of a knowledge base begin with."""
SESSION_MARK: Final = "fgse_"
"""What the secrets of sessions begin with, which no token may."""


@dataclass(frozen=True)
class Admission:
    """A token that was accepted."""

    token: str
    """What the token is called; empty where none is asked for."""
    principal: Principal | None
    """What the token was made for; None for the server's own."""
    opens_files: bool = True
    """Whether the workspace is open to it, and not the notes alone."""

    @property
    def key(self) -> str:
        """Unique for the token: one of the notes may be called `server` too."""
        return f"{_OF_NOTES}{self.token}" if self.principal else self.token

    @property
    def may_write_notes(self) -> bool:
        """Whether this may change any note at all."""
        return self.on_notes.is_anywhere(Role.WRITE)

    @property
    def shown(self) -> str:
        """The name under which changes of notes are kept."""
        return shown_name(self.key)

    @property
    def on_notes(self) -> Principal:
        """The roles on the routes of the notes."""
        return self.principal or everywhere(self.shown, Role.ADMIN)

    @property
    def on_tools(self) -> Principal:
        """The roles in the tools."""
        return self.principal or everywhere(self.shown, Role.SUGGEST)


def shown_name(key: str) -> str:
    """What the one with this key is called; no two are called the same.

    Who has the server's own token is the user who runs the server, as with the sign-in link. A
    token may have that user's name, or that of the server's own token. Then it is shown as a token;
    no token can have that name, which has brackets.
    """
    name = key.removeprefix(_OF_NOTES)
    if name != key and name in (login_name(), SERVER, ANYONE):
        return f"{name} (token)"
    return login_name() if key == SERVER else name or ANYONE


def same_token(given: str, token: str) -> bool:
    """Compare in constant time; text that is not Unicode is never the token."""
    return hmac.compare_digest(
        given.encode("utf-8", "surrogatepass"), token.encode("utf-8", "surrogatepass")
    )


def is_session(secret: str) -> bool:
    """Whether this is the secret of a session, which counts in a cookie only."""
    return secret.startswith(SESSION_MARK)


Job = Callable[[], None]


def to_this_loop() -> Callable[[Job], None]:
    """Gives any thread a way to run a job on the current event loop, while that runs."""
    loop = asyncio.get_running_loop()

    def on_loop(job: Job) -> None:
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(job)

    return on_loop


class Watchable(Protocol):
    """What may end or change while a connection is open: tokens, sessions."""

    def watch(self, listener: Job, /) -> Callable[[], None]:
        """Call a listener, from any thread, after each change; gives the way to stop."""
        ...


class SessionSource(Watchable, Protocol):
    """The people who have signed in, and the tokens they stand for."""

    def admit(self, secret: str) -> Admission | None:
        """Who presents the secret of a session, as of now."""
        ...


class TokenWatch:
    """Watches tokens, but only while anything is held: each check wakes the machine."""

    def __init__(self, tokens: Watchable, look: Job) -> None:
        """`look` is run on the event loop when a token may have changed."""
        self._tokens = tokens
        self._look = look
        self.count = 0

    @contextmanager
    def held(self) -> Iterator[None]:
        """Watch for the block."""
        if not self.count:
            on_loop = to_this_loop()
            self._unwatch = self._tokens.watch(lambda: on_loop(self._look))
        self.count += 1
        try:
            yield
        finally:
            self.count -= 1
            if not self.count:
                self._unwatch()


class Entrance:
    """Admits callers by their token."""

    def __init__(
        self,
        token: str | None,
        tokens: Tokens | None = None,
        places: ConnectionSlots | None = None,
        agent: str | None = None,
        sessions: SessionSource | None = None,
    ) -> None:
        """`token` None: none is asked for. `places`: of the connections that stay open.

        `agent` is the secret of the token for agents, one of `tokens`, which `sessions` watch too.
        """
        self._token = token
        self._tokens = tokens
        self._agent = agent
        self._sessions = sessions
        self.places = places or ConnectionSlots()

    def admit(self, secret: str) -> Admission | None:
        """Who presents this secret, "" for none, as of now."""
        if is_session(secret):
            session = self._sessions.admit(secret) if self._sessions else None
            if session is not None or self._token is not None:
                return session
            secret = ""  # where nobody has to sign in, an old cookie is no obstacle
        principal = self._principal(secret) if secret else None
        if principal is not None:
            is_agent = self._agent is not None and same_token(secret, self._agent)
            return Admission(principal.name, principal, opens_files=is_agent)
        if self._token is None:
            # A revoked token must not open more than it did before.
            return None if secret.startswith(_MARK) else Admission("", None)
        return Admission(SERVER, None) if same_token(secret, self._token) else None

    def enter(self, secret: str) -> Admission | None:
        """The same for somebody who asks for something: a token of the notes counts as used."""
        admission = self.admit(secret)
        if admission is not None:
            self.note_use(admission)
        return admission

    def note_use(self, admission: Admission) -> None:
        """A token is used now."""
        if admission.principal is not None and self._tokens is not None:
            self._tokens.uses.note(admission.token)

    def watch(self, look: Job) -> Callable[[], None]:
        """Run `look` on this loop when what `admit` says may have changed; gives the end."""
        on_loop = to_this_loop()
        watched = self._sessions or self._tokens
        return watched.watch(lambda: on_loop(look)) if watched else lambda: None

    def _principal(self, secret: str) -> Principal | None:
        try:
            return self._tokens.principal(secret) if self._tokens else None
        except FlashgrepError:
            return None  # the file cannot be trusted; the log says so


# ── connections of lines ─────────────────────────────────────────────────────────────────────────


AUTH = "auth"


class TokenRefused(AccessDenied):
    """A token is wrong, expired or revoked; the connection closes."""


@dataclass
class Authorisation:
    """What one connection may do. With `entrance` None any token will do; `locked` allows only
    `auth`.

    A connection may present another token later, which then counts. One that presented a token of
    the knowledge base ends when that is revoked or expires.
    """

    caller: Caller
    entrance: Entrance | None = None
    locked: bool = False
    reason: str = ""
    """Why it is locked, where that needs saying."""
    _own: str = field(init=False)
    """What the server's own token is called on this connection."""
    _shown: tuple[str, Admission] | None = field(default=None, init=False, repr=False)
    """A token of the knowledge base that was presented, and who it admits."""

    def __post_init__(self) -> None:
        self._own = self.caller.token

    def check(self, method: str) -> None:
        """Refuse a method that this connection may not use yet, or no longer."""
        if method == AUTH:
            return
        if self.locked:
            raise AccessDenied(
                f"{method} needs the token first{self.reason}. "
                'Send {"jsonrpc":"2.0","id":1,"method":"auth","params":{"token":…}}.'
            )
        if self.is_over():
            raise TokenRefused("the token was revoked or has expired; the connection closes")
        if self._shown is not None and self.entrance is not None:
            self.entrance.note_use(self._shown[1])

    def present(self, params: Mapping[str, Any] | None) -> dict[str, Any]:
        """Answer `auth`: a token opens what it opens on HTTP, a wrong one is `TokenRefused`."""
        given = (params or {}).get("token")
        if not isinstance(given, str):
            raise InvalidParams('auth needs params {"token": "…"}, a string')
        if self.entrance is not None:
            admission = None if is_session(given) else self.entrance.enter(given)
            if admission is None:
                raise TokenRefused("the token is wrong, expired or revoked; the connection closes")
            self._shown = (given, admission) if admission.principal else None
            self._become(admission)
        self.locked = False
        self.caller.may_write = True
        return {"ok": True}

    def _become(self, admission: Admission) -> None:
        name = admission.token if admission.principal else self._own
        self.caller.come_with(name, admission.on_tools, notes_only=not admission.opens_files)

    # ── tokens that end ─────────────────────────────────────────────────────────────────────────

    def is_over(self) -> bool:
        """Whether its token no longer counts."""
        if self._shown is None or self.entrance is None:
            return False
        secret, known = self._shown
        admission = self.entrance.admit(secret)
        if admission is not None and admission != known:
            self._shown = (secret, admission)
            self._become(admission)
        return admission is None

    def watch(self, look: Job) -> Callable[[], None]:
        """Run `look` on this loop when `is_over` may have changed; gives the end."""
        return self.entrance.watch(look) if self._shown and self.entrance else lambda: None
