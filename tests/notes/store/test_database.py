"""The database file: what is not ours is refused and left alone, and a copy is whole."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path

import pytest

from flashgrep.errors import IOFailure, Unavailable
from flashgrep.notes.store.database import FORMAT, Database

SCHEMA = "CREATE TABLE words (word TEXT);"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    Database.create(tmp_path / "a.db", SCHEMA)
    return tmp_path / "a.db"


def words(path: Path) -> list[str]:
    database = Database(path)
    try:
        return [word for (word,) in database.rows("SELECT word FROM words ORDER BY rowid")]
    finally:
        database.close()


def test_a_database_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(IOFailure, match="unable to open"):
        Database(tmp_path / "none.db")
    assert list(tmp_path.iterdir()) == []


def test_a_database_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("CREATE TABLE theirs (x)")
    other.close()
    before = (tmp_path / "other.db").read_bytes()
    with pytest.raises(Unavailable) as refused:
        Database(tmp_path / "other.db")
    told = f"{tmp_path}/other.db is not a flashgrep knowledge base; name another --kb"
    assert refused.value.message == told
    assert (tmp_path / "other.db").read_bytes() == before


def test_the_page_about_notes_says_which_format_it_is() -> None:
    page = Path(__file__).parents[3] / "docs" / "knowledge-base.md"
    assert f"its `user_version` the format, {FORMAT}." in " ".join(page.read_text().split())


def test_a_later_format_is_refused_and_left_alone(path: Path) -> None:
    newer = sqlite3.connect(path)
    newer.execute(f"PRAGMA user_version = {FORMAT + 1}")
    newer.close()
    before = path.read_bytes()
    with pytest.raises(Unavailable):
        Database(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "is not a flashgrep knowledge base; name another --kb"),
        (
            b"no database at all, but long enough to be read" * 99,
            "is damaged (file is not a database); restore a backup",
        ),
    ],
    ids=["empty", "text"],
)
def test_a_file_that_is_no_database_is_refused_and_left_alone(
    path: Path, content: bytes, told: str
) -> None:
    path.write_bytes(content)
    with pytest.raises((Unavailable, IOFailure)) as refused:
        Database(path)
    assert refused.value.message == f"{path} {told}"
    assert path.read_bytes() == content


def test_a_copy_is_taken_while_a_transaction_is_open(path: Path, tmp_path: Path) -> None:
    database = Database(path)
    database.execute("INSERT INTO words VALUES ('kept')")
    with database.transaction():
        database.execute("INSERT INTO words VALUES ('open')")
        database.backup(tmp_path / "copy.db")
    database.close()
    assert words(tmp_path / "copy.db") == ["kept"]
    assert words(path) == ["kept", "open"]
    assert (tmp_path / "copy.db").stat().st_mode & 0o077 == 0


def test_actions_wait_for_the_end_of_the_outermost_transaction(path: Path) -> None:
    database = Database(path)
    told: list[str] = []

    def given_up(name: str) -> None:
        with suppress(KeyError), database.transaction():
            database.when_done(lambda: told.append(f"{name} done"))
            database.when_undone(lambda: told.append(f"{name} undone"))
            raise KeyError

    with database.transaction():
        database.when_done(lambda: told.append("outer done"))
        database.when_undone(lambda: told.append("outer undone"))
        given_up("inner")
        assert told == ["inner undone"]
    assert told == ["inner undone", "outer done"]
    given_up("next")
    assert told == ["inner undone", "outer done", "next undone"]
    database.close()
