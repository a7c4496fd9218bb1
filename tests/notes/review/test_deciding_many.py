"""Many decisions at once are what they are one after the other, and are undone alike."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashgrep.errors import Conflict
from flashgrep.notes.access.roles import Role, everywhere
from flashgrep.notes.document.anchors import Anchors
from flashgrep.notes.document.note import Amendment, NoteRecords
from flashgrep.notes.document.text import Push, SharedText, TextSplice, spliced
from flashgrep.notes.home import Home
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.notes.library import Library
from flashgrep.notes.markup import critic
from flashgrep.notes.markup.seams import over
from flashgrep.notes.review import decide, deciding_many
from flashgrep.notes.review.decide import Cut
from flashgrep.notes.review.deciding_many import Deciding, _Gone
from flashgrep.notes.review.review import DecisionStatus, Query
from flashgrep.notes.review.step import Step
from flashgrep.notes.review.verdict import Action, Verdict
from flashgrep.notes.suggestions.pending import Recorded, pending, proposal_digest
from flashgrep.notes.suggestions.plan import Edit
from flashgrep.notes.suggestions.propose import propose
from tests.notes.marked import Note, notes

CASES = 2_000 if os.environ.get("FLASHGREP_HEAVY") == "1" else 50
ADMIN = everywhere("ann", Role.ADMIN)


@dataclass(frozen=True)
class Decided:
    """A decision as the slow way makes it."""

    cuts: tuple[Cut, ...]
    beside: tuple[tuple[int | None, int | None], ...]
    marks: Any
    change: tuple[str, str]


Outcomes = dict[str, Decided | type[Conflict]]
"""What became of each, or how it was refused."""


def one_by_one(note: Note, names: Sequence[str], verdict: Verdict) -> tuple[str, Outcomes]:
    """The definition: each decided in the text that the one before has left."""
    text, records = note.text, {one.id: one for one in note.records}
    characters = list(range(len(text)))
    found: Outcomes = {}
    for name in names:
        spans = [span for one in records.values() for span in one.spans]
        change = pending(text, list(records.values())).change(records[name])
        try:
            decide.marks_of(text, records[name].spans, spans)
            verdict.check_seen(name, *change)
            made = decide.decide(text, records[name].spans, verdict.action, spans)
        except Conflict as error:
            found[name] = type(error)
            continue
        del records[name]
        gone = {at for splice in made.splices for at in range(splice.start, splice.end)}
        characters = [one for at, one in enumerate(characters) if at not in gone]
        beside = tuple(
            (
                characters[cut.at - 1] if cut.at else None,
                characters[cut.at] if cut.at < len(characters) else None,
            )
            for cut in made.cuts
        )
        found[name] = Decided(made.cuts, beside, made.marks, change)
        push = Push(made.splices)
        records = {key: replace(one, spans=push.spans(one.spans)) for key, one in records.items()}
        text = made.text
    return text, found


@settings(max_examples=CASES)
@given(notes(most=8), st.data())
def test_decisions_at_once_are_those_made_one_after_the_other(
    note: Note, data: st.DataObject
) -> None:
    names = data.draw(st.permutations([one.id for one in note.records]))
    check(note, names, verdict_on(note, data))


@settings(max_examples=CASES)
@given(st.data())
def test_decisions_on_spans_that_overlap_are_left_to_the_definition(data: st.DataObject) -> None:
    text = data.draw(
        st.sampled_from(["{--{--a--}{++b++}--}{++c++}", "{++a++}{++b++}{--c--}x{++d++}"])
    )
    ends = st.integers(0, len(text))
    spans = st.tuples(ends, ends).filter(lambda span: span[0] < span[1])
    records = [
        Recorded(f"s{at}", "ann", tuple(sorted(set(some))))
        for at, some in enumerate(
            data.draw(st.lists(st.lists(spans, min_size=1, max_size=2), max_size=4))
        )
    ]
    names = data.draw(st.permutations([one.id for one in records]))
    note = Note(text, tuple(records))
    check(note, names, verdict_on(note, data))


def verdict_on(note: Note, data: st.DataObject) -> Verdict:
    """What somebody decides who may have seen something else of some of them."""
    read = pending(note.text, note.records)
    seen = {one.id: proposal_digest(*read.change(one)) for one in note.records}
    for name in data.draw(st.sets(st.sampled_from(sorted(seen)))) if seen else ():
        seen[name] = proposal_digest("what was", "there before")
    is_checked = data.draw(st.booleans())
    return Verdict(data.draw(st.sampled_from(list(Action))), seen=seen if is_checked else {})


def check(note: Note, names: Sequence[str], verdict: Verdict) -> None:
    quick = Deciding(note.text, note.records, verdict)
    taken = quick.take(names)
    text, expected = one_by_one(note, names[:taken], verdict)
    assert spliced(note.text, quick.splices) == text
    found: Outcomes = {
        name: Decided(made.cuts, made.beside, made.marks, made.change)
        for name, made in quick.made.items()
    }
    found |= {name: type(error) for name, error in quick.refused.items()}
    assert found == expected
    spans = sorted((span, one.id) for one in note.records for span in one.spans)
    is_tangled = {
        name
        for (span, one), (other, another) in pairwise(spans)
        if other[0] < span[1]
        for name in (one, another)
    }
    if taken < len(names) and not is_tangled:
        left, decided = one_by_one(note, names[: taken + 1], verdict)
        last = decided[names[taken]]
        assert isinstance(last, type) or any(
            over(left[: cut.at], left[cut.at :]) for cut in last.cuts
        )


# ── in a knowledge base ─────────────────────────────────────────────────────────────────────────


def tangled_note(chance: Random) -> tuple[str, dict[str, NoteRecords]]:
    """A text with suggestions side by side and apart, some of them broken or one over another."""
    pieces, besides, at = [], {}, 0
    for number in range(14):
        plain = chance.choice(["", "", "x", "größe 😀 ", "\nline\n"])
        marks = chance.choice(
            [
                "{--a--}{++b++}",
                "{++ins++}",
                "{--gone é--}",
                "{~~old~>new~~}",
                "{++broken",
                "{>>c<<}",
            ]
        )
        start = at + len(plain)
        end = start + len(marks)
        pieces += [plain, marks]
        spans = [(start, end)]
        if marks.startswith("{--a"):
            spans = [(start, start + 7), (start + 7, end)]
        if chance.random() < 0.15 and start:
            spans = [(max(start - 3, 0), end)]
        value = {"kind": "suggestion", "author": "agent", "asked": "", "time": number}
        besides[f"s{number:02}"] = NoteRecords(value, tuple(spans))
        at = end
        for reply in range(chance.choice([0, 0, 1, 2])):
            said = "{>>said é<<}"
            pieces.append(said)
            span = (at - 2 if chance.random() < 0.1 else at, at + len(said))
            value = {"kind": "comment", "author": "ann", "time": number}
            besides[f"c{number:02}.{reply}"] = NoteRecords(value, (span,))
            at += len(said)
    return "".join(pieces), besides


def made_home(path: Path, seed: int) -> tuple[Path, list[str]]:
    Home.create(path)
    text, besides = tangled_note(Random(seed))
    kb = KnowledgeBase(path)

    def fill(library: Library) -> None:
        note = library.create("A.md", text).id
        library.amend(note, lambda *_: Amendment(records=besides))

    kb.ask(fill)
    kb.close()
    return path, [name for name in besides if name.startswith("s")]


def seen_of(kb: KnowledgeBase, names: Sequence[str], chance: Random) -> dict[str, str]:
    """What somebody has seen of suggestions: of one in three something else than there is."""
    listed = kb.review.suggestions(Query(), ADMIN).suggestions
    now = {one.id: proposal_digest(one.old, one.new) for one in listed}
    return {name: now.get(name, "") if chance.random() < 0.67 else "other" for name in names}


def history(path: Path, seed: int, names: list[str]) -> list[Any]:
    """Decide by chance and take back by chance; all that is to be seen of it."""
    chance = Random(seed)
    kb = KnowledgeBase(path)
    told: list[Any] = []
    left = list(names)
    chance.shuffle(left)
    try:
        for action in Action:
            some, left = left[: len(left) // 2 + 1], left[len(left) // 2 + 1 :]
            verdict = Verdict(action, seen=seen_of(kb, some, chance))
            outcomes = kb.review.decide(some, verdict, ADMIN)
            told.append([(one.id, one.status, one.message, one.now) for one in outcomes])
            told.append(kb.ask(lambda library: library.read(library.find("A.md").id).text))
        rows = kb.review.decisions(ADMIN)
        told.append(
            [
                (row.suggestion, row.old, row.new, row.cuttings, row.marks, row.comments)
                for _, row in rows
            ]
        )
        for number in chance.sample([row.id for _, row in rows], len(rows)):
            try:
                kb.review.undo(number, ADMIN)
            except Conflict as error:
                told.append(error.message)
            told.append(kb.ask(lambda library: library.read(library.find("A.md").id).text))
    finally:
        kb.close()
    return told


@pytest.mark.parametrize("is_prepared", [False, True], ids=["at once", "prepared"])
@pytest.mark.parametrize("seed", range(8 if os.environ.get("FLASHGREP_HEAVY") == "1" else 3))
def test_the_log_and_what_is_undone_are_the_same_too(
    seed: int, is_prepared: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, names = made_home(tmp_path / "first", seed)
    second = Path(shutil.copytree(first, tmp_path / "second"))
    with monkeypatch.context() as patched:
        if is_prepared:
            patched.setattr("flashgrep.notes.review.review.DECISIONS_A_TURN", 1)
        quick = history(first, seed, names)
    monkeypatch.setattr(Deciding, "take", lambda *_: 0)  # each of them the old, slow way
    assert history(second, seed, names) == quick
    statuses = {status for told in (quick[0], quick[2]) for _, status, *_ in told}
    assert statuses >= {DecisionStatus.DONE, DecisionStatus.CHANGED}


@pytest.mark.parametrize("is_prepared", [False, True])
def test_what_would_make_a_mark_of_a_persons_words_is_left_pending(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_prepared: bool
) -> None:
    if is_prepared:
        monkeypatch.setattr("flashgrep.notes.review.review.DECISIONS_A_TURN", 0)
    Home.create(tmp_path / "kb")
    kb = KnowledgeBase(tmp_path / "kb")
    text = "see x>> important words <<} and more\n"
    kb.ask(partial(Library.create, path="A.md", text=text, author="ann"))
    for old, new in ((">> im", "R im"), ("x", "{"), ("more", "less")):
        propose(kb, "A.md", Edit(old, new), old)
    found = kb.review.suggestions(Query(), ADMIN).suggestions
    ids = {one.author: one.id for one in found}
    kb.review.decide([ids[">> im"]], Action.REJECT, ADMIN)
    done = kb.review.decide([ids["x"], ids["more"]], Action.ACCEPT, ADMIN)
    now = kb.ask(lambda library: library.read(library.find("A.md").id).text)
    left = [one.id for one in kb.review.suggestions(Query(), ADMIN).suggestions]
    kb.close()
    assert [one.status for one in done] == [DecisionStatus.REFUSED, DecisionStatus.DONE]
    assert "into {>>" in done[0].message
    assert left == [ids["x"]]
    assert now == "see {--x--}{++{++}>> important words <<} and less\n"


def test_prepared_decisions_ask_the_engine_for_no_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each would be a walk over all blocks before it, on the thread of the notes."""
    home, names = made_home(tmp_path / "kb", seed=1)
    kb = KnowledgeBase(home)
    asked: list[object] = []
    monkeypatch.setattr("flashgrep.notes.review.review.DECISIONS_A_TURN", 1)
    monkeypatch.setattr(deciding_many, "_tangled", lambda _: {})  # all decided together
    monkeypatch.setattr(Anchors, "at", lambda *given: asked.append(given))
    monkeypatch.setattr(SharedText, "_change", lambda *given: asked.append(given))
    decided = kb.review.decide(names, Action.ACCEPT, ADMIN)
    kb.close()
    assert {one.status for one in decided} >= {DecisionStatus.DONE}
    assert asked == []


def test_a_note_that_changes_while_decisions_are_prepared_is_decided_as_it_is_then(
    tmp_path: Path,
) -> None:
    home, names = made_home(tmp_path / "kb", seed=2)
    twin = Path(shutil.copytree(home, tmp_path / "twin"))
    told: list[list[Any]] = []
    for path, is_prepared in ((home, True), (twin, False)):
        kb = KnowledgeBase(path)
        note = kb.ask(lambda library: library.find("A.md").id)
        step = Step(kb, note, Action.REJECT, ADMIN, "ann", 1)
        if is_prepared:
            step.prepare(kb, names)
        change = Amendment([TextSplice(0, 0, "typed meanwhile é ")], {names[0]: None})
        kb.ask(partial(Library.amend, note=note, plan=lambda *_, change=change: change))
        outcomes = kb.ask(partial(step.run, names=names))
        told.append([(one.id, one.status, one.message) for one in outcomes.values()])
        told[-1].append(kb.read(note).text)
        kb.close()
    assert told[0] == told[1]
    assert told[0][-1].startswith("typed meanwhile é ")


def test_a_note_is_read_once_however_many_of_its_suggestions_are_decided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cost in counts: parses of the whole text, and records appended."""
    Home.create(tmp_path / "kb")
    kb = KnowledgeBase(tmp_path / "kb")
    counts = []
    for size in (10, 100):
        text = "".join(f"line {n} {{--old{n}--}}{{++new{n}++}}\n" for n in range(size))
        starts = [at for at in range(len(text)) if text.startswith("{--", at)]
        besides = {
            f"s{size}.{n}": NoteRecords(
                {"kind": "suggestion", "author": "a", "asked": "", "time": n},
                (
                    (start, text.index("{++", start)),
                    (text.index("{++", start), text.index("++}", start) + 3),
                ),
            )
            for n, start in enumerate(starts)
        }

        def fill(library: Library, text: str = text, besides: Any = besides, n: int = size) -> str:
            note = library.create(f"N{n}.md", text).id
            library.amend(note, lambda *_: Amendment(records=besides))
            return note

        note = kb.ask(fill)
        before = kb.read(note).sequence
        parses = 0
        read = critic.read

        def counted(*arguments: Any, read: Any = read) -> Any:
            nonlocal parses
            parses += 1
            return read(*arguments)

        with monkeypatch.context() as patched:
            patched.setattr(critic, "read", counted)
            outcomes = kb.review.decide(list(besides), Action.ACCEPT, ADMIN)
        assert {one.status for one in outcomes} == {DecisionStatus.DONE}
        assert kb.read(note).sequence == before + 1
        counts.append(parses)
    kb.close()
    assert counts[0] == counts[1]


def test_what_is_left_of_a_text_is_counted_right() -> None:
    chance = Random(3)
    for _ in range(200):
        length = chance.randint(1, 30)
        cuts = sorted(chance.sample(range(length + 1), chance.randint(0, min(length, 8)) // 2 * 2))
        spans = list(zip(cuts[::2], cuts[1::2], strict=True))
        chance.shuffle(spans)
        gone = _Gone(length, sorted(start for start, _ in spans))
        alive = set(range(length))
        for span in spans:
            gone.add([span])
            alive -= set(range(*span))
            for place in (*span, 0, length):
                assert gone.before(place) == max((c for c in alive if c < place), default=None)
                assert gone.behind(place) == min((c for c in alive if c >= place), default=None)
                if place in alive or place == length:
                    assert gone.place(place) == sum(c < place for c in alive)
