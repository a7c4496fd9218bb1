"""A page is the whole answer, cut: whatever was asked, changed just now, or asked before.

Random trees and edits as in `test_equality`; of each question several pages, most of them one after
the other, so that a search goes on from an earlier page or has to begin anew. The whole answer is
that of a scan of the disk.
"""

from __future__ import annotations

import os
import shutil
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from flashgrep.index.answer import indexed_search, newest_pages, sought, walk_pages
from flashgrep.index.plan import lookup
from flashgrep.tools.dispatch import moments
from tests.faults.telling import tell
from tests.index.edits import Gardener
from tests.index.questions import question
from tests.index.test_equality import Session
from tests.index.twins import Twins, haste, unwatched

HEAVY = os.environ.get("FLASHGREP_HEAVY") == "1"
SEED = int(os.environ.get("FLASHGREP_SEED", "1"))
TREES = 120 if HEAVY else 1
ROUNDS = 26 if HEAVY else 10
_ROWS = {"files_with_matches": "paths", "count": "counts", "content": "matches"}
_CONTEXT = ("context", "context_before", "context_after")


class PagingSession(Session):
    """Pages of random questions over one tree."""

    rounds = ROUNDS

    def _compare(self, pair: Twins, count: int) -> None:
        while count > 0:
            asked = question(self.chance, self.tree)
            for name in ("head_limit", "offset", *_CONTEXT):
                asked.pop(name, None)
            _, (text, code, data) = pair.both("grep", True, asked)
            count -= 1
            if code is None:
                pages = self.chance.randint(1, 6)
                self._turn_pages(pair, asked, data[_ROWS[asked["output_mode"]]], pages)
                count -= pages
            else:
                assert pair.answer("grep", True, asked | {"head_limit": 3})[:2] == (text, code)

    def _turn_pages(self, pair: Twins, asked: dict[str, Any], whole: list[Any], pages: int) -> None:
        offset = self.chance.choice([0, 0, 1, 7])
        for _ in range(pages):
            limit = self.chance.choice([1, 2, 3, 5, 20])
            arguments = asked | {"head_limit": limit, "offset": offset}
            self.compared += 1
            data = pair.answer("grep", True, arguments)[2]
            told = self._told("grep", True, arguments)
            assert data[_ROWS[asked["output_mode"]]] == whole[offset : offset + limit], told
            following = offset + limit if offset + limit < len(whole) else None
            assert (data["truncated"], data["next_offset"]) == (bool(following), following), told
            offset = self.chance.choice([offset + limit, offset + limit, 0, 2, 30])


@pytest.mark.thorough
@pytest.mark.timeout(14_400 if HEAVY else 600)
def test_random_pages_are_the_whole_answer_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = by_index = 0
    # So small that a tree of thirty files is searched in steps, as a large one is.
    monkeypatch.setattr(walk_pages, "FIRST_PIECES", 1)
    monkeypatch.setattr(walk_pages, "FIRST_TEXTS", 1)
    monkeypatch.setattr(newest_pages, "FIRST_FILES", 1)
    monkeypatch.setattr(newest_pages, "_LOOK", 2)
    # Pages are tried on the thread of the event loop, however busy the machine is; some are left
    # there in the middle.
    monkeypatch.setattr(moments, "_MOMENT_SECONDS", 600.0)
    monkeypatch.setattr(moments, "_WARM_SECONDS", 600.0)
    monkeypatch.setattr(indexed_search, "AT_ONCE_PAGE_BYTES", 100)
    with haste(), Gardener() as gardener:
        for number in range(TREES):
            monkeypatch.setattr(sought, "INDEX_FEW_PIECES", 3 * (number % 3))
            # Few blocks are many in some trees: their pieces are not numbered.
            monkeypatch.setattr(lookup, "_KNOWN_PIECES", 512 * (number % 2))
            monkeypatch.setattr(lookup, "_DENSE", 8 if number % 2 else 10**9)
            top = tmp_path / str(number)
            top.mkdir()
            session = PagingSession(SEED * 1_000 + 500 + number, top, gardener)
            with unwatched() if number % 4 == 3 else nullcontext():
                session.run()
            compared += session.compared
            by_index += session.by_index
            shutil.rmtree(top)
    tell(f"{compared} pages, {by_index} searches by the index, seeds from {SEED * 1_000 + 500}")
    assert by_index > compared / 4  # or this would compare scans with scans
