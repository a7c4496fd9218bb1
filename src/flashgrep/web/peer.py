"""One live connection of a y-websocket client to a note, and its rate limits.

Three tasks share it. One reads frames, no faster than the rate limit and only as far ahead as fits
in memory. One handles them in order: updates go to the notes, as many at a time as have come
meanwhile, and are sent to others once they are durable. One writes the queue and, when that stays
empty, an empty presence: y-websocket takes silence for a dead connection, and does not see pings. A
peer that falls behind until its queue overflows is closed; the others never wait for it.

A note may be moved or deleted while updates wait. Those that arrived before the peer was closed
still go into the note, at its new path or in the trash: their writer saw them accepted.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, TypeVar

import anyio
from starlette.websockets import WebSocket, WebSocketDisconnect

from flashgrep import limits
from flashgrep.errors import FlashgrepError, InvalidParams
from flashgrep.notes.access.roles import Role
from flashgrep.notes.document.loading import Received
from flashgrep.notes.document.note import NOTHING
from flashgrep.notes.document.updates import parse as parse_update
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.notes.library import Library
from flashgrep.notes.store.catalogue import CatalogueEntry
from flashgrep.transports.access import Entrance
from flashgrep.web import protocol
from flashgrep.web.protocol import (
    REASONS,
    Close,
    FrameKind,
    Malformed,
    Message,
    Refused,
    refusal,
)

if TYPE_CHECKING:
    from flashgrep.web.rooms import Room

_LIVE_BYTES_A_SECOND: Final = 4 * limits.MIB
"""What is read of one peer in the long run; a person types a few hundred…"""

_LIVE_BYTES_BURST: Final = 32 * limits.MIB
"""…but a peer that comes back sends all it has typed at once."""

_LIVE_FRAMES_A_SECOND: Final = 500
"""Frames of one peer; a person who drags a selection sends sixty…"""

_LIVE_FRAMES_BURST: Final = 5_000
"""…and a script that types sends thousands, once."""

_UNREAD_BYTES: Final = 4 * limits.MIB
"""What is read ahead of a peer while the notes are busy."""

QUIET_SECONDS: Final = 12.0
"""A peer is sent something at least this often; y-websocket gives up after thirty."""

_PRESENCE_BYTES_A_SECOND: Final = 64 * limits.KIB
"""Presence that one connection may send in the long run, as all others get it; a person who drags
a selection sends twenty…"""

_PRESENCE_BYTES_BURST: Final = 512 * limits.KIB
"""…and a client that comes back sends all presence it knows, once."""

log = logging.getLogger(__name__)


# ── rate limits ──────────────────────────────────────────────────────────────────────────────────


class RateLimit:
    """A rate in units per second, with at most `burst` of them saved up."""

    def __init__(self, rate: float, burst: float, now: Callable[[], float]) -> None:
        self._rate = rate
        self._burst = burst
        self._now = now
        self._left = burst
        self._at = now()

    def take(self, units: float) -> float:
        """Use up units; gives the seconds to wait until the next ones."""
        now = self._now()
        self._left = min(self._burst, self._left + (now - self._at) * self._rate) - units
        self._at = now
        return max(-self._left / self._rate, 0.0)


async def wait(*seconds: float) -> None:
    """Wait the longest of these times, if there is one."""
    if (longest := max(seconds)) > 0:
        await asyncio.sleep(longest)


# ── peer ─────────────────────────────────────────────────────────────────────────────────────────


Value = TypeVar("Value")

_STILL_HERE: Final = protocol.presence([])


class Peer:
    """An admitted connection."""

    def __init__(
        self,
        socket: WebSocket,
        kb: KnowledgeBase,
        entrance: Entrance,
        secret: str,
        entry: CatalogueEntry,
        token: str,
    ) -> None:
        """`secret` is the peer's token, which is checked again; `token` is its key."""
        self.note = entry.id
        self.path = entry.path or ""
        self.epoch = entry.epoch
        self.token = token
        self._socket = socket
        self._kb = kb
        self._entrance = entrance
        self._secret = secret
        self._code: Close | None = None
        self._reason = ""
        self._over = asyncio.Event()
        self._at_work: list[Message] = []
        """What the notes are handling."""
        self._unread: deque[Message | None] = deque()
        self._unread_bytes = 0
        self._unsent: deque[bytes] = deque()
        self._unsent_bytes = 0
        self._moved = asyncio.Condition()
        self._to_send = asyncio.Event()
        clock = asyncio.get_running_loop().time
        self._bytes = RateLimit(_LIVE_BYTES_A_SECOND, _LIVE_BYTES_BURST, clock)
        self._frames = RateLimit(_LIVE_FRAMES_A_SECOND, _LIVE_FRAMES_BURST, clock)
        self._presence = RateLimit(_PRESENCE_BYTES_A_SECOND, _PRESENCE_BYTES_BURST, clock)

    # ── from outside ────────────────────────────────────────────────────────────────────────────

    def offer(self, frame: bytes) -> None:
        """Queue a frame; a peer that does not keep up is closed instead."""
        if self._over.is_set():
            return
        self._unsent_bytes += len(frame)
        is_alone = not self._unsent
        self._unsent.append(frame)
        too_many = len(self._unsent) > limits.UNSENT_FRAMES
        if too_many or (self._unsent_bytes > limits.UNSENT_BYTES and not is_alone):
            self.close(Close.OVERLOADED)
        self._to_send.set()

    def close(self, code: Close, reason: str = "") -> None:
        """End the connection with a code; the first one counts."""
        if not self._over.is_set():
            self._code, self._reason = code, reason
            self._over.set()

    def recheck(self) -> None:
        """Close the connection where its token no longer lets it read this note."""
        try:
            self._check(Role.READ)
        except Refused as refused:
            self.close(refused.code, refused.reason)

    def _check(self, role: Role) -> str:
        """The name to write under, where the peer has the role now."""
        admission = self._entrance.admit(self._secret)
        if admission is None:
            raise Refused(Close.UNAUTHENTICATED)
        if not admission.on_notes.may(role, self.path):
            raise Refused(Close.FORBIDDEN)
        return admission.shown

    # ── the connection ──────────────────────────────────────────────────────────────────────────

    async def run(self, room: Room) -> None:
        """Serve the peer until either side ends it."""
        async with anyio.create_task_group() as tasks:
            for job in (self._read, self._write, lambda: self._work(room)):
                tasks.start_soon(self._ending, job)
            await self._over.wait()
            tasks.cancel_scope.cancel()
        if self._code is Close.NO_NOTE:
            await self._hand_over()
        if self._code is not None:
            await close(self._socket, self._code, self._reason)

    async def _ending(self, job: Callable[[], Awaitable[None]]) -> None:
        """Whatever task ends first ends the connection."""
        try:
            await job()
        except Refused as refused:
            self.close(refused.code, refused.reason)
        except WebSocketDisconnect:
            self._over.set()
        except Exception:
            # The last boundary: a defect of ours ends this connection, and no other.
            log.exception("a live connection to %s failed", self.path)
            self.close(Close.FAILED)

    async def _read(self) -> None:
        while True:
            event = await self._socket.receive()
            if event["type"] == "websocket.disconnect":
                await self._put(None)  # what came before is handled first
                await self._over.wait()
                return
            frame = event.get("bytes")
            if frame is None:
                raise Refused(Close.TEXT)
            message = _parsed(frame)
            await self._put(message)
            told = len(frame) if message.kind is FrameKind.PRESENCE else 0
            await wait(
                self._bytes.take(len(frame)), self._frames.take(1), self._presence.take(told)
            )

    async def _put(self, message: Message | None) -> None:
        size = len(message.data) if message else 0
        async with self._moved:
            try:
                await self._moved.wait_for(
                    lambda: not self._unread or self._unread_bytes + size <= _UNREAD_BYTES
                )
            finally:  # cancelled, it has come nevertheless (see `_hand_over`)
                self._unread.append(message)
                self._unread_bytes += size
            self._moved.notify_all()

    async def _take(self) -> list[Message]:
        """The next message, or all updates that come next; none at the end."""
        async with self._moved:
            await self._moved.wait_for(lambda: bool(self._unread))
            taken: list[Message] = []
            size = 0
            while self._unread and (message := self._unread[0]) is not None:
                size += len(message.data)
                is_update = message.kind in (FrameKind.LACK, FrameKind.UPDATE)
                if taken and (size > limits.UPDATE_BYTES or not is_update):
                    break
                taken.append(message)
                self._unread.popleft()
                self._unread_bytes -= len(message.data)
                if not is_update:
                    break
            self._moved.notify_all()
            return taken

    async def _write(self) -> None:
        try:
            while True:
                if not self._unsent:
                    await self._news()
                await self._send()
        except WebSocketDisconnect:
            # Not the end yet: what the peer said before it left may still be unread.
            await self._over.wait()

    async def _send(self) -> None:
        while self._unsent:
            frame = self._unsent[0]
            await self._socket.send_bytes(frame)
            self._unsent.popleft()
            self._unsent_bytes -= len(frame)

    async def _news(self) -> None:
        """Wait until there is something to send; after a while of nothing, send a sign of life."""
        self._to_send.clear()  # here, not after the wait: what we offer ourselves sets it too
        with anyio.move_on_after(QUIET_SECONDS) as waiting:
            await self._to_send.wait()
        if waiting.cancelled_caught:
            self.offer(_STILL_HERE)

    # ── messages ────────────────────────────────────────────────────────────────────────────────

    async def _work(self, room: Room) -> None:
        await self._ask_what_is_new()
        if states := list(room.presence.all()):
            self.offer(protocol.presence(states))
        while messages := await self._take():
            self._at_work = messages
            self._check(Role.READ)
            await self._answer(room, messages)
            self._at_work = []
        self._over.set()

    async def _answer(self, room: Room, messages: list[Message]) -> None:
        kind, data = messages[0]
        if kind is FrameKind.HAVE:
            missing = await self._notes(lambda library: library.missing(self.note, data))
            self.offer(protocol.lack(missing))
        elif kind in (FrameKind.LACK, FrameKind.UPDATE):
            await self._receive([one for one in messages if one.data != NOTHING])
        elif kind is FrameKind.PRESENCE:
            self._hear(room, data)
        elif kind is FrameKind.ASK:
            self.offer(protocol.presence(room.presence.all()))

    def _hear(self, room: Room, data: bytes) -> None:
        try:
            room.hear(self, data)
        except Malformed:
            raise Refused(Close.MALFORMED) from None

    async def _receive(self, messages: list[Message]) -> None:
        try:
            author = self._check(Role.WRITE)
        except Refused as refused:
            if refused.code is Close.FORBIDDEN and not any(map(_says_something, messages)):
                return
            raise
        updates = [message.data for message in messages]
        try:
            received = await self._take_in(updates, author)
        except Refused as refused:
            if len(updates) == 1 or refused.code not in (Close.MALFORMED, Close.TOO_LARGE):
                raise
            for one in updates:  # the good ones before the bad one are kept
                received = await self._take_in([one], author)
        if received.is_waiting:
            await self._ask_what_is_new()

    async def _take_in(self, updates: list[bytes], author: str) -> Received:
        if not updates:
            return Received(0, False)
        return await self._notes(
            lambda library: library.receive(self.note, updates, author, origin=self)
        )

    async def _hand_over(self) -> None:
        """Give a note that was moved or deleted the updates that had come by then.

        Some may have been applied already; twice does no harm.
        """
        left = [*self._at_work, *self._unread]
        updates = [
            one.data for one in left if one and one.kind in (FrameKind.LACK, FrameKind.UPDATE)
        ]
        try:
            author = self._check(Role.WRITE)
            for update in updates:
                await self._take_late(update, author)
        except (Refused, FlashgrepError) as error:
            log.info("the last updates for %s are lost: %s", self.path, error)

    async def _take_late(self, update: bytes, author: str) -> None:
        def job(library: Library) -> None:
            if update != NOTHING and library.catalogue.entry(self.note).epoch == self.epoch:
                library.receive(self.note, [update], author, origin=self, in_trash=True)

        await asyncio.wrap_future(self._kb.submit(job))

    async def _ask_what_is_new(self) -> None:
        self.offer(protocol.have(await self._notes(lambda library: library.state(self.note))))

    async def _notes(self, job: Callable[[Library], Value]) -> Value:
        """Run a job on the note, if it still is the one the peer opened."""

        def on_note(library: Library) -> Value:
            entry = library.catalogue.entry(self.note)
            if entry.path != self.path:
                raise Refused(Close.NO_NOTE)
            if entry.epoch != self.epoch:
                raise Refused(Close.OTHER_EPOCH)
            return job(library)

        try:
            return await asyncio.wrap_future(self._kb.submit(on_note))
        except FlashgrepError as error:
            raise refusal(error) from error


def _parsed(frame: bytes) -> Message:
    try:
        return protocol.parse(frame)
    except Malformed:
        raise Refused(Close.MALFORMED) from None


def _says_something(message: Message) -> bool:
    """Whether a message of one who may only read would change the note.

    Asked what it has, a client answers with all it knows to be deleted, every time; that is no
    change. What it typed is.
    """
    try:
        return message.kind is FrameKind.UPDATE or bool(parse_update(message.data).structs)
    except InvalidParams:
        raise Refused(Close.MALFORMED) from None


async def close(socket: WebSocket, code: Close, reason: str = "") -> None:
    """Close with a code; the other side may be gone already. A reason has at most 123 bytes."""
    try:
        await socket.close(code, (reason or REASONS[code])[:120])
    except (RuntimeError, WebSocketDisconnect):
        return
