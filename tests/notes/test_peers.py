"""The library against the real Yjs: whatever is lost, doubled or late, the text is one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from flashgrep.notes.document.anchors import MANY
from flashgrep.notes.document.note import Amendment, NoteRecords
from flashgrep.notes.document.text import TextSplice
from tests.notes.desk import Desk
from tests.notes.yjs import Node, YjsPeer, running_node

HEAVY = os.environ.get("FLASHGREP_HEAVY") == "1"
SEED = int(os.environ.get("FLASHGREP_SEED", "1"))
ROUNDS = 1_000 if HEAVY else 10
STEPS = 40
WORDS = ("a", "é", "😀", "日本", "word\n", "{--", "e\u0301", "👩\u200d👧", "", "")

pytestmark = pytest.mark.timeout(3_600 if HEAVY else 600)


@pytest.fixture(scope="module")
def node() -> Iterator[Node]:
    with running_node() as running:
        yield running


def meet(desk: Desk, note: str, peer: YjsPeer) -> None:
    """What both sides do when a connection begins."""
    peer.apply([desk.library.missing(note, peer.state())])
    desk.library.receive(note, [peer.missing(desk.library.state(note))])


def test_a_yjs_peer_reads_and_writes_a_note(node: Node, desk: Desk) -> None:
    note = desk.library.create("a.md", "hello 😀").id
    peer = node.peer()
    meet(desk, note, peer)
    assert peer.text() == "hello 😀"
    desk.library.receive(note, peer.splice(6, 7, "日本"))
    desk.library.amend(
        note,
        lambda text, _: Amendment(
            [TextSplice(0, 0, "{--"), TextSplice(5, 5, "--}")],
            {"s1": NoteRecords({"by": "ann", "time": 7}, ((0, 11),))},
        ),
    )
    peer.apply([desk.told[-1].update])
    assert peer.text() == desk.text(note) == "{--hello--} 日本"
    assert peer.records()["s1"]["value"] == {"by": "ann", "time": 7}


class Round:
    """One note, three Yjs peers, an agent; and a network that does as it likes."""

    def __init__(self, node: Node, desk: Desk, chance: Random) -> None:
        self.desk, self.chance = desk, chance
        name = f"{chance.random()}.md"
        self.note = desk.library.create(name, "start 😀 of it\n").id
        self.peers = [node.peer() for _ in range(3)]
        self.out: list[list[bytes]] = [[], [], []]
        for peer in self.peers:
            meet(desk, self.note, peer)
        desk.told.clear()

    def place(self, text: str) -> tuple[int, int]:
        start = self.chance.randint(0, len(text))
        return start, min(len(text), start + self.chance.choice([0, 0, 0, 1, 4]))

    def type(self, number: int) -> None:
        peer = self.peers[number]
        start, end = self.place(peer.text())
        self.out[number] += peer.splice(start, end, self.chance.choice(WORDS))

    def send(self, number: int) -> None:
        """Some of what was typed arrives: late, twice, in any order, or never."""
        waiting, self.out[number] = self.out[number], []
        self.chance.shuffle(waiting)
        kept = [update for update in waiting if self.chance.random() < 0.9]
        kept += [update for update in kept if self.chance.random() < 0.2]
        if kept:
            self.desk.library.receive(self.note, kept, origin=number)

    def hear(self, number: int) -> None:
        told = [change.update for change in self.desk.told if self.chance.random() < 0.8]
        self.peers[number].apply(told)

    def suggest(self) -> None:
        text = self.desk.library.read(self.note).text
        start, end = self.place(text)
        if start < end:
            change = [TextSplice(start, start, "{--"), TextSplice(end, end, "--}")]
            self.desk.library.amend(self.note, lambda *_: Amendment(change), "agent")

    def step(self) -> None:
        number = self.chance.randrange(3)
        self.chance.choices(
            [
                lambda: self.type(number),
                lambda: self.send(number),
                lambda: self.hear(number),
                self.suggest,
                lambda: meet(self.desk, self.note, self.peers[number]),
                lambda: self.desk.library.compact(self.note),
                self.desk.reopen,
            ],
            weights=[8, 5, 4, 2, 1, 1, 1],
        )[0]()

    def finish(self) -> str:
        for _ in range(2):
            for peer in self.peers:
                meet(self.desk, self.note, peer)
        assert not self.desk.library.receive(self.note, [b"\0\0"]).is_waiting
        return self.desk.text(self.note)


@pytest.mark.parametrize("many", [1, MANY])
def test_random_peers_agree_in_the_end(
    node: Node, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    """Whether the engine is asked for each place, or all is put in order at once."""
    for module in ("anchors", "note"):
        monkeypatch.setattr(f"flashgrep.notes.document.{module}.MANY", many)
    desk = Desk(tmp_path / "kb")
    for number in range(ROUNDS):
        seed = SEED * 1_000_000 + number
        played = Round(node, desk, Random(seed))
        for _ in range(STEPS):
            played.step()
        text = played.finish()
        assert [peer.text() for peer in played.peers] == [text] * 3, f"seed {seed}"
    desk.close()
