"""A vault goes in, is edited by two people and an agent at once, and comes out as they left it.

Everything is real: `flashgrep kb import` and `export`, `flashgrep serve`, y-websocket's providers
in Node, and an agent with a `flashgrep mcp` of its own that joins the server for the notes.
"""

from __future__ import annotations

import itertools
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pytest
from tests.e2e.agent import Agent, agent
from tests.notes.vault import contents, plant_vault
from tests.notes.yjs import Node, running_node
from tests.transports.clients import FLASHGREP, environment
from tests.web.served import Served, served
from tests.web.test_providers import Provider

ENDS: Final = {"Every form.md": "\n", "Folder/Note 5.md": "\r\n"}
"""The notes that people type in, and how their lines end outside."""
People = dict[str, dict[str, Provider]]
"""By note and name."""

EDITS: Final = (
    ("Every form.md", "# Every form of link", "# Each form"),
    ("Every form.md", "[[Note 1]] [[Note 2|an alias]]", "[[Note 2]]"),
    ("Every form.md", "A line. ^block", "Two\nlines. ^block"),
    ("Folder/Note 5.md", "# Note 5", "# Fünf 😀"),
    ("Folder/Note 5.md", "[[Every form]]", "[[Mixed]]"),
    ("Windows.md", "[[Note 20]]", "[[Note 21]]"),  # in a block of code, with lines that end in CRLF
)
ACCEPTED: Final = (0, 2, 3)
REJECTED: Final = (1, 5)
"""The one that is in neither stays; a note with nothing but rejected ones is as it was."""


@pytest.fixture(scope="module")
def node() -> Iterator[Node]:
    with running_node("provider.js") as running:
        yield running


def kb(place: Path, *words: str) -> None:
    command = [*FLASHGREP, "kb", *words, "--kb", str(place / "kb")]
    done = subprocess.run(command, env=environment(place), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def line(name: str, number: int) -> str:
    return f"{name} é {number}\n"


def type_until(people: People, is_over: threading.Event) -> int:
    """Both type at once in every note, then wait for each other's line; gives the rounds."""
    for number in itertools.count():
        for name in ("ann", "bob"):
            for both in people.values():
                both[name].type(line(name, number))
        for name, other in (("ann", "bob"), ("bob", "ann")):
            for both in people.values():
                both[name].wait(holds=line(other, number))
        if is_over.is_set():
            return number + 1
    raise AssertionError


def work_meanwhile(assistant: Agent, server: Served, people: People) -> int:
    """The agent suggests and its suggestions are decided while people type; gives their rounds."""
    is_over = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        rounds = pool.submit(type_until, people, is_over)
        try:
            suggest(assistant)
            decide(server)
        finally:
            is_over.set()
        return rounds.result()


def suggest(assistant: Agent) -> None:
    for path in dict.fromkeys(path for path, _, _ in EDITS):
        assistant.text("read", file_path=f"kb://{path}")
    for path, old, new in EDITS:
        assistant.text("edit", file_path=f"kb://{path}", old_string=old, new_string=new)


def decide(server: Served) -> None:
    listed = server.get("/kb/suggestions?author=tests&limit=100").json()["suggestions"]
    ids = {(one["note"], one["old"], one["new"]): one["id"] for one in listed}
    assert set(ids) == set(EDITS)
    for action, chosen in (("accept", ACCEPTED), ("reject", REJECTED)):
        body = {"ids": [ids[EDITS[number]] for number in chosen], "action": action}
        answer = server.post("/kb/suggestions/decide", body).json()
        assert {one["status"] for one in answer["results"]} == {"done"}


def settled(both: dict[str, Provider], server: Served, path: str) -> str:
    """What everybody sees in the end; they leave then."""
    text = server.text(path)
    for person in both.values():
        person.wait(text=text)
        person.ask("close")
    return text


def expected(files: dict[str, bytes], texts: dict[str, str], rounds: int) -> dict[str, bytes]:
    """The files that must not be as they were."""
    touched = {}
    for path, text in texts.items():
        before = decided(path, files[path].decode().replace("\r\n", "\n"))
        assert text.startswith(before)
        lines = text.removeprefix(before).splitlines(keepends=True)
        assert len(lines) == 2 * rounds
        for name in ("ann", "bob"):
            own = [line(name, number) for number in range(rounds)]
            assert [found for found in lines if found.startswith(name)] == own
        touched[path] = text.replace("\n", ENDS[path]).encode()
    return touched


def decided(path: str, text: str) -> str:
    """A note as the agent and the decisions say, without what people typed."""
    for number, (note, old, new) in enumerate(EDITS):
        if note == path:
            assert text.count(old) == 1
            pending = f"{{--{old}--}}{{++{new}++}}"
            after = new if number in ACCEPTED else old if number in REJECTED else pending
            text = text.replace(old, after)
    return text


def test_a_vault_is_edited_by_two_people_and_an_agent_and_comes_back(
    node: Node, tmp_path: Path
) -> None:
    files = plant_vault(tmp_path / "vault")
    kb(tmp_path, "init")
    kb(tmp_path, "import", str(tmp_path / "vault"))
    (tmp_path / "agent").mkdir()
    with (
        served(tmp_path) as server,
        agent(tmp_path / "agent", ["--kb", str(server.home)]) as assistant,
    ):
        people = {
            note: {name: Provider(node, server, note) for name in ("ann", "bob")} for note in ENDS
        }
        for person in (person for both in people.values() for person in both.values()):
            person.wait(synced=True)
        rounds = work_meanwhile(assistant, server, people)
        texts = {note: settled(both, server, note) for note, both in people.items()}
        kb(tmp_path, "export", str(tmp_path / "out"))
    touched = expected(files, texts, rounds)
    found = contents(tmp_path / "out")
    assert {path: found[path] for path in touched} == touched
    assert found == files | touched
