"""Marks that people type become suggestions of theirs; a keystroke looks at little."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from flashgrep.errors import Conflict
from flashgrep.notes.document.note import Amendment
from flashgrep.notes.document.text import TextSplice
from flashgrep.notes.markup import critic, literal
from flashgrep.notes.review import decide
from flashgrep.notes.review.verdict import Action
from flashgrep.notes.suggestions import pending as pending_suggestions
from flashgrep.notes.suggestions import typed_marks
from flashgrep.notes.suggestions.pending import pending
from flashgrep.notes.suggestions.plan import Edit
from flashgrep.notes.suggestions.propose import propose_in
from tests.notes.desk import START, Desk, Peer

PATH = "N.md"


class Typist:
    """A person at a note; every keystroke is sent."""

    def __init__(self, desk: Desk, text: str = "", author: str = "ann") -> None:
        self.desk = desk
        self.author = author
        found = [entry.id for entry in desk.library.catalogue.entries()]
        self.note = found[0] if found else desk.library.create(PATH, text, "maker").id
        self.peer = Peer(desk.library, self.note)

    def key(self, at: int, typed: str, erased: int = 0) -> None:
        self.peer.text.splice([TextSplice(at, at + erased, typed)])
        self.send()

    def send(self) -> None:
        self.desk.library.receive(self.note, self.peer.take(), self.author, origin=self)
        self.peer.doc.apply_update(self.desk.library.missing(self.note, self.peer.doc.get_state()))
        self.peer.take()

    def type(self, text: str, at: int | None = None) -> None:
        """Letter by letter; at the end unless a place is given."""
        place = len(self.peer.text.read()) if at is None else at
        for offset, letter in enumerate(text):
            self.key(place + offset, letter)

    def suggestions(self) -> list[tuple[str, str, str]]:
        """Author, old and new of each."""
        besides = self.desk.library.records(self.note)
        read = pending(
            self.desk.library.read(self.note).text, pending_suggestions.recorded(besides)
        )
        return [
            (record.author, *read.change(record))
            for record in read.suggestions
            if read.extent(record)
        ]


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("a {++new++} b", [("ann", "", "new")]),
        ("a {--old--} b", [("ann", "old", "")]),
        ("a {~~old~>new~~} b", [("ann", "old", "new")]),
        ("{--old--}{++new++}", [("ann", "old", "new")]),  # one change, as an import has it
        ("{--old--} {++new++}", [("ann", "old", ""), ("ann", "", "new")]),
        ("{++one++}{++two++}", [("ann", "", "one"), ("ann", "", "two")]),
        ("{++one++}{--two--}", [("ann", "", "one"), ("ann", "two", "")]),
        ("{++two\nlines++}", [("ann", "", "two\nlines")]),
        ("{++日本 😀++}", [("ann", "", "日本 😀")]),
        ("{++++}", [("ann", "", "")]),
        ("{++a+++}", [("ann", "", "a+")]),
        ('{++{"author":"victim","time":1}@@new++}', [("ann", "", "new")]),
        # neither
        ("{>>a comment<<}", []),
        ("{++new++}{>>a comment<<}", [("ann", "", "new")]),
        ("{==highlighted==}", []),
        ("{++open", []),
        ("closed++}", []),
        ("{~~no arrow~~}", []),
        ("`{++code++}`", []),
        ("``a {--code--} b``", []),
        ("$$ {++x++} $$", []),
        ("```\n{++code++}\n```\n", []),
        ("---\nk: {++front++}\n---\n", []),
        ("<!-- {++hidden++} -->", []),
    ],
)
@pytest.mark.parametrize("is_slow", [True, False])
def test_a_mark_is_a_suggestion_once_it_is_complete(
    desk: Desk, typed: str, expected: list[tuple[str, str, str]], is_slow: bool
) -> None:
    typist = Typist(desk)
    if is_slow:
        typist.type(typed)
    else:
        typist.key(0, typed)
    # Frontmatter that is not closed yet is text, so that a mark in it is one, and stays one.
    if not typed.startswith("---") or not is_slow:
        assert typist.suggestions() == expected
    assert desk.text(typist.note) == typed


def test_the_time_is_the_servers_and_the_closer_decides(desk: Desk) -> None:
    typist = Typist(desk)
    typist.type("{++new++")
    assert desk.library.records(typist.note) == {}
    desk.time += 5_000
    typist.type("}")
    (beside,) = desk.library.records(typist.note).values()
    assert beside.value["time"] == START + 5_000
    before = beside.value
    desk.time += 5_000
    typist.type("er", at=6)
    (beside,) = desk.library.records(typist.note).values()
    assert beside.value == before
    assert typist.suggestions() == [("ann", "", "newer")]


def test_each_mark_is_that_of_who_typed_its_closer(desk: Desk) -> None:
    ann = Typist(desk, "x ")
    bob = Typist(desk, author="bob")
    ann.type("{++one++} ")
    ann.type("{++two")
    bob.send()
    bob.type("++}")
    assert ann.suggestions() == [("ann", "", "one"), ("bob", "", "two")]


def test_an_insertion_behind_anothers_deletion_is_a_suggestion_of_its_own(desk: Desk) -> None:
    ann, bob = Typist(desk, "x "), Typist(desk, author="bob")
    ann.type("{--old--}")
    bob.send()
    bob.type("{++new++}")
    assert ann.suggestions() == [("ann", "old", ""), ("bob", "", "new")]


@pytest.mark.parametrize(
    ("there", "at", "erased", "typed", "expected"),
    [
        ("new++}", 0, 0, "{++", [("ann", "", "new")]),  # the opener comes last, in the same line
        ("{~~a b~~}", 4, 0, "~>", [("ann", "a", " b")]),
        ("{++new+x+}", 7, 1, "", [("ann", "", "new")]),  # what was in the way is erased
        ("above\ni++}\n", 0, 0, "{++", []),  # nobody typed that closer for this opener
        ("{++new++}", 6, 0, "er", []),  # a mark from before is not hers for a letter in it
    ],
)
def test_whatever_completes_it(
    desk: Desk, there: str, at: int, erased: int, typed: str, expected: list[tuple[str, str, str]]
) -> None:
    typist = Typist(desk, there)
    typist.key(at, typed, erased)
    assert typist.suggestions() == expected


def test_marks_typed_into_a_suggestion_are_its_text(desk: Desk) -> None:
    typist = Typist(desk, "alpha beta")
    propose_in(desk.library, PATH, Edit("beta", "gamma"), "robot")
    typist.send()
    typist.type("{++x++}", at=typist.peer.text.read().index("mma"))
    assert typist.suggestions() == [("robot", "beta", "ga{++x++}mma")]


def test_many_changes_at_once_make_records_for_what_was_typed_alone(desk: Desk) -> None:
    """As an editor sends that was offline."""
    typist = Typist(desk, "top {++there before++}\n" + "line\n" * 100)
    text = typist.peer.text.read()
    splices = [TextSplice(0, 0, "é{--a--}"), TextSplice(len(text), len(text), "{++z++}")]
    splices.append(TextSplice(300, 301, "😀{~~b~>c~~}"))
    typist.peer.text.splice(splices)
    typist.send()
    expected = [("ann", "", "z"), ("ann", "a", ""), ("ann", "b", "c")]
    assert sorted(typist.suggestions()) == expected


def test_an_opener_far_above_a_stray_closer_is_no_mark_whatever_else_was_typed(desk: Desk) -> None:
    typist = Typist(desk, "above\ni++}\nend ")
    typist.peer.text.splice([TextSplice(0, 0, "{++"), TextSplice(15, 15, "{--a--}")])
    typist.send()
    assert typist.suggestions() == [("ann", "a", "")]


def test_a_mark_in_a_suggestion_is_one_of_its_writer_once_that_is_decided(desk: Desk) -> None:
    ann = Typist(desk, "alpha beta")
    propose_in(desk.library, PATH, Edit("beta", "gamma"), "robot")
    ann.send()
    ann.type("{++x++}", at=ann.peer.text.read().index("mma"))
    ((name, held),) = desk.library.records(ann.note).items()
    desk.time += 1_000

    def plan(text: str, _: object) -> Amendment:
        decided = decide.decide(text, held.spans, Action.ACCEPT, [])
        return Amendment(decided.splices, {name: None})

    desk.library.amend(ann.note, plan, "reviewer")
    assert desk.text(ann.note) == "alpha ga{++x++}mma"
    assert ann.suggestions() == [("ann", "", "x")]


def test_an_agents_edit_over_it_is_refused_naming_the_person(desk: Desk) -> None:
    typist = Typist(desk)
    typist.type("alpha {++beta++} gamma")
    with pytest.raises(Conflict, match="overlaps a pending suggestion by ann at line 1"):
        propose_in(desk.library, PATH, Edit("beta", "delta"), "robot")


def test_a_deleted_mark_that_is_typed_again_is_a_suggestion_again(desk: Desk) -> None:
    typist = Typist(desk)
    typist.type("{++new++}")
    typist.key(0, "", erased=9)
    assert typist.suggestions() == []
    typist.type("{++new++}")
    assert typist.suggestions() == [("ann", "", "new")]


def test_what_somebody_else_makes_code_stays_a_suggestion(desk: Desk) -> None:
    ann, bob = Typist(desk, "x"), Typist(desk, author="bob")
    ann.type("\n`{++one++}")
    propose_in(desk.library, PATH, Edit("x", "y"), "robot")
    bob.send()
    bob.type("`")
    assert ann.suggestions() == [("ann", "", "one"), ("robot", "x", "y")]
    ann.send()
    ann.type(" {++two++}")
    assert ann.suggestions() == [("ann", "", "one"), ("robot", "x", "y"), ("ann", "", "two")]


def test_code_is_closed_and_another_mark_typed_in_one_update(desk: Desk) -> None:
    """As the server takes what has come meanwhile."""
    typist = Typist(desk)
    typist.type("`{++code++}")
    typist.key(11, "`\n{++end++}")
    assert typist.suggestions() == [("ann", "", "end")]


def test_a_mark_that_comes_into_another_leaves_it_a_suggestion(desk: Desk) -> None:
    """Its arrow could also be the end of a comment in HTML."""
    typist = Typist(desk)
    typist.type("{~~one~>two~~}")
    typist.key(4, "{~~x~>y~~}")
    [(author, _, new)] = typist.suggestions()
    assert (author, new.endswith("two")) == ("ann", True)


# ── what a keystroke costs ──────────────────────────────────────────────────────────────────────


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many characters each parser was given, in the order it was."""
    given: list[int] = []

    class Counting:
        def __init__(self, pattern: re.Pattern[bytes]) -> None:
            self._pattern = pattern

        def finditer(self, data: bytes) -> Iterator[re.Match[bytes]]:
            given.append(len(data))
            return self._pattern.finditer(data)

    def counted(function: Any) -> Any:
        def count(text: str, *rest: Any) -> Any:
            given.append(len(text))
            return function(text, *rest)

        return count

    monkeypatch.setattr(typed_marks, "_DELIMITER", Counting(typed_marks._DELIMITER))
    monkeypatch.setattr(critic, "read", counted(critic.read))
    monkeypatch.setattr(literal, "zones", counted(literal.zones))
    return given


def test_a_keystroke_has_only_what_it_changed_parsed(desk: Desk, parsed: list[int]) -> None:
    typist = Typist(desk, "{++there++} word {>>c<<} i++} {-- ~> --}\n" * 4_000)
    at = 41 * 2_000
    typist.type("plain words, (brackets) {and} `code` - x + y ~ z > 1\n", at=at)
    typist.key(at, "", erased=5)
    typist.type("+", at=at + 3)
    assert parsed
    assert max(parsed) <= 5


def test_typing_inside_a_mark_has_no_more_parsed(desk: Desk, parsed: list[int]) -> None:
    typist = Typist(desk, "line\n" * 5_000)
    typist.type("{++", at=50)
    assert max(parsed) <= 5
    typist.type("new++}", at=53)
    assert max(parsed) > 25_000, "once, when the closer came"
    parsed.clear()
    typist.type("er and newer", at=56)
    assert parsed == [], "letters alone are no reason to look at anything"
    assert ("ann", "", "newer and newer") in typist.suggestions()


@pytest.mark.parametrize("typed", ["++}", "{++", "~>", "{~~", "{++x\n"])
def test_delimiters_by_the_thousand_are_looked_at_once_each(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, typed: str
) -> None:
    looked = 0

    class Data(bytes):
        def rfind(self, *given: Any) -> int:
            nonlocal looked
            looked += 1
            return bytes(self).rfind(*given)

    data = Data(typed.encode() * 20_000)
    assert not typed_marks._may_complete(data, (0, len(data)))
    assert looked <= 3
