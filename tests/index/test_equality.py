"""An answer with the index is the answer without it, byte for byte, whatever was changed just now.

Random trees, random edits (here and in another process), random calls. The changes are folded in
while the test runs, so that a question meets them on disk, in a fresh segment, or in between.
Of four trees one has a server that only reads the index, and one a server that watches nothing.
"""

from __future__ import annotations

import os
import shutil
import time
from contextlib import nullcontext
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.faults.telling import tell
from tests.index.edits import Edit, Gardener, apply
from tests.index.questions import glob_question, listing_question, question
from tests.index.thicket import Thicket
from tests.index.twins import Twins, haste, twins, unwatched

HEAVY = os.environ.get("FLASHGREP_HEAVY") == "1"
SEED = int(os.environ.get("FLASHGREP_SEED", "1"))
TREES = 100 if HEAVY else 2
ROUNDS = 26 if HEAVY else 7
QUESTIONS = 19
RESTARTED = 10
RACY_SECONDS = 1.1
SETTINGS: list[dict[str, Any]] = [
    {},
    {},
    {"deny_dir": ("**/build", "**/*.c")},
    {"max_output_chars": 2_000},
    {"allow_dir": (".",)},
]


class Session:
    """One tree, its twins and its history, which a failure prints."""

    rounds = ROUNDS

    def __init__(self, seed: int, top: Path, gardener: Gardener) -> None:
        self.seed, self.top, self.gardener = seed, top, gardener
        self.chance = Random(seed)
        self.tree = Thicket(top, self.chance)
        self.tree.grow()
        self.history: list[Any] = []
        self.compared = self.by_index = 0

    def run(self) -> None:
        settings = dict(self.chance.choice(SETTINGS))
        reads = self.seed % 4 == 1
        if reads:
            time.sleep(RACY_SECONDS)  # or the reader trusts none of it, and so tests nothing
        if "allow_dir" in settings:
            settings["allow_dir"] = (str(self.tree.root), str(self.tree.outside / "rooms"))
        with twins(self.top, reads=reads, **settings) as pair:
            self._compare(pair, RESTARTED)
            for _ in range(self.rounds):
                self._change(pair)
                self._compare(pair, QUESTIONS)
            self.by_index += pair.by_index
        with twins(self.top, **settings) as pair:
            self.history.append("restarted")
            self._compare(pair, RESTARTED)

    def _change(self, pair: Twins) -> None:
        for _ in range(self.chance.choice([1, 1, 2, 5])):
            edit = self.tree.edit()
            self.history.append(_short(edit))
            (apply if self.chance.random() < 0.5 else self.gardener.apply)(edit)
        if self.chance.random() < 0.08:
            pair.folded()
            self.history.append("folded")

    def _compare(self, pair: Twins, count: int) -> None:
        for _ in range(count):
            tool, arguments = self._question()
            direct = self.chance.random() < 0.3
            self.compared += 1
            indexed, plain = pair.both(tool, direct, arguments)
            assert indexed == plain, self._told(tool, direct, arguments)

    def _question(self) -> tuple[str, dict[str, Any]]:
        if self.chance.random() < 0.05:
            return "list_files", listing_question(self.chance)
        if self.chance.random() < 0.1:
            return "glob", glob_question(self.chance, self.tree)
        return "grep", question(self.chance, self.tree)

    def _told(self, tool: str, direct: bool, arguments: Any) -> str:
        lines = "\n".join(map(str, self.history[-25:]))
        call = f"{tool}{' (direct)' if direct else ''} {arguments}"
        return (
            f"seed {self.seed}, after {len(self.history)} edits, {self.compared}: {call}\n{lines}"
        )


def _short(edit: Edit) -> str:
    return " ".join(str(part)[-90:] for part in edit)


@pytest.mark.timeout(14_400 if HEAVY else 600)
def test_random_trees_random_edits_random_questions(tmp_path: Path) -> None:
    compared = by_index = 0
    with haste(ranked=HEAVY), Gardener() as gardener:
        for number in range(TREES):
            top = tmp_path / str(number)
            top.mkdir()
            session = Session(SEED * 1_000 + number, top, gardener)
            is_unwatched = number % 4 == 3 if HEAVY else number == 1
            with unwatched() if is_unwatched else nullcontext():
                session.run()
            compared += session.compared
            by_index += session.by_index
            shutil.rmtree(top)
    tell(f"{compared} comparisons, {by_index} by the index, seeds from {SEED * 1_000}")
    assert by_index > compared / 4  # or this would compare scans with scans
