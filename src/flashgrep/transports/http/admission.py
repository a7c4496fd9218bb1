"""Who a request on HTTP comes from, and how many connections may stay open.

The server's own token, given or generated, opens everything, and so does its absence with
`--no-auth`: on notes it is an admin's, through the tools an agent's, who suggests. A token of the
knowledge base stands for what it was made for, on every route, and opens notes alone; but the one
that was made for the agents of this workspace opens its files as the server's own does.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Final

from flashgrep import limits
from flashgrep.errors import FlashgrepError, Unavailable
from flashgrep.notes.access.roles import Principal, Role, everywhere
from flashgrep.transports.lines.access import same_token

if TYPE_CHECKING:
    from flashgrep.notes.access.tokens import Tokens

log = logging.getLogger(__name__)


# ── connections that stay open ───────────────────────────────────────────────────────────────────
# Places for connections that stay open on HTTP: live editing, events, MCP streams.
#
# There is a number of them, so that requests always find a connection, and a number of which one
# token may hold. While some are free, everybody gets one. When all are taken, somebody has to give
# one up, or whoever comes is refused:
#
#     for one who may write, a reader gives up: one of the token with the most places among readers
#     otherwise a token that would still hold as many as the newcomer's does afterwards; a reader
#     never takes the place of one who may write
#
# Of that token it is the connection that came last. So one token, whatever it opens, never locks
# out another, and since nobody gets a place from one who holds fewer, two never take turns.


class NoPlace(Unavailable):
    """All places, or those of the token, are taken."""


@dataclass(eq=False)
class ConnectionSlot:
    """One connection's place."""

    is_lost: bool = False
    _told: list[Callable[[], None]] = field(default_factory=list)

    def when_lost(self, told: Callable[[], None]) -> None:
        """Have something done, once, when somebody else gets this place."""
        self._told.append(told)
        if self.is_lost:
            told()

    def lose(self) -> None:
        """Tell that somebody else has it now."""
        self.is_lost = True
        for told in self._told:
            told()


class ConnectionSlots:
    """All of them. Used on the server's loop."""

    def __init__(self, most: int = limits.LIVE_CONNECTIONS, share: int = limits.LIVE_SHARE) -> None:
        """`share` is what one token may hold."""
        self.most = most
        self._share = min(share, most)
        self._held: dict[tuple[str, bool], list[ConnectionSlot]] = {}
        """By token and whether it may write, those that came last at the end."""

    @contextmanager
    def taken(self, token: str, writes: bool) -> Iterator[ConnectionSlot]:
        """Hold a place for the block, or `NoPlace`; it may be lost meanwhile."""
        key = (token, writes)
        self._make_room(key)
        place = ConnectionSlot()
        self._held.setdefault(key, []).append(place)
        try:
            yield place
        finally:
            self._remove(key, place)

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
        """The token that holds most of those that have to give one up."""
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
"""Where it stands in an ASGI scope."""
SERVER: Final = "server"
"""What the server's own token, given or generated, is called in the names of authors."""
ANYONE: Final = "anyone"
"""Who decides and writes where no token is asked for."""
_MARK: Final = "fgkb_"
"""What tokens of a knowledge base begin with."""


@dataclass(frozen=True)
class Admission:
    """Somebody who was let in."""

    token: str
    """What the token is called; empty where none is asked for."""
    principal: Principal | None
    """What the token was made for; None for the server's own."""
    opens_files: bool = True
    """Whether the workspace is open to it, and not the notes alone."""

    @property
    def key(self) -> str:
        """The token, told from all others: one may be called as the server's own is."""
        return f"kb:{self.token}" if self.principal else self.token

    @property
    def may_write_notes(self) -> bool:
        """Whether this may change any note at all."""
        return self.on_notes.is_anywhere(Role.WRITE)

    @property
    def shown(self) -> str:
        """The name under which changes of notes are kept."""
        return self.token or ANYONE

    @property
    def on_notes(self) -> Principal:
        """What this is on the routes of the notes."""
        return self.principal or everywhere(self.shown, Role.ADMIN)

    @property
    def on_tools(self) -> Principal:
        """What this is to the tools."""
        return self.principal or everywhere(self.shown, Role.SUGGEST)


class Entrance:
    """Knows all tokens."""

    def __init__(
        self,
        token: str | None,
        tokens: Tokens | None = None,
        places: ConnectionSlots | None = None,
        agent: str | None = None,
    ) -> None:
        """`token` None: none is asked for. `places`: of the connections that stay open.

        `agent` is the secret of the token for agents, one of `tokens`.
        """
        self._token = token
        self._tokens = tokens
        self._agent = agent
        self.places = places or ConnectionSlots()

    def admit(self, secret: str) -> Admission | None:
        """Who shows this secret, "" for none; asked again, it tells what holds now."""
        principal = self._principal(secret) if secret else None
        if principal is not None:
            is_agent = self._agent is not None and same_token(secret, self._agent)
            return Admission(principal.name, principal, opens_files=is_agent)
        if self._token is None:
            # A token that was taken back must not open more than it did before.
            return None if secret.startswith(_MARK) else Admission("", None)
        return Admission(SERVER, None) if same_token(secret, self._token) else None

    def watch(self, told: Callable[[], None]) -> Callable[[], None]:
        """Be told, from another thread, when what `admit` says may have changed; gives the end."""
        return self._tokens.watch(told) if self._tokens else lambda: None

    def _principal(self, secret: str) -> Principal | None:
        try:
            return self._tokens.principal(secret) if self._tokens else None
        except FlashgrepError:
            return None  # the file cannot be trusted, and has said so in the log
