"""Changing one's own suggestion in place: as far as the words are one's own, and undoable."""

from __future__ import annotations

import pytest

from flashgrep.errors import Conflict
from flashgrep.notes import history
from flashgrep.notes.access.roles import AuthorKind
from flashgrep.notes.document.note import Amendment, NoteRecords
from flashgrep.notes.document.text import TextSplice
from flashgrep.notes.review import decide
from flashgrep.notes.review.verdict import Action
from flashgrep.notes.suggestions import pending
from flashgrep.notes.suggestions.plan import Edit
from flashgrep.notes.suggestions.propose import Markup, propose_in
from tests.notes.desk import Desk, Peer

PATH = "N.md"


class Page:
    """A note, an agent that suggests, and people who type."""

    def __init__(self, desk: Desk, text: str = "the brown fox\n") -> None:
        self.desk = desk
        self.note = desk.library.create(PATH, text, "maker").id

    @property
    def text(self) -> str:
        return self.desk.library.read(self.note).text

    def suggest(self, old: str, new: str, markup: Markup = Markup.PLAIN) -> None:
        propose_in(self.desk.library, PATH, Edit(old, new), "robot", markup=markup)

    def type(self, after: str, typed: str, author: str | None = "ann", erased: int = 0) -> None:
        person = Peer(self.desk.library, self.note)
        at = person.text.read().index(after) + len(after)
        person.text.splice([TextSplice(at, at + erased, typed)])
        self.desk.library.receive(self.note, person.take(), author or "")

    def versions(self) -> list[str]:
        library = self.desk.library
        return [
            history.text_at(library, self.note, one.sequence)
            for one in history.versions(library, self.note)
        ]


@pytest.fixture
def page(desk: Desk) -> Page:
    made = Page(desk)
    made.suggest("brown", "red")
    return made


def test_taking_back_a_suggestion_that_a_person_typed_in_is_refused_naming_them(
    page: Page,
) -> None:
    page.type("{++red", " and clever")
    before = page.text
    with pytest.raises(Conflict, match="words that ann typed into your pending suggestion at line"):
        page.suggest("red and clever", "brown")
    assert page.text == before == "the {--brown--}{++red and clever++} fox\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("red and clever", "blue"),  # changes the insertion in place
        ("d and", "x"),
        ("red and clever fox", "blue fox"),  # widens the suggestion
        ("red and clever", "rod and clever!"),  # the same words, but typed again by another
        ("red and clever", ""),
    ],
)
def test_every_edit_that_would_delete_a_persons_words_is_refused(
    page: Page, old: str, new: str
) -> None:
    page.type("{++red", " and clever")
    before = page.text
    with pytest.raises(Conflict, match="ann typed"):
        page.suggest(old, new)
    page.desk.reopen()
    with pytest.raises(Conflict, match="ann typed"):
        page.suggest(old, new)
    assert page.text == before


def test_an_edit_beside_a_persons_words_is_made(page: Page) -> None:
    page.type("{++red", " and clever")
    page.suggest("red", "blue")
    assert page.text == "the {--brown--}{++blue and clever++} fox\n"
    page.suggest("blue and clever", "light blue and clever")
    assert page.text == "the {--brown--}{++light blue and clever++} fox\n"
    page.suggest("the light", "a light")
    assert page.text == "{--the brown--}{++a light blue and clever++} fox\n"


def test_what_a_person_erased_stands_in_nobodys_way(page: Page) -> None:
    page.type("{++re", "", erased=1)
    page.suggest("re", "brown")
    assert page.text == "the brown fox\n"


def test_ones_own_words_are_changed_after_a_restart_and_a_snapshot_too(page: Page) -> None:
    for new in ("blue", "green", "grey"):
        page.desk.library.compact(page.note)
        page.desk.reopen()
        page.suggest(page.text.partition("{++")[2].partition("++}")[0], new)
        assert page.text == f"the {{--brown--}}{{++{new}++}} fox\n"


def test_marks_with_metadata_are_taken_back_too(desk: Desk) -> None:
    page = Page(desk)
    page.suggest("brown", "red", Markup.COMMENTATOR)
    page.suggest("red", "brown", Markup.COMMENTATOR)
    assert page.text == "the brown fox\n"


def test_every_change_in_place_keeps_the_version_before_it(page: Page) -> None:
    seen = ["the brown fox\n", page.text]
    for new in ("blue", "green", "brown"):
        page.suggest(page.text.partition("{++")[2].partition("++}")[0], new)
        seen.append(page.text)
    assert page.versions() == seen[::-1]
    library = page.desk.library
    history.restore(library, page.note, history.versions(library, page.note)[1].sequence, "ann")
    assert page.text == seen[-2]
    (held,) = pending.recorded(library.records(page.note))
    assert held.author == "robot"


def test_a_suggestion_in_plain_text_keeps_no_version(page: Page) -> None:
    before = page.versions()
    page.suggest("fox", "dog")
    assert len(page.versions()) == len(before)


def test_words_that_an_undone_rejection_put_back_are_not_the_agents(page: Page) -> None:
    """A person's may be among them: the log of decisions does not know whose each was."""
    library = page.desk.library
    ((name, beside),) = library.records(page.note).items()
    made: list[decide.Decision] = []

    def reject(text: str, _: object) -> Amendment:
        made.append(decide.decide(text, beside.spans, Action.REJECT, []))
        return Amendment(made[0].splices, {name: None})

    library.amend(page.note, reject, "reviewer")
    assert page.text == "the brown fox\n"
    restored = decide.undo(page.text, made[0].cuts, made[0].marks)
    put = {name: type(beside)(beside.value, restored.spans)}
    library.amend(page.note, lambda *_: Amendment(restored.splices, put), "reviewer")
    with pytest.raises(Conflict, match="words that reviewer typed"):
        page.suggest("red", "blue")


# ── one name, several kinds of authors ──────────────────────────────────────────────────────────


@pytest.mark.parametrize("source", [AuthorKind.LOCAL, AuthorKind.TOKEN])
def test_an_agent_called_as_a_person_is_does_not_own_what_the_person_typed(
    desk: Desk, source: AuthorKind
) -> None:
    page = Page(desk)
    page.type("the ", "{++quick ++}")
    before = page.text
    for old, new in (("quick", "slow"), ("quick ", ""), ("the quick brown", "the red")):
        with pytest.raises(Conflict, match="overlaps a pending suggestion by ann at line 1"):
            propose_in(desk.library, PATH, Edit(old, new), "ann", source=source)
    assert page.text == before == "the {++quick ++}brown fox\n"


@pytest.mark.parametrize(
    ("first", "second"),
    [(AuthorKind.TOKEN, AuthorKind.LOCAL), (AuthorKind.LOCAL, AuthorKind.TOKEN)],
)
def test_agents_with_and_without_a_token_are_not_one_because_of_a_name(
    desk: Desk, first: AuthorKind, second: AuthorKind
) -> None:
    page = Page(desk)
    propose_in(desk.library, PATH, Edit("brown", "red"), "ann/mcp", source=first)
    before = page.text
    with pytest.raises(Conflict, match="overlaps a pending suggestion by ann/mcp at line 1"):
        propose_in(desk.library, PATH, Edit("red", "blue"), "ann/mcp", source=second)
    assert page.text == before
    desk.reopen()
    propose_in(desk.library, PATH, Edit("red", "blue"), "ann/mcp", source=first)
    assert page.text == "the {--brown--}{++blue++} fox\n"


def test_words_of_a_person_in_the_suggestion_of_an_agent_of_the_same_name_stay(
    desk: Desk,
) -> None:
    page = Page(desk)
    propose_in(desk.library, PATH, Edit("brown", "red"), "ann")
    page.type("{++red", " and clever")
    desk.reopen()
    with pytest.raises(Conflict, match="words that ann typed into your pending suggestion at line"):
        propose_in(desk.library, PATH, Edit("red and clever", "brown"), "ann")


def test_an_insertion_typed_behind_the_deletion_of_an_agent_of_the_same_name_is_the_persons(
    desk: Desk,
) -> None:
    page = Page(desk)
    propose_in(desk.library, PATH, Edit("brown", ""), "ann")
    page.type("{--brown--}", "{++red++}")
    found = desk.library.records(page.note).values()
    assert [one.value["from"] for one in found] == ["local", "person"]


@pytest.mark.parametrize(("value", "is_own"), [({}, True), ({"typed": True}, False)])
def test_a_record_that_does_not_say_its_kind_is_an_agents_unless_it_was_typed(
    desk: Desk, value: dict[str, bool], is_own: bool
) -> None:
    """As an older version wrote it."""
    page = Page(desk, "the {++red++} fox\n")
    known = {"kind": "suggestion", "author": "maker", "time": 1, "asked": "", **value}
    held = {"s_1": NoteRecords(known, ((4, 13),))}
    desk.library.amend(page.note, lambda *_: Amendment(records=held))
    if is_own:  # an insertion touches nobody's words
        propose_in(desk.library, PATH, Edit("red", "redder"), "maker")
        assert page.text == "the {++redder++} fox\n"
    else:
        with pytest.raises(Conflict, match="overlaps a pending suggestion by maker"):
            propose_in(desk.library, PATH, Edit("red", "redder"), "maker")


# ── notes of an older version ───────────────────────────────────────────────────────────────────


def test_in_an_old_note_an_agent_changes_what_came_from_the_markers_client_and_no_more(
    desk: Desk,
) -> None:
    """There nobody recorded who wrote what."""
    note = desk.library.create(PATH, "the brown fox\n").id
    value = {"kind": "suggestion", "author": "robot", "time": 1, "asked": ""}
    splices = [TextSplice(4, 4, "{--"), TextSplice(9, 9, "--}{++red++}")]
    held = {"s_1": NoteRecords(value, ((4, 15), (15, 24)))}
    desk.library.amend(note, lambda *_: Amendment(splices, held))
    desk.reopen()
    assert {writer for _, writer in desk.library.writers(note, 0, 20)} == {None}
    propose_in(desk.library, PATH, Edit("red", "bred"), "robot")
    propose_in(desk.library, PATH, Edit("red", "lue"), "robot")
    text = desk.library.read(note).text
    assert text == "the {--brown--}{++blue++} fox\n"
    person = Peer(desk.library, note)
    person.text.splice([TextSplice(text.index("ue++}"), text.index("ue++}"), "ann")])
    desk.library.receive(note, person.take())
    with pytest.raises(Conflict, match="words that somebody else typed"):
        propose_in(desk.library, PATH, Edit("blannue", "brown"), "robot")
