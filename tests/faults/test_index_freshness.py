"""A change that another program has made is in the very next answer, whatever the index is doing.

Another process makes a change and says so; the question is asked at once, and the answer is held
against a naive walk of the disk.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.faults.telling import tell
from tests.index.edits import Gardener
from tests.index.questions import PATTERNS
from tests.index.thicket import Thicket
from tests.index.twins import haste, twins, wait_for
from tests.search.oracle import counts
from tests.transports.clients import RawLines, Server, serving

from flashgrep.errors import InvalidPattern
from flashgrep.search.pattern import PatternSpec, check
from flashgrep.workspace.scope import shown_name

HEAVY = os.environ.get("FLASHGREP_HEAVY") == "1"
SEED = int(os.environ.get("FLASHGREP_SEED", "1"))
EDITS = 10_000 if HEAVY else 60
EDITS_OVER_A_SOCKET = 2_000 if HEAVY else 30
FLIPS = 200 if HEAVY else 5
RACES = 10_000 if HEAVY else 200
FLOOD = 6_000
"""Files; each is made, written and closed: three events."""

pytestmark = [pytest.mark.fault, pytest.mark.timeout(7_200 if HEAVY else 600)]
Ask = Callable[[str], list[tuple[str, int]]]
"""Files and matching lines, by a pattern."""


def truth(root: Path, pattern: str) -> list[tuple[str, int]]:
    found = counts(root, PatternSpec(pattern))
    return [
        (shown_name(os.fsencode(shown)), count)
        for shown, count in found
        if not _is_state(root, shown)
    ]


def _is_state(root: Path, shown: str) -> bool:
    """Whether a link has led into the server's own state, which it never shows."""
    state = os.path.realpath(root.parent / "state")
    return os.path.realpath(root / shown).startswith(state + "/")


def compare(ask: Ask, root: Path, pattern: str, told: object) -> None:
    expected = truth(root, pattern)
    assert ask(pattern) == expected, f"{pattern!r} after {told}"


# ── who is asked ────────────────────────────────────────────────────────────────────────────────


@contextmanager
def in_process(top: Path) -> Iterator[tuple[Ask, Callable[[], None]]]:
    """A server in this process that folds changes in as soon as it can."""
    with haste(), twins(top) as pair:

        def ask(pattern: str) -> list[tuple[str, int]]:
            asked = {"pattern": pattern, "output_mode": "count"}
            return _rows(pair.answer("grep", True, asked)[2])

        yield ask, pair.folded


@contextmanager
def by_socket(top: Path) -> Iterator[tuple[Ask, Server]]:
    """A real `flashgrep serve`, asked over its unix socket."""
    with (
        serving(top / "work", home=top / "home", ports=False) as server,
        RawLines(server.open_unix()) as client,
    ):
        wait_for(lambda: client.ask("stats")["result"]["grep_ready"], lambda: "no index")

        def ask(pattern: str) -> list[tuple[str, int]]:
            return _rows(client.ask("grep", pattern=pattern, output_mode="count")["result"])

        yield ask, server


def _rows(data: Any) -> list[tuple[str, int]]:
    return [(row["file_path"], row["count"]) for row in data["counts"]]


# ── edits of all kinds ──────────────────────────────────────────────────────────────────────────


def edit_and_ask(tree: Thicket, gardener: Gardener, ask: Ask, count: int) -> Iterator[int]:
    """Make edits and look each time; gives the number of each."""
    patterns = [pattern for pattern in PATTERNS if _is_valid(pattern)]
    for number in range(count):
        edit = tree.edit()
        gardener.apply(edit)
        compare(ask, tree.root, tree.chance.choice(patterns), f"edit {number} {str(edit)[:300]}")
        yield number


def _is_valid(pattern: str) -> bool:
    try:
        check(PatternSpec(pattern))
    except InvalidPattern:
        return False
    return True


def test_every_edit_of_another_process_is_seen_at_once(tmp_path: Path) -> None:
    done = 0
    while done < EDITS:
        top = tmp_path / str(done)
        top.mkdir()
        tree = Thicket(top, Random(SEED * 1_000 + done), large=0)
        tree.grow()
        (top / ".gitignore").unlink(missing_ok=True)  # the naive walk begins at the root
        with Gardener() as gardener, in_process(top) as (ask, folded):
            for _ in edit_and_ask(tree, gardener, ask, min(250, EDITS - done)):
                done += 1
                if tree.chance.random() < 0.03:
                    folded()
    tell(f"{done} edits seen at once, seeds from {SEED * 1_000}")


def test_every_edit_is_seen_over_a_socket(tmp_path: Path) -> None:
    tree = Thicket(tmp_path, Random(SEED), large=0)
    tree.grow()
    (tmp_path / ".gitignore").unlink(missing_ok=True)
    with Gardener() as gardener, by_socket(tmp_path) as (ask, _):
        done = sum(1 for _ in edit_and_ask(tree, gardener, ask, EDITS_OVER_A_SOCKET))
    tell(f"{done} edits seen at once over a socket, seed {SEED}")


# ── many at once ────────────────────────────────────────────────────────────────────────────────


def git(root: Path, *words: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(root), *identity, *words], check=True, capture_output=True)


@pytest.mark.thorough
def test_a_checkout_of_another_branch_is_seen_at_once(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    git(root, "init", "-q", "-b", "one")
    for branch in ("one", "two"):
        if branch == "two":
            git(root, "checkout", "-q", "-b", branch)
        for number in range(80):
            only = f"{branch}-{number % 9}" if number % 3 else "both"
            place = root / only / f"f{number}.txt"
            place.parent.mkdir(exist_ok=True)
            place.write_text(f"branch {branch}\nneedle {number % 7}\n")
        (root / ".gitignore").write_text(f"*-{len(branch)}*\n{branch}-4\n")
        git(root, "add", "-A")
        git(root, "commit", "-q", "-m", branch)
    with Gardener() as gardener, in_process(tmp_path) as (ask, folded):
        for flip in range(FLIPS):
            gardener.apply(("check_out", os.fsencode(root), ("one", "two")[flip % 2]))
            for pattern in ("branch one", "branch two", "needle 3", r"\.gitignore|\*"):
                compare(ask, root, pattern, f"flip {flip}")
            if flip % 3 == 0:
                folded()


@pytest.mark.thorough
def test_more_changes_than_the_kernel_remembers(tmp_path: Path) -> None:
    """The server is held still meanwhile, so that nothing drains its queue."""
    root = tmp_path / "work"
    root.mkdir()
    (root / "old").write_text("flood\n")
    (root / "new").mkdir()
    with Gardener() as gardener, by_socket(tmp_path) as (ask, server):
        compare(ask, root, "flood", "nothing")
        server.process.send_signal(signal.SIGSTOP)
        try:
            gardener.apply(("flood", os.fsencode(root / "new"), FLOOD))
            gardener.apply(("write", os.fsencode(root / "old"), b"ebb\n"))
        finally:
            server.process.send_signal(signal.SIGCONT)
        compare(ask, root, "ebb", "the flood")
        compare(ask, root, "flood", "the flood")
        gardener.apply(("remove", os.fsencode(root / "new")))
        compare(ask, root, "flood|ebb", "the ebb")


# ── while it is changed ─────────────────────────────────────────────────────────────────────────


class Writer(threading.Thread):
    """Adds lines to files, one after the other; knows how many are there for certain."""

    def __init__(self, root: Path) -> None:
        super().__init__()
        self.root = root
        self.begun = self.done = 0
        self.over = threading.Event()

    def run(self) -> None:
        while not self.over.is_set():
            place = self.root / f"f{self.begun % 5}"
            self.begun += 1
            if self.begun % 3:
                with place.open("ab") as file:
                    file.write(b"needle\n")
            else:  # as editors do
                text = place.read_bytes() if place.exists() else b""
                draft = self.root / "draft"
                draft.write_bytes(text + b"needle\n")
                draft.replace(place)
            self.done += 1


def test_an_answer_lies_between_what_was_there_and_what_is(tmp_path: Path) -> None:
    """A writer that never rests: folding happens under its hands, again and again."""
    root = tmp_path / "work"
    root.mkdir()
    with in_process(tmp_path) as (ask, _):
        asked = 0
        while asked < RACES:
            for file in root.iterdir():
                file.unlink()
            writer = Writer(root)
            writer.start()
            try:
                for _ in range(100):
                    before = writer.done
                    found = sum(n for name, n in ask("needle") if name != "draft")
                    assert before <= found <= writer.begun, f"after {asked} questions"
                    asked += 1
            finally:
                writer.over.set()
                writer.join()
            assert sum(n for _, n in ask("needle")) == writer.done
    tell(f"{asked} questions asked of files that were being written")
