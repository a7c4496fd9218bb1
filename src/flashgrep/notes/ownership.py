"""One knowledge base, several processes: who owns the notes, and how that changes.

The process that holds the lock owns the notes: it opens them, and answers the others on a socket. A
process looks for the owner only when it needs the notes; if the lock is free by then, it becomes
the owner. An owner lets go when it closes, or when another process that must own the notes asks for
them (`keeps`). While that process waits, it holds a second lock (`WANTED`), and no other process
takes the notes.

The ways to reach others and to listen to them come from above: this module knows no sockets.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Protocol

from flashgrep import limits
from flashgrep.errors import Conflict, Unavailable, from_os_error
from flashgrep.notes.home import WANTED, Home, Owned, owner_of
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.system.lock import is_locked, open_lock_file, try_lock

log = logging.getLogger(__name__)

YIELD: Final = "kb/yield"
"""The request to let go of the notes."""
_PAUSE_SECONDS: Final = 0.05


class NoOwner(Unavailable):
    """No process answers for these notes; nothing was asked."""


class OwnerGone(Unavailable):
    """The owner ended before it answered; the request may or may not have been carried out."""


class OwnerSilent(Unavailable):
    """The owner did not answer in time; the request may or may not have been carried out."""


class Connection(Protocol):
    """A way to the owner, for one question at a time."""

    def call(
        self,
        method: str,
        params: Mapping[str, Any],
        heard: Callable[[Mapping[str, Any]], None] = ...,
        seconds: float | None = ...,
    ) -> Any:
        """Ask and wait, at most so many `seconds`; `heard` gets what comes before the answer.

        It raises `RemoteFailure`, `OwnerGone`, `OwnerSilent` when the time is over, or `NoOwner`
        where the question was not taken.
        """

    def is_alive(self) -> bool:
        """Whether the owner has not hung up."""

    def hang_up(self) -> None:
        """End it while another thread waits for an answer."""

    def close(self) -> None: ...


class Listener(Protocol):
    """Answers other processes while the notes are ours."""

    def drain(self, seconds: float) -> bool:
        """Take no more questions, answer those that came, and close; False if one still runs."""


class Ownership:
    """The notes of a directory: this process's own, or another's."""

    def __init__(
        self,
        home: Path,
        connect: Callable[[Path], Connection],
        listen: Callable[[KnowledgeBase], Listener],
        keeps: bool = False,
    ) -> None:
        """`connect` raises `NoOwner`, `listen` `Unavailable`; `keeps`: never let go."""
        self.home = home
        self.notes: KnowledgeBase | None = None
        """The notes while they are ours; see `held`."""
        self._connect = connect
        self._listen = listen
        self._keeps = keeps
        self._turn = threading.Condition()
        self._running = 0
        self._is_closed = False
        self._is_yielding = False
        """A thread is at it; the listener is its own."""
        self._is_leaving = False
        """New calls wait until the notes are another's, or stay."""
        self._listener: Listener | None = None
        self._idle: list[Connection] = []

    def start(self) -> None:
        """Own the notes if nobody does, and listen; or be ready to ask the owner."""
        Home(self.home)  # refused before a lock is looked for in it
        with self._turn:
            self._try_to_own()
            if self._keeps and self.notes is None:
                self._ask_to_yield()

    def close(self) -> None:
        """Answer what other processes have asked, hang up, and let one of them own the notes."""
        with self._turn:
            self._is_closed = True
            listener, self._listener = self._listener, None
        # The listener first: a process that finds the lock free must not find us still answering.
        # A call that came by the listener may need `_turn` to end.
        if listener is not None:
            listener.drain(limits.SHUTDOWN_SECONDS)
        with self._turn:
            if self.notes is not None:
                self.notes.close()
                self.notes = None
            for connection in self._idle:
                connection.close()
            self._idle.clear()

    # ── ours ────────────────────────────────────────────────────────────────────────────────────

    @contextmanager
    def held(self) -> Iterator[KnowledgeBase | None]:
        """The notes, which stay ours in the block; None where another process owns them."""
        with self._turn:
            self._turn.wait_for(lambda: not self._is_leaving)
            is_ours = not self._has_owner_answering() and self._try_to_own()
            notes = self.notes if is_ours else None
            self._running += notes is not None
        try:
            yield notes
        finally:
            if notes is not None:
                with self._turn:
                    self._running -= 1
                    self._turn.notify_all()

    def _has_owner_answering(self) -> bool:
        """Whether a connection to another owner is alive; dead ones are dropped."""
        while self.notes is None and self._idle:
            if self._idle[-1].is_alive():
                return True
            self._idle.pop().close()
        return False

    def _try_to_own(self) -> bool:
        if self.notes is None and not self._is_closed:
            if not self._keeps and is_locked(self.home / WANTED):
                return False
            try:
                notes = KnowledgeBase(self.home)
            except Owned:
                return False
            self.notes = notes
            notes.links.start()
        is_ending = self._is_yielding or self._is_closed
        if self._listener is None and self.notes is not None and not is_ending:
            try:
                self._listener = self._listen(self.notes)
            except Unavailable as error:
                log.warning("other processes cannot reach the notes here: %s", error.message)
        return self.notes is not None

    # ── taken over ──────────────────────────────────────────────────────────────────────────────

    def _ask_to_yield(self) -> None:
        deadline = time.monotonic() + limits.OWNER_SECONDS
        try:
            wanted = open_lock_file(self.home / WANTED)
        except OSError as error:
            raise from_os_error(error, str(self.home / WANTED)) from None
        try:
            self._ask_until(deadline, wanted)
        finally:
            os.close(wanted)

    def _ask_until(self, deadline: float, wanted: int) -> None:
        is_reserved = try_lock(wanted)
        while not self._try_to_own():
            is_reserved = is_reserved or try_lock(wanted)
            with suppress(NoOwner, OwnerGone), closing(self._connect(self.home)) as connection:
                connection.call(YIELD, {}, seconds=max(deadline - time.monotonic(), 0))
            if time.monotonic() > deadline:
                raise Unavailable(
                    f"{self.home} is open in another process (pid {owner_of(self.home)}) that does "
                    "not let go; end it"
                )
            time.sleep(_PAUSE_SECONDS)

    def begin_to_yield(self) -> None:
        """Let go as soon as no call is running; a `Conflict` where the notes are to be kept."""
        if self._keeps:
            raise Conflict(f"{self.home} is served by another flashgrep serve; use that one")
        with self._turn:
            if self._is_yielding or self.notes is None:
                return
            threading.Thread(target=self._yield, name="flashgrep-kb-yield", daemon=True).start()
            self._is_yielding = True

    def _yield(self) -> None:
        """Let go once no call is running, or keep the notes where one does not end."""
        with self._turn:
            listener, self._listener = self._listener, None
        # The calls that came by the listener need their turn to end.
        is_quiet = listener is None or listener.drain(limits.SOCKET_DRAIN_SECONDS)
        with self._turn:
            try:
                self._is_leaving = is_quiet
                if is_quiet:
                    is_quiet = self._turn.wait_for(lambda: not self._running, limits.OWNER_SECONDS)
                if is_quiet and self.notes is not None:
                    log.info("another server takes the notes over")
                    self.notes.close()
                    self.notes = None
            finally:
                self._is_yielding = self._is_leaving = False
                self._turn.notify_all()
            if self.notes is not None and not self._is_closed:
                log.warning("another server asks for the notes, but a call does not end")
                self._try_to_own()  # and listen again

    # ── another's ───────────────────────────────────────────────────────────────────────────────

    def connection(self) -> Connection:
        """A connection that nobody else uses; an owner that does not listen is waited for.

        `NoOwner` where the notes have become ours meanwhile.
        """
        with self._turn:
            while self._idle:
                connection = self._idle.pop()
                if connection.is_alive():
                    return connection
                connection.close()
        try:
            return self._connect(self.home)
        except NoOwner as error:
            # A terminal command has the notes, or the owner is just coming or going.
            time.sleep(_PAUSE_SECONDS)
            return self._wait_for_connection(error)

    def _wait_for_connection(self, error: NoOwner) -> Connection:
        deadline = time.monotonic() + limits.OWNER_SECONDS
        while time.monotonic() < deadline:
            with self._turn:
                if self._try_to_own():
                    raise NoOwner("the owner ended before it was asked")
            try:
                return self._connect(self.home)
            except NoOwner as again:
                error = again
                time.sleep(_PAUSE_SECONDS)
        raise Unavailable(f"another process has {self.home} open: {error.message}; try again")

    def give_back(self, connection: Connection) -> None:
        """Keep a connection for the next question."""
        with self._turn:
            if self._is_closed:
                connection.close()
            else:
                self._idle.append(connection)
