"""The catalogue: notes by id and path, twins refused, and the table as the truth."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from flashgrep.errors import Conflict, InvalidParams, NotFound
from flashgrep.notes.store.catalogue import SCHEMA, Catalogue
from flashgrep.notes.store.database import Database


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    Database.create(tmp_path / "notes.db", SCHEMA)
    made = Database(tmp_path / "notes.db")
    yield made
    made.close()


@pytest.fixture
def catalogue(database: Database) -> Iterator[Catalogue]:
    made = Catalogue(database)
    yield made
    again = Catalogue(database)  # what is in memory is what is in the table
    assert again.entries() == made.entries()
    assert again.trash() == made.trash()
    assert {key: value for key, value in made._taken.items() if value} == again._taken
    assert again._by_epoch == made._by_epoch


def test_a_note_is_found_by_id_and_by_path(catalogue: Catalogue) -> None:
    made = catalogue.add("A/b.md", 5, {"bom": True})
    assert catalogue.entry(made.id) == catalogue.find("A/b.md") == made
    assert made.properties == {"bom": True}
    assert catalogue.find("a/b.md") is None
    with pytest.raises(NotFound, match="nothing"):
        catalogue.entry("nothing")


def test_a_path_is_found_in_either_unicode_form(catalogue: Catalogue) -> None:
    made = catalogue.add("e\u0301.md", 0, {})
    assert catalogue.find("é.md") == made
    assert made.path == "e\u0301.md"


def test_a_note_is_found_by_its_epoch_wherever_it_went(catalogue: Catalogue) -> None:
    made, other = catalogue.add("A.md", 5, {}), catalogue.add("B.md", 5, {})
    assert catalogue.of_epoch(made.epoch) == made
    moved = catalogue.move_all({made.id: "C.md", other.id: "A.md"})
    assert [catalogue.of_epoch(one.epoch) for one in (made, other)] == moved
    gone = catalogue.to_trash(made.id, 6)
    assert catalogue.of_epoch(made.epoch) == gone
    anew = catalogue.begin_epoch(other.id)
    assert [catalogue.of_epoch(one) for one in (other.epoch, anew.epoch, "")] == [None, anew, None]


def test_ids_and_epochs_are_never_given_twice(catalogue: Catalogue) -> None:
    first = catalogue.add("a.md", 0, {})
    catalogue.to_trash(first.id, 1)
    second = catalogue.add("a.md", 2, {})
    third = catalogue.begin_epoch(second.id)
    assert len({first.id, second.id}) == 2
    assert len({first.epoch, second.epoch, third.epoch}) == 3


@pytest.mark.parametrize(
    ("there", "asked"),
    [
        ("A/note.md", "A/note.md"),
        ("A/note.md", "A/Note.md"),
        ("A/note.md", "a/note.md"),
        ("A/note.md", "a/other.md"),  # two folders that differ by case
        ("é/note.md", "e\u0301/other.md"),
        ("a.md/b.md", "a.md"),  # a folder where the note would be
        ("a.md", "a.md/b.md"),
        ("a.md", "A.md/b.md"),
    ],
)
def test_a_twin_is_refused(catalogue: Catalogue, there: str, asked: str) -> None:
    catalogue.add(there, 0, {})
    other = catalogue.add("Else/x.md", 0, {})
    with pytest.raises(Conflict, match="there already"):
        catalogue.add(asked, 0, {})
    with pytest.raises(Conflict, match="there already"):
        catalogue.move(other.id, asked)
    assert len(catalogue.entries()) == 2


@pytest.mark.parametrize("path", ["../a.md", "a//b.md", "a", "a%2fb.md", ".a.md", "a\u202eb.md"])
def test_paths_are_checked_at_every_entrance(catalogue: Catalogue, path: str) -> None:
    note = catalogue.add("fine.md", 0, {}).id
    with pytest.raises(InvalidParams):
        catalogue.add(path, 0, {})
    with pytest.raises(InvalidParams):
        catalogue.move(note, path)
    catalogue.to_trash(note, 1)
    with pytest.raises(InvalidParams):
        catalogue.move(note, path)


@pytest.mark.parametrize("path", [".a/b.md", "a\u202eb.md"])
def test_a_note_of_an_older_version_stays_where_it_is_and_comes_back_from_the_trash(
    catalogue: Catalogue, path: str
) -> None:
    row = ("id", path, "epoch", 0, None, None, "{}")
    catalogue._database.execute("INSERT INTO notes VALUES (?, ?, ?, ?, ?, ?, ?)", *row)
    catalogue.load()
    assert [entry.path for entry in catalogue.entries()] == [path]
    assert catalogue.find(path) is not None
    catalogue.to_trash("id", 1)
    assert catalogue.move("id", path).path == path
    assert catalogue.move("id", "fine.md").path == "fine.md"
    with pytest.raises(InvalidParams, match="is not a valid path for a note"):
        catalogue.move("id", path)


@pytest.mark.parametrize("asked", ["B/c.md", "a/note.md", "A/Note.md", "note.md/x.md"])
def test_a_note_can_be_moved_also_to_its_own_twin(catalogue: Catalogue, asked: str) -> None:
    note = catalogue.add("A/note.md", 0, {}).id
    catalogue.move(note, asked)
    assert [entry.path for entry in catalogue.entries()] == [asked]
    assert catalogue.find("A/note.md") is None


def test_a_folder_that_others_are_in_keeps_its_spelling(catalogue: Catalogue) -> None:
    note = catalogue.add("A/note.md", 0, {}).id
    catalogue.add("A/other.md", 0, {})
    with pytest.raises(Conflict, match="A/ is there already"):
        catalogue.move(note, "a/note.md")


def test_the_trash_keeps_a_note_and_frees_its_path(catalogue: Catalogue) -> None:
    first = catalogue.add("a.md", 0, {})
    gone = catalogue.to_trash(first.id, 7)
    assert (gone.path, gone.trashed, gone.last_path) == (None, 7, "a.md")
    catalogue.add("a.md", 8, {})
    assert [entry.id for entry in catalogue.trash()] == [first.id]
    with pytest.raises(Conflict, match="trash already"):
        catalogue.to_trash(first.id, 9)
    with pytest.raises(Conflict):
        catalogue.move(first.id, "a.md")
    back = catalogue.move(first.id, "b.md")
    assert (back.trashed, back.last_path, back.epoch) == (None, None, first.epoch)
    assert catalogue.trash() == []


def test_a_transaction_that_fails_leaves_the_catalogue_as_it_was(
    catalogue: Catalogue, database: Database
) -> None:
    kept = catalogue.add("kept.md", 0, {})
    with suppress(KeyError), database.transaction():
        catalogue.add("new.md", 0, {})
        catalogue.move(kept.id, "moved.md")
        assert catalogue.find("new.md")
        raise KeyError
    assert catalogue.entries() == [kept]
    catalogue.add("new.md", 0, {})
