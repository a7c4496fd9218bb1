"""Places for connections that stay open on HTTP: live editing, events, MCP streams.

There is a number of them, so that requests always find a connection, and a number of which one
token may hold. While some are free, everybody gets one. When all are taken, somebody has to give
one up, or whoever comes is refused:

    for one who may write, a reader gives up: one of the token with the most places among readers
    otherwise a token that would still hold as many as the newcomer's does afterwards; a reader
    never takes the place of one who may write

Of that token it is the connection that came last. So one token, whatever it opens, never locks
out another, and since nobody gets a place from one who holds fewer, two never take turns.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain

from flashgrep import limits
from flashgrep.errors import Unavailable

log = logging.getLogger(__name__)


class NoPlace(Unavailable):
    """All places, or those of the token, are taken."""


@dataclass(eq=False)
class Place:
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


class Places:
    """All of them. Used on the server's loop."""

    def __init__(self, most: int = limits.LIVE_CONNECTIONS, share: int = limits.LIVE_SHARE) -> None:
        """`share` is what one token may hold."""
        self.most = most
        self._share = min(share, most)
        self._held: dict[tuple[str, bool], list[Place]] = {}
        """By token and whether it may write, those that came last at the end."""

    @contextmanager
    def taken(self, token: str, writes: bool) -> Iterator[Place]:
        """Hold a place for the block, or `NoPlace`; it may be lost meanwhile."""
        key = (token, writes)
        self._make_room(key)
        place = Place()
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

    def _remove(self, key: tuple[str, bool], place: Place) -> None:
        held = self._held.get(key, [])
        if place in held:
            held.remove(place)
        if not held:
            self._held.pop(key, None)
