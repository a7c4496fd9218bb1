"""Notes and folders that move, with the links that follow: all of it, or nothing."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from flashgrep import limits
from flashgrep.errors import Conflict, FlashgrepError, InvalidParams, NotFound
from flashgrep.notes import history, moving
from flashgrep.notes.access.roles import Grant, Principal, Role, everywhere
from flashgrep.notes.document.loading import NoteChange
from flashgrep.notes.home import Home
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.notes.library import Library
from flashgrep.notes.links.parse import Paths, parse
from flashgrep.notes.links.scoped import seen_by
from flashgrep.notes.moving import MoveResult, delete_folder
from flashgrep.notes.review.review import Query
from flashgrep.notes.review.verdict import Action
from flashgrep.notes.store.catalogue import CatalogueEntry
from flashgrep.notes.suggestions.plan import Edit
from flashgrep.notes.suggestions.propose import propose
from tests.notes.desk import Peer
from tests.notes.links.test_rewrite import moves, vault

ANN = everywhere("ann", Role.WRITE)


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    Home.create(tmp_path / "kb")
    made = KnowledgeBase(tmp_path / "kb")
    yield made
    made.close()


def fill(kb: KnowledgeBase, notes: Mapping[str, str]) -> dict[str, str]:
    """Make notes; gives their ids."""

    def job(library: Library) -> dict[str, str]:
        with library.together():
            return {path: library.create(path, text, "start").id for path, text in notes.items()}

    return kb.ask(job)


def move(kb: KnowledgeBase, source: str, target: str, who: Principal = ANN) -> MoveResult:
    return moving.move_note(kb, source, target, who, who.name)


def move_folder(kb: KnowledgeBase, source: str, target: str) -> MoveResult:
    return moving.move_folder(kb, source, target, ANN, "ann")


def texts(kb: KnowledgeBase) -> dict[str, str]:
    leaves = kb.listing.all()
    return {leaf.path: kb.read(leaf.note).text for leaf in leaves}


def test_links_follow_a_note_and_its_author_is_who_moved_it(kb: KnowledgeBase) -> None:
    fill(
        kb, {"Old.md": "[[Old#x]] [[B]]", "A/B.md": "see [[Old|the old]]\n\n`[[Old]]`", "C.md": "x"}
    )
    done = move(kb, "Old.md", "A/New.md")
    assert ([entry.path for entry in done.notes], done.links, done.left) == (["A/New.md"], 2, 0)
    assert texts(kb) == {
        "A/B.md": "see [[New|the old]]\n\n`[[Old]]`",
        "A/New.md": "[[New#x]] [[B]]",
        "C.md": "x",
    }
    newest = kb.ask(lambda library: history.versions(library, library.find("A/B.md").id))[0]
    assert newest.author == "ann"
    assert [back.source for back in kb.links.links_of("A/New.md").links.backlinks] == [
        "A/B.md",
        "A/New.md",
    ]


def test_a_refused_move_changes_nothing(kb: KnowledgeBase) -> None:
    notes = {"Old.md": "", "B.md": "[[Old]]", "C.md": "[[Old]]"}
    fill(kb, notes)
    heard: list[object] = []
    kb.ask(lambda library: library.listen(heard.append))
    kb.ask(lambda library: library.catalogue.watch(heard.append))
    for target, kind in (("B.md", Conflict), ("b.MD.md/x.md", None), ("a#b.md", InvalidParams)):
        if kind:
            with pytest.raises(kind):
                move(kb, "Old.md", target)
    with pytest.raises(NotFound):
        move(kb, "Missing.md", "X.md")
    assert (texts(kb), heard) == (dict(sorted(notes.items())), [])


def test_a_move_that_fails_in_the_middle_is_undone(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = {"Old.md": "", **{f"B{n}.md": "[[Old]]" for n in range(4)}}
    fill(kb, notes)
    amend, calls = Library.amend, iter(range(9))

    def fails(*args: object, **more: object) -> object:
        if next(calls) == 2:
            raise Conflict("the third one")
        return amend(*args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(Library, "amend", fails)
    with pytest.raises(Conflict, match="the third one"):
        move(kb, "Old.md", "New.md")
    assert texts(kb) == dict(sorted(notes.items()))
    monkeypatch.undo()
    assert move(kb, "Old.md", "New.md").links == 4


def test_links_in_notes_that_one_may_not_write_are_left_and_counted(kb: KnowledgeBase) -> None:
    fill(kb, {"A/Old.md": "", "A/B.md": "[[Old]]", "Public/C.md": "[[Old]] [x](A/Old.md)"})
    who = Principal("bob", (Grant(Role.WRITE, "A"), Grant(Role.READ, "Public")))
    done = move(kb, "A/Old.md", "A/New.md", who)
    assert (done.links, done.left) == (1, 2)
    assert texts(kb)["Public/C.md"] == "[[Old]] [x](A/Old.md)"


SEEN = {
    "A/B.md": "[[Salary]] [[Salary.md#h]] [x](../Secret/Salary.md) [[Deep/Salary]] [[Old]]",
    "A/Old.md": "[[B]] [[Salary]] ![[Old]]",
    "A/Sub/C.md": "[[./Plan]] [[../Old]] [[Old]] [x](Old.md)",
    "A/Sub/Plan.md": "[[Plan]]",
}
HIDDEN = {
    "Secret/Deep/Salary.md": "[[Old]] [[A/B]]",
    "Secret/Salary.md": "[x](../A/Old.md) [[Plan]]",
    "Plan.md": "[[A/Sub/Plan]]",
    "Old.md": "[[Salary]]",
}
MOVES = (
    ("A/Old.md", "A/Salary.md"),
    ("A/Salary.md", "A/Deep/Salary.md"),
    ("A/B.md", "A/Sub/Deeper/B.md"),
    ("A/Sub", "A/Plan"),
    ("A/Plan/Plan.md", "A/Old.md"),
)


def seen_after_each(kb: KnowledgeBase, notes: Mapping[str, str]) -> Iterator[object]:
    """What a writer of one folder learns from moves in it, and from the links there."""
    fill(kb, notes)
    bob = Principal("bob", (Grant(Role.WRITE, "A"),))
    for source, target in MOVES:
        mover = moving.move_note if source.endswith(".md") else moving.move_folder
        done = mover(kb, source, target, bob, "bob")
        found = {path: text for path, text in texts(kb).items() if bob.sees(path)}
        links = {
            path: replace(seen_by(bob, kb.links, path), attachments=frozenset()) for path in found
        }
        yield done.links, done.left, found, links


def test_a_move_tells_a_writer_of_one_folder_nothing_of_notes_outside(
    kb: KnowledgeBase, tmp_path: Path
) -> None:
    Home.create(tmp_path / "alone")
    alone = KnowledgeBase(tmp_path / "alone")
    try:
        (alone.home.attachments / "A").mkdir(parents=True)
        (kb.home.attachments / "Secret").mkdir(parents=True)
        (kb.home.attachments / "Secret" / "Old").write_bytes(b"comes before Old.md")
        without = list(seen_after_each(alone, SEEN))
        assert list(seen_after_each(kb, {**SEEN, **HIDDEN})) == without
        after = texts(kb)
        assert {path: after[path] for path in HIDDEN} == HIDDEN
    finally:
        alone.close()


def test_letters_typed_meanwhile_are_kept(kb: KnowledgeBase) -> None:
    ids = fill(kb, {"Old.md": "", "B.md": "see [[Old]] now"})
    peer = kb.ask(lambda library: Peer(library, ids["B.md"]))
    typed = kb.ask(lambda _: peer.type(" and more"))
    updates: list[NoteChange] = []
    kb.ask(lambda library: library.listen(updates.append))
    move(kb, "Old.md", "A longer name.md")
    kb.ask(lambda library: library.receive(ids["B.md"], [typed], "bob"))
    assert texts(kb)["B.md"] == "see [[A longer name]] now and more"
    kb.ask(lambda _: peer.hear(updates[0].update))
    assert peer.text.read() == "see [[A longer name]] now and more"
    assert len(updates[0].update) < 150, "a splice, and not the whole text"


def test_suggestions_keep_their_marks_and_can_be_decided(kb: KnowledgeBase) -> None:
    fill(kb, {"Old.md": "", "B.md": "one [[Old]] two"})
    propose(kb, "B.md", Edit("one [[Old]]", "uno [[Old]] and [[Old|x]]"), "agent")
    done = move(kb, "Old.md", "New.md")
    assert (done.links, done.left) == (3, 0)
    assert texts(kb)["B.md"] == "{--one [[New]]--}{++uno [[New]] and [[New|x]]++} two"
    (pending,) = kb.review.suggestions(Query(), ANN).suggestions
    assert (pending.old, pending.new) == ("one [[New]]", "uno [[New]] and [[New|x]]")
    (decided,) = kb.review.decide([pending.id], Action.ACCEPT, ANN, "ann")
    assert decided.decided is not None
    assert texts(kb)["B.md"] == "uno [[New]] and [[New|x]] two"
    kb.review.undo(decided.decided.id, ANN)
    kb.review.decide([pending.id], Action.REJECT, ANN, "ann")
    assert texts(kb)["B.md"] == "one [[New]] two"


def test_a_damaged_note_is_left(kb: KnowledgeBase, tmp_path: Path) -> None:
    ids = fill(kb, {"Old.md": "", "B.md": "[[Old]]", "C.md": "[[Old]]"})
    kb.ask(lambda library: library.read(ids["B.md"]))
    kb.ask(
        lambda _: kb._database.execute(
            "UPDATE records SET content = x'00' WHERE note = ?", ids["B.md"]
        )
    )
    kb.ask(lambda library: library._cache.drop(ids["B.md"]))
    kb.ask(lambda library: library.published.pop(ids["B.md"]))
    done = move(kb, "Old.md", "New.md")
    assert (done.links, done.left) == (1, 1)


# ── folders ─────────────────────────────────────────────────────────────────────────────────────


def test_a_folder_moves_with_its_notes_and_their_links(kb: KnowledgeBase) -> None:
    fill(
        kb,
        {
            "A/One.md": "[[./Two]] [[A/B/Three]]",
            "A/Two.md": "[[Home]] ![p](./pic.png)",
            "A/B/Three.md": "[[../One]]",
            "Home.md": "[[A/One]] [[Two]] [t](A/B/Three.md#x)",
            "Ab/Other.md": "",
        },
    )
    (kb.home.attachments / "A").mkdir()
    (kb.home.attachments / "A" / "pic.png").write_bytes(b"")
    done = move_folder(kb, "A", "New place/A")
    assert (len(done.notes), done.links, done.left) == (3, 4, 0)
    assert texts(kb) == {
        "Ab/Other.md": "",
        "Home.md": "[[New place/A/One]] [[Two]] [t](New%20place/A/B/Three.md#x)",
        "New place/A/B/Three.md": "[[../One]]",
        "New place/A/One.md": "[[./Two]] [[New place/A/B/Three]]",
        "New place/A/Two.md": "[[Home]] ![p](../../A/pic.png)",
    }


def test_a_folder_changes_its_case_or_goes_up(kb: KnowledgeBase) -> None:
    fill(kb, {"team/A.md": "[[team/B]]", "team/B.md": "", "X/X/X/y.md": "", "X/X/y.md": "[[X/y]]"})
    assert len(move_folder(kb, "team", "Team").notes) == 2
    assert len(move_folder(kb, "X/X", "Z").notes) == 2
    assert sorted(texts(kb)) == ["Team/A.md", "Team/B.md", "Z/X/y.md", "Z/y.md"]
    with pytest.raises(Conflict, match="Team is there already"):
        move_folder(kb, "Z", "Team")
    with pytest.raises(InvalidParams, match="is inside Z"):
        move_folder(kb, "Z", "Z/X/new")
    with pytest.raises(NotFound, match="there is no folder Nowhere"):
        move_folder(kb, "Nowhere", "Y")
    with pytest.raises(InvalidParams, match="begins with a dot"):
        move_folder(kb, "Z", ".hidden")


def test_a_folder_is_deleted_as_a_whole(kb: KnowledgeBase) -> None:
    fill(kb, {"A/One.md": "", "A/B/Two.md": "", "AB.md": "", "Ab/x.md": ""})
    assert delete_folder(kb, "A") == 2
    assert sorted(texts(kb)) == ["AB.md", "Ab/x.md"]
    with pytest.raises(NotFound):
        delete_folder(kb, "A")
    trash = kb.ask(lambda library: library.catalogue.trash())
    assert {entry.last_path for entry in trash} == {"A/One.md", "A/B/Two.md"}


def test_more_than_is_moved_at_once_is_refused(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(kb, {"A/Old.md": "", **{f"A/{n}.md": "[[Old]]" for n in range(4)}})
    monkeypatch.setattr(limits, "RELINKED_NOTES", 3)
    with pytest.raises(InvalidParams, match="links in 4 notes would have to follow"):
        move(kb, "A/Old.md", "New.md")
    monkeypatch.setattr(limits, "FOLDER_NOTES", 3)
    for job in (partial(move_folder, kb, "A", "B"), partial(delete_folder, kb, "A")):
        with pytest.raises(InvalidParams, match="A holds 5 notes"):
            job()


# ── any move ────────────────────────────────────────────────────────────────────────────────────


def meant(kb: KnowledgeBase) -> dict[str, list[str | None]]:
    """By the id of each note: the notes that its links mean."""
    found = texts(kb)
    ids: dict[str, str] = {leaf.path: leaf.note for leaf in kb.listing.all()}
    paths = Paths(found)
    return {
        ids[path]: [ids.get(paths.resolve(link.target, path) or "") for link in parse(text)]
        for path, text in found.items()
    }


@pytest.mark.parametrize("seed", range(12))
def test_moves_one_after_the_other_keep_what_every_link_means(
    kb: KnowledgeBase, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(seed)
    monkeypatch.setattr(moving, "_PREPARED", draw.choice([0, 20]))
    notes = {
        path: text.replace("{", "(").replace("}", ")")
        for path, text in vault(draw).items()
        if path.endswith(".md") and not path.startswith("a/")
    }
    fill(kb, notes)
    done = 0
    for _ in range(8):
        now = texts(kb)
        wanted = moves(draw, now)
        before = meant(kb)
        try:
            for source, target in wanted.items():
                done += move(kb, source, target).links
        except FlashgrepError:
            pass  # a name that a file system takes for another one
        after = meant(kb)
        for note, links in before.items():
            kept = [two for one, two in zip(links, after[note], strict=True) if one]
            assert kept == [one for one in links if one], (note, now, wanted, texts(kb))


def test_what_is_typed_between_looking_and_moving_is_mended_too(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Links that come, and a note of the same name, while the notes are read."""
    fill(kb, {"Old.md": "", "B.md": "[[Old]]", "C.md": "x"})
    monkeypatch.setattr(moving, "_PREPARED", 0)
    prepare = moving._Move._prepare

    def meanwhile(self: moving._Move, broken: moving._Broken) -> None:
        prepare(self, broken)

        def job(library: Library) -> CatalogueEntry:
            peer = Peer(library, library.find("B.md").id)
            library.receive(peer.note, [peer.type(" [[Old|2]]")], "bob")
            peer = Peer(library, library.find("C.md").id)
            library.receive(peer.note, [peer.type(" [[Old|3]]")], "bob")
            return library.create("A/New.md", "", "bob")

        kb.ask(job)

    monkeypatch.setattr(moving._Move, "_prepare", meanwhile)
    assert move(kb, "Old.md", "B/New.md").links == 3
    assert (texts(kb)["B.md"], texts(kb)["C.md"]) == ("[[B/New]] [[B/New|2]]", "x [[B/New|3]]")
