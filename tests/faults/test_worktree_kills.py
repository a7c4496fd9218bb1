"""Kill -9 while trees of one repository write to one store: each answers right, nothing is left."""

from __future__ import annotations

import json
import os
import time
from contextlib import ExitStack
from pathlib import Path
from random import Random

import pytest
from tests.faults.processes import children, wait_until_gone
from tests.faults.telling import tell
from tests.faults.victim import Victim, victim
from tests.index.git.repositories import Repo
from tests.index.twins import wait_for
from tests.search.oracle import counts

from flashgrep.index.format.shelf import Shelf
from flashgrep.search.pattern import PatternSpec

HEAVY = os.environ.get("FLASHGREP_HEAVY") == "1"
SEED = int(os.environ.get("FLASHGREP_SEED", "1"))
KILLS = 100 if HEAVY else 2
FILES = 60
LATEST_KILL_SECONDS = 1.0

pytestmark = [pytest.mark.fault, pytest.mark.timeout(7_200 if HEAVY else 600)]


@pytest.fixture
def tops(tmp_path: Path) -> list[Path]:
    """Two working trees of a repository that takes a moment to build."""
    repo = Repo(tmp_path / "one" / "ws")
    texts = {f"d{n % 7}/f{n}.txt": b"needle %d\n" % n + b"word " * 6_000 for n in range(FILES)}
    repo.commit(texts)
    (tmp_path / "two").mkdir()
    repo.worktree(tmp_path / "two" / "ws")
    return [tmp_path / "one", tmp_path / "two"]


def compare(server: Victim, root: Path) -> None:
    """A file is found by its own words, and no other is."""
    for pattern in (r"needle \d*7$", "edited"):
        expected = [f"{name}:{count}" for name, count in counts(root, PatternSpec(pattern))]
        text = server.text("grep", pattern=pattern, output_mode="count")
        assert text == ("\n".join(expected) or "No matches found"), pattern


def is_ready(server: Victim) -> bool:
    text, code = server.call("stats")
    assert code is None, text
    return bool(json.loads(text)["state"] == "ready")


def left_over(cache: Path) -> set[str]:
    """Parts of the store that no manifest names."""
    found: set[str] = set()
    for store in (cache / "flashgrep" / "repositories").glob("*"):
        used = {n for one in Shelf(store, store).generations().values() for n in one.segments}
        found |= {name for name in os.listdir(store) if ".seg" in name} - used
    return found


def test_servers_killed_at_any_moment_leave_both_trees_right(
    tops: list[Path], tmp_path: Path
) -> None:
    chance, most = Random(SEED), 0
    cache = tmp_path / "cache"
    for number in range(KILLS):
        with ExitStack() as stack:
            servers = [stack.enter_context(victim(top, cache=cache)) for top in tops]
            for top, server in zip(tops, servers, strict=True):
                edited = top / "ws" / f"d{chance.randrange(7)}" / f"f{chance.randrange(FILES)}.txt"
                edited.write_text(f"edited {number}\nneedle {number}\n")
                compare(server, top / "ws")
            time.sleep(chance.random() * LATEST_KILL_SECONDS)  # the moment is what is random
            for server in servers:
                processes = children(server.process.pid)
                server.process.kill()
                server.process.wait()
                wait_until_gone(processes)
        most = max(most, len(left_over(cache)))
    with ExitStack() as stack:
        servers = [stack.enter_context(victim(top, cache=cache)) for top in tops]
        for top, server in zip(tops, servers, strict=True):
            wait_for(lambda one=server: is_ready(one), lambda: "no index")
            compare(server, top / "ws")
            (top / "ws" / "last.txt").write_text("edited at last\n")
            compare(server, top / "ws")
        wait_for(lambda: not left_over(cache), lambda: f"left over: {left_over(cache)}")
    tell(f"{KILLS} kills of two servers, {most} files left behind at most, seed {SEED}")
