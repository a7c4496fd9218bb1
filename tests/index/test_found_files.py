"""glob and list_files from the index are those of a walk, whatever was changed just now.

The walk is the definition: the server without an index answers by it. Random trees with all kinds
of names, random edits right before the question, random patterns, orders and pages.
"""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.index.edits import Gardener
from tests.index.questions import glob_question, listing_question
from tests.index.test_equality import HEAVY, SEED, Session
from tests.index.twins import Twins, haste, twins, unwatched

TREES = 40 if HEAVY else 2


class _NameSession(Session):
    """Asks for names alone, and counts what the index answered."""

    answered = 0

    def _compare(self, pair: Twins, count: int) -> None:
        index = pair.indexed.services.index
        for name in ("found", "files"):
            setattr(index, name, self._counted(getattr(type(index), name).__get__(index)))
        super()._compare(pair, count)

    def _counted(self, ask: Any) -> Any:
        def counted(*arguments: Any) -> Any:
            found = ask(*arguments)
            self.answered += found is not None
            return found

        return counted

    def _question(self) -> tuple[str, dict[str, Any]]:
        if self.chance.random() < 0.3:
            return "list_files", listing_question(self.chance)
        return "glob", glob_question(self.chance, self.tree)


@pytest.mark.timeout(14_400 if HEAVY else 600)
def test_random_names_are_found_as_a_walk_finds_them(tmp_path: Path) -> None:
    compared = answered = 0
    with haste(), Gardener() as gardener:
        for number in range(TREES):
            top = tmp_path / str(number)
            top.mkdir()
            session = _NameSession(SEED * 7_000 + number, top, gardener)
            with unwatched() if number % 4 == 2 else nullcontext():
                session.run()
            compared += session.compared
            answered += session.answered
    assert answered > compared // 4, f"{answered} of {compared} by the index"


def test_what_happened_right_before_the_call_is_seen(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "deep" / "er").mkdir(parents=True)
    for name in ("a.py", "b.py", "deep/c.py", "deep/er/d.py"):
        (work / name).write_text("x\n", encoding="utf-8")
        os.utime(work / name, (1_700_000_000, 1_700_000_000))
    with twins(tmp_path) as pair:
        pair.ready()
        pair.folded()

        def seen() -> str:
            pair.agree("glob", pattern="*.py")
            return str(pair.agree("list_files", pattern="*.py"))

        assert "d.py" in seen()
        (work / "deep" / "new.py").write_text("x\n", encoding="utf-8")
        assert "deep/new.py" in seen()
        (work / "a.py").unlink()
        assert "a.py" not in seen()
        (work / "b.py").rename(work / "deep" / "b.py")
        assert '"deep/b.py"' in seen()
        (work / "deep" / "er").rename(work / "moved")
        assert '"moved/d.py"' in seen()
        (work / "moved" / "d.py").write_text("xx\n", encoding="utf-8")
        assert "moved/d.py" in pair.agree("glob", pattern="**", limit=1)
        (work / ".gitignore").write_text("moved/\n", encoding="utf-8")
        assert "moved" not in seen()
