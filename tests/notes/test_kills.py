"""Kill -9 while five write: what was acknowledged is there once, and every note is readable."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest

from flashgrep.notes.home import Home
from flashgrep.notes.knowledge_base import KnowledgeBase
from tests.notes.test_kept_texts import searched, slowly
from tests.notes.test_tables import rebuilt, stored

HEAVY = os.environ.get("FLASHGREP_HEAVY") == "1"
SEED = int(os.environ.get("FLASHGREP_SEED", "1"))
KILLS = 1_000 if HEAVY else 8
MOST_ACKNOWLEDGED = 400 if HEAVY else 60
KILLS_A_HOME = 5
ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.fault, pytest.mark.timeout(7_200 if HEAVY else 600)]


@dataclass
class Told:
    """What the writers said before they died."""

    notes: set[str] = field(default_factory=set)
    there: set[tuple[str, str]] = field(default_factory=set)
    unsure: set[tuple[str, str]] = field(default_factory=set)
    gone: set[tuple[str, str]] = field(default_factory=set)

    def hear(self, line: str) -> None:
        sign, note, word = line.rstrip("\n").split(" ", 2)
        one = {(note, word)}
        if sign == "*":
            self.notes.add(note)
        elif sign == "+":
            self.there |= one
        elif sign == "?":
            self.there -= one
            self.unsure |= one
        else:
            self.unsure -= one
            self.gone |= one


class Writers:
    """The program that starts writers, spoken to in lines."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._sink, self._source = process.stdin, process.stdout

    def write_and_die(self, home: Path, seed: str, acknowledgements: int, told: Told) -> int:
        """Have some write until they have said so much, and kill them; gives how much they said."""
        self._sink.write(json.dumps([str(home), seed]) + "\n")
        self._sink.flush()
        heard, pid = 0, 0
        for line in self._source:
            if line.startswith("."):
                break
            if line.startswith("!"):
                pid = int(line[1:])
                continue
            told.hear(line)
            heard += 1
            if heard == acknowledgements:
                os.kill(pid, signal.SIGKILL)
        assert heard >= acknowledgements, "the writers died by themselves"
        return heard


@pytest.fixture
def writers() -> Iterator[Writers]:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.notes.writers"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
        text=True,
        encoding="utf-8",
    ) as process:
        yield Writers(process)


def check(home: Path, told: Told) -> None:
    """Nothing that was acknowledged is missing, back or double; nothing is unreadable."""
    notes = KnowledgeBase(home)
    try:
        ids = {entry.id for entry in notes.ask(lambda library: library.catalogue.entries())}
        assert searched(notes) == notes.ask(slowly)  # before anything is loaded
        assert told.notes <= ids
        lines = {note: Counter(notes.read(note).text.splitlines()) for note in ids}
        rows, expected = stored(notes), rebuilt(notes)
        assert rows == {note: expected[note] for note in rows}
    finally:
        notes.close()
    missing = [one for one in told.there if lines[one[0]][one[1]] != 1]
    back = [one for one in told.gone if lines[one[0]][one[1]]]
    double = [word for found in lines.values() for word, count in found.items() if count > 1]
    assert (missing, back, double) == ([], [], [])


def test_no_acknowledged_edit_is_lost(writers: Writers, tmp_path: Path) -> None:
    chance = Random(SEED)
    said = 0
    told = Told()
    home = tmp_path
    for number in range(KILLS):
        if number % KILLS_A_HOME == 0:
            home, told = Home.create(tmp_path / f"kb{number}").path, Told()
        wanted = chance.randint(1, MOST_ACKNOWLEDGED)
        said += writers.write_and_die(home, f"{SEED}.{number}", wanted, told)
        check(home, told)
    print(f"{KILLS} kills, {said} acknowledged, 0 lost, seed {SEED}")  # noqa: T201 - shown by make faults
