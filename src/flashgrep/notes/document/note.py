"""A note in memory: its document, loaded from the journal and changed, and which changes are new.

    contents    the text (Y.Text); characters only, lines end with LF
    records     what is known beside the text (Y.Map): id → {"made", "anchors", "value"}.
                `made` counts them in the order they were made; `anchors` is a list of spans, each
                [client, clock, client, clock] of its first and its last character (see `anchors`)
    authors     who wrote which characters (Y.Map, see `anchors`)

Peers write only `contents`: what they write into the two maps is reverted (see `causality`), and an
update that writes anywhere else is refused.

Changes cannot be undone: pycrdt has no rollback. After an error a note is thrown away and loaded
again; what the journal does not have never happened.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Final

from pycrdt import Doc, Map, Text, merge_updates

from flashgrep import limits
from flashgrep.errors import InvalidParams, TooLarge
from flashgrep.notes.access.roles import Author, AuthorKind
from flashgrep.notes.document.anchors import AUTHORS, MANY, Anchor, Anchors, Authorship
from flashgrep.notes.document.causality import (
    PeerWatch,
    halves,
    is_empty,
    parts_a_character,
    says_again,
    split,
)
from flashgrep.notes.document.order import TextOrder, order_of
from flashgrep.notes.document.text import (
    NotText,
    Panicked,
    Push,
    SharedText,
    TextSplice,
    catching_panics,
    check_size,
    ordered,
    repairs,
)
from flashgrep.notes.document.updates import Name, Update, clocks, encode, parse
from flashgrep.notes.store.journal import DamagedNote, NoteSnapshot, Record

CONTENTS: Final = "contents"
RECORDS: Final = "records"
_ROOTS: Final = frozenset({CONTENTS, RECORDS, AUTHORS})
_ANCHORS_A_RECORD: Final = 4
"""Of a suggestion: both ends of a deletion and of an insertion."""
_LOOKUPS_A_RUN: Final = 4
_SHOWN: Final = 40
"""Characters of a name in an error."""
NOTHING: Final = b"\0\0"
"""An update without any change."""

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class NoteRecords:
    """What is recorded beside the text under one id."""

    value: Mapping[str, Any]
    """As JSON has it; whole numbers come back as such."""
    spans: tuple[Span, ...] = ()
    """Where it is in the text, in characters; those that were deleted are left out."""


@dataclass(frozen=True, slots=True)
class Amendment:
    """A change of a note: of its text, and of what is kept beside it."""

    splices: Sequence[TextSplice] = ()
    records: Mapping[str, NoteRecords | None] = field(default_factory=dict)
    """New and changed ones, with spans in the text as the splices leave it; None takes one away."""
    keeps_version: bool = False
    """The note as it was before becomes a version that can be gone back to."""
    order: TextOrder | None = None
    """Of the text as it is before, where it was worked out already."""
    written: Sequence[tuple[Span, Author]] = ()
    """Stretches of the new text that somebody else wrote, in the note that they come from."""
    since: Mapping[int, int] = field(default_factory=dict)
    """The clocks before the change that brought them: older characters keep their writers."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of a peer's updates."""

    stretches: Sequence[Span]
    """What changed in the present text, in UTF-8 bytes, from left to right; empty if no part of a
    mark can have changed."""
    is_answered: bool
    """We changed something too, so that the peer must get it."""


class Note:
    """One document. Only the thread that owns all documents touches it."""

    def __init__(self, note: str) -> None:
        self.id = note
        self.sequence = 0
        self._doc: Doc[Any] = Doc()
        self._text = self._doc.get(CONTENTS, type=Text)
        self._records: Map[Any] = self._doc.get(RECORDS, type=Map)
        self._authors: Map[Any] = self._doc.get(AUTHORS, type=Map)
        self._authorship = Authorship(self._authors)
        self._peer_watch: PeerWatch | None = None
        self.text = SharedText(self._text)
        self._waiting: list[Update] = []
        self._clocks: dict[int, int] = {}
        """What the journal has once everything taken as new is in it."""
        self._seconds: set[Name] | None = None
        """Second units of characters; found when a peer sends something for the first time."""
        new: list[bytes] = []
        self._new = new
        known: list[dict[str, NoteRecords]] = []
        self._known = known
        """The records, once they were asked for, until the document changes."""

        def changed(event: Any) -> None:
            new.append(event.update)
            known.clear()

        # pycrdt keeps a document that is observed for ever: its callback holds the document.
        watch = self._doc.observe(changed)
        weakref.finalize(self, self._doc.unobserve, watch).atexit = False

    @classmethod
    def load(cls, note: str, snapshot: NoteSnapshot | None, records: Sequence[Record]) -> Note:
        """The note as the journal has it; `DamagedNote` where that is not all of it."""
        entries: list[Record | NoteSnapshot] = [*([snapshot] if snapshot else []), *records]
        if not entries:
            raise DamagedNote(note, "nothing is stored of it")
        loaded = cls(note)
        try:
            loaded._apply(entry.update for entry in entries)
            loaded.text.checked()
            state, written = loaded.state(), entries[-1].state
            is_whole = state == written or clocks(state) == clocks(written)
        except (InvalidParams, Panicked) as error:
            raise DamagedNote(note, error.message) from error
        if not is_whole:
            raise DamagedNote(note, "its updates do not give the state that was written with them")
        loaded._new.clear()
        loaded._clocks = clocks(state)
        loaded.sequence = entries[-1].sequence
        return loaded

    # ── reading ─────────────────────────────────────────────────────────────────────────────────

    @property
    def is_waiting(self) -> bool:
        """Whether something of a peer lacks what comes before it; it is not in the document."""
        return bool(self._waiting)

    @property
    def waiting_bytes(self) -> int:
        """How much waits."""
        return sum(len(encode(update)) for update in self._waiting)

    def state(self) -> bytes:
        """The state vector: what this document has."""
        with catching_panics():
            return self._doc.get_state()

    def missing(self, state: bytes) -> bytes:
        """What a peer with this state vector does not have."""
        clocks(state)
        with catching_panics(), _malformed("state vector"):
            return self._doc.get_update(state)

    def whole(self) -> bytes:
        """All of it as one update."""
        with catching_panics():
            return self._doc.get_update()

    def anchors(self, many: int = 0) -> Anchors:
        """The names of the text's characters, as it is now; `many` is how much will be asked."""
        return Anchors(self._text, clocks(self.state()), CONTENTS, many)

    @contextmanager
    def looking(self, many: int = 0) -> Iterator[Anchors]:
        """The same for a block that asks for several, and changes nothing."""
        with catching_panics(), self._doc.transaction():
            yield self.anchors(many)

    def order(self) -> TextOrder | None:
        """The order of the text's characters; None where that is not known for sure."""
        return order_of(parse(self.whole()), CONTENTS, self.text.read())

    def records(self) -> dict[str, NoteRecords]:
        """What is beside the text, in the order it was made. Peers may have written nonsense."""
        if not self._known:
            self._known.append(self._read_records())
        return dict(self._known[0])

    def _read_records(self) -> dict[str, NoteRecords]:
        with catching_panics():
            stored = self._records.to_py() or {}
        if not stored:
            return {}
        found = []
        with self.looking(many=_ANCHORS_A_RECORD * len(stored)) as anchors:
            for name, entry in stored.items():
                if isinstance(entry, dict) and isinstance(entry.get("value"), dict):
                    spans = _spans(anchors, entry.get("anchors"))
                    beside = NoteRecords(_whole_numbers(entry["value"]), spans)
                    found.append((_made(entry), name, beside))
        return {name: beside for _, name, beside in sorted(found, key=lambda each: each[:2])}

    def writers(self, start: int, end: int) -> list[tuple[Anchor, Author | None]]:
        """The characters of a stretch of the text, and who wrote each; None if nobody knows."""
        with self.looking(many=end - start) as anchors:
            named = [anchors.at(place) for place in range(start, end)]
            return [(anchor, self._authorship.author_of(Name(*anchor))) for anchor in named]

    def writers_at(self, places: Sequence[int]) -> list[Author | None]:
        """Who wrote the characters at some places; None if nobody knows."""
        with self.looking(many=len(places)) as anchors:
            named = [anchors.at(place) for place in places]
        return [self._authorship.author_of(Name(*anchor)) for anchor in named]

    def authors(self, spans: Sequence[Span]) -> list[Set[Author | None]]:
        """Who wrote the characters of each span; None is in it where nobody knows."""
        with self.looking(many=_LOOKUPS_A_RUN * len(spans)) as anchors:
            return [
                {author for run in anchors.runs(*span) for author in self._authorship.of_run(run)}
                for span in spans
            ]

    # ── changing ────────────────────────────────────────────────────────────────────────────────

    def amend(
        self, change: Amendment, author: str = "", source: AuthorKind | None = AuthorKind.PERSON
    ) -> None:
        """Make a change for an author, in one transaction.

        Where the records are known, they are known afterwards too: our own splices show where each
        went. To find them by their anchors again takes a look at the document for each.
        """
        known = self._known[0] if self._known else None
        before = self.text.read() if known else ""
        with catching_panics(), self._doc.transaction():
            if any(splice.text for splice in change.splices):
                self._sign(Author(author, source))
            order = change.order
            if order is None and len(change.splices) >= MANY:
                order = self.order()
            check_size(self.text.splice(change.splices, order))
            stored = self._put_records(change.records)
            self._ascribe(change.written, change.since)
        if known is None or not _come_back(change.records, stored - known.keys()):
            return
        push = Push(ordered(before, change.splices)) if known else None
        moved = {
            name: replace(one, spans=push.spans(one.spans))
            for name, one in known.items()
            if push and change.records.get(name, one) is not None
        }
        put = {name: one for name, one in change.records.items() if one is not None}
        self._known[:] = [{**moved, **put}]

    def _sign(self, author: Author) -> None:
        """What our own client writes from now on is this author's."""
        own = self._own_clock()
        self._authorship.add(author, {own.client: own.clock}, own)

    def _ascribe(self, written: Sequence[tuple[Span, Author]], since: Mapping[int, int]) -> None:
        """Record who wrote some of the text before it came here."""
        if not written:
            return
        anchors = self.anchors(_LOOKUPS_A_RUN * len(written))
        runs = [
            (run, author)
            for span, author in written
            for run in anchors.runs(*span)
            if run.clock >= since.get(run.client, 0)
        ]
        self._authorship.ascribe(runs, self._own_clock)

    def _own_clock(self) -> Name:
        client = self._doc.client_id
        return Name(client, clocks(self._doc.get_state()).get(client, 0))

    def _put_records(self, records: Mapping[str, NoteRecords | None]) -> Set[str]:
        """Write records; gives the names of those that were there before."""
        if not records:
            return frozenset()
        spans = sum(len(beside.spans) for beside in records.values() if beside)
        anchors = self.anchors(2 * spans)
        stored = self._records.to_py() or {}
        made = max((_made(entry) for entry in stored.values()), default=0)
        for name, beside in records.items():
            if beside is None:
                if name in stored:
                    del self._records[name]
                continue
            made += 1
            self._records[name] = {
                "made": _made(stored[name]) if name in stored else made,
                "anchors": [
                    [*anchors.at(start), *anchors.at(end - 1)] for start, end in beside.spans
                ],
                "value": dict(beside.value),
            }
        return stored.keys()

    def receive(self, updates: Sequence[bytes], author: str = "") -> Taken:
        """Take what a peer sent, in a person's name, and mend what a note cannot hold."""
        if sum(map(len, updates)) > limits.UPDATE_BYTES:
            raise TooLarge(f"an update has at most {limits.UPDATE_BYTES} bytes")
        if self._peer_watch is None:
            self._peer_watch = PeerWatch(self._text, (self._records, self._authors))
            weakref.finalize(self, self._peer_watch.end).atexit = False
        with catching_panics(), self._peer_watch.watching() as changes:
            before, after = self._take_ready([*self._waiting, *map(parse, updates)])
        person = Author(author, AuthorKind.PERSON)
        try:
            text = self.text.checked()
        except NotText as error:
            raise InvalidParams(error.message) from None
        with catching_panics(), self._doc.transaction():
            is_answered = changes.put_back()
            is_answered = self._attribute(person, before, after) or is_answered
        stretches: Sequence[Span] = () if changes.is_plain else changes.stretches
        if repaired := repairs(text):
            self._sign(person)
            text = self.text.splice(repaired)
            stretches = [(0, len(text.encode()))]
        check_size(text)
        return Taken(stretches, is_answered or bool(repaired))

    def _attribute(
        self, author: Author, before: Mapping[int, int], after: Mapping[int, int]
    ) -> bool:
        """Record the author of what came between; False if that is known already."""
        grown = {
            client: before.get(client, 0)
            for client, clock in after.items()
            if clock > before.get(client, 0)
        }
        return self._authorship.add(author, grown, self._own_clock())

    def _take_ready(self, updates: list[Update]) -> tuple[dict[int, int], dict[int, int]]:
        """Apply all that has all before it; what has not is kept beside the document.

        Gives the clocks before and after it.
        """
        before = have = clocks(self.state())
        is_doubtful = False
        if self._seconds is None:
            self._seconds = set(halves(parse(self.whole())))
        with catching_panics(), _malformed("update"), self._doc.transaction():
            is_moving = True
            while is_moving:
                is_moving = False
                for at, update in enumerate(updates):
                    part = split(update, have)
                    if not is_empty(part.ready):
                        _check_roots(part.ready)
                        self._seconds.update(halves(part.ready))
                        if parts_a_character(part.ready, self._seconds):
                            raise InvalidParams(
                                "the update takes a character such as an emoji apart"
                            )
                        is_doubtful = is_doubtful or says_again(part.ready, have)
                        self._doc.apply_update(encode(part.ready))
                    is_moving = is_moving or part.clocks != have
                    have, updates[at] = part.clocks, part.rest
        if clocks(self.state()) != have:
            raise Panicked("the note's engine took another part of the update than it was given")
        if is_doubtful and not self._is_what_others_load():
            raise InvalidParams("the update contradicts what its client has sent before")
        self._waiting = [update for update in updates if not is_empty(update)]
        return before, have

    def _is_what_others_load(self) -> bool:
        loaded = Note(self.id)
        loaded._apply([self.whole()])
        return loaded.text.read() == self.text.read()

    def take_new(self) -> bytes | None:
        """What changed since the last time, as one update; None for nothing.

        It is what became part of the document, not what a peer sent: so the journal in its order
        never has a gap. It is refused where it would not give the same state again.
        """
        new = tuple(self._new)
        self._new.clear()
        if not new:
            return None
        update = merge_updates(*new) if len(new) > 1 else new[0]
        parsed = parse(update)
        part = split(parsed, self._clocks)
        if part.clocks != clocks(self.state()) or not is_empty(part.rest):
            raise Panicked("the note's engine reports another change than it made; it is undone")
        self._clocks = part.clocks
        if self._seconds is not None:
            self._seconds.update(halves(parsed))
        return update

    def _apply(self, updates: Iterable[bytes]) -> None:
        with catching_panics(), _malformed("update"), self._doc.transaction():
            for update in updates:
                self._doc.apply_update(update)


def _check_roots(update: Update) -> None:
    """Refuse what is no part of a note: it would be kept and sent to everybody, and none would see
    it, nor its size. Whatever else is in such a place comes after the first that names it."""
    for struct in chain.from_iterable(update.structs.values()):
        if struct.root is not None and struct.root not in _ROOTS:
            raise InvalidParams(
                f"the update writes to {struct.root[:_SHOWN]!r}; a note has its text in "
                f"{CONTENTS!r} and takes nothing else from an editor"
            )


@contextmanager
def _malformed(what: str) -> Iterator[None]:
    """Tell what the engine cannot decode, or cannot put in its place."""
    try:
        yield
    except (ValueError, RuntimeError) as error:
        raise InvalidParams(f"the {what} is malformed: {error}") from None


def is_same(one: Note, other: Note) -> bool:
    """Whether two documents have the same text, records, authors and history."""
    return (
        one.text.read() == other.text.read()
        and clocks(one.state()) == clocks(other.state())
        and one.records() == other.records()
        and one._authorship.all() == other._authorship.all()
    )


def _come_back(records: Mapping[str, NoteRecords | None], nonsense: Set[str]) -> bool:
    """Whether records are read from the document just as they are put there.

    One that takes the place of `nonsense` keeps its number in the order, which was never read.
    """
    put = [beside for beside in records.values() if beside is not None]
    spans = (span for beside in put for span in beside.spans)
    values = (value for beside in put for value in beside.value.values())
    return (
        not nonsense & records.keys()
        and all(start < end for start, end in spans)
        and all(isinstance(one, str) or (type(one) is int and abs(one) < 2**53) for one in values)
    )


def _made(entry: Any) -> int:
    made = entry.get("made", 0) if isinstance(entry, dict) else 0
    return int(made) if isinstance(made, int | float) and abs(made) < 2**53 else 0


def _spans(anchors: Anchors, stored: Any) -> tuple[Span, ...]:
    found = []
    for span in stored if isinstance(stored, list) else []:
        if isinstance(span, list) and len(span) == 4 and all(map(_is_number, span)):
            numbers = [int(one) for one in span]
            start, last = anchors.find(Anchor(*numbers[:2])), anchors.find(Anchor(*numbers[2:]))
            if start is not None and last is not None and start <= last:
                found.append((start, last + 1))
    return tuple(found)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and 0 <= value < 2**53


def _whole_numbers(value: Any) -> Any:
    """JavaScript has one kind of number; those without a fraction are given as whole ones."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _whole_numbers(one) for key, one in value.items()}
    return [_whole_numbers(one) for one in value] if isinstance(value, list) else value
