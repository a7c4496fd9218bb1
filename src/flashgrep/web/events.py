"""News of the notes as server-sent events, for a page that shows suggestions.

    changed   {"note", "sequence", "author"}       a text; several changes at once are one
    note      {"note", "was": "created" | "moved" | "deleted" | "begun", "from"}
    job       {"job", "done", "total", "counts", "state", "message"}    to the token that began it;
              `state` is running, done, stopped or failed, `counts` counts ids by their status
    decided   {"note", "decision", "suggestion", "action", "outcome": "accepted" | "rejected" |
              "edited", "reason", "text", "by", "undone_by", …}
    comment   {"note", "id", "was": "made" | "replied" | "resolved"}    by a request; one that is
              typed into the text is a change of it, and no more
    reload    {}    the page has missed something, or comes from before a restart: load all again

A page that reconnects names the id of the last event it saw (`Last-Event-ID`) and gets those after
it, as far as they are kept. Each page has its own queue; a page that does not keep up gets
`reload`, and never holds up the others.

A page gets news only of the notes its token may read. A note moved across that border is created or
deleted for it; where it came from or went to is not sent.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import secrets
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from flashgrep import limits
from flashgrep.notes.access.roles import Principal, Role
from flashgrep.notes.document.loading import NoteChange
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.notes.review.decision_jobs import Job
from flashgrep.notes.review.decision_log import Decided
from flashgrep.notes.store.catalogue import CatalogueEntry
from flashgrep.notes.suggestions.pending import made_at
from flashgrep.transports.access import (
    ADMISSION,
    Admission,
    Entrance,
    TokenWatch,
    Watchable,
    to_this_loop,
)
from flashgrep.transports.http.guard import EVENTS, secret_of
from flashgrep.web.rooms import Rooms

EVENT_SECONDS: Final = 15.0
"""A stream of news is never silent for longer, so that an end is noticed."""

NEWS_SECONDS: Final = 0.2
"""Changes of one note within this time are one piece of news."""

# ── ids of events ────────────────────────────────────────────────────────────────────────────────
# Ids of events reveal nothing: not how many there were, not whether two are the same.
#
#     id    nonce (8 bytes), the event's number (8 bytes) hidden by it, seal (8 bytes), in hex
#
# A token that may read only a few notes could otherwise count, by the gaps between numbers, what
# happens to the others. The key is made at each start, so an id of another start is recognised.
# Hiding and seal are BLAKE2b with that key: the number is combined with a hash of the nonce, and
# the seal is a hash of both.


_PART: Final = 8
"""Bytes of each of the three parts."""


class EventIds:
    """Makes ids, and reads those it made."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def made(self, number: int) -> str:
        """An id for an event; another one at each call."""
        nonce = secrets.token_bytes(_PART)
        hidden = _combined(number.to_bytes(_PART), self._hash(b"hide", nonce))
        return (nonce + hidden + self._hash(b"seal", nonce + hidden)).hex()

    def read(self, text: str) -> int | None:
        """The number in an id; None if the id is not ours, or of another start."""
        try:
            data = bytes.fromhex(text)
        except ValueError:
            return None
        nonce, hidden, seal = data[:_PART], data[_PART : 2 * _PART], data[2 * _PART :]
        if not hmac.compare_digest(seal, self._hash(b"seal", nonce + hidden)):
            return None
        return int.from_bytes(_combined(hidden, self._hash(b"hide", nonce)))

    def _hash(self, purpose: bytes, data: bytes) -> bytes:
        return hashlib.blake2b(data, digest_size=_PART, key=self._key, person=purpose).digest()


def _combined(one: bytes, other: bytes) -> bytes:
    return bytes(left ^ right for left, right in zip(one, other, strict=True))


# ── events ───────────────────────────────────────────────────────────────────────────────────────


_HEADERS: Final = {"cache-control": "no-store", "x-accel-buffering": "no"}
_MEDIA_TYPE: Final = "text/event-stream"


@dataclass(frozen=True, slots=True)
class NoteEvent:
    """A piece of news, and the notes a listener must be allowed to read."""

    number: int
    kind: str
    paths: tuple[str, ...]
    told: Mapping[str, Any]
    whose: str = ""
    """The only token that hears of it; empty for all."""

    def told_to(self, principal: Principal) -> Mapping[str, Any] | None:
        """What a principal hears of it; None: nothing."""
        seen = [principal.may(Role.READ, path) for path in self.paths]
        if all(seen):
            return self.told
        if self.kind != "note" or not any(seen):
            return None
        path = self.paths[seen.index(True)]
        is_new = path == self.told["note"]
        return {
            "note": path,
            "was": "created" if is_new else "deleted",
            "from": None if is_new else path,
        }


class _Page:
    """One listener: what is not yet sent, and whether anything was left out."""

    def __init__(self, principal: Principal) -> None:
        self.principal = principal
        self.unsent: deque[NoteEvent] = deque()
        self.has_missed = False
        self.is_there = asyncio.Event()

    def put(self, event: NoteEvent) -> None:
        if len(self.unsent) >= limits.EVENTS_UNSENT:
            # What it may not hear must not count.
            told = [one for one in self.unsent if one.told_to(self.principal) is not None]
            self.unsent = deque(told)
        if len(self.unsent) >= limits.EVENTS_UNSENT:
            # Loading again shows everything but what became of a job.
            jobs = {one.told["job"]: one for one in self.unsent if one.kind == "job"}
            self.unsent = deque(list(jobs.values())[-limits.DECISION_JOBS :])
            self.has_missed = True
        self.unsent.append(event)
        self.is_there.set()


def described(row: Decided) -> dict[str, Any]:
    """A decision as JSON."""
    return {
        "decision": row.id,
        "suggestion": row.suggestion,
        "action": row.action.value,
        "outcome": row.outcome.value,
        "reason": row.reason,
        "text": row.text,
        "by": row.by,
        "time": row.time,
        "author": row.record.get("author", ""),
        "old": row.old,
        "new": row.new,
        "undone_by": row.undone_by,
        "undone_time": row.undone_time,
        "comments": [
            {
                "author": one.record.get("author", ""),
                "time": made_at(one.record),
                "text": one.text,
            }
            for one in row.comments
        ],
    }


class Events:
    """All news since the start, as far as it is kept. Used on the server's loop."""

    def __init__(self, kb: KnowledgeBase, tokens: Watchable, rooms: Rooms) -> None:
        """`rooms` hear of changes first."""
        self._kb = kb
        self._rooms = rooms
        self._watch = TokenWatch(tokens, self._look_again)
        self._ids = EventIds()
        self._kept: deque[NoteEvent] = deque(maxlen=limits.EVENTS_KEPT)
        self._number = 0
        self._pages: set[_Page] = set()
        self._paths: dict[str, tuple[str | None, str]] = {}
        """Where each note is, and its epoch."""
        self._changed: dict[str, NoteChange] = {}

    # ── hearing ─────────────────────────────────────────────────────────────────────────────────

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Hear of all that happens for the block."""
        on_loop = to_this_loop()

        with ExitStack() as ends:
            kb, review = self._kb, self._kb.review
            listen, watch, heard = (
                lambda change: on_loop(lambda: self._hear(change)),
                lambda entry: on_loop(lambda: self._filed(entry)),
                lambda decided: on_loop(lambda: self._decided(decided)),
            )
            ends.callback(kb.ask(lambda library: library.listen(listen)))
            ends.callback(kb.ask(lambda library: library.catalogue.watch(watch)))
            entries = kb.ask(lambda library: library.catalogue.entries())
            self._paths = {entry.id: (entry.path, entry.epoch) for entry in entries}
            ends.callback(review.listen(heard))
            ends.callback(
                kb.commenting.listen(lambda *said: on_loop(lambda: self._commented(*said)))
            )
            ends.callback(review.jobs.listen(lambda job: on_loop(lambda: self._job(job))))
            yield

    def _hear(self, change: NoteChange) -> None:
        """Typing makes many changes a second; a page hears of them once."""
        self._rooms.spread(change)
        if not self._changed:
            asyncio.get_running_loop().call_later(NEWS_SECONDS, self._tell_changes)
        self._changed[change.published.note] = change

    def _tell_changes(self) -> None:
        changed, self._changed = self._changed, {}
        for note, change in changed.items():
            if path := self._path(note):
                found = change.published
                told = {"note": path, "sequence": found.sequence, "author": found.author}
                self._put("changed", (path,), told)

    def _filed(self, entry: CatalogueEntry) -> None:
        self._rooms.filed(entry)
        before, epoch = self._paths.get(entry.id, (None, ""))
        self._paths[entry.id] = (entry.path, entry.epoch)
        path = entry.path or before
        if path is None or (before, epoch) == (entry.path, entry.epoch):
            return
        if entry.path is None:
            was = "deleted"
        elif before is None:
            was = "created"
        else:
            was = "moved" if before != entry.path else "begun"
        paths = (path, before) if before and before != path else (path,)
        self._put("note", paths, {"note": path, "was": was, "from": before})

    def _decided(self, decided: Decided) -> None:
        if path := self._path(decided.note):
            self._put("decided", (path,), {"note": path, **described(decided)})

    def _commented(self, note: str, name: str, was: str) -> None:
        if path := self._path(note):
            self._put("comment", (path,), {"note": path, "id": name, "was": was})

    def _job(self, job: Job) -> None:
        self._put("job", (), job.as_json(), job.whose)

    def _path(self, note: str) -> str | None:
        return self._paths.get(note, (None, ""))[0]

    def _put(
        self, kind: str, paths: tuple[str, ...], told: Mapping[str, Any], whose: str = ""
    ) -> None:
        self._number += 1
        event = NoteEvent(number=self._number, kind=kind, paths=paths, told=told, whose=whose)
        self._kept.append(event)
        for page in self._pages:
            page.put(event)

    # ── telling ─────────────────────────────────────────────────────────────────────────────────

    def route(self, entrance: Entrance) -> Route:
        """GET /kb/events."""

        async def events(request: Request) -> Response:
            if request.method == "HEAD":
                return Response(headers=_HEADERS, media_type=_MEDIA_TYPE)
            admission: Admission = request.scope[ADMISSION]
            page = _Page(admission.on_notes)
            stream = self._stream(page, entrance, secret_of(request.scope))
            last = request.headers.get("last-event-id")
            return _Answer(stream, lambda: self._heard_by(page, last))

        return Route(EVENTS, events, methods=["GET"])

    @contextmanager
    def _heard_by(self, page: _Page, last: str | None) -> Iterator[None]:
        """Tell a page what it missed and what comes, for the block.

        Tokens are watched while there is a page: a stream ends with the token that opened it.
        """
        with self._watch.held():
            self._pages.add(page)
            try:
                self._catch_up(page, last)
                yield
            finally:
                self._pages.discard(page)

    def _look_again(self) -> None:
        for page in self._pages:
            page.is_there.set()

    def _catch_up(self, page: _Page, last: str | None) -> None:
        if last is None:
            return
        seen = self._ids.read(last)
        oldest = self._kept[0].number if self._kept else self._number + 1
        if seen is None or seen < oldest - 1:
            page.has_missed = True
            return
        for event in self._kept:
            if event.number > seen:
                page.put(event)

    async def _stream(self, page: _Page, entrance: Entrance, secret: str) -> AsyncIterator[bytes]:
        """What a page is sent; after a while of nothing, a comment shows that we are here."""
        now = asyncio.get_running_loop().time
        yield f"retry: 1000\n{self._seen(page)}\n\n".encode()
        due = now() + EVENT_SECONDS
        while (admission := entrance.admit(secret)) is not None:
            page.principal = admission.on_notes
            for said in self._said(page, admission.key or admission.shown):
                yield said
                due = now() + EVENT_SECONDS
            page.is_there.clear()
            try:
                async with asyncio.timeout_at(due):
                    await page.is_there.wait()
            except TimeoutError:
                # With an id: a page that hears little must not fall behind what is kept.
                yield f": still here\n{self._seen(page)}\n\n".encode()
                due = now() + EVENT_SECONDS

    def _seen(self, page: _Page) -> str:
        """The line that names the last event a page was sent, or need not be."""
        last = page.unsent[0].number - 1 if page.unsent else self._number
        return f"id: {self._ids.made(last)}"

    def _said(self, page: _Page, key: str) -> Iterator[bytes]:
        """What is new for a page whose token has this key."""
        if page.has_missed:
            page.has_missed = False
            yield b"event: reload\ndata: {}\n\n"
        while page.unsent:
            event = page.unsent.popleft()
            told = event.told_to(page.principal) if event.whose in ("", key) else None
            if told is not None:
                yield self._shown(event, told)

    def _shown(self, event: NoteEvent, told: Mapping[str, Any]) -> bytes:
        data = json.dumps(told, separators=(",", ":"))
        number = self._ids.made(event.number)
        return f"id: {number}\nevent: {event.kind}\ndata: {data}\n\n".encode()


class _Answer(StreamingResponse):
    """A stream inside a context manager, which exits however the stream ends."""

    def __init__(
        self, stream: AsyncIterator[bytes], around: Callable[[], AbstractContextManager[None]]
    ) -> None:
        super().__init__(stream, headers=_HEADERS, media_type=_MEDIA_TYPE)
        self._around = around

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._around():  # before the answer begins: nothing falls between
            await super().__call__(scope, receive, send)
