"""A long, busy life for a server: edits, checkouts, greps and queries; its memory is noted."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.faults.processes import children, command_line, private_bytes
from tests.faults.soak_tree import BRANCHES, SoakTree
from tests.transports.clients import RawLines

MIB = 1024 * 1024
_LINES = 130
_TURN_SECONDS = 0.2
_FLIP_TURNS = 150
"""A checkout every half a minute, on a machine that has nothing else to do."""
_TRANSIENT = ("flashgrep.index.rank_writer", "flashgrep.index.builder", "flashgrep.index.lister")
"""Processes that live for one piece of work."""
_CALM_LOOKS = 10
_LOOK_SECONDS = 0.1
_LONGEST_SECONDS = 60.0


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
        """Until no process that folds or ranks was seen for a moment."""
        deadline = time.monotonic() + _LONGEST_SECONDS
        calm = 0
        while calm < _CALM_LOOKS and time.monotonic() < deadline:
            is_busy = any(
                module in command_line(child)
                for child in children(self.pid)
                for module in _TRANSIENT
            )
            calm = 0 if is_busy else calm + 1
            time.sleep(_LOOK_SECONDS)

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
