"""Commenting: what is said where, who may, answers that are not said twice, and resolving."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flashgrep import limits
from flashgrep.errors import AccessDenied, Conflict, FlashgrepError, InvalidParams, NotFound
from flashgrep.notes.access.roles import Author, AuthorKind, Principal, Role, everywhere
from flashgrep.notes.document.note import Amendment
from flashgrep.notes.document.text import TextSplice
from flashgrep.notes.home import Home
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.notes.review.commenting import CommentedPassage, Said
from flashgrep.notes.review.verdict import Action, Verdict
from flashgrep.notes.suggestions.comments import comments_in
from flashgrep.notes.suggestions.propose import Edit, Markup, propose

WRITER = everywhere("ann", Role.WRITE)
SUGGESTER = everywhere("robot", Role.SUGGEST)
ANN = Author("ann", AuthorKind.PERSON)
ROBOT = Author("robot", AuthorKind.TOKEN)


class CommentedNotes:
    """A knowledge base, by paths."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.kb = KnowledgeBase(path)
        self.heard: list[tuple[str, str]] = []
        self.kb.commenting.listen(lambda _, name, was: self.heard.append((name, was)))

    def add(self, path: str, text: str) -> None:
        self.kb.ask(lambda library: library.create(path, text))

    def text(self, path: str) -> str:
        return self.kb.ask(lambda library: library.read(library.find(path).id).text)

    def splice(self, path: str, *splices: TextSplice) -> None:
        """As a person types."""
        self.kb.ask(
            lambda library: library.amend(
                library.find(path).id, lambda *_: Amendment(splices), "ann"
            )
        )

    def suggest(self, path: str, old: str, new: str, author: str = "robot") -> str:
        (name,) = propose(self.kb, path, Edit(old, new), author).ids
        return name

    def on(self, path: str, quote: str, text: str, author: Author = ANN) -> Said:
        """A comment on the first occurrence of a quote."""
        start = len(self.text(path).partition(quote)[0].encode("utf-16-le")) // 2
        size = len(quote.encode("utf-16-le")) // 2
        passage = CommentedPassage(start, start + size, quote)
        return self.kb.commenting.on_passage(path, passage, text, WRITER, author)

    def reply(self, name: str, text: str, **more: Any) -> Said:
        return self.kb.commenting.reply(name, text, SUGGESTER, ROBOT, **more)

    def listed(self, path: str | None = None, who: Principal = WRITER) -> list[dict[str, Any]]:
        found, more = self.kb.commenting.listed(who, path)
        assert not more
        return found

    def check_table(self, path: str) -> None:
        """The table must hold what the definition gives."""

        def job(library: Any) -> None:
            note = library.find(path).id
            found = comments_in(library.read(note).text, library.records(note))
            assert self.kb.tables.comments.of(note) == {one.id: one for one in found}

        self.kb.ask(job)

    def reopen(self) -> None:
        self.kb.close()
        self.__init__(self.path)  # type: ignore[misc]


@pytest.fixture
def notes(tmp_path: Path) -> Iterator[CommentedNotes]:
    Home.create(tmp_path / "kb")
    made = CommentedNotes(tmp_path / "kb")
    yield made
    made.kb.close()


# ── making ──────────────────────────────────────────────────────────────────────────────────────


def test_a_comment_on_a_passage_is_listed_with_its_line_and_quote(notes: CommentedNotes) -> None:
    notes.add("A.md", "first 😀\nsee beta here\n")
    said = notes.on("A.md", "beta", "Is that so?")
    assert notes.text("A.md") == "first 😀\nsee {==beta==}{>>Is that so?<<} here\n"
    (found,) = notes.listed()
    assert found == said.thread
    assert found | {"id": "", "time": 0} == {
        "id": "",
        "note": "A.md",
        "line": 2,
        "author": "ann",
        "time": 0,
        "text": "Is that so?",
        "suggestion": None,
        "quote": "beta",
        "replies": [],
    }
    assert found["id"].startswith("c_")
    assert found["time"] > 1_700_000_000_000
    assert notes.heard == [(said.id, "made")]
    notes.reopen()
    assert notes.listed() == [found]
    notes.check_table("A.md")


def test_a_comment_on_a_suggestion_follows_its_last_mark(notes: CommentedNotes) -> None:
    notes.add("A.md", "see beta here\n")
    name = notes.suggest("A.md", "beta", "gamma")
    for text in ("Why?", "And since when?"):
        notes.kb.commenting.on_suggestion("A.md", name, text, WRITER, ANN)
    marked = "see {--beta--}{++gamma++}{>>Why?<<}{>>And since when?<<} here\n"
    assert notes.text("A.md") == marked
    first, second = notes.listed()
    assert (first["text"], first["suggestion"], first["replies"]) == ("Why?", name, [])
    assert (second["text"], second["suggestion"]) == ("And since when?", name)
    assert notes.kb.commenting.on_suggestions([name]) == {name: [first, second]}


def test_in_code_a_comment_and_its_passage_are_marks_too(notes: CommentedNotes) -> None:
    text = "```\nx = 1\n```\n"
    notes.add("A.md", text)
    name = notes.suggest("A.md", "1", "2")
    notes.kb.commenting.on_suggestion("A.md", name, "Two? ```", WRITER, ANN)
    notes.on("A.md", "x", "Which x?")
    assert [one["line"] for one in notes.listed()] == [2, 2]
    note = notes.kb.ask(lambda library: library.find("A.md").id)
    reading = notes.kb.texts.reading(note).pending.reading
    assert reading.base.text == text
    assert reading.accepted.text == "```\nx = 2\n```\n"
    notes.check_table("A.md")


def test_a_comment_at_a_place_is_about_nothing_else(notes: CommentedNotes) -> None:
    notes.add("A.md", "one two\n")
    passage = CommentedPassage(3, 3, "")
    said = notes.kb.commenting.on_passage("A.md", passage, "And?", WRITER, ANN)
    assert notes.text("A.md") == "one{>>And?<<} two\n"
    assert (said.thread["suggestion"], said.thread["quote"]) == (None, None)


def test_a_passage_before_another_comment_does_not_take_it_over(notes: CommentedNotes) -> None:
    notes.add("A.md", "one two\n")
    old = notes.kb.commenting.on_passage("A.md", CommentedPassage(7, 7, ""), "old", WRITER, ANN)
    new = notes.on("A.md", "two", "new")
    assert notes.text("A.md") == "one {==two==}{>>new<<}{>>old<<}\n"
    assert [(one["id"], one["replies"]) for one in notes.listed()] == [(new.id, []), (old.id, [])]


def test_a_second_comment_on_a_highlight_is_a_thread_of_its_own(notes: CommentedNotes) -> None:
    notes.add("A.md", "one two\n")
    first = notes.on("A.md", "two", "first")
    second = notes.on("A.md", "two", "second")
    assert notes.text("A.md") == "one {==two==}{>>first<<}{>>second<<}\n"
    assert [(one["id"], one["quote"]) for one in notes.listed()] == [
        (first.id, "two"),
        (second.id, "two"),
    ]
    notes.kb.commenting.resolve(first.id, WRITER)
    assert notes.text("A.md") == "one {==two==}{>>second<<}\n"
    notes.kb.commenting.resolve(second.id, WRITER)
    assert notes.text("A.md") == "one two\n"


def test_the_other_thread_holds_a_highlight_in_code_from_then_on(notes: CommentedNotes) -> None:
    notes.add("A.md", "`one two`\n")
    first, second = notes.on("A.md", "two", "first"), notes.on("A.md", "two", "second")
    notes.kb.commenting.resolve(first.id, WRITER)
    (left,) = notes.listed()
    assert (left["id"], left["quote"]) == (second.id, "two")
    notes.kb.commenting.resolve(second.id, WRITER)
    assert notes.text("A.md") == "`one two`\n"


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("a <<} b", InvalidParams, "text contains <<}"),
        ("{++a++}", InvalidParams, "text contains {\\+\\+"),
        ("a\0b", InvalidParams, "U\\+0000"),
        (" \n ", InvalidParams, "text is empty"),
        ("a" * (limits.COMMENT_CHARS + 1), FlashgrepError, "at most 10,000; say it in several"),
        ('{"author":"victim"}@@hello', InvalidParams, "would not read back"),
        ("\ud800", InvalidParams, "surrogate"),
    ],
)
def test_what_no_comment_can_hold_is_refused_with_the_remedy(
    notes: CommentedNotes, text: str, error: type[FlashgrepError], message: str
) -> None:
    notes.add("A.md", "one two\n")
    said = notes.on("A.md", "two", "first")
    before = notes.text("A.md")
    with pytest.raises(error, match=message):
        notes.on("A.md", "one", text)
    with pytest.raises(error, match=message):
        notes.reply(said.id, text)
    assert notes.text("A.md") == before
    assert notes.heard == [(said.id, "made")]


@pytest.mark.parametrize(
    ("passage", "error"),
    [
        (CommentedPassage(4, 7, "one"), Conflict),
        (CommentedPassage(4, 70, "two"), Conflict),
        (CommentedPassage(-1, 3, "one"), Conflict),
        (CommentedPassage(5, 4, ""), Conflict),
        (CommentedPassage(8, 9, "?"), InvalidParams),
    ],
)
def test_a_passage_that_is_not_there_is_refused(
    notes: CommentedNotes, passage: CommentedPassage, error: type[FlashgrepError]
) -> None:
    notes.add("A.md", "one two 😀\n")
    with pytest.raises(error):
        notes.kb.commenting.on_passage("A.md", passage, "text", WRITER, ANN)
    assert notes.text("A.md") == "one two 😀\n"


def test_marks_do_not_nest_so_a_passage_over_a_suggestion_is_refused(
    notes: CommentedNotes,
) -> None:
    notes.add("A.md", "one two three\n")
    notes.suggest("A.md", "two", "2")
    with pytest.raises(Conflict, match="overlaps a deletion at line 1"):
        notes.on("A.md", "one {--two", "text")
    with pytest.raises(Conflict, match="overlaps an insertion at line 1"):
        notes.on("A.md", "2", "text")
    with pytest.raises(NotFound, match="no pending suggestion s_none"):
        notes.kb.commenting.on_suggestion("A.md", "s_none", "text", WRITER, ANN)


def test_comments_that_came_to_light_and_are_deleted_together_leave_no_records(
    notes: CommentedNotes,
) -> None:
    marks = "{>>a<<} {>>b<<} {>>c<<}"
    notes.add("A.md", f"{marks} and <<}} alone")
    assert len(notes.listed()) == 3
    note = notes.kb.ask(lambda library: library.find("A.md").id)
    before = notes.kb.read(note).sequence
    notes.splice("A.md", TextSplice(0, len(marks)))
    for _ in range(5):
        notes.kb.ask(lambda _: None)  # what is to be done later is done
    assert notes.kb.ask(lambda library: library.records(note)) == {}
    assert notes.kb.read(note).sequence == before + 2, "the text, then all of its records"


# ── answering ───────────────────────────────────────────────────────────────────────────────────


def test_a_reply_follows_the_last_comment_of_its_thread_and_is_said_once(
    notes: CommentedNotes,
) -> None:
    notes.add("A.md", "one two\n")
    said = notes.on("A.md", "two", "Why?")
    notes.on("A.md", "two", "Another thread.")
    reply = notes.reply(said.id, "Because.\r\n")
    again = notes.reply(reply.id, "Because.")
    assert (again.id, reply.is_repeated, again.is_repeated) == (reply.id, False, True)
    answer = notes.kb.commenting.reply(reply.id, "Because.", WRITER, ANN)
    assert not answer.is_repeated
    assert notes.text("A.md") == (
        "one {==two==}{>>Why?<<}{>>Because.<<}{>>Because.<<}{>>Another thread.<<}\n"
    )
    first, second = notes.listed()
    assert [(one["author"], one["text"]) for one in first["replies"]] == [
        ("robot", "Because."),
        ("ann", "Because."),
    ]
    assert second["replies"] == []
    assert notes.heard[2:] == [(reply.id, "replied"), (answer.id, "replied")]
    notes.check_table("A.md")


def test_with_commentators_markup_a_reply_says_who_in_the_text_too(notes: CommentedNotes) -> None:
    notes.add("A.md", "one two\n")
    said = notes.on("A.md", "two", "Why?")
    notes.reply(said.id, "Because.", markup=Markup.COMMENTATOR)
    notes.reply(said.id, "Because.", markup=Markup.COMMENTATOR)
    assert notes.text("A.md").count('{>>{"author":"robot","time":') == 1
    (found,) = notes.listed()
    assert [one["text"] for one in found["replies"]] == ["Because."]


def test_replies_stay_a_thread_when_somebody_deletes_its_first_comment(
    notes: CommentedNotes,
) -> None:
    notes.add("A.md", "one\n")
    passage = CommentedPassage(3, 3, "")
    said = notes.kb.commenting.on_passage("A.md", passage, "a", WRITER, ANN)
    first, second = notes.reply(said.id, "b"), notes.reply(said.id, "c")
    notes.splice("A.md", TextSplice(3, 3 + len("{>>a<<}")))
    (found,) = notes.listed()
    assert (found["id"], [one["id"] for one in found["replies"]]) == (first.id, [second.id])
    notes.reply(second.id, "d")
    (found,) = notes.listed()
    assert len(found["replies"]) == 2


# ── roles ───────────────────────────────────────────────────────────────────────────────────────


def test_who_may_comment_and_who_may_resolve(notes: CommentedNotes) -> None:
    notes.add("A.md", "one two\n")
    said = notes.on("A.md", "two", "Why?")
    reader, nobody = everywhere("r", Role.READ), Principal("n", ())
    commenting = notes.kb.commenting
    with pytest.raises(AccessDenied, match="commenting needs the role suggest on "):
        commenting.reply(said.id, "text", reader, ANN)
    with pytest.raises(AccessDenied):
        commenting.on_passage("A.md", CommentedPassage(0, 3, "one"), "text", reader, ANN)
    with pytest.raises(AccessDenied, match="resolving a comment needs the role write"):
        commenting.resolve(said.id, SUGGESTER)
    with pytest.raises(NotFound, match="there is no open comment"):
        commenting.reply(said.id, "text", nobody, ANN)
    with pytest.raises(NotFound):
        commenting.on_passage("A.md", CommentedPassage(0, 3, "one"), "text", nobody, ANN)
    assert notes.listed(who=nobody) == []
    assert len(notes.listed(who=reader)) == 1


# ── resolving ───────────────────────────────────────────────────────────────────────────────────


def test_a_resolved_thread_leaves_the_text_and_is_kept(notes: CommentedNotes) -> None:
    notes.add("A.md", "one two\n")
    said = notes.on("A.md", "two", "Why?")
    reply = notes.reply(said.id, "Because.")
    note = notes.kb.ask(lambda library: library.find("A.md").id)
    before = notes.kb.ask(lambda library: library.read(note).sequence)
    done = notes.kb.commenting.resolve(reply.id, WRITER, "ann")
    assert done.thread == said.id
    assert notes.text("A.md") == "one two\n"
    assert notes.listed() == []
    assert notes.heard[-1] == (said.id, "resolved")
    assert notes.kb.ask(lambda library: library.records(note)) == {}
    versions = notes.kb.ask(lambda library: library.journal.snapshots(note))
    assert versions[0].sequence == before
    notes.reopen()
    ((found,), more) = notes.kb.commenting.resolved(WRITER, "A.md")
    assert not more
    assert (found["text"], found["quote"], found["resolved"]["by"]) == ("Why?", "two", "ann")
    assert [one["text"] for one in found["replies"]] == ["Because."]
    with pytest.raises(NotFound, match="it was resolved"):
        notes.kb.commenting.resolve(said.id, WRITER)


def test_a_resolved_thread_on_a_suggestion_is_told_with_it(notes: CommentedNotes) -> None:
    notes.add("A.md", "one two\n")
    name = notes.suggest("A.md", "two", "2")
    said = notes.kb.commenting.on_suggestion("A.md", name, "Why?", WRITER, ANN)
    notes.kb.commenting.resolve(said.id, WRITER)
    assert notes.text("A.md") == "one {--two--}{++2++}\n"
    ((found,),) = notes.kb.commenting.on_suggestions([name]).values()
    assert (found["text"], found["resolved"]["by"]) == ("Why?", "ann")


# ── edits of agents ─────────────────────────────────────────────────────────────────────────────


def test_an_edit_over_a_comment_is_refused_and_the_comment_stays(notes: CommentedNotes) -> None:
    notes.add("A.md", "one two three\n")
    said = notes.kb.commenting.on_passage("A.md", CommentedPassage(7, 7, ""), "Why?", WRITER, ANN)
    own = notes.reply(said.id, "Because.")
    before = notes.text("A.md")
    for author in ("robot", "other"):
        with pytest.raises(InvalidParams, match="a comment is inside old_string"):
            propose(notes.kb, "A.md", Edit("two three", "2 3"), author, source=AuthorKind.TOKEN)
    assert notes.text("A.md") == before
    assert [one["id"] for one in notes.listed()[0]["replies"]] == [own.id]


def test_a_suggestion_changes_and_is_withdrawn_beside_its_comment(notes: CommentedNotes) -> None:
    notes.add("A.md", "one two three\n")
    name = notes.suggest("A.md", "two", "2")
    said = notes.kb.commenting.on_suggestion("A.md", name, "Roman, please.", WRITER, ANN)
    propose(notes.kb, "A.md", Edit("2", "II"), "robot")
    assert notes.text("A.md") == "one {--two--}{++II++}{>>Roman, please.<<} three\n"
    assert [one["suggestion"] for one in notes.listed()] == [name]
    propose(notes.kb, "A.md", Edit("II", "two"), "robot")
    assert notes.text("A.md") == "one two{>>Roman, please.<<} three\n"
    assert [(one["id"], one["suggestion"]) for one in notes.listed()] == [(said.id, None)]


PASSAGES = [
    ("two", "2", "one {--two--}{++2++}{== three==}{>>?<<} four", " three", "one 2 three four"),
    ("three", "3", "one {==two ==}{--three--}{++3++}{>>?<<} four", "two 3", "one two 3 four"),
    ("o thr", "O", "one {==tw==}{--o thr--}{++O++}{==ee==}{>>?<<} four", "twOee", "one twOee four"),
    (
        "one two",
        "1 2",
        "{--one two--}{++1 2++}{== three==}{>>?<<} four",
        " three",
        "1 2 three four",
    ),
    ("two three", "2", "one {--two three--}{++2++}{>>?<<} four", None, "one 2 four"),
    ("one two three", "1", "{--one two three--}{++1++}{>>?<<} four", None, "1 four"),
    ("three", "", "one {==two ==}{--three--}{>>?<<} four", "two ", "one two  four"),
]


@pytest.mark.parametrize("around", ["{}", "`{}`"], ids=["plain", "code"])
@pytest.mark.parametrize(("old", "new", "marked", "quote", "accepted"), PASSAGES)
def test_an_agent_edits_in_the_passage_that_a_person_commented_on(
    notes: CommentedNotes,
    old: str,
    new: str,
    marked: str,
    quote: str | None,
    accepted: str,
    around: str,
) -> None:
    text = around.format("one two three four")
    notes.add("A.md", text)
    said = notes.on("A.md", "two three", "?")
    name = notes.suggest("A.md", old, new)
    assert notes.text("A.md") == around.format(marked)
    (found,) = notes.listed()
    assert (found["id"], found["author"], found["time"]) == (
        said.id,
        "ann",
        said.thread["time"],
    )
    assert (found["quote"], found["suggestion"]) == (quote, name if quote is None else None)
    notes.check_table("A.md")
    again = propose(notes.kb, "A.md", Edit(old, new), "robot")
    assert again.is_repeated
    note = notes.kb.ask(lambda library: library.find("A.md").id)
    reading = notes.kb.texts.reading(note).pending.reading
    assert (reading.base.text, reading.accepted.text) == (text, around.format(accepted))
    if quote is None:
        notes.kb.review.decide([name], Action.REJECT, WRITER)
    else:
        notes.kb.commenting.resolve(said.id, WRITER)
        notes.check_table("A.md")
        assert "==" not in notes.text("A.md")
        notes.kb.review.decide([name], Action.REJECT, WRITER)
    assert notes.text("A.md") == text


def test_several_occurrences_in_one_commented_passage_are_refused(notes: CommentedNotes) -> None:
    notes.add("A.md", "a b a b a")
    notes.on("A.md", "a b a", "?")
    with pytest.raises(InvalidParams, match="several occurrences are in one passage"):
        propose(notes.kb, "A.md", Edit("a", "x", replace_all=True), "robot")
    propose(notes.kb, "A.md", Edit("b", "x", replace_all=True), "robot")
    assert notes.text("A.md") == "{==a ==}{--b--}{++x++}{== a==}{>>?<<} {--b--}{++x++} a"
    notes.check_table("A.md")


def test_a_highlight_for_itself_is_not_opened(notes: CommentedNotes) -> None:
    notes.add("A.md", "one {==two==} three")
    with pytest.raises(InvalidParams, match="overlaps a highlighted text"):
        notes.suggest("A.md", "two", "2")


# ── decided suggestions ─────────────────────────────────────────────────────────────────────────


def commented(notes: CommentedNotes, text: str = "see beta here\n") -> tuple[str, str, str]:
    """A suggestion with a thread of two comments on it: their ids."""
    notes.add("A.md", text)
    name = notes.suggest("A.md", "beta", "gamma")
    said = notes.kb.commenting.on_suggestion("A.md", name, "Why?", WRITER, ANN)
    return name, said.id, notes.reply(said.id, "Because.").id


@pytest.mark.parametrize(
    ("verdict", "after"),
    [
        (Verdict(Action.ACCEPT), "see gamma here\n"),
        (Verdict(Action.REJECT, reason="no"), "see beta here\n"),
        (Verdict(Action.ACCEPT, text="delta"), "see delta here\n"),
    ],
    ids=["accept", "reject", "edit"],
)
def test_a_decision_takes_the_thread_along_and_an_undo_brings_it_back(
    notes: CommentedNotes, verdict: Verdict, after: str
) -> None:
    name, first, reply = commented(notes)
    before, listed = notes.text("A.md"), notes.listed()
    note = notes.kb.ask(lambda library: library.find("A.md").id)
    records = notes.kb.ask(lambda library: library.records(note))
    (result,) = notes.kb.review.decide([name], verdict, WRITER)
    assert result.decided
    assert notes.text("A.md") == after
    assert notes.listed() == []
    assert notes.kb.ask(lambda library: library.records(note)) == {}
    notes.reopen()
    ((kept,),) = notes.kb.commenting.on_suggestions([name]).values()
    assert (kept["id"], kept["author"], kept["text"]) == (first, "ann", "Why?")
    assert [(one["id"], one["author"], one["text"]) for one in kept["replies"]] == [
        (reply, "robot", "Because.")
    ]
    assert kept["time"] == listed[0]["time"]
    notes.kb.review.undo(result.decided.id, WRITER)
    assert notes.text("A.md") == before
    assert notes.listed() == listed
    assert notes.kb.ask(lambda library: library.records(note)) == records
    assert notes.kb.commenting.on_suggestions([name]) == {name: listed}
    notes.check_table("A.md")


def test_many_decided_at_once_take_their_own_threads_along(notes: CommentedNotes) -> None:
    notes.add("A.md", "a b c d\n")
    names = [notes.suggest("A.md", letter, letter.upper()) for letter in "abcd"]
    for name in names[:3]:
        notes.kb.commenting.on_suggestion("A.md", name, f"on {name}", WRITER, ANN)
    before = notes.text("A.md")
    results = notes.kb.review.decide(names[1:], Action.ACCEPT, WRITER)
    assert notes.text("A.md") == f"{{--a--}}{{++A++}}{{>>on {names[0]}<<}} B C D\n"
    said = notes.kb.commenting.on_suggestions(names)
    assert [[one["text"] for one in said[name]] for name in names] == [
        [f"on {names[0]}"],
        [f"on {names[1]}"],
        [f"on {names[2]}"],
        [],
    ]
    for result in results:
        assert result.decided
        notes.kb.review.undo(result.decided.id, WRITER)
    assert notes.text("A.md") == before
    notes.check_table("A.md")


def test_a_comment_between_two_marks_goes_and_comes_back_too(notes: CommentedNotes) -> None:
    name, *_ = commented(notes)
    at = notes.text("A.md").index("{++")
    notes.splice("A.md", TextSplice(at, at, "{>>between<<}"))
    before = notes.text("A.md")
    assert len(notes.kb.commenting.on_suggestions([name])[name]) == 2
    (result,) = notes.kb.review.decide([name], Action.REJECT, WRITER)
    assert notes.text("A.md") == "see beta here\n"
    assert result.decided
    notes.kb.review.undo(result.decided.id, WRITER)
    assert notes.text("A.md") == before
    notes.check_table("A.md")
