"""Reviewing: lists, decisions of which the first counts, the log, and undoing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from flashgrep.errors import AccessDenied, Conflict, InvalidParams, NotFound
from flashgrep.notes.access.roles import Grant, Principal, Role, everywhere
from flashgrep.notes.document.note import Amendment
from flashgrep.notes.document.text import TextSplice
from flashgrep.notes.home import Home
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.notes.review.review import DecisionStatus, Query
from flashgrep.notes.review.verdict import Action
from flashgrep.notes.suggestions.plan import Edit
from flashgrep.notes.suggestions.propose import propose

ADMIN = everywhere("ann", Role.ADMIN)
ACCEPT, REJECT = Action.ACCEPT, Action.REJECT


class Base:
    """A knowledge base, by paths."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.kb = KnowledgeBase(path)
        self.review = self.kb.review

    def add(self, path: str, text: str) -> None:
        self.kb.ask(lambda library: library.create(path, text))

    def suggest(self, path: str, old: str, new: str, author: str = "agent") -> str:
        (name,) = propose(self.kb, path, Edit(old, new), author).ids
        return name

    def text(self, path: str) -> str:
        return self.kb.ask(lambda library: library.read(library.find(path).id).text)

    def splice(self, path: str, *splices: TextSplice) -> None:
        """As a person types."""
        self.kb.ask(
            lambda library: library.amend(library.find(path).id, lambda *_: Amendment(splices))
        )

    def ids(self, who: Principal = ADMIN, **query: object) -> list[str]:
        found = self.review.suggestions(Query(**query), who)  # type: ignore[arg-type]
        return [one.id for one in found.suggestions]

    def decide(self, action: Action, *names: str, who: Principal = ADMIN) -> list[DecisionStatus]:
        return [one.status for one in self.review.decide(names, action, who)]

    def reopen(self) -> None:
        self.kb.close()
        self.__init__(self.path)  # type: ignore[misc]


@pytest.fixture
def base(tmp_path: Path) -> Iterator[Base]:
    Home.create(tmp_path / "kb")
    made = Base(tmp_path / "kb")
    yield made
    made.kb.close()


# ── listing ─────────────────────────────────────────────────────────────────────────────────────


def test_a_suggestion_is_listed_with_what_it_says_and_where(base: Base) -> None:
    base.add("A.md", "first\nsee beta here\nlast\n")
    name = base.suggest("A.md", "beta", "gamma")
    (found,) = base.review.suggestions(Query(), ADMIN).suggestions
    assert (found.id, found.path, found.line, found.author) == (name, "A.md", 2, "agent")
    assert (found.old, found.new) == ("beta", "gamma")
    assert (found.before, found.after) == ("first\nsee ", " here\nlast\n")
    assert found.time > 1_700_000_000_000


def test_the_list_follows_the_notes(base: Base) -> None:
    base.add("A.md", "alpha beta\n")
    base.add("B.md", "gamma\n")
    one = base.suggest("A.md", "beta", "x")
    assert base.ids() == [one]
    two = base.suggest("B.md", "gamma", "y")
    assert set(base.ids()) == {one, two}
    base.kb.ask(lambda library: library.catalogue.move(library.find("A.md").id, "C.md"))
    assert base.ids(note="C.md") == [one]
    base.kb.ask(lambda library: library.delete(library.find("B.md").id))
    assert base.ids() == [one]
    text = base.text("C.md")
    base.splice("C.md", TextSplice(0, len(text), "all gone"))
    assert base.ids() == []


def test_a_note_that_began_anew_has_none_of_the_old_suggestions(base: Base) -> None:
    base.add("A.md", "alpha\n")
    base.suggest("A.md", "alpha", "beta")
    (before,) = base.ids()
    base.kb.ask(lambda library: library.rebuild(library.find("A.md").id, "x {--y--} z\n"))
    base.splice("A.md", TextSplice(0, 1, "X"))  # as many records as before
    assert before not in base.ids()


def test_filters_and_pages(base: Base) -> None:
    base.add("A.md", " ".join(f"w{number}." for number in range(10)))
    names = [base.suggest("A.md", f"w{n}.", f"v{n}.", f"agent{n % 2}") for n in range(10)]
    times = {one.id: one.time for one in base.review.suggestions(Query(), ADMIN).suggestions}
    expected = sorted(names, key=lambda name: (times[name], name))
    assert set(base.ids(author="agent1")) == set(names[1::2])
    assert base.ids(older_than=min(times.values())) == []
    assert len(base.ids(newer_than=0)) == 10
    seen, cursor = [], None
    while True:
        page = base.review.suggestions(Query(limit=3, cursor=cursor), ADMIN)
        seen += [one.id for one in page.suggestions]
        if (cursor := page.next) is None:
            break
    assert seen == expected
    for bad in (Query(limit=0), Query(limit=10_000), Query(cursor="nonsense")):
        with pytest.raises(InvalidParams):
            base.review.suggestions(bad, ADMIN)


def test_nobody_sees_what_they_may_not_read(base: Base) -> None:
    base.add("Mine/A.md", "alpha")
    base.add("Yours/A.md", "alpha")
    mine, yours = (base.suggest(f"{folder}/A.md", "alpha", "b") for folder in ("Mine", "Yours"))
    reader = Principal("r", (Grant(Role.READ, "Mine"),))
    writer = Principal("w", (Grant(Role.WRITE, "Mine"),))
    assert base.ids(reader) == [mine]
    assert base.decide(ACCEPT, mine, yours, who=reader) == [
        DecisionStatus.FORBIDDEN,
        DecisionStatus.NOT_FOUND,
    ]
    assert base.decide(ACCEPT, mine, yours, who=writer) == [
        DecisionStatus.DONE,
        DecisionStatus.NOT_FOUND,
    ]
    (row,) = base.review.decisions(ADMIN)
    with pytest.raises(AccessDenied):
        base.review.undo(row[1].id, reader)
    stranger = Principal("s", (Grant(Role.ADMIN, "Yours"),))
    assert base.review.decisions(stranger) == []
    with pytest.raises(NotFound):
        base.review.undo(row[1].id, stranger)
    with pytest.raises(NotFound):
        base.review.decisions(stranger, before=row[1].id)


def test_pages_of_decisions_are_the_whole_log_cut(base: Base) -> None:
    base.add("Mine/A.md", "alpha")
    base.add("Yours/A.md", "alpha")
    made = []
    for turn in range(5):
        for folder in ("Mine", "Yours"):
            made.append(base.suggest(f"{folder}/A.md", "alpha", f"b{turn}"))
            base.decide(REJECT, made[-1])
    mine = Principal("m", (Grant(Role.READ, "Mine"),))
    for who, expected in ((ADMIN, made[::-1]), (mine, made[::2][::-1])):
        paged: list[str] = []
        before = None
        while rows := base.review.decisions(who, 2, before):
            paged += [row.suggestion for _, row in rows]
            before = rows[-1][1].id
        assert paged == expected


# ── deciding ────────────────────────────────────────────────────────────────────────────────────

DECIDED = [
    ("see beta!", "beta", "gamma", ACCEPT, "see gamma!"),
    ("see beta!", "beta", "gamma", REJECT, "see beta!"),
    ("see beta!", " beta", "", ACCEPT, "see!"),
    ("see beta!", " beta", "", REJECT, "see beta!"),
    ("😀 beta 日本", "beta", "гамма😀", ACCEPT, "😀 гамма😀 日本"),
    ("beta", "beta", "x", ACCEPT, "x"),
    ("```\ncode beta\n```\n", "beta", "x", ACCEPT, "```\ncode x\n```\n"),
]


@pytest.mark.parametrize(("text", "old", "new", "action", "after"), DECIDED)
def test_a_decision_leaves_what_it_should_is_logged_and_can_be_undone(
    base: Base, text: str, old: str, new: str, action: Action, after: str
) -> None:
    base.add("A.md", text)
    name = base.suggest("A.md", old, new)
    marked = base.text("A.md")
    assert base.decide(action, name) == [DecisionStatus.DONE]
    assert base.text("A.md") == after
    assert base.ids() == []
    base.reopen()
    ((path, row),) = base.review.decisions(ADMIN)
    assert (path, row.suggestion, row.action, row.by) == ("A.md", name, action, "ann")
    assert (row.old, row.new, row.record["author"], row.is_undone) == (old, new, "agent", False)
    undone = base.review.undo(row.id, ADMIN, "ann/page")
    assert (undone.undone_by, base.text("A.md"), base.ids()) == ("ann/page", marked, [name])
    with pytest.raises(Conflict, match="undone already"):
        base.review.undo(row.id, ADMIN)
    assert base.decide(action, name) == [DecisionStatus.DONE]
    assert base.text("A.md") == after


def test_the_first_decision_counts(base: Base) -> None:
    base.add("A.md", "see beta!")
    name = base.suggest("A.md", "beta", "gamma")
    assert base.decide(REJECT, name) == [DecisionStatus.DONE]
    (second,) = base.review.decide([name], ACCEPT, everywhere("bob", Role.WRITE))
    assert second.status is DecisionStatus.ALREADY
    assert "rejected by ann" in second.message
    assert second.decided
    assert second.decided.action is REJECT
    assert base.text("A.md") == "see beta!"
    assert base.decide(ACCEPT, "s_0000000000000000") == [DecisionStatus.NOT_FOUND]


@pytest.mark.thorough
def test_accept_and_reject_at_once_one_wins_and_nothing_is_doubled(base: Base) -> None:
    words = [f"word{number}." for number in range(30)]
    base.add("A.md", " ".join(words))
    names = [base.suggest("A.md", word, word.upper()) for word in words]
    outcomes: dict[str, dict[str, DecisionStatus]] = {}

    def decide(action: Action) -> None:
        for name in names if action is ACCEPT else reversed(names):
            (one,) = base.review.decide([name], action, ADMIN)
            outcomes.setdefault(name, {})[action.value] = one.status

    threads = [threading.Thread(target=decide, args=(action,)) for action in Action]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept = []
    for name, word in zip(names, words, strict=True):
        assert sorted(outcomes[name].values()) == [DecisionStatus.ALREADY, DecisionStatus.DONE]
        kept.append(word.upper() if outcomes[name]["accept"] is DecisionStatus.DONE else word)
    assert base.text("A.md") == " ".join(kept)


def test_many_ids_of_several_notes_have_an_outcome_each_in_their_order(base: Base) -> None:
    for path in ("A.md", "B.md"):
        base.add(path, "one two three")
    a, b = base.suggest("A.md", "two", "2"), base.suggest("B.md", "two", "2")
    c = base.suggest("A.md", "three", "3")
    outcomes = base.review.decide([c, "s_no", b, a, c], ACCEPT, ADMIN)
    assert [one.id for one in outcomes] == [c, "s_no", b, a]
    assert [one.status for one in outcomes].count(DecisionStatus.DONE) == 3
    assert (base.text("A.md"), base.text("B.md")) == ("one 2 3", "one 2 three")


def test_what_a_person_typed_into_a_suggestion_stays(base: Base) -> None:
    base.add("A.md", "see beta!")
    name = base.suggest("A.md", "beta", "gamma")
    text = base.text("A.md")
    base.splice("A.md", TextSplice(text.index("mma"), text.index("mma"), "XX"))
    base.decide(ACCEPT, name)
    assert base.text("A.md") == "see gaXXmma!"


# ── undoing later ───────────────────────────────────────────────────────────────────────────────


def test_undoing_puts_the_marks_where_the_text_is_now(base: Base) -> None:
    base.add("A.md", "see beta!\n")
    name = base.suggest("A.md", "beta", "gamma")
    base.decide(ACCEPT, name)
    base.splice(
        "A.md",
        TextSplice(0, 0, "# Title 😀\n\n"),
        TextSplice(6, 6, "---"),
        TextSplice(9, 9, " More"),
    )
    assert base.text("A.md") == "# Title 😀\n\nsee ga---mma More!\n"
    ((_, row),) = base.review.decisions(ADMIN)
    base.review.undo(row.id, ADMIN)
    assert base.text("A.md") == "# Title 😀\n\nsee {--beta--}{++ga---mma++} More!\n"
    base.decide(REJECT, name)
    assert base.text("A.md") == "# Title 😀\n\nsee beta More!\n"


def test_undoing_is_refused_where_nothing_is_left_of_the_place(base: Base) -> None:
    base.add("A.md", "see beta!\n")
    name = base.suggest("A.md", "beta", "gamma")
    base.decide(ACCEPT, name)
    text = base.text("A.md")
    base.splice("A.md", TextSplice(0, len(text), "something else"))
    ((_, row),) = base.review.decisions(ADMIN)
    with pytest.raises(Conflict, match="restore an earlier version"):
        base.review.undo(row.id, ADMIN)
    assert base.text("A.md") == "something else"
    assert not base.kb.ask(lambda _: base.kb.decisions.get(row.id)).is_undone


def test_undoing_is_refused_inside_another_mark(base: Base) -> None:
    base.add("A.md", "see beta here\n")
    name = base.suggest("A.md", "beta", "gamma")
    base.decide(ACCEPT, name)
    base.suggest("A.md", "see gamma here", "other", "another")
    before = base.text("A.md")
    ((_, row),) = base.review.decisions(ADMIN)
    with pytest.raises(Conflict, match="another mark"):
        base.review.undo(row.id, ADMIN)
    assert base.text("A.md") == before


def test_those_who_listen_hear_of_decisions_and_of_undone_ones(base: Base) -> None:
    told: list[tuple[str, bool]] = []
    base.add("A.md", "see beta!")
    name = base.suggest("A.md", "beta", "gamma")
    end = base.review.listen(lambda one: told.append((one.suggestion, one.is_undone)))
    base.decide(ACCEPT, name)
    base.decide(ACCEPT, name)
    ((_, row),) = base.review.decisions(ADMIN)
    base.review.undo(row.id, ADMIN)
    end()
    base.decide(ACCEPT, name)
    assert told == [(name, False), (name, True)]
