"""An edit as a suggestion in a real library: what stands in the note and beside it afterwards."""

from __future__ import annotations

import json

import pytest

from flashgrep import limits
from flashgrep.errors import (
    Cancelled,
    Conflict,
    FlashgrepError,
    InvalidParams,
    NotFound,
    NotRead,
    NotUnique,
    StringNotFound,
    TooLarge,
)
from flashgrep.notes.document.text import TextSplice
from flashgrep.notes.markup import critic
from flashgrep.notes.store.catalogue import CatalogueEntry
from flashgrep.notes.suggestions import pending
from flashgrep.notes.suggestions.plan import Edit
from flashgrep.notes.suggestions.propose import Markup, Proposed, metadata, propose_in
from tests.notes.desk import MINUTE, START, Desk, Peer

PATH = "N.md"


class Editor:
    """Edits of one note by authors, and what it holds."""

    def __init__(self, desk: Desk, text: str) -> None:
        self.desk = desk
        self.note = desk.library.create(PATH, text).id

    def __call__(
        self,
        old: str,
        new: str,
        author: str = "ann",
        every: bool = False,
        markup: Markup = Markup.PLAIN,
    ) -> Proposed:
        return propose_in(
            self.desk.library,
            PATH,
            Edit(old, new, every),
            author,
            markup=markup,
            now=lambda: self.desk.time,
        )

    @property
    def text(self) -> str:
        return self.desk.library.read(self.note).text

    @property
    def ids(self) -> list[str]:
        return [one.id for one in pending.recorded(self.desk.library.records(self.note))]

    def marks(self, name: str) -> list[str]:
        """The texts that a record holds, as another process finds them."""
        self.desk.reopen()
        record = self.desk.library.records(self.note)[name]
        return [self.text[start:end] for start, end in record.spans]


def test_an_edit_leaves_the_exact_marks_and_a_record_that_outlives_the_process(
    desk: Desk,
) -> None:
    edit = Editor(desk, "hello world\n")
    proposed = edit("world", "earth")
    assert edit.text == "hello {--world--}{++earth++}\n"
    assert proposed.published.text == edit.text
    assert proposed.lines == (1,)
    (name,) = proposed.ids
    assert edit.marks(name) == ["{--world--}", "{++earth++}"]
    value = desk.library.records(edit.note)[name].value
    assert (value["author"], value["time"]) == ("ann", START)


def test_a_deletion_leaves_one_mark(desk: Desk) -> None:
    edit = Editor(desk, "hello world\n")
    (name,) = edit(" world", "").ids
    assert edit.text == "hello{-- world--}\n"
    assert edit.marks(name) == ["{-- world--}"]


def test_ones_own_suggestion_is_changed_in_place_and_keeps_its_id_and_time(desk: Desk) -> None:
    edit = Editor(desk, "alpha\n")
    first = edit("alpha", "alpha0").ids
    desk.time += MINUTE
    assert edit("alpha0", "alpha1").ids == first
    assert edit.text == "{--alpha--}{++alpha1++}\n"
    value = desk.library.records(edit.note)[first[0]].value
    assert (value["time"], value["changed"]) == (START, START + MINUTE)


def test_every_occurrence_is_suggested_in_one_transaction(desk: Desk) -> None:
    edit = Editor(desk, "a b a\na\n")
    desk.told.clear()
    proposed = edit("a", "c", every=True)
    assert edit.text == "{--a--}{++c++} b {--a--}{++c++}\n{--a--}{++c++}\n"
    assert len(proposed.ids) == len(set(proposed.ids)) == 3
    assert proposed.lines == (1, 1, 2)
    assert len(desk.told) == 1


def test_a_refused_edit_changes_nothing(desk: Desk) -> None:
    edit = Editor(desk, "one two one\n")
    desk.told.clear()
    with pytest.raises(NotUnique):
        edit("one", "1")
    with pytest.raises(StringNotFound):
        edit("three", "3")
    assert edit.text == "one two one\n"
    assert edit.ids == []
    assert desk.told == []


def test_overlap_with_somebody_elses_suggestion_is_refused_by_name(desk: Desk) -> None:
    edit = Editor(desk, "hello world\n")
    edit("world", "earth", "ann")
    with pytest.raises(Conflict, match="a pending suggestion by ann"):
        edit("earth", "mars", "bob")
    assert edit.text == "hello {--world--}{++earth++}\n"


def test_what_a_person_types_in_the_span_at_that_moment_stays_in_it(desk: Desk) -> None:
    edit = Editor(desk, "hello world\n")
    person = Peer(desk.library, edit.note)
    person.text.splice([TextSplice(8, 8, "XX")])
    edit("world", "earth")
    desk.library.receive(edit.note, person.take(), "person")
    assert edit.text == "hello {--woXXrld--}{++earth++}\n"


# ── calls that are sent again ───────────────────────────────────────────────────────────────────


def test_a_retried_call_succeeds_and_does_nothing(desk: Desk) -> None:
    edit = Editor(desk, "hello world\n")
    edit("world", "earth")
    desk.told.clear()
    again = edit("world", "earth")
    assert again.is_repeated
    assert again.ids == ()
    assert edit.text == "hello {--world--}{++earth++}\n"
    assert desk.told == []


@pytest.mark.parametrize(
    ("text", "there", "back"),
    [
        ("alpha\n", ("alpha", "beta"), ("beta", "alpha")),
        ("alpha\n", ("alpha", "alpha0"), ("alpha0", "alpha")),
        ("aab\n", ("b", "ab"), ("aab", "ab")),
    ],
    ids=["other word", "longer word", "stands there again"],
)
def test_so_does_one_that_took_a_suggestion_back(
    desk: Desk, text: str, there: tuple[str, str], back: tuple[str, str]
) -> None:
    edit = Editor(desk, text)
    edit(*there)
    withdrawn = edit(*back)
    assert not withdrawn.is_repeated
    assert withdrawn.ids == ()
    assert edit.text == text
    desk.reopen()
    assert edit(*back).is_repeated
    assert edit.text == text
    assert edit.ids == []


def test_a_withdrawn_edit_is_known_again_when_others_changed_the_note_meanwhile(
    desk: Desk,
) -> None:
    edit = Editor(desk, "alpha\n")
    edit("alpha", "beta")
    edit("beta", "alpha")
    desk.library.receive(edit.note, [Peer(desk.library, edit.note).type("more\n")], "person")
    assert edit("beta", "alpha").is_repeated
    with pytest.raises(StringNotFound):
        edit("beta", "alpha", "bob")


def test_an_edit_that_was_taken_back_can_be_made_again(desk: Desk) -> None:
    edit = Editor(desk, "alpha\n")
    for _ in range(3):
        edit("alpha", "beta")
        assert edit.text == "{--alpha--}{++beta++}\n"
        edit("beta", "alpha")
        assert edit.text == "alpha\n"
    assert edit.ids == []
    assert len(desk.library.records(edit.note)) == 1


# ── metadata ────────────────────────────────────────────────────────────────────────────────────


def test_commentators_metadata_stands_in_both_marks_and_in_no_view(desk: Desk) -> None:
    edit = Editor(desk, "hello world\n")
    (name,) = edit("world", "earth", markup=Markup.COMMENTATOR).ids
    told = f'{{"author":"ann","time":{START // 1000}}}@@'
    assert edit.text == f"hello {{--{told}world--}}{{++{told}earth++}}\n"
    spans = desk.library.records(edit.note)[name].spans
    reading = critic.read(edit.text, spans)
    assert reading.base.text == "hello world\n"
    assert reading.accepted.text == "hello earth\n"
    assert edit("world", "earth", markup=Markup.COMMENTATOR).is_repeated
    assert edit("earth", "mars", markup=Markup.COMMENTATOR).ids == (name,)


def test_what_is_typed_behind_a_plain_opener_never_becomes_metadata(desk: Desk) -> None:
    """Own promise: marks that stand there when Commentator's metadata is switched on stay plain."""
    edit = Editor(desk, "hello world again\n")
    edit("world", "earth")
    peer = Peer(desk.library, edit.note)
    peer.text.splice([TextSplice(edit.text.index("world"), edit.text.index("world"), "wide ")])
    edit("earth again", "mars", markup=Markup.COMMENTATOR)
    desk.library.receive(edit.note, peer.take())
    (name,) = edit.ids
    assert edit.text.startswith("hello {--wide world again--}{++")
    reading = critic.read(edit.text, desk.library.records(edit.note)[name].spans)
    assert reading.base.text == "hello wide world again\n"
    assert reading.accepted.text == "hello mars\n"


@pytest.mark.parametrize(
    "author", ["a++}b", "{--", "x@@y", '"quoted"', "back\\slash", "日本", "--}"]
)
def test_an_authors_name_never_ends_a_mark(desk: Desk, author: str) -> None:
    told = metadata(author, 1_000)
    assert json.loads(told.removesuffix("@@")) == {"author": author, "time": 1}
    edit = Editor(desk, "hello world\n")
    (name,) = edit("world", "earth", author, markup=Markup.COMMENTATOR).ids
    record = desk.library.records(edit.note)[name]
    reading = critic.read(edit.text, record.spans)
    assert [critic.metadata(edit.text, mark)["author"] for mark in reading.marks] == [author] * 2
    assert reading.accepted.text == "hello earth\n"


# ── refusals ────────────────────────────────────────────────────────────────────────────────────

BAD: list[tuple[str, str, type[FlashgrepError], str]] = [
    ("", "x", InvalidParams, "must not be empty"),
    ("world", "world", InvalidParams, "exactly the same"),
    ("world", "a\0b", InvalidParams, "U[+]0000"),
    ("world", "\ud83d", InvalidParams, "surrogate"),
    ("wor\udc00", "x", InvalidParams, "surrogate"),
    ("world", "a++}b", InvalidParams, r"contains \+\+}"),
    ("--}", "x", InvalidParams, "contains --}"),
    ("world", "x" * (limits.NOTE_BYTES + 1), TooLarge, "at most"),
]


@pytest.mark.parametrize(("old", "new", "kind", "told"), BAD)
def test_bad_input_is_refused_with_the_reason(
    desk: Desk, old: str, new: str, kind: type[FlashgrepError], told: str
) -> None:
    edit = Editor(desk, "hello world\n")
    with pytest.raises(kind, match=told):
        edit(old, new)
    assert edit.text == "hello world\n"
    assert edit.ids == []


def test_a_note_that_is_not_there_is_told_so(desk: Desk) -> None:
    with pytest.raises(NotFound, match=r"Document not found: Nowhere\.md"):
        propose_in(desk.library, "Nowhere.md", Edit("a", "b"), "ann")


def test_whoever_asks_is_shown_the_text_as_it_is_and_may_refuse(desk: Desk) -> None:
    edit = Editor(desk, "hello world\n")
    shown: list[tuple[str, str]] = []

    def check(entry: CatalogueEntry, text: str) -> None:
        shown.append((entry.id, text))
        raise NotRead("read it first")

    with pytest.raises(NotRead):
        propose_in(desk.library, PATH, Edit("world", "x"), "ann", check=check)
    assert shown == [(edit.note, "hello world\n")]
    assert edit.text == "hello world\n"


def test_an_edit_that_is_cancelled_while_it_is_planned_changes_nothing(desk: Desk) -> None:
    edit = Editor(desk, "hello world\n")
    with pytest.raises(Cancelled, match="nothing was changed"):
        propose_in(desk.library, PATH, Edit("world", "x"), "ann", is_cancelled=lambda: True)
    assert edit.text == "hello world\n"
    assert edit.ids == []
