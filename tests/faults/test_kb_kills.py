"""Kill -9 of a served knowledge base while peers and agents write: what was acknowledged stays."""

from __future__ import annotations

import os
import re
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from urllib.parse import quote

import pytest
from tests.faults.kb_writers import NOTES, WORD, Writer, text_at_start, writers
from tests.faults.telling import tell
from tests.web.served import TOKEN, Served, served

HEAVY = os.environ.get("FLASHGREP_HEAVY") == "1"
SEED = int(os.environ.get("FLASHGREP_SEED", "1"))
KILLS = 1_000 if HEAVY else 4
KILLS_A_HOME = 20 if HEAVY else 6
LATEST_KILL_SECONDS = 0.6
MARKS = re.compile(r"\{--(.*?)--\}\{\+\+(.*?)\+\+\}", re.DOTALL)
"""A line typed before a slot just when the slot is marked may come to stand inside the mark."""

pytestmark = [pytest.mark.fault, pytest.mark.timeout(7_200 if HEAVY else 600)]


def check(server: Served, working: Sequence[Writer]) -> None:
    """Nothing acknowledged is missing, back or double; marks and records say the same."""
    texts = {note: server.text(note) for note in NOTES}
    counts = Counter(word for text in texts.values() for word in WORD.findall(text))
    there, unsure, gone = (
        set().union(*(getattr(writer, kind) for writer in working))
        for kind in ("there", "unsure", "gone")
    )
    missing = [word for word in there - unsure - gone if not counts[word]]
    back = [word for word in gone if counts[word]]
    double = [word for word, count in counts.items() if count > 1]
    assert (missing, back, double) == ([], [], [])
    for note, text in texts.items():
        answer = server.get(f"/kb/suggestions?note={quote(note)}&limit=1000").json()
        listed = {(one["old"], one["new"]) for one in answer["suggestions"]}
        assert listed == set(MARKS.findall(text))
        assert text.count("slot ") == text_at_start().count("slot ")


def write_until_killed(server: Served, working: Sequence[Writer], seconds: float) -> None:
    """Have all of them work at once, and kill the server under them."""
    killed = threading.Event()
    with ThreadPoolExecutor(len(working)) as pool:
        jobs = [pool.submit(writer.write, server, killed) for writer in working]
        time.sleep(seconds)  # the moment is what is random
        killed.set()
        server.server.process.kill()
        for job in jobs:
            job.result()


def outlive(place: Path, kills: int, seed: str) -> Counter[str]:
    """Kill the servers of one knowledge base, one after the other; gives what was written."""
    place.mkdir()
    chance = Random(seed)
    agents, peers = writers(seed)
    working = [*agents, *peers]
    flags = ("--token", TOKEN, "--socket", str(place / "agents.sock"))
    notes = dict.fromkeys(NOTES, text_at_start())
    for number in range(kills):
        with served(place, None if number else notes, flags=flags) as server:
            check(server, working)
            write_until_killed(server, working, chance.random() * LATEST_KILL_SECONDS)
    with served(place, flags=flags) as server:
        check(server, working)
        for peer in peers:
            peer.catch_up(server)
        for peer in peers:
            assert peer.catch_up(server) == server.text(peer.note)
        check(server, working)
    edits = Counter({writer.name: len(writer.own()) for writer in working})
    return edits + Counter(repeated=sum(agent.repeated for agent in agents))


def test_no_acknowledged_edit_is_lost(tmp_path: Path) -> None:
    tell(f"seed {SEED}")
    done, said = 0, Counter[str]()
    while done < KILLS:
        kills = min(KILLS_A_HOME, KILLS - done)
        said += outlive(tmp_path / f"from{done}", kills, f"{SEED}.{done}")
        done += kills
        tell(f"{done} kills, acknowledged and kept: {dict(said)}, seed {SEED}")
