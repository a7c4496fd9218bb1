"""An export that is imported again: every suggestion is whose it was, from when it was."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flashgrep import limits
from flashgrep.errors import Conflict, FlashgrepError, TooLarge
from flashgrep.notes.access.roles import Author, AuthorKind, Role, everywhere
from flashgrep.notes.folders.note_file import NAME
from flashgrep.notes.folders.vault import Imported, import_folder
from flashgrep.notes.library import Library
from flashgrep.notes.markup import critic
from flashgrep.notes.review.commenting import CommentedPassage
from flashgrep.notes.review.review import Query
from flashgrep.notes.review.verdict import Action
from flashgrep.notes.suggestions.pending import recorded
from flashgrep.notes.suggestions.plan import Edit
from flashgrep.notes.suggestions.propose import Markup, propose
from flashgrep.transports.daemon.notes_client import OwnerClient
from tests.notes.folders.test_incoming import Base
from tests.notes.vault import plant
from tests.web.served import served

ADMIN = everywhere("admin", Role.ADMIN)
LONG = "x" * (limits.MARK_CHARS + 10)
TEXT = "alpha beta\n\n```\ncode here\n```\n\nlast fine line\n"


@pytest.fixture
def base(tmp_path: Path) -> Iterator[Base]:
    made = Base(tmp_path)
    made.notes.ask(lambda library: library.create("Deep/N.md", TEXT, "maker"))
    for old, new, author in (
        ("beta", "gamma", "robot/agent"),
        ("code", "KODE", "robot/agent"),
        ("last", LONG, "other"),
        ("line", "", "third"),
    ):
        propose(made.notes, "Deep/N.md", Edit(old, new), author)
    yield made
    made.notes.close()


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Base]:
    (tmp_path / "other").mkdir()
    made = Base(tmp_path / "other")
    yield made
    made.notes.close()


def suggestions(base: Base) -> list[tuple[Any, ...]]:
    page = base.notes.review.suggestions(Query(), ADMIN)
    return [(one.id, one.path, one.author, one.time, one.old, one.new) for one in page.suggestions]


def bring(base: Base, folder: Path, *, force: bool = False) -> Imported:
    return import_folder(base.desk, folder, "importer", force)


def test_a_new_knowledge_base_has_every_suggestion_as_it_was(base: Base, other: Base) -> None:
    propose(base.notes, "Deep/N.md", Edit("gamma", "delta"), "robot/agent")  # changed since
    base.export()
    done = bring(other, base.out)
    assert (done.failed, done.restored, done.lost, done.hidden) == ({}, 4, {}, [])
    assert suggestions(other) == suggestions(base)
    assert len(suggestions(base)) == 4
    before, after = (
        one.notes.ask(lambda library: library.records(library.find("Deep/N.md").id))
        for one in (base, other)
    )
    keys = ("kind", "author", "time", "changed")
    assert {name: [one.value.get(key) for key in keys] for name, one in after.items()} == {
        name: [one.value.get(key) for key in keys] for name, one in before.items()
    }
    base.out = other.folder / "again"
    base.desk = other.desk
    assert base.export().failed == {}
    assert (base.out / "Deep/N.md").read_text() == other.text("Deep/N.md")


def talked(base: Base) -> None:
    """Two threads in code, one of them on a suggestion, with a reply."""
    commenting = base.notes.commenting
    (code,) = [one for one in suggestions(base) if one[4] == "code"]
    commenting.on_suggestion("Deep/N.md", code[0], "Why?", ADMIN, Author("ann", AuthorKind.PERSON))
    start = base.text("Deep/N.md").index(" here") + 1
    passage = CommentedPassage(start, start + 4, "here")
    said = commenting.on_passage(
        "Deep/N.md", passage, "Where?", ADMIN, Author("eva", AuthorKind.PERSON)
    )
    commenting.reply(said.id, "There.", ADMIN, Author("robot/agent", AuthorKind.TOKEN))


def test_comments_come_back_as_they_were_in_code_too(base: Base, other: Base) -> None:
    talked(base)
    before, _ = base.notes.commenting.listed(ADMIN)
    assert [(one["text"], one["quote"], len(one["replies"])) for one in before] == [
        ("Why?", None, 0),
        ("Where?", "here", 1),
    ]
    base.export()
    done = bring(other, base.out)
    assert (done.failed, done.restored, done.lost) == ({}, 7, {})
    after, _ = other.notes.commenting.listed(ADMIN)
    assert after == before
    # Once more, where these ids are taken: other ids, the same threads.
    (base.out / "Deep/N.md").rename(base.out / "Deep/M.md")
    bring(other, base.out)
    copied, _ = other.notes.commenting.listed(ADMIN, "Deep/M.md")
    for one, copy in zip(before, copied, strict=True):
        assert [(r["author"], r["time"], r["text"]) for r in (copy, *copy["replies"])] == [
            (r["author"], r["time"], r["text"]) for r in (one, *one["replies"])
        ]
        assert copy["id"] != one["id"]


def test_a_list_that_calls_a_suggestion_a_comment_hides_nothing(base: Base, other: Base) -> None:
    base.export()
    listed = base.out / NAME
    listed.write_text(listed.read_text().replace('"id": "s_', '"id": "c_'))
    done = bring(other, base.out)
    assert done.restored == 0
    assert other.notes.commenting.listed(ADMIN) == ([], False)
    assert {one[4] for one in suggestions(other)} >= {"beta"}


def test_suggestions_of_crlf_files_with_a_byte_order_mark_come_back(
    base: Base, other: Base
) -> None:
    base.write("W.md", "\ufeffone é😀\r\ntwo\r\nthree\r\n")
    base.bring()
    propose(base.notes, "W.md", Edit("two\nthree", "2\n日本"), "robot")
    base.export()
    bring(other, base.out)
    assert suggestions(other) == suggestions(base)
    assert (base.out / "W.md").read_bytes().startswith("\ufeffone é😀\r\n{--two\r\n".encode())


def test_an_agent_finds_its_own_suggestion_and_a_retry_does_nothing(
    base: Base, other: Base
) -> None:
    base.export()
    bring(other, base.out)
    done = propose(other.notes, "Deep/N.md", Edit("beta", "gamma"), "robot/agent")
    assert done.is_repeated


@pytest.mark.parametrize("markup", list(Markup))
def test_an_author_goes_on_with_its_own_suggestions_in_place(
    base: Base, other: Base, markup: Markup
) -> None:
    base.notes.ask(lambda library: library.create("W.md", "é 😀 alpha beta\n", "maker"))
    for old, new in (("alpha", "日本😀\nzwei"), ("beta", "gamma")):
        propose(base.notes, "W.md", Edit(old, new), "robot/agent", markup=markup)
    base.export()
    bring(other, base.out)
    before = suggestions(other)
    propose(other.notes, "W.md", Edit("日本😀\nzwei", "日😀\ndrei"), "robot/agent", markup=markup)
    after = suggestions(other)
    assert [one[5] for one in after if one[1] == "W.md"] == ["日😀\ndrei", "gamma"]
    assert [one[0] for one in after] == [one[0] for one in before]
    propose(other.notes, "W.md", Edit("gamma", "beta"), "robot/agent", markup=markup)
    propose(other.notes, "W.md", Edit("日😀\ndrei", "alpha"), "robot/agent", markup=markup)
    assert other.text("W.md") == "é 😀 alpha beta\n"


def test_words_that_a_person_typed_into_a_suggestion_stay_theirs_after_two_imports(
    base: Base, other: Base, tmp_path: Path
) -> None:
    base.edit("Deep/N.md", "gamma", "gam, mild, ma")  # as a person types into an insertion
    base.export()
    bring(other, base.out)
    with pytest.raises(Conflict, match="importer typed into your pending suggestion"):
        propose(other.notes, "Deep/N.md", Edit("gam, mild, ma", "gamma"), "robot/agent")
    other.out = tmp_path / "second"
    other.export()
    (tmp_path / "third").mkdir()
    third = Base(tmp_path / "third")
    try:
        bring(third, other.out)
        assert suggestions(third) == suggestions(base)
        with pytest.raises(Conflict, match="typed into your pending suggestion"):
            propose(third.notes, "Deep/N.md", Edit("gam, mild, ma", "gamma"), "robot/agent")
        propose(third.notes, "Deep/N.md", Edit("KODE", "CODE"), "robot/agent")
    finally:
        third.notes.close()


def test_what_is_typed_beside_a_restored_suggestion_is_the_importers(
    base: Base, other: Base
) -> None:
    base.export()
    bring(other, base.out)
    assert writers(other, "Deep/N.md", "alpha ") == {"importer"}
    assert writers(other, "Deep/N.md", "{++gamma++}") == {"robot/agent"}
    assert writers(other, "Deep/N.md", LONG) == {"other"}
    assert writers(other, "Deep/N.md", "fine ") == {"importer"}
    other.edit("Deep/N.md", "alpha ", "alpha x ")
    assert writers(other, "Deep/N.md", "x ") == {"ann"}


def test_words_that_the_note_had_before_an_import_stay_their_writers(base: Base) -> None:
    """Though an export of before says that they are an agent's suggestion, and nobody else's."""
    base.notes.ask(lambda library: library.create("W.md", "alpha\n", "maker"))
    propose(base.notes, "W.md", Edit("alpha", "one\nof all\ntwo"), "robot/agent")
    base.export()
    (one,) = [each for each in suggestions(base) if each[1] == "W.md"]
    base.notes.review.decide([one[0]], Action.REJECT, ADMIN)
    base.edit("W.md", "alpha", "1\nof all\n2")
    assert import_folder(base.desk, base.out, "importer", True).restored == 1
    assert base.text("W.md") == "{--alpha--}{++one\nof all\ntwo++}\n"
    assert writers(base, "W.md", "of all") == {"ann"}
    with pytest.raises(Conflict, match="ann typed into your pending suggestion"):
        propose(base.notes, "W.md", Edit("of all", "gone"), "robot/agent")


def writers(base: Base, path: str, words: str) -> set[str]:
    """Who wrote these words of a note, as the journal has it."""

    def job(library: Library) -> set[str]:
        note = library.find(path).id
        start = library.read(note).text.index(words)
        found = library.writers(note, start, start + len(words))
        return {writer.name for _, writer in found if writer}

    return base.notes.ask(job)


@pytest.mark.parametrize("markup", list(Markup))
def test_of_a_file_edited_by_hand_what_still_fits_comes_back_and_the_rest_is_told(
    base: Base, other: Base, markup: Markup
) -> None:
    propose(base.notes, "Deep/N.md", Edit("fine", "good"), "fourth", markup=markup)
    base.export()
    file = base.out / "Deep/N.md"
    text = file.read_text()
    file.write_text("new first line\n" + text.replace("KODE", "CODE"))
    done = bring(other, base.out)
    (lost,) = done.lost["Deep/N.md"]
    assert lost.endswith(" by robot/agent")
    assert done.restored == 4
    kept = [one for one in suggestions(base) if one[5] != "KODE"]
    assert suggestions(other) == kept


def test_a_mark_changed_by_hand_outside_code_is_the_importers(base: Base, other: Base) -> None:
    base.export()
    file = base.out / "Deep/N.md"
    file.write_text(file.read_text().replace("gamma", "GAMMA"))
    bring(other, base.out)
    found = {(author, old, new) for _, _, author, _, old, new in suggestions(other)}
    assert ("importer", "beta", "GAMMA") in found
    assert ("robot/agent", "code", "KODE") in found


def test_a_file_changed_in_the_folder_brings_its_suggestions_back_with_it(base: Base) -> None:
    """Into the knowledge base that it came from: what a changed line held keeps its id."""
    base.export()
    before = suggestions(base)
    file = base.out / "Deep/N.md"
    file.write_text(file.read_text().replace("alpha ", "ALPHA "))
    done = bring(base, base.out)
    assert (done.fates, done.lost) == ({"changed": 1}, {})
    assert base.text("Deep/N.md").startswith("ALPHA {--beta--}{++gamma++}")
    assert suggestions(base) == before


@pytest.mark.parametrize("new", ["one", "one\ntwo"])
@pytest.mark.parametrize(
    "edits",
    [
        {"# Plan": "# The plan", "end of it": "end of the story"},
        {"start": "begin", "end of it": "end of the story"},
        {"# Plan": "top\n# Plan", "end of it": "end of it\n\nbottom"},
    ],
)
def test_a_suggestion_stays_whole_where_a_file_changed_around_its_marks(
    base: Base, new: str, edits: dict[str, str]
) -> None:
    base.notes.ask(
        lambda library: library.create("P.md", "# Plan\nx\nstart beta end of it\n", "maker")
    )
    propose(base.notes, "P.md", Edit("beta", new), "robot/agent")
    before = suggestions(base)
    base.export()
    file = base.out / "P.md"
    for was, now in edits.items():
        file.write_text(file.read_text().replace(was, now))
    done = bring(base, base.out)
    assert (done.failed, done.restored, done.lost) == ({}, 1, {})
    assert suggestions(base) == before


def test_what_is_left_of_a_suggestion_whose_mark_was_changed_is_one_of_the_importer(
    base: Base,
) -> None:
    base.notes.ask(lambda library: library.create("P.md", "one\nold alpha\n", "maker"))
    propose(base.notes, "P.md", Edit("alpha", "beta\ngamma\ndelta"), "robot/agent")
    base.export()
    file = base.out / "P.md"
    file.write_text(file.read_text().replace("\ngamma\ndelta++}", " two++} three"))
    done = bring(base, base.out)
    (lost,) = done.lost["P.md"]
    assert lost.endswith(" by robot/agent")
    assert [one[2:3] + one[4:] for one in suggestions(base) if one[1] == "P.md"] == [
        ("importer", "alpha", "beta two")
    ]


PLAIN = st.text("ab \n`#é😀", max_size=8)


@settings(
    max_examples=300 if os.environ.get("FLASHGREP_HEAVY") == "1" else 12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data(), text=st.text("ab \n`é😀", min_size=4, max_size=80))
def test_edits_beside_the_marks_leave_every_suggestion_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, text: str
) -> None:
    bases = []
    for name in ("base", "other"):
        folder = tmp_path_factory.mktemp(name)
        bases.append(Base(folder))
    base, other = bases
    try:
        base.notes.ask(lambda library: library.create("N.md", text, "maker"))
        for number in range(data.draw(st.integers(1, 4))):
            start = data.draw(st.integers(0, len(text) - 1))
            old = text[start : start + data.draw(st.integers(1, 4))]
            try:
                edit = Edit(old, data.draw(PLAIN), data.draw(st.booleans()))
                propose(base.notes, "N.md", edit, f"robot{number % 2}/agent")
            except FlashgrepError:
                continue  # not unique, or another one is there
        before = suggestions(base)
        base.export()
        file = base.out / "N.md"
        file.write_text(data.draw(edited_beside_marks(file.read_text(), marks_of(base))))
        for one in bases:
            done = bring(one, base.out)
            assert (done.failed, done.lost) == ({}, {})
            assert suggestions(one) == before
    finally:
        base.notes.close()
        other.notes.close()


def marks_of(base: Base) -> list[critic.Span]:
    def job(library: Library) -> list[critic.Span]:
        records = recorded(library.records(library.find("N.md").id))
        return sorted(span for record in records for span in record.spans)

    return base.notes.ask(job)


@st.composite
def edited_beside_marks(draw: st.DrawFn, text: str, marks: list[critic.Span]) -> str:
    """The text with other words between its marks, some of them kept."""
    pieces, at = [], 0
    for start, end in [*marks, (len(text), len(text))]:
        gap, at = text[at:start], end
        if draw(st.booleans()):
            places = sorted(draw(st.lists(st.integers(0, len(gap)), min_size=2, max_size=2)))
            gap = gap[: places[0]] + draw(PLAIN) + gap[places[1] :]
        pieces += [gap, text[start:end]]
    return "".join(pieces)


def test_a_renamed_file_of_an_export_keeps_authors_and_times(base: Base, other: Base) -> None:
    base.export()
    (base.out / "Deep/N.md").rename(base.out / "Renamed.md")
    assert bring(other, base.out).restored == 4
    expected = [("Renamed.md", *one[2:]) for one in suggestions(base)]
    assert [one[1:] for one in suggestions(other)] == expected


def test_an_id_that_is_here_already_is_not_given_twice(base: Base, other: Base) -> None:
    base.export()
    bring(other, base.out)
    for one in (base, other):
        one.notes.ask(
            lambda library: library.catalogue.move(library.find("Deep/N.md").id, "Moved.md")
        )
        assert bring(one, base.out, force=True).restored == 4
        found = suggestions(one)
        assert len(found) == len({name for name, *_ in found}) == 8


def test_an_export_that_was_made_again_tells_of_suggestions_made_since(
    base: Base, other: Base
) -> None:
    base.export()
    propose(base.notes, "Deep/N.md", Edit("alpha", "ALPHA"), "late")
    assert base.export().written == 1
    lines = (base.out / NAME).read_text().splitlines()
    again = base.export()
    assert (again.written, again.same) == (0, 1)
    assert (base.out / NAME).read_text().splitlines() == lines
    assert len(lines) == 2
    bring(other, base.out)
    assert suggestions(other) == suggestions(base)


def test_an_export_of_an_older_version_is_imported(base: Base, other: Base) -> None:
    base.export()
    listed = base.out / NAME
    lines = [json.loads(line) for line in listed.read_text().splitlines()]
    for line in lines:
        line.pop("suggestions", None)
    listed.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = bring(other, base.out)
    assert (done.failed, done.restored, done.lost) == ({}, 0, {})
    assert [one[2] for one in suggestions(other)] == ["importer"] * 3


@pytest.mark.parametrize(
    "told",
    [
        {"suggestions": "x"},
        {"suggestions": {"a": 1}},
        {"suggestions": [1, None, {}]},
        {"suggestions": [{"id": "s_1", "author": "x", "time": 1, "marks": [[0, 9, "0" * 16]]}]},
        {"note": {"a": 1}, "suggestions": [[[[[]]]]]},
    ],
)
def test_nonsense_in_the_list_of_an_export_holds_up_nothing(
    base: Base, other: Base, told: dict[str, Any]
) -> None:
    base.export()
    listed = base.out / NAME
    head, line = listed.read_text().splitlines()
    lines = [head, json.dumps({**json.loads(line), **told}), "[" * 100_000, "null", '{"path": 1}']
    listed.write_text("\n".join(lines))
    done = bring(other, base.out)
    assert done.failed[NAME].startswith("2 lines of it cannot be read; suggestions")
    assert (len(done.failed), done.restored) == (1, 0)
    entries = told["suggestions"] if isinstance(told["suggestions"], list) else []
    assert len(done.lost) == bool(entries)
    assert {one[2] for one in suggestions(other)} == {"importer"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"time": float("nan")},
        {"time": float("inf"), "more": float("-inf")},
        {"author": "\ud800"},
        {"id": "\udcff"},
        {"marks": [[0, float("nan"), "0" * 16]]},
    ],
)
def test_an_entry_that_no_message_can_hold_is_skipped_and_counted(
    base: Base, tmp_path: Path, wrong: dict[str, Any]
) -> None:
    """The owner, another process, is asked to import; it takes nothing that is not JSON."""
    base.export()
    listed = base.out / NAME
    head, line = listed.read_text().splitlines()
    row = json.loads(line)
    row["suggestions"][0].update(wrong)
    row["suggestions"][1]["more"] = float("nan")
    odd = {"path": "Deep/N.md", "note": "\ud800", "digest": "\ud800"}
    listed.write_text("\n".join([head, json.dumps(odd), json.dumps(row)]))
    (tmp_path / "served").mkdir()
    with served(tmp_path / "served", {}) as server, closing(OwnerClient(server.home)) as owner:
        done = import_folder(owner, base.out, "importer")
    assert (done.failed, done.restored) == ({}, 3)
    assert done.lost == {"Deep/N.md": ["1 that the export does not describe properly"]}


def test_a_list_that_is_too_large_is_refused(
    base: Base, other: Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    base.export()
    monkeypatch.setattr(limits, "EXPORT_LIST_BYTES", 100)
    with pytest.raises(TooLarge, match=r"\.flashgrep-export has \d+ bytes"):
        bring(other, base.out)


def test_a_note_with_more_suggestions_than_an_export_carries_is_told(
    base: Base, other: Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CARRIED_BYTES", 100)
    told = base.export().failed["Deep/N.md"]
    assert told.startswith("it is written, but its 4 suggestions are too many")
    assert (base.out / "Deep/N.md").read_text() == base.text("Deep/N.md")
    monkeypatch.undo()
    base.export()
    monkeypatch.setattr(limits, "CARRIED_BYTES", 100)
    assert bring(other, base.out).lost == {"Deep/N.md": ["4 that are too many for an import"]}


# ── names ───────────────────────────────────────────────────────────────────────────────────────


def test_files_with_misleading_names_are_told_and_old_notes_of_such_names_go_on(
    other: Base,
) -> None:
    plant(other.folder, {"a\u202egpj.md": b"x", "b\u202e.txt": b"x", "Fine.md": b"x"})
    done = other.bring()
    assert set(done.failed) == {"a\u202egpj.md", "b\u202e.txt"}
    assert all("U+202E" in reason for reason in done.failed.values())
    assert other.paths() == ["Fine.md"]
    note = other.notes.ask(lambda library: library.find("Fine.md").id)
    statement = "UPDATE notes SET path = ? WHERE id = ?"
    other.notes.ask(
        lambda library: library.catalogue._database.execute(statement, "a\u202egpj.md", note)
    )
    other.notes.ask(lambda library: library.catalogue.load())
    assert other.text("a\u202egpj.md") == "x"
    (other.folder / "a\u202egpj.md").write_bytes(b"y")
    assert bring(other, other.folder, force=True).fates["changed"] == 1
    assert other.text("a\u202egpj.md") == "y"
