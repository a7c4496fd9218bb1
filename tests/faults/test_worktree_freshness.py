"""Trees of one repository share their segments, and each answers for itself at any moment.

Another process edits one tree all the time, and its server folds that into the store of both. In
the other tree an edit is made, the question is asked at once, and the answer is held against a
naive walk of the disk.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random

import pytest
from tests.faults.telling import tell
from tests.index.edits import Edit, Gardener
from tests.index.git.repositories import Repo, environment
from tests.index.twins import Twins, haste, twins
from tests.search.oracle import counts

from flashgrep.search.pattern import PatternSpec
from flashgrep.workspace.scope import shown_name

HEAVY = os.environ.get("FLASHGREP_HEAVY") == "1"
SEED = int(os.environ.get("FLASHGREP_SEED", "1"))
EDITS = 10_000 if HEAVY else 40
EDITS_A_TREE = 500
TEXTS = {f"d{n % 5}/f{n:02}.txt": b"needle %d\nhay %d\n" % (n, n % 3) * 3 for n in range(40)}
PATTERNS = ["needle", r"needle \d*7$", "hay 1", "(?i)EDITED", r"^only \w+", "gitdir|absent"]
FOLDED = 0.2
"""After so many of the edits all is folded in before the next."""

pytestmark = [pytest.mark.fault, pytest.mark.timeout(7_200 if HEAVY else 600)]


class Bed:
    """A working tree whose files get other texts, those of the commit again, and other places."""

    def __init__(self, root: Path, chance: Random) -> None:
        self.root, self.chance = root, chance

    def edit(self) -> Edit:
        """Some change, as data; it may turn out to be impossible."""
        chance, name = self.chance, self.chance.choice(list(TEXTS))
        path, other = self._path(name), self._path(chance.choice(list(TEXTS)))
        text = chance.choice([TEXTS[name], b"edited %d\n" % chance.randrange(99), b"only here\n"])
        edits: list[Edit] = [
            ("write", path, text),
            ("write", path, text),
            ("replace", path, text),
            ("append", path, b"edited\nneedle 7\n"),
            ("move", path, other),
            ("remove", path),
            ("write", self._path(f"d0/new{chance.randrange(9)}"), text),
            ("move", self._path(f"d{chance.randrange(5)}"), self._path("moved")),
            ("move", self._path("moved"), self._path(f"d{chance.randrange(5)}")),
            ("write", self._path(".gitignore"), chance.choice([b"", b"d1\n", b"*7.txt\n"])),
        ]
        return chance.choice(edits)

    def _path(self, name: str) -> bytes:
        return os.fsencode(self.root / name)

    def truth(self, pattern: str) -> list[tuple[str, int]]:
        return [
            (shown_name(os.fsencode(name)), count)
            for name, count in counts(self.root, PatternSpec(pattern))
        ]


def answered(pair: Twins, pattern: str) -> list[tuple[str, int]]:
    data = pair.answer("grep", True, {"pattern": pattern, "output_mode": "count"})[2]
    return [(row["file_path"], row["count"]) for row in data["counts"]]


@contextmanager
def edited(bed: Bed, pair: Twins) -> Iterator[list[Edit]]:
    """Another process edits this tree without a pause, and its server is asked now and then."""
    done: list[Edit] = []
    failed: list[BaseException] = []
    is_over = threading.Event()

    def work() -> None:
        try:
            with Gardener() as gardener:
                while not is_over.is_set():
                    gardener.apply(edit := bed.edit())
                    done.append(edit)
                    if len(done) % 5 == 0:
                        answered(pair, "needle")
        except BaseException as error:
            failed.append(error)

    worker = threading.Thread(target=work)
    worker.start()
    try:
        yield done
    finally:
        is_over.set()
        worker.join()
    assert not failed, failed


def test_every_edit_is_seen_while_another_worktree_is_edited(tmp_path: Path) -> None:
    done = beside = by_index = 0
    while done < EDITS:
        top = tmp_path / str(done)
        with ExitStack() as stack:
            stack.enter_context(haste())
            repo = Repo(top / "one" / "work")
            repo.commit(TEXTS)
            (top / "two").mkdir()
            repo.worktree(top / "two" / "work")
            given = {**environment(top), "XDG_CACHE_HOME": str(top / "cache")}
            pairs = [
                stack.enter_context(twins(top / name, environment=given)) for name in ("one", "two")
            ]
            for pair in pairs:
                pair.folded()
            chance = Random(SEED * 1_000_000 + done)
            beds = [Bed(top / name / "work", Random(chance.random())) for name in ("one", "two")]
            if chance.random() < 0.5:  # the tree that was there first, or the one that came to it
                pairs.reverse()
                beds.reverse()
            gardener = stack.enter_context(Gardener())
            others = stack.enter_context(edited(beds[1], pairs[1]))
            for _ in range(min(EDITS_A_TREE, EDITS - done)):
                gardener.apply(edit := beds[0].edit())
                pattern = chance.choice(PATTERNS)
                found = answered(pairs[0], pattern)
                assert found == beds[0].truth(pattern), f"{pattern!r} after edit {done}, {edit}"
                done += 1
                if chance.random() < FOLDED:
                    pairs[0].folded()
            by_index += pairs[0].by_index
        beside += len(others)
        assert len(list((top / "cache" / "flashgrep" / "repositories").iterdir())) == 1
    assert beside > 0
    assert by_index > done / 4  # or this would compare scans with scans
    tell(f"{done} edits seen at once, {by_index} by the index, {beside} in the other tree")
