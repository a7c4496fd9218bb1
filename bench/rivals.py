"""Those that are timed in turn: ripgrep, ours through the socket, ours in process."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from statistics import median
from time import perf_counter, sleep
from typing import Any

from anyio.from_thread import start_blocking_portal

from bench import ripgrep
from bench.corpus import Corpus
from bench.kept import indexed, state_of
from bench.served import UNBOUNDED, UNINDEXED, Server, connected, serving
from flashgrep.app import build
from flashgrep.settings import Settings
from flashgrep.tools.dispatch.call import Answer
from flashgrep.tools.dispatch.caller import Caller

Grep = Callable[[dict[str, Any]], str]

_LOOK_SECONDS = 0.05


@dataclass(frozen=True)
class Rivals:
    """Ways to search one corpus; each gives the whole answer."""

    corpus: Corpus
    server: Server
    socket: Grep
    in_process: Grep
    scanned: Grep
    """In process and without the index: what every answer has to equal."""

    def ripgrep(self, mode: str, pattern: str) -> bytes:
        return ripgrep.run(self.corpus.root, mode, pattern)

    def timed(
        self, asked: dict[str, Any], rounds: int, **others: Callable[[], Any]
    ) -> tuple[Times, bool]:
        """The times of one question to a warm server, and whether its answer is a scan's.

        `others` are timed beside it, ripgrep as `rg`.
        """
        expected = self.scanned(asked)
        self.socket(asked)  # unmeasured, as is the next
        self.in_process(asked)
        timed = Times()
        for _ in range(rounds):
            for name, work in others.items():
                timed.run(name, work)
            timed.run("socket", lambda: self.socket(asked))
            timed.run("in process", lambda: self.in_process(asked))
        return timed, timed.answers["socket"] == expected


@contextmanager
def rivals(corpus: Corpus) -> Iterator[Rivals]:
    """Start a server and an application of our own, both without an index."""
    with (
        serving(corpus.root, *UNBOUNDED, *UNINDEXED) as server,
        connected(server) as client,
        _scanning(corpus) as in_process,
    ):
        yield Rivals(corpus, server, partial(client.call, "grep"), in_process, in_process)


@contextmanager
def indexed_rivals(corpus: Corpus) -> Iterator[Rivals]:
    """Start a server with the tree's kept index, and an application that reads the same one."""
    with (
        indexed(corpus, *UNBOUNDED) as server,
        connected(server) as client,
        application_of(corpus, state_dir=str(state_of(corpus))) as in_process,
        _scanning(corpus) as scanned,
    ):
        yield Rivals(corpus, server, partial(client.call, "grep"), in_process, scanned)


@contextmanager
def _scanning(corpus: Corpus) -> Iterator[Grep]:
    with (
        tempfile.TemporaryDirectory(prefix="flashgrep-bench-") as state,
        application_of(corpus, state_dir=state, no_index=True) as grep,
    ):
        yield grep


@contextmanager
def application_of(corpus: Corpus, **settings: Any) -> Iterator[Grep]:
    """Ours in this process, without an output budget."""
    given = Settings(workdir=str(corpus.root), max_output_chars=0, **settings)
    application = build(given, {})
    try:
        if not given.no_index:
            application.start_index()
            while not application.services.index.status().grep_ready:
                sleep(_LOOK_SECONDS)
        caller = Caller("bench")
        with start_blocking_portal() as portal:

            def grep(arguments: dict[str, Any]) -> str:
                answer: Answer = portal.call(application.toolbox.call, "grep", arguments, caller)
                return answer.text

            yield grep
    finally:
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

    def speedup(self, name: str) -> float:
        """How many times faster than ripgrep another one was."""
        return self.median("rg") / self.median(name)
