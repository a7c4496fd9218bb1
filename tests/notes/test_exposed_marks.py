"""Marks that come to light without anybody completing them are suggestions too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from flashgrep.notes.access.roles import Role, everywhere
from flashgrep.notes.document.text import TextSplice
from flashgrep.notes.home import Home
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.notes.library import TYPED_CHARS, Library
from flashgrep.notes.review.review import DecisionStatus, Query
from flashgrep.notes.review.verdict import Action
from flashgrep.notes.suggestions import pending
from tests.notes.desk import Peer

ADMIN = everywhere("reviewer", Role.ADMIN)
PATH = "N.md"
LONG = "a line of words\n" * (TYPED_CHARS // 10)


class Page:
    """A note that people type in."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self.kb = kb
        self.note = kb.ask(lambda library: library.create(PATH, "", "")).id

    @property
    def text(self) -> str:
        return self.kb.read(self.note).text

    def change(self, author: str, at: int, typed: str = "", erased: int = 0) -> None:
        def job(library: Library) -> None:
            peer = Peer(library, self.note)
            peer.text.splice([TextSplice(at, at + erased, typed)])
            library.receive(self.note, peer.take(), author)

        self.kb.ask(job)

    def type(self, author: str, text: str, at: int | None = None) -> None:
        """Letter by letter; at the end unless a place is given."""
        place = len(self.text) if at is None else at
        for offset, letter in enumerate(text):
            self.change(author, place + offset, letter)

    def erase(self, author: str, text: str) -> None:
        self.change(author, self.text.index(text), erased=len(text))

    def listed(self) -> list[tuple[str, str, str]]:
        found = self.kb.review.suggestions(Query(), ADMIN).suggestions
        return sorted((one.author, one.old, one.new) for one in found)

    def accept_all(self) -> None:
        found = self.kb.review.suggestions(Query(), ADMIN).suggestions
        outcomes = self.kb.review.decide([one.id for one in found], Action.ACCEPT, ADMIN)
        assert {one.status for one in outcomes} == {DecisionStatus.DONE}


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    Home.create(tmp_path / "kb")
    kb = KnowledgeBase(tmp_path / "kb")
    yield Page(kb)
    kb.close()


@pytest.mark.parametrize("before", ["", LONG], ids=["short", "long"])
@pytest.mark.parametrize(
    ("text", "erased"),
    [
        ("a `{++x++}` b\n", "`"),
        ("```\n{++x++}\n```\n", "```\n"),
        ("~~~ python\n{++x++}\n~~~\n", "~~~ python\n"),
        ("a <!-- {++x++} --> b\n", "<!-- "),
        ("a\n$$ {++x++} $$\n", "$$ "),
        ("a\n\n    {++x++}\n", "    "),
    ],
)
def test_a_mark_that_is_code_no_more_is_a_suggestion_of_who_typed_it(
    page: Page, before: str, text: str, erased: str
) -> None:
    page.change("maker", 0, before + text)
    assert page.listed() == []
    page.erase("bob", erased)
    assert page.listed() == [("maker", "", "x")]
    page.accept_all()
    assert "{++" not in page.text


def test_where_nobody_knows_who_typed_it_it_is_of_who_brought_it_to_light(page: Page) -> None:
    page.change("", 0, "a `{--x--}` b")
    page.erase("bob", "`")
    assert page.listed() == [("bob", "x", "")]


def test_a_mark_of_several_lines_whose_opener_is_typed_last_is_its_typists(page: Page) -> None:
    page.change("maker", 0, "one\ntwo++}\nthree")
    page.type("ann", "{++", at=0)
    assert page.listed() == [("ann", "", "one\ntwo")]
    page.accept_all()
    assert page.text == "one\ntwo\nthree"


def test_who_types_a_mark_above_a_stray_closer_suggests_just_that_in_the_end(page: Page) -> None:
    page.change("maker", 0, "above\ni++}\n")
    page.type("ann", "{++new++}", at=0)
    assert page.text == "{++new++}above\ni++}\n"
    assert page.listed() == [("ann", "", "new")]


def test_a_block_of_code_typed_above_another_leaves_that_ones_marks_alone(page: Page) -> None:
    page.change("maker", 0, "text\n\n```\n{++i;} {--x--}\n```\n")
    page.type("ann", "```\nmine\n```\n", at=0)
    assert page.listed() == []
    found = page.kb.ask(lambda library: library.records(page.note))
    assert pending.recorded(found) == []


def test_a_mark_that_was_found_stays_the_same_suggestion_while_it_is_there(page: Page) -> None:
    page.change("maker", 0, "a `{++x++}` b")
    page.erase("bob", "`")
    (before,) = page.kb.review.suggestions(Query(), ADMIN).suggestions
    page.type("bob", "yz", at=page.text.index("x++}") + 1)
    (after,) = page.kb.review.suggestions(Query(), ADMIN).suggestions
    assert (after.id, after.author, after.time) == (before.id, "maker", before.time)
    assert after.new == "xyz"
