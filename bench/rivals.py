"""The three that are timed in turn: ripgrep, ours through the socket, ours in process."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from statistics import median
from time import perf_counter
from typing import Any

from anyio.from_thread import start_blocking_portal

from bench import ripgrep
from bench.corpus import Corpus
from bench.served import UNBOUNDED, connected, serving
from flashgrep.app import build
from flashgrep.settings import Settings
from flashgrep.tools.answer import Answer
from flashgrep.tools.caller import Caller

Grep = Callable[[dict[str, Any]], str]


@dataclass(frozen=True)
class Rivals:
    """Ways to search one corpus; each gives the whole answer."""

    corpus: Corpus
    socket: Grep
    in_process: Grep

    def ripgrep(self, mode: str, pattern: str) -> bytes:
        return ripgrep.run(self.corpus.root, mode, pattern)


@contextmanager
def rivals(corpus: Corpus) -> Iterator[Rivals]:
    """Start a server and an application of our own, both without an output budget."""
    with (
        serving(corpus.root, *UNBOUNDED) as server,
        connected(server) as client,
        _application(corpus) as in_process,
    ):
        yield Rivals(corpus, partial(client.call, "grep"), in_process)


@contextmanager
def _application(corpus: Corpus) -> Iterator[Grep]:
    with tempfile.TemporaryDirectory(prefix="flashgrep-bench-") as state:
        settings = Settings(workdir=str(corpus.root), state_dir=state, max_output_chars=0)
        application = build(settings, {})
        caller = Caller("bench")
        with start_blocking_portal() as portal:

            def grep(arguments: dict[str, Any]) -> str:
                answer: Answer = portal.call(application.toolbox.call, "grep", arguments, caller)
                return answer.text

            yield grep
        application.close()


@dataclass
class Times:
    """Seconds of each rival, and what each answered last."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    answers: dict[str, Any] = field(default_factory=dict)

    def run(self, name: str, work: Callable[[], Any]) -> None:
        """Time one piece of work."""
        begin = perf_counter()
        self.answers[name] = work()
        self.seconds.setdefault(name, []).append(perf_counter() - begin)

    def median(self, name: str) -> float:
        return median(self.seconds[name])

    def ratio(self, name: str) -> float:
        """How many times ripgrep's time another one took."""
        return self.median(name) / self.median("rg")
