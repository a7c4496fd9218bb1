"""Kill -9 while an index is built or folded: the next start answers right and cleans up."""

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
from tests.index.twins import wait_for
from tests.search.oracle import counts

from flashgrep.index.format.store import Store
from flashgrep.search.pattern import PatternSpec

HEAVY = os.environ.get("FLASHGREP_HEAVY") == "1"
SEED = int(os.environ.get("FLASHGREP_SEED", "1"))
KILLS = 200 if HEAVY else 2
FILES = 120
LATEST_KILL_SECONDS = 1.0

pytestmark = [pytest.mark.fault, pytest.mark.timeout(7_200 if HEAVY else 600)]


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A workspace that takes a moment to build."""
    for number in range(FILES):
        place = tmp_path / "ws" / f"d{number % 7}" / f"f{number}.txt"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"needle {number}\n" + "word after word " * 3_000)
    return tmp_path


def compare(server: Victim, root: Path) -> None:
    """A file is found by its own words, and no other is."""
    for pattern in (r"needle \d*7$", "edited"):
        expected = [f"{name}:{count}" for name, count in counts(root, PatternSpec(pattern))]
        text = server.text("grep", pattern=pattern, output_mode="count")
        assert text == ("\n".join(expected) or "No matches found"), pattern


def stats(server: Victim) -> dict[str, object]:
    text, code = server.call("stats")
    assert code is None, text
    told: dict[str, object] = json.loads(text)
    return told


def directory_of(top: Path) -> Path:
    (found,) = (top / "state" / "index").iterdir()
    return found


def unnamed(top: Path) -> set[str]:
    """Parts of the index that no manifest names."""
    try:
        directory = directory_of(top)
    except (ValueError, FileNotFoundError):
        return set()
    there = {name for name in os.listdir(directory) if ".seg" in name}
    return there - set(Store(directory).generation().segments)


def test_a_server_killed_while_it_indexes_is_no_trouble_for_the_next(top: Path) -> None:
    chance = Random(SEED)
    left_over, most = 0, 0
    for number in range(KILLS):
        with victim(top) as server:
            compare(server, top / "ws")
            if chance.random() < 0.5:
                edited = top / "ws" / f"d{chance.randrange(7)}" / f"n{number}.txt"
                edited.write_text(f"edited {number}\nneedle {number}\n")
                compare(server, top / "ws")
            time.sleep(chance.random() * LATEST_KILL_SECONDS)  # the moment is what is random
            processes = children(server.process.pid)
            server.process.kill()
            server.process.wait()
            wait_until_gone(processes)
        left_over += bool(unnamed(top))
        most = max(most, len(unnamed(top)))
    with victim(top) as server:
        compare(server, top / "ws")
        wait_for(lambda: stats(server)["grep_ready"], lambda: "no index")
        wait_for(lambda: not unnamed(top), lambda: f"left over: {unnamed(top)}")
        compare(server, top / "ws")
    tell(f"{KILLS} kills, {left_over} left something behind, {most} files at most, seed {SEED}")
    assert most <= 20  # one build's worth: they do not pile up


# ── two servers ─────────────────────────────────────────────────────────────────────────────────


def holders(top: Path) -> list[int]:
    """The processes that hold the index's lock."""
    inode = os.stat(directory_of(top) / "lock").st_ino
    lines = Path("/proc/locks").read_text().splitlines()
    return [int(line.split()[4]) for line in lines if f":{inode} " in line and "->" not in line]


@pytest.mark.thorough
def test_of_two_servers_one_writes_both_answer_and_the_other_takes_over(top: Path) -> None:
    with ExitStack() as stack:
        servers = [stack.enter_context(victim(top)) for _ in range(2)]
        for server in servers:
            compare(server, top / "ws")
        wait_for(lambda: all(stats(server)["grep_ready"] for server in servers), lambda: "no index")
        (writer,) = holders(top)
        (first,) = [server for server in servers if server.process.pid == writer]
        (second,) = [server for server in servers if server is not first]
        (top / "ws" / "new.txt").write_text("edited\n")
        for server in servers:
            compare(server, top / "ws")
        first.process.kill()
        first.process.wait()
        (top / "ws" / "newer.txt").write_text("edited\nedited\n")
        compare(second, top / "ws")
        wait_for(lambda: holders(top) == [second.process.pid], lambda: f"written by {holders(top)}")
        (top / "ws" / "new.txt").unlink()
        compare(second, top / "ws")
    with victim(top) as server:
        compare(server, top / "ws")
        wait_for(lambda: not unnamed(top), lambda: f"left over: {unnamed(top)}")
