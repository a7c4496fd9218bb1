"""A long, busy life for a server: edits, checkouts, greps and queries; its memory is noted."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.faults.processes import children, command_line, private_bytes
from tests.faults.soak_tree import BRANCHES, SoakTree
from tests.transports.clients import RawLines

from flashgrep.index.workspace_index import RELEASE_SECONDS

MIB = 1024 * 1024
_LINES = 130
_TURN_SECONDS = 0.2
_FLIP_TURNS = 150
"""A checkout every half a minute, on a machine that has nothing else to do."""
_TRANSIENT = (
    "flashgrep.index.update.rank_writer",
    "flashgrep.index.update.builder",
    "flashgrep.index.watch.listing",
)
"""Processes that live for one piece of work."""
_LOOK_SECONDS = 0.1
_LONGEST_SECONDS = 120.0


@dataclass
class Sample:
    """The private memory of a server and its children when all work was done."""

    minutes: float
    private: float
    """MiB."""
    anonymous: float
    """The part of it that no file backs."""


@dataclass
class Soak:
    """What is done to a server, and what it kept in memory meanwhile."""

    tree: SoakTree
    client: RawLines
    pid: int
    calm_seconds: float = RELEASE_SECONDS + 2.0
    samples: list[Sample] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)

    def run(self, minutes: float, told: Callable[[Sample], None] = lambda sample: None) -> None:
        """Work for so long; once a minute the server comes to rest and its memory is noted."""
        begun = time.monotonic()
        turn, noted = 0, 1.0
        while (passed := (time.monotonic() - begun) / 60) < minutes:
            turn += 1
            self.step(turn)
            if turn % _FLIP_TURNS == 0:
                self.flip()
            if passed >= noted:
                noted += 1.0
                told(self.sample(passed))
            time.sleep(_TURN_SECONDS)
        told(self.sample(minutes))

    def sample(self, minutes: float) -> Sample:
        """The memory of the server at rest."""
        self._wait_for_rest()
        private, anonymous = private_bytes(self.pid)
        self.samples.append(Sample(minutes, private / MIB, anonymous / MIB))
        return self.samples[-1]

    def _wait_for_rest(self) -> None:
        """Until nothing was folded or ranked for longer than mapped pages are kept.

        All of them are in use before, so that each time the same is given back; and a question
        afterwards lets go what was counted for the last ones.
        """
        self._ask("grep", pattern="before", output_mode="count")
        deadline = time.monotonic() + _LONGEST_SECONDS
        worked = time.monotonic()
        while time.monotonic() < min(worked + self.calm_seconds, deadline):
            if self._is_at_work():
                worked = time.monotonic()
            time.sleep(_LOOK_SECONDS)
        self._ask("query", text=self.tree.word())

    def _is_at_work(self) -> bool:
        lines = map(command_line, children(self.pid))
        return any(module in line for line in lines for module in _TRANSIENT)

    def flip(self) -> None:
        """Check the other branch out, and ask at once."""
        self.tree.check_out(BRANCHES[(self.done["checkout"] + 1) % len(BRANCHES)])
        self.done["checkout"] += 1
        self._ask("query", text=f"{self.tree.word()} {self.tree.word()}")

    def step(self, turn: int) -> None:
        """What an agent does in one turn."""
        chance, tree = self.tree.chance, self.tree
        for _ in range(chance.choice((0, 1, 1, 3))):
            tree.edit(_LINES)
            self.done["edit"] += 1
        if turn % 2:
            self._ask("grep", pattern=f"{tree.word()}_{tree.word()[:2]}", head_limit=50)
        else:
            self._ask("query", text=f"{tree.word()} {tree.word()} {tree.word()}")
        if turn % 25 == 0:
            self._ask("grep", pattern="before", output_mode="count")

    def _ask(self, method: str, **arguments: object) -> None:
        answer = self.client.ask(method, **arguments)
        assert "result" in answer, answer
        self.done[method] += 1


def slope(samples: list[Sample], value: Callable[[Sample], float]) -> float:
    """By how much a value grows a minute, by least squares."""
    count = len(samples)
    mean_x = sum(sample.minutes for sample in samples) / count
    mean_y = sum(map(value, samples)) / count
    above = sum((sample.minutes - mean_x) * (value(sample) - mean_y) for sample in samples)
    below = sum((sample.minutes - mean_x) ** 2 for sample in samples)
    return above / below
