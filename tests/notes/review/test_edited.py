"""Accepting a suggestion with another text: what it leaves, whose it is, and undoing it."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flashgrep import limits
from flashgrep.errors import Conflict, InvalidParams
from flashgrep.notes import history
from flashgrep.notes.access.roles import Author, AuthorKind, Role, everywhere
from flashgrep.notes.document.anchors import Anchor
from flashgrep.notes.document.note import NoteRecords
from flashgrep.notes.document.text import TextSplice
from flashgrep.notes.home import Home
from flashgrep.notes.library import Library
from flashgrep.notes.markup import critic
from flashgrep.notes.review.decide import accept_as, undo
from flashgrep.notes.review.decision_log import Decided
from flashgrep.notes.review.review import DecisionStatus, StepResult
from flashgrep.notes.review.verdict import Action, Outcome, Verdict
from flashgrep.notes.suggestions.plan import Edit
from flashgrep.notes.suggestions.propose import propose
from tests.notes.desk import Peer
from tests.notes.review.test_review import Base

CASES = 5_000 if os.environ.get("FLASHGREP_HEAVY") == "1" else 25
ANN = everywhere("ann", Role.ADMIN)
WORDS = st.text("ab \n😀é", max_size=6)


@pytest.fixture
def base(tmp_path: Path) -> Iterator[Base]:
    Home.create(tmp_path / "kb")
    made = Base(tmp_path / "kb")
    yield made
    made.kb.close()


class Asked:
    """A library for a peer of this thread: documents stay on theirs."""

    def __init__(self, base: Base) -> None:
        self._base = base

    def missing(self, note: str, state: bytes) -> bytes:
        return self._base.kb.ask(lambda library: library.missing(note, state))


def take(base: Base, name: str, text: str, by: str = "ann") -> StepResult:
    (outcome,) = base.review.decide([name], Verdict(Action.ACCEPT, text=text), ANN, by)
    return outcome


def taken(base: Base, name: str, text: str) -> Decided:
    decided = take(base, name, text).decided
    assert decided is not None
    return decided


def records(base: Base, path: str) -> dict[str, NoteRecords]:
    return base.kb.ask(lambda library: library.records(library.find(path).id))


def writers(base: Base, path: str) -> list[tuple[str, str, AuthorKind | None]]:
    """Each character, and who wrote it."""

    def look(library: Library) -> list[tuple[str, tuple[Anchor, Author | None]]]:
        note = library.find(path).id
        text = library.read(note).text
        return list(zip(text, library.writers(note, 0, len(text)), strict=True))

    return [
        (letter, author.name if author else "", author.source if author else None)
        for letter, (_, author) in base.kb.ask(look)
    ]


@pytest.mark.parametrize(
    "text", ["new", "newer", "renew", "fresh", "", "n-e-w", "😀", "two\nlines"]
)
def test_the_text_takes_the_place_of_what_was_proposed_and_undo_brings_it_back(
    base: Base, text: str
) -> None:
    base.add("A.md", "see old, then more\n")
    name = base.suggest("A.md", "old", "new")
    before, kept = base.text("A.md"), records(base, "A.md")
    row = taken(base, name, text)
    assert base.text("A.md") == f"see {text}, then more\n"
    is_edited = text != "new"
    assert row.outcome is (Outcome.EDITED if is_edited else Outcome.ACCEPTED)
    assert (row.old, row.new, row.text) == ("old", "new", text if is_edited else None)
    assert base.ids() == []
    base.reopen()
    ((_, stored),) = base.review.decisions(ANN)
    assert stored == row
    base.review.undo(row.id, ANN)
    assert (base.text("A.md"), records(base, "A.md")) == (before, kept)
    assert base.ids() == [name]


def test_a_deletion_can_be_accepted_with_a_text_in_its_place(base: Base) -> None:
    base.add("A.md", "see old, then\n")
    name = base.suggest("A.md", " old", "")
    before = base.text("A.md")
    row = taken(base, name, " it")
    assert base.text("A.md") == "see it, then\n"
    base.review.undo(row.id, ANN)
    assert base.text("A.md") == before


@pytest.mark.parametrize(
    ("text", "old", "wanted"),
    [("{Z+ foo ++} end", "Z", "+"), ("{Z++ foo ++}", "Z", ""), ("keep +Z", "Z", "+}")],
)
def test_a_text_that_makes_a_mark_of_the_words_beside_it_is_refused(
    base: Base, text: str, old: str, wanted: str
) -> None:
    base.add("A.md", text)
    name = base.suggest("A.md", old, "Q")
    before = base.text("A.md")
    with pytest.raises(InvalidParams, match="together with the text beside it"):
        take(base, name, wanted)
    assert (base.text("A.md"), base.ids()) == (before, [name])
    assert taken(base, name, "R").outcome is Outcome.EDITED


def test_a_text_that_completes_a_mark_across_another_suggestion_is_refused(base: Base) -> None:
    base.add("A.md", "{ab++ c ++}")
    first, second = base.suggest("A.md", "a", "x"), base.suggest("A.md", "b", "y")
    assert taken(base, first, "").outcome is Outcome.EDITED
    with pytest.raises(InvalidParams, match=r"would make \{\+\+"):
        take(base, second, "")
    assert base.ids() == [second]


def test_what_the_person_wrote_is_theirs_and_what_stays_is_the_agents(base: Base) -> None:
    base.add("A.md", "old")
    take(base, base.suggest("A.md", "old", "new text"), "new, better text")
    found = writers(base, "A.md")
    whose = {
        "new": ("agent", AuthorKind.LOCAL),
        ", better": ("ann", AuthorKind.PERSON),
        " text": ("agent", AuthorKind.LOCAL),
    }
    assert found == [(letter, *who) for part, who in whose.items() for letter in part]


def test_the_note_as_it_was_before_is_a_version(base: Base) -> None:
    base.add("A.md", "old")
    name = base.suggest("A.md", "old", "new")
    before = base.text("A.md")
    take(base, name, "else")

    def texts(library: Library) -> list[str]:
        note = library.find("A.md").id
        return [
            history.text_at(library, note, one.sequence) for one in history.versions(library, note)
        ]

    assert before in base.kb.ask(texts)


def test_what_others_type_at_that_moment_stays(base: Base) -> None:
    base.add("A.md", "see old!")
    name = base.suggest("A.md", "old", "new word")
    note = base.kb.ask(lambda library: library.find("A.md").id)
    bob = Peer(Asked(base), note, client=7)  # type: ignore[arg-type]
    at = base.text("A.md").index("new word") + len("new w")
    bob.text.splice([TextSplice(at, at, "XY")])
    update = bob.take()
    take(base, name, "no sword")
    base.kb.ask(lambda library: library.receive(note, update, "bob"))
    text = base.text("A.md")
    assert sorted(text) == sorted("see no sword!XY")
    assert critic.token(text) is None
    row = base.review.decisions(ANN)[0][1]
    base.review.undo(row.id, ANN)
    text = base.text("A.md")
    assert critic.read(text).base.text.replace("XY", "") == "see old!"
    assert text.count("XY") == 1


def test_words_that_others_typed_into_the_text_since_stay_when_it_is_undone(base: Base) -> None:
    base.add("A.md", "see old!")
    name = base.suggest("A.md", "old", "new")
    row = taken(base, name, "fresh")
    base.splice("A.md", TextSplice(6, 6, "BOB"))
    base.review.undo(row.id, ANN)
    assert base.text("A.md") == "see {--old--}{++new++}BOB!"
    assert base.ids() == [name]


def test_undoing_is_refused_where_the_text_is_in_another_mark_now(base: Base) -> None:
    base.add("A.md", "see old!")
    row = taken(base, base.suggest("A.md", "old", "new"), "fresh")
    other = base.suggest("A.md", "fresh", "stale", "other")
    with pytest.raises(Conflict, match="another mark"):
        base.review.undo(row.id, ANN)
    assert base.decide(Action.REJECT, other) == [DecisionStatus.DONE]
    base.review.undo(row.id, ANN)
    assert base.text("A.md") == "see {--old--}{++new++}!"


def test_the_second_hears_who_was_first_and_how(base: Base) -> None:
    base.add("A.md", "old and more")
    edited, rejected = base.suggest("A.md", "old", "new"), base.suggest("A.md", "more", "less")
    take(base, edited, "else")
    base.review.decide([rejected], Verdict(Action.REJECT, reason="too short"), ANN, "bob")
    one, two = base.review.decide([edited, rejected], Action.ACCEPT, ANN, "cy")
    assert one.status is two.status is DecisionStatus.ALREADY
    assert "was edited and accepted by ann" in one.message
    assert "was rejected by bob" in two.message
    said = {key: two.as_json()[key] for key in ("outcome", "by", "reason", "text")}
    assert said == {"outcome": "rejected", "by": "bob", "reason": "too short", "text": None}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"action": Action.ACCEPT, "reason": "why"}, "reason goes with reject"),
        ({"action": Action.REJECT, "text": "x"}, "text goes with accept"),
        ({"action": Action.ACCEPT, "text": "a {++b"}, "contains {++"),
        ({"action": Action.ACCEPT, "text": "a\0b"}, "text: a note cannot hold U+0000"),
        ({"action": Action.ACCEPT, "text": "a\r\nb"}, "text: a note's lines end with LF"),
        ({"action": Action.ACCEPT, "text": "\ud800"}, "text: character 0 is half"),
        ({"action": Action.REJECT, "reason": "a\0"}, "reason: a note cannot hold U+0000"),
        (
            {"action": Action.REJECT, "reason": "x" * (limits.REASON_CHARS + 1)},
            f"at most {limits.REASON_CHARS}",
        ),
        (
            {"action": Action.ACCEPT, "text": "x" * (limits.ACCEPTED_TEXT_CHARS + 1)},
            f"at most {limits.ACCEPTED_TEXT_CHARS}",
        ),
    ],
)
def test_words_that_do_not_go_with_a_decision_are_refused(
    words: dict[str, object], said: str
) -> None:
    with pytest.raises(InvalidParams) as refused:
        Verdict(**words)  # type: ignore[arg-type]
    assert said in refused.value.message


def test_a_text_is_for_one_suggestion(base: Base) -> None:
    base.add("A.md", "old and more")
    names = [base.suggest("A.md", "old", "new"), base.suggest("A.md", "more", "less")]
    for start in (base.review.decide, base.review.jobs.start):
        with pytest.raises(InvalidParams, match="one id, and 2 were given"):
            start(names, Verdict(Action.ACCEPT, text="x"), ANN, "ann")
    assert set(base.ids()) == set(names)


def test_a_note_that_would_become_too_large_is_left_as_it_is(
    base: Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    base.add("A.md", "old")
    name = base.suggest("A.md", "old", "new")
    before = base.text("A.md")
    monkeypatch.setattr(limits, "NOTE_BYTES", 40)
    with pytest.raises(Exception, match="at most 40"):
        take(base, name, "x" * 50)
    assert base.text("A.md") == before
    assert base.ids() == [name]
    assert base.review.decisions(ANN) == []


@settings(
    max_examples=CASES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_whatever_is_typed_afterwards_stays_when_it_is_undone(
    base: Base, data: st.DataObject
) -> None:
    path = f"N{secrets.token_hex(6)}.md"
    old, new, wanted = (data.draw(WORDS.filter(str.strip)) for _ in range(3))
    if old == new:
        return
    base.add(path, f"head {old} tail\n")
    name = propose(base.kb, path, Edit(f" {old} tail", f" {new} tail"), "agent").ids[0]
    before, kept = base.text(path), records(base, path)
    row = taken(base, name, f" {wanted} tail")
    typed = data.draw(st.integers(0, 4))
    for number in range(typed):
        at = data.draw(st.integers(0, len(base.text(path))))
        base.splice(path, TextSplice(at, at, str(number)))
    base.review.undo(row.id, ANN)
    text = base.text(path)
    assert re.sub("[0-9]", "", text) == before
    assert sorted(re.sub("[^0-9]", "", text)) == [str(number) for number in range(typed)]
    value = {key: one.value for key, one in records(base, path).items()}
    assert value == {key: one.value for key, one in kept.items()}


# ── the definition ──────────────────────────────────────────────────────────────────────────────


@settings(max_examples=6 * CASES, deadline=None)
@given(WORDS, WORDS, WORDS, WORDS, WORDS, st.booleans())
def test_accepting_as_a_text_then_undoing_gives_the_text_back(
    head: str, old: str, new: str, wanted: str, tail: str, is_substitution: bool
) -> None:
    mark = f"{{~~{old}~>{new}~~}}" if is_substitution else f"{{--{old}--}}{{++{new}++}}"
    text = head + mark + tail
    ends = (
        [len(head + mark)] if is_substitution else [len(f"{head}{{--{old}--}}"), len(head + mark)]
    )
    spans = list(zip([len(head), *ends[:-1]], ends, strict=True))
    decision = accept_as(text, spans, wanted, [])
    assert decision.text == head + wanted + tail
    assert decision.is_edited == (wanted != new)
    restored = undo(decision.text, decision.cuts, decision.marks, decision.put)
    assert (restored.text, list(restored.spans)) == (text, spans)


def test_insertions_that_are_alike_are_all_replaced_and_others_refused() -> None:
    text = "a {++x++} b {++x++} c {++y++}"
    first, second, third = (2, 9), (12, 19), (22, 29)
    assert accept_as(text, [first, second], "zz", [third]).text == "a zz b zz c {++y++}"
    with pytest.raises(InvalidParams, match="brings 2 texts that differ"):
        accept_as(text, [first, third], "zz", [second])
