"""Agents that suggest, decisions, and people who type at the same time: nothing lost, or doubled.

Every character is its own: whoever types or proposes takes the next letter that was never used. So
each can be followed. What must be true, letter by letter, of the two views of the server's text:

    suggested      the base view is what it was; the accepted view has lost the letters of the old
                   string and won those of the new one
    accepted       the base view becomes what the suggestion says; the accepted view is what it was
    rejected       the accepted view becomes what was there; the base view is what it was
    typed          the letter is in the text exactly once, and in one of the views
    erased         no other letter goes away
    always         no letter is twice in a view; a letter that a person typed is in the text until a
                   person erases it or a decision takes it away, whatever agents do with theirs

People also type whole marks, anywhere, inside the suggestions of agents too. Where such a mark
comes to light by a decision, its letters change their views.

People type into what they see, which may be older than what the server has, and between whole
delimiters, as an editor that shows marks lets them. A second test has them erase anything, marks
too: then a broken mark is text, and it is only looked for letters that went without being erased.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flashgrep.errors import FlashgrepError
from flashgrep.notes.document.note import Amendment
from flashgrep.notes.document.text import TextSplice
from flashgrep.notes.review import decide as deciding
from flashgrep.notes.review.verdict import Action
from flashgrep.notes.suggestions import pending as pending_suggestions
from flashgrep.notes.suggestions.pending import Pending, pending
from flashgrep.notes.suggestions.plan import Edit
from flashgrep.notes.suggestions.propose import Markup, propose_in
from tests.notes.desk import Desk, Peer

HEAVY = os.environ.get("FLASHGREP_HEAVY") == "1"
CASES = 10_000 if HEAVY else 40
pytestmark = pytest.mark.timeout(7_200 if HEAVY else 600)
Value = TypeVar("Value")
AUTHORS: Final = ("ann", "bob")
DELIMITERS: Final = ("{--", "--}", "{++", "++}", "{~~", "~~}", "~>")
PERSON: Final = "person"
FIRST: Final = 0x4E00
"""Letters from here on: Chinese ones, with an emoji now and then."""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """One library for all examples, each of which has a note of its own."""
    base = Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else None
    directory = tmp_path_factory.mktemp("kb") if base is None else base / f"fg-{os.getpid()}"
    made = Desk(directory)
    yield made
    made.close()
    if base is not None:
        shutil.rmtree(directory)


_NUMBERS = count()
CLIENTS: Final = st.sampled_from(
    [(1,), (2**53 - 1,), (1, 2), (1, 2**53 - 1), (2**53 - 1, 2**53 - 2)]
)
"""Before or behind the server's own, which decides who comes first in one place."""


class Draw(Protocol):
    """Takes one of what a strategy has."""

    def __call__(self, strategy: st.SearchStrategy[Value], label: Any = None) -> Value: ...


class Table:
    """A note, the people at it, and what its views must hold."""

    def __init__(self, desk: Desk, clients: Sequence[int], markup: Markup, is_strict: bool) -> None:
        self.library = desk.library
        self.markup = markup
        self.strict = is_strict
        self._used = 0
        start = "".join(self.letter() for _ in range(6)) + "\n"
        self.path = f"{next(_NUMBERS)}.md"
        self.note = desk.library.create(self.path, start).id
        self.people = [Peer(desk.library, self.note, client) for client in clients]
        self.base, self.accepted = _letters(start), _letters(start)
        self.unsent: list[set[str]] = [set() for _ in self.people]
        """Letters that each has typed, not sent…"""
        self.erased: list[set[str]] = [set() for _ in self.people]
        """…or erased, not sent."""
        self.owed: set[str] = set()
        """Letters that people typed, that nobody erased and no decision took away."""

    def letter(self) -> str:
        self._used += 1
        return chr(0x1F300 + self._used) if self._used % 5 == 0 else chr(FIRST + self._used)

    @property
    def read(self) -> Pending:
        known = pending_suggestions.recorded(self.library.records(self.note))
        return pending(self.library.read(self.note).text, known)

    # ── the server's side ───────────────────────────────────────────────────────────────────────

    def suggest(self, draw: Draw) -> None:
        view = self.read.reading.accepted.text
        start = draw(st.integers(0, max(len(view) - 1, 0)))
        old = view[start : start + draw(st.integers(1, 4))]
        kept = draw(st.sampled_from(["", "", old[:1], old[-1:], old]))
        fresh = "".join(self.letter() for _ in range(draw(st.integers(0, 3))))
        new = draw(st.sampled_from([kept + fresh, fresh + kept, fresh]))
        self._edit(Edit(old, new), draw(st.sampled_from(AUTHORS)))

    def take_back(self, draw: Draw) -> None:
        """Edit a suggestion to what was there before it."""
        read = self.read
        held = [record for record in read.records if read.extent(record)]
        held = [record for record in held if record.author in AUTHORS]
        if held:
            record = draw(st.sampled_from(held))
            old, new = read.change(record)
            if new:
                self._edit(Edit(new, old), record.author)

    def _edit(self, edit: Edit, author: str) -> None:
        try:
            done = propose_in(self.library, self.path, edit, author, markup=self.markup)
        except FlashgrepError:
            return
        if not done.is_repeated:
            self.accepted = (self.accepted - _letters(edit.old)) | _letters(edit.new)
        again = propose_in(self.library, self.path, edit, author, markup=self.markup)
        assert again.is_repeated
        assert again.published.text == done.published.text

    def decide(self, draw: Draw) -> None:
        read = self.read
        held = [record for record in read.records if read.extent(record)]
        if held:
            action = draw(st.sampled_from(list(Action)))
            self.decided(draw(st.sampled_from(held)).id, action)

    def is_pending(self, name: str) -> bool:
        """Not any more, where a decision made a whole mark of broken ones around it."""
        read = self.read
        return any(record.id == name and read.extent(record) for record in read.records)

    def decided(self, name: str, action: Action) -> None:
        read = self.read
        record = next(record for record in read.records if record.id == name)
        old, new = map(_letters, read.change(record))
        others = [span for one in read.records for span in one.spans]

        def plan(text: str, _: object) -> Amendment:
            decision = deciding.decide(text, record.spans, action, others)
            return Amendment(decision.splices, {name: None})

        before = _letters(read.reading.text)
        try:
            self.library.amend(self.note, plan, "reviewer")
        except deciding.MakesMark:  # of pieces of marks that people have broken
            return
        reading = self.read.reading
        self.owed -= before - _letters(reading.text)
        known = {one.id for one in read.records}
        if any(one.id not in known for one in self.read.records):  # a mark came to light
            self.base, self.accepted = _letters(reading.base.text), _letters(reading.accepted.text)
        elif action is Action.ACCEPT:
            self.base = (self.base - old) | new
        else:
            self.accepted = (self.accepted - new) | old

    # ── the people's side ───────────────────────────────────────────────────────────────────────

    def type(self, draw: Draw) -> None:
        who = draw(st.integers(0, len(self.people) - 1))
        text = self.people[who].text.read()
        places = _between(text) if self.strict else list(range(len(text) + 1))
        place = draw(st.sampled_from(places))
        letters = "".join(self.letter() for _ in range(draw(st.integers(1, 2))))
        self.people[who].text.splice([TextSplice(place, place, letters)])
        self.unsent[who] |= set(letters)

    def type_mark(self, draw: Draw) -> None:
        """A mark with letters of its own, as an editor for them puts it there."""
        who = draw(st.integers(0, len(self.people) - 1))
        text = self.people[who].text.read()
        places = _between(text) if self.strict else list(range(len(text) + 1))
        place = draw(st.sampled_from(places))
        one, two = self.letter(), self.letter()
        marks = [f"{{++{one}++}}", f"{{--{one}--}}{{++{two}++}}", f"{{~~{one}~>{two}~~}}"]
        if self.strict and _is_old_part(text, place):
            marks.pop()  # a second arrow would come first, and it is the first that counts
        mark = draw(st.sampled_from(marks))
        self.people[who].text.splice([TextSplice(place, place, mark)])
        self.unsent[who] |= _letters(mark)

    def erase(self, draw: Draw) -> None:
        who = draw(st.integers(0, len(self.people) - 1))
        text = self.people[who].text.read()
        if not text:
            return
        start = draw(st.integers(0, len(text) - 1))
        end = min(start + draw(st.integers(1, 3)), len(text))
        if self.strict and not all(map(_is_letter, text[start:end])):
            return
        self.people[who].text.splice([TextSplice(start, end)])
        self.erased[who] |= _letters(text[start:end])
        self.unsent[who] -= _letters(text[start:end])

    def send(self, draw: Draw) -> None:
        self.sent(draw(st.integers(0, len(self.people) - 1)))

    def sent(self, who: int) -> None:
        before = _letters(self.library.read(self.note).text)
        self.library.receive(self.note, self.people[who].take(), PERSON)
        reading = self.read.reading
        typed, erased = self.unsent[who], self.erased[who]
        assert all(reading.text.count(letter) == 1 for letter in typed), "typed once, there once"
        assert (before - erased) | typed <= _letters(reading.text), "nobody erased it"
        base, accepted = _letters(reading.base.text), _letters(reading.accepted.text)
        if self.strict:
            assert typed <= base | accepted
            assert self.base - erased <= base <= self.base | typed
            assert self.accepted - erased <= accepted <= self.accepted | typed
        self.base, self.accepted = base, accepted
        self.owed = (self.owed | typed) - erased
        self.unsent[who], self.erased[who] = set(), set()

    def hear(self, draw: Draw) -> None:
        self.heard(draw(st.integers(0, len(self.people) - 1)))

    def heard(self, who: int) -> None:
        person = self.people[who]
        unsent = list(person.unsent)
        person.doc.apply_update(self.library.missing(self.note, person.doc.get_state()))
        person.unsent[:] = unsent

    # ── what must be true ───────────────────────────────────────────────────────────────────────

    def check(self) -> None:
        reading = self.read.reading
        assert self.owed <= _letters(reading.text), "a person's letter went without a decision"
        if not self.strict:
            return
        for view, expected in ((reading.base, self.base), (reading.accepted, self.accepted)):
            assert _letters(view.text) == expected
            assert sum(map(_is_letter, view.text)) == len(expected), "a letter twice"

    def settle(self, draw: Draw) -> None:
        """All send, all is decided, all hear: one text, and no mark left in it."""
        for who in range(len(self.people)):
            self.sent(who)
            self.check()
        while names := [one.id for one in self.read.records if self.read.extent(one)]:
            for name in names:
                if self.is_pending(name):
                    self.decided(name, draw(st.sampled_from(list(Action))))
                self.check()
        text = self.library.read(self.note).text
        for who in range(len(self.people)):
            self.heard(who)
            assert self.people[who].text.read() == text
        if self.strict:
            assert _letters(text) == self.base == self.accepted


def _letters(text: str) -> set[str]:
    return set(filter(_is_letter, text))


def _is_letter(character: str) -> bool:
    return ord(character) >= FIRST


def _is_old_part(text: str, place: int) -> bool:
    """Whether a place is behind the opener of a substitution and before its arrow."""
    opener = text.rfind("{~~", 0, place)
    return opener >= 0 and "~>" not in text[opener:place]


def _between(text: str) -> list[int]:
    """The places of a text that are in no delimiter and in no metadata."""
    outside = [True] * (len(text) + 1)
    for delimiter in DELIMITERS:
        at = text.find(delimiter)
        while at >= 0:
            outside[at + 1] = outside[at + 2] = False
            at = text.find(delimiter, at + 1)
    at = text.find('{"author"')
    while at >= 0:
        end = text.find("@@", at) + 2
        outside[at:end] = [False] * (end - at)
        at = text.find('{"author"', end)
    return [place for place, is_free in enumerate(outside) if is_free]


STEPS: Final = (
    *(Table.suggest,) * 4,
    *(Table.take_back,) * 1,
    *(Table.decide,) * 2,
    *(Table.type,) * 5,
    *(Table.type_mark,) * 2,
    *(Table.erase,) * 2,
    *(Table.send,) * 3,
    *(Table.hear,) * 3,
)


def interleaved(data: st.DataObject, desk: Desk, is_strict: bool) -> None:
    draw = data.draw
    table = Table(desk, draw(CLIENTS), draw(st.sampled_from(list(Markup))), is_strict)
    for step in draw(st.lists(st.sampled_from(STEPS), min_size=4, max_size=24)):
        step(table, draw)
        table.check()
    table.settle(draw)


@settings(
    max_examples=CASES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_whatever_happens_at_once_no_letter_is_lost_or_doubled(
    shared: Desk, data: st.DataObject
) -> None:
    interleaved(data, shared, is_strict=True)


@settings(
    max_examples=CASES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_where_people_erase_marks_too_nothing_else_is_lost(
    shared: Desk, data: st.DataObject
) -> None:
    interleaved(data, shared, is_strict=False)
