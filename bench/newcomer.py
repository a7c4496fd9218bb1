"""A new `flashgrep mcp` where an index is already there: its first grep, and its second."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import TextIO

from mcp import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

from bench import ripgrep
from bench.corpus import Corpus
from bench.effort import Effort
from bench.figures import mark, milliseconds, times
from bench.kept import indexed, state_of
from bench.report import Section, Table, Target, code
from bench.rivals import Times
from bench.served import FLASHGREP, UNBOUNDED, Client, environment, kept_open

FIRST_BOUND = 1.0
SECOND_LEAST = 80.0
PATTERNS = (
    ("PM_RESUME", "MUTEX_LOCK"),
    ("ERESTARTSYS", "__rb_erase_augmented"),
    ("mutex_lock", r"kmem_cache_create_usercopy\("),
)
"""What is asked first, and then: a rare pattern, for the second has the target of those."""

_MODE = "files_with_matches"


def measure(corpus: Corpus, effort: Effort) -> Section:
    """Start, ask twice, end; ripgrep in turn."""
    with indexed(corpus):
        pass  # builds the index if there is none yet
    pairs = PATTERNS[: effort.patterns]
    firsts: dict[str, Times] = {first: Times() for first, _ in pairs}
    seconds: dict[str, Times] = {second: Times() for _, second in pairs}
    for turn in range(effort.rounds):
        for first, second in pairs:
            for timed, pattern in ((firsts[first], first), (seconds[second], second)):
                timed.run("rg", partial(ripgrep.run, corpus.root, _MODE, pattern))
            with _newcomer(corpus) as client:
                _ask(client, firsts[first], first)
                _ask(client, seconds[second], second)
        print(f"  round {turn + 1} of {effort.rounds}")
    slowest = max(timed.ratio("ours") for timed in firsts.values())
    least = min(timed.speedup("ours") for timed in seconds.values())
    return Section(
        "newcomer",
        "A new process on an existing index",
        text=[
            f"`flashgrep mcp` on {corpus.name}, by the SDK's client on stdio, {effort.rounds} "
            "rounds: the first grep right after the answer to `initialize`, then another."
        ],
        tables=[
            Table(
                "The first grep",
                ["pattern", "rg", "ours", "ours ÷ rg", "met"],
                [
                    [*_row(pattern, timed), f"{ratio:.2f}", mark(ratio <= FIRST_BOUND)]
                    for pattern, timed in firsts.items()
                    for ratio in [timed.ratio("ours")]
                ],
            ),
            Table(
                "The second",
                ["pattern", "rg", "ours", "rg ÷ ours", "met"],
                [
                    [*_row(pattern, timed), times(speed), mark(speed >= SECOND_LEAST)]
                    for pattern, timed in seconds.items()
                    for speed in [timed.speedup("ours")]
                ],
            ),
        ],
        targets=[
            Target(
                "a new process on an index: first grep",
                f"at most {FIRST_BOUND} × rg",
                f"worst {slowest:.2f} ×",
                slowest <= FIRST_BOUND,
            ),
            Target(
                "a new process on an index: second grep, rare",
                f"at least {SECOND_LEAST:.0f} × each",
                f"worst {times(least)}",
                least >= SECOND_LEAST,
            ),
        ],
    )


def _row(pattern: str, timed: Times) -> list[str]:
    return [code(pattern), *(milliseconds(timed.median(name)) for name in ("rg", "ours"))]


def _ask(client: Client, timed: Times, pattern: str) -> None:
    asked = {"pattern": pattern, "output_mode": _MODE}
    timed.run("ours", lambda: client.call("grep", asked))


@contextmanager
def _newcomer(corpus: Corpus) -> Iterator[Client]:
    with (
        open(os.devnull, "w", encoding="utf-8") as log,
        kept_open(_initialized(corpus, log)) as client,
    ):
        yield client


@asynccontextmanager
async def _initialized(corpus: Corpus, log: TextIO) -> AsyncIterator[ClientSession]:
    arguments = ["mcp", "--workdir", str(corpus.root), "--state-dir", str(state_of(corpus))]
    parameters = StdioServerParameters(
        command=FLASHGREP, args=[*arguments, *UNBOUNDED], env=environment()
    )
    async with (
        stdio_client(parameters, errlog=log) as (incoming, outgoing),
        ClientSession(incoming, outgoing) as session,
    ):
        await session.initialize()
        yield session
