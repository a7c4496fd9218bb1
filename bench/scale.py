"""A large knowledge base: first answers after a start, and many decisions, in CPU seconds.

    python -m bench.scale [--notes 50000] [--home DIR]        first list, first links
    python -m bench.scale --decide                            decisions, in this process
    python -m bench.scale --replace                           replace_all in long notes
    python -m bench.scale --served                            5,000 by one request, others read

CPU and not wall: it says the same on a busy machine. A directory given with --home is filled once
and used again.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

from flashgrep.errors import FlashgrepError
from flashgrep.notes.access.roles import Role, everywhere
from flashgrep.notes.folders.importing import IncomingNote, take
from flashgrep.notes.home import Home
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.notes.library import Library
from flashgrep.notes.review.review import Query
from flashgrep.notes.review.verdict import Action
from flashgrep.notes.suggestions.plan import Edit
from flashgrep.notes.suggestions.propose import propose

NOTE_BYTES = 2_000
_BATCH = 200
_SUGGESTED = 10
"""One note in so many has a suggestion."""
ADMIN = everywhere("bench", Role.ADMIN)


class Cpu:
    """CPU seconds of this process since the last look."""

    def __init__(self) -> None:
        self._last = time.process_time()

    def look(self, what: str) -> float:
        now = time.process_time()
        spent, self._last = now - self._last, now
        print(f"{what:<60} {spent:8.3f} CPU-s", flush=True)
        return spent


def text_of(number: int, notes: int) -> str:
    chance = random.Random(number)
    words = ("harbour", "keel", "mast", "tide", "quay", "sail", "größe", "anchor", "rope")
    lines = [f"# Note {number}", "", "See [[Note 1]]."]
    while sum(map(len, lines)) < NOTE_BYTES:
        line = " ".join(chance.choices(words, k=10))
        link = f" [[Note {chance.randrange(notes)}]]" if chance.random() < 0.2 else ""
        lines.append(line + link)
    if number % _SUGGESTED == 0:
        lines.insert(3, f"{{--old {number}--}}{{++new {number}++}}")
    return "\n".join(lines) + "\n"


def filled(home: Path, notes: int) -> None:
    """Import so many notes, a part of them with a suggestion."""
    Home.create(home)
    kb = KnowledgeBase(home)
    cpu = Cpu()
    for start in range(0, notes, _BATCH):
        files = [
            IncomingNote(
                f"F{number % 40}/Note {number}.md", text_of(number, notes).encode(), "bench"
            )
            for number in range(start, min(start + _BATCH, notes))
        ]

        kb.ask(partial(take, arrivals=files, author="bench"))
    cpu.look(f"import of {notes:,} notes of {NOTE_BYTES / 1000:.0f} KB")
    kb.close()


def first(home: Path) -> None:
    """What the first questions after a start take; run in another process."""
    cpu = Cpu()
    kb = KnowledgeBase(home)
    cpu.look("opening")
    page = kb.review.suggestions(Query(), ADMIN)
    cpu.look(f"first list of suggestions ({len(page.suggestions)} of a page)")
    found = kb.links.links_of("F2/Note 2.md").links
    cpu.look(f"first links ({len(found.outgoing)} from, {len(found.backlinks)} to a note)")
    found = kb.links.links_of("F1/Note 1.md").links
    cpu.look(f"links of the note that all others link to ({len(found.backlinks)})")
    last = page
    while last.next:
        last = kb.review.suggestions(Query(limit=1_000, cursor=last.next), ADMIN)
    cpu.look("all further pages")
    kb.close()


def listed(kb: KnowledgeBase) -> list[str]:
    ids: list[str] = []
    cursor = None
    while True:
        page = kb.review.suggestions(Query(limit=1_000, cursor=cursor), ADMIN)
        ids += [one.id for one in page.suggestions]
        if (cursor := page.next) is None:
            return ids


def marked(count: int, word: str) -> bytes:
    lines = (
        f"line {n} {{--{word}{n}--}}{{++new{n}++}} and some more text on it\n" for n in range(count)
    )
    return "".join(lines).encode()


def decide(scratch: Path, notes: int, each: int, word: str) -> None:
    home = Home.create(scratch / f"{notes}x{each}{word}").path
    kb = KnowledgeBase(home)
    files = [IncomingNote(f"N{number}.md", marked(each, word), "bench") for number in range(notes)]
    for file in files:
        kb.ask(partial(take, arrivals=[file], author="bench"))
    ids = listed(kb)
    cpu, slowest, done = Cpu(), 0.0, 0
    began = time.process_time()
    for outcomes in kb.review.decide_each_note(ids, Action.ACCEPT, ADMIN, "bench"):
        slowest, began = max(slowest, time.process_time() - began), time.process_time()
        done += sum(one.status == "done" for one in outcomes.values())
    assert done == len(ids) == notes * each
    cpu.look(f"{done:,} decisions over {notes} notes ({word}), at most {slowest:.3f} a note")
    rows = kb.review.decisions(ADMIN, 50)
    for _, row in rows:
        kb.review.undo(row.id, ADMIN)
    cpu.look(f"{len(rows)} of them undone")
    kb.close()


def replace_all(scratch: Path) -> None:
    """Occurrences of a word, spread over notes of 0.34 and of 3.4 MB."""
    kb = KnowledgeBase(Home.create(scratch / "replacing").path)
    cpu = Cpu()
    for lines in (5_400, 54_000):
        for count in (100, 1_000, 54_000):
            wanted = {number * lines // count for number in range(count)}
            text = "".join(
                f"line {n} {'term' if n in wanted else 'word'} and more, größer, so it is long\n"
                for n in range(lines)
            )
            path = f"{lines}x{count}.md"
            kb.ask(partial(Library.create, path=path, text=text))
            cpu.look(f"a note of {len(text):,} characters")
            try:
                made = len(propose(kb, path, Edit("term", "TERM", True), "agent").ids)
                cpu.look(f"{made:,} occurrences replaced")
            except FlashgrepError as error:
                cpu.look(error.message[:50])
    kb.close()


# ── through the server ──────────────────────────────────────────────────────────────────────────


def cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Reader(threading.Thread):
    """Reads notes one after the other, and keeps how long each took."""

    def __init__(self, port: int, notes: int) -> None:
        super().__init__(daemon=True)
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._notes = notes
        self.is_over = threading.Event()
        self.spent: list[float] = []

    def run(self) -> None:
        number = 0
        while not self.is_over.is_set():
            number = (number + 7) % self._notes
            began = time.perf_counter()
            ask(self._connection, "GET", f"/kb/notes/N{number}.md")
            self.spent.append(time.perf_counter() - began)

    def told(self, what: str) -> None:
        self.is_over.set()
        self.join()
        worst = sorted(self.spent)
        p99 = worst[int(len(worst) * 0.99)]
        print(
            f"{what:<40} {len(worst):6} reads, p50 {worst[len(worst) // 2] * 1000:.1f} ms, "
            f"p99 {p99 * 1000:.1f} ms, worst {worst[-1] * 1000:.1f} ms (wall)",
            flush=True,
        )


def ask(connection: http.client.HTTPConnection, method: str, path: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body)
    connection.request(method, path, data, {"authorization": "Bearer bench"})
    answer = connection.getresponse()
    told = json.loads(answer.read())
    assert answer.status < 300, told
    return told


def served(scratch: Path, notes: int, each: int) -> None:
    print(f"{notes * each:,} suggestions in {notes} notes")
    home = Home.create(scratch / f"served{notes}").path
    kb = KnowledgeBase(home)
    for number in range(notes):
        file = IncomingNote(f"N{number}.md", marked(each, "a"), "bench")
        kb.ask(partial(take, arrivals=[file], author="bench"))
    ids = listed(kb)
    kb.close()
    flags = ["--kb", str(home), "--no-workspace", "--token", "bench", "--http-port", "auto"]
    command = [sys.executable, "-m", "flashgrep", "serve", *flags, "--tcp-port", "none"]
    server = subprocess.Popen([*command, "--socket", "none"], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        port = 0
        for line in server.stdout:
            if found := re.search(r"http://[^ ]*:(\d+)/", line):
                port = int(found[1])
            if line.startswith("Ctrl-C"):
                break
        _decide_while_reading(server.pid, port, notes, ids)
    finally:
        server.terminate()
        began = time.perf_counter()
        server.wait(30)
        print(f"ended {time.perf_counter() - began:.2f} s after SIGTERM (wall)")


def _decide_while_reading(pid: int, port: int, notes: int, ids: list[str]) -> None:
    time.sleep(2)  # texts are read ahead after a start
    idle = Reader(port, notes)
    idle.start()
    time.sleep(2)
    idle.told("reads while nothing is decided")
    stream = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    stream.request("GET", "/kb/events", None, {"authorization": "Bearer bench"})
    events = stream.getresponse()
    reader, before = Reader(port, notes), cpu_of(pid)
    reader.start()
    body = {"ids": ids, "action": "accept"}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    print(ask(connection, "POST", "/kb/suggestions/decide", body))
    while True:
        line = events.readline().decode()
        if line.startswith("data: ") and '"state":"done"' in line:
            print(line.strip())
            break
    spent = cpu_of(pid) - before
    reader.told("reads while they are decided")
    print(f"server: {spent:.2f} CPU-s for the job, the reads and the events")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--notes", type=int, default=50_000)
    parser.add_argument("--home", type=Path)
    parser.add_argument("--first", type=Path)
    parser.add_argument("--decide", action="store_true")
    parser.add_argument("--served", action="store_true")
    parser.add_argument("--replace", action="store_true")
    given = parser.parse_args()
    if given.first:
        first(given.first)
        return
    scratch = Path(tempfile.mkdtemp(prefix="bench-scale-"))
    try:
        if given.replace:
            replace_all(scratch)
            return
        if given.served:
            served(scratch, 200, 25)
            served(scratch, 1, 5_000)
            return
        if given.decide:
            for notes, each, word in (
                (1, 50, "a"), (1, 500, "a"), (1, 500, "ä"), (1, 5_000, "a"), (200, 25, "a"),
            ):  # fmt: skip
                decide(scratch, notes, each, word)
            return
        home = given.home or scratch / "kb"
        if not home.exists():
            filled(home, given.notes)
        command = [sys.executable, "-m", "bench.scale", "--first", str(home)]
        subprocess.run(command, check=True)
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
