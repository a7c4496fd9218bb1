"""An older knowledge base is brought up whole or not at all, and a copy of it is kept."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from flashgrep.errors import Unavailable
from flashgrep.notes.home import OLDEST, STEPS, Home
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.notes.store.database import FORMAT, Database
from tests.formats.generate import described
from tests.formats.stored import EARLIER, as_stored, copied, held

ROOT = Path(__file__).parents[2]
KILLS = 10 if os.environ.get("FLASHGREP_HEAVY") == "1" else 6
PARTS = ("notes", "suggestions", "decisions", "links", "attachments")


def format_of(database: Path) -> int:
    connection = sqlite3.connect(database)
    try:
        (found,) = connection.execute("PRAGMA user_version").fetchone()
        return int(found)
    finally:
        connection.close()


def tables_of(database: Path) -> set[str]:
    connection = sqlite3.connect(database)
    try:
        rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        return {name for (name,) in rows}
    finally:
        connection.close()


def content(path: Path, name: str) -> dict[str, object]:
    """What a stored knowledge base holds."""
    kb = KnowledgeBase(path)
    try:
        found = as_stored(json.loads(json.dumps(described(kb))), name)
    finally:
        kb.close()
    return {part: found[part] for part in PARTS}


def expected(name: str) -> dict[str, object]:
    return {part: held(name)[part] for part in PARTS}


def dying(home: Path, step: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.notes.dying", str(home), str(step)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_every_format_that_was_ever_stored_has_a_way_to_ours() -> None:
    assert sorted(map(int, EARLIER)) == [OLDEST, *sorted(STEPS)[1:]]
    assert sorted(STEPS) == list(range(OLDEST, FORMAT))


@pytest.mark.parametrize("name", EARLIER)
def test_the_database_as_it_was_is_kept_beside_the_new_one(name: str, tmp_path: Path) -> None:
    home = copied(name, "kb", tmp_path / "kb")
    before = (home / "notes.db").read_bytes()
    assert content(home, name) == expected(name)
    assert format_of(home / "notes.db") == FORMAT
    copy = home / f"notes.db.format-{name}"
    assert format_of(copy) == int(name)
    assert copy.stat().st_mode & 0o077 == 0
    assert "outcomes" not in tables_of(copy)
    shutil.rmtree(home)
    home = copied(name, "kb", tmp_path / "kb")
    assert (home / "notes.db").read_bytes() == before


def test_a_copy_can_be_put_back_and_is_brought_up_again(tmp_path: Path) -> None:
    name = EARLIER[0]
    home = copied(name, "kb", tmp_path / "kb")
    assert content(home, name) == expected(name)
    copy = home / f"notes.db.format-{name}"
    copy.rename(home / "notes.db")
    assert content(home, name) == expected(name)
    assert copy.is_file()


def test_a_database_of_our_format_is_not_copied(tmp_path: Path) -> None:
    home = Home.create(tmp_path / "kb")
    KnowledgeBase(home.path).close()
    assert [path.name for path in home.path.glob("notes.db.*")] == []


def test_only_copies_of_earlier_migrations_are_removed(tmp_path: Path) -> None:
    home = copied(EARLIER[-1], "kb", tmp_path / "kb")
    number = int(EARLIER[-1])
    others = {
        f"notes.db.format-{number - 1}": False,
        f"notes.db.format-{number + 5}": True,
        "notes.db.format-0x": True,
        "notes.db.old": True,
        "my.format-0": True,
    }
    for other in others:
        (home / other).write_bytes(b"x")
    KnowledgeBase(home).close()
    assert {other: (home / other).exists() for other in others} == others


@pytest.mark.parametrize("number", [0, FORMAT + 1, 99])
def test_a_format_without_a_way_to_ours_is_refused_and_left_alone(
    number: int, tmp_path: Path
) -> None:
    home = copied(EARLIER[0], "kb", tmp_path / "kb")
    connection = sqlite3.connect(home / "notes.db")
    connection.execute(f"PRAGMA user_version = {number}")
    connection.close()
    before = (home / "notes.db").read_bytes()
    with pytest.raises(Unavailable) as refused:
        KnowledgeBase(home)
    known = (
        f"reads formats {OLDEST} to {FORMAT}; restore a backup"
        if number < OLDEST
        else f"knows formats up to {FORMAT}; use the newer flashgrep that wrote it"
    )
    told = f"{home / 'notes.db'} has format {number}, and this flashgrep {known}"
    assert refused.value.message == told
    assert (home / "notes.db").read_bytes() == before
    assert list(home.glob("notes.db.*")) == []


def test_a_step_that_fails_leaves_the_old_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = copied(EARLIER[-1], "kb", tmp_path / "kb")
    before = tables_of(home / "notes.db")
    with monkeypatch.context() as patched:
        patched.setitem(STEPS, FORMAT - 1, STEPS[FORMAT - 1] + "CREATE TABLE notes (x);\n")
        with pytest.raises(Exception, match="already exists"):
            KnowledgeBase(home)
    assert (format_of(home / "notes.db"), tables_of(home / "notes.db")) == (FORMAT - 1, before)
    assert content(home, EARLIER[-1]) == expected(EARLIER[-1])


@pytest.mark.fault
@pytest.mark.timeout(600)
def test_a_kill_at_any_step_leaves_the_old_or_the_new_format_and_both_open(tmp_path: Path) -> None:
    name = EARLIER[0]
    whole = copied(name, "kb", tmp_path / "whole")
    steps = int(dying(whole, 10**9).stdout)
    assert steps > KILLS
    seen = set()
    last = list(range(steps - KILLS // 2, steps))
    for step in [*range(0, steps - KILLS // 2, max(steps // (KILLS // 2), 1)), *last]:
        home = copied(name, "kb", tmp_path / f"kb{step}")
        assert dying(home, step).returncode == -signal.SIGKILL
        found = format_of(home / "notes.db")
        assert found in (int(name), FORMAT)
        assert ("outcomes" in tables_of(home / "notes.db")) == (found == FORMAT)
        seen.add(found)
        assert content(home, name) == expected(name)
        Database(home / "notes.db").close()
        shutil.rmtree(home)
    assert seen == {int(name), FORMAT}
