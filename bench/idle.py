"""A server after its work: the memory it keeps to itself, and whether it lets the machine sleep."""

from __future__ import annotations

import time

from bench.corpus import Corpus
from bench.effort import Effort
from bench.kept import indexed
from bench.memory import held
from bench.pages import LINES
from bench.patterns import few_patterns
from bench.processes import settle, wakeups
from bench.questions import read_questions
from bench.report import Section, Table, Target
from bench.served import UNBOUNDED, Client, connected

MEMORY_BOUND = 250e6
_ALL_LISTENERS = ("--http-port", "auto", "--tcp-port", "auto")

_MODES = ({"output_mode": "files_with_matches"}, {"output_mode": "content", "head_limit": LINES})


def measure(corpus: Corpus, effort: Effort) -> Section:
    """Ask everything there is to ask, rest, look."""
    with indexed(corpus, *UNBOUNDED, *_ALL_LISTENERS) as server:
        with connected(server) as client:
            _work(client, effort)
            time.sleep(effort.rest_seconds)
            settle(server)
            connected_held, connected_woken = held(server), wakeups(server, effort.idle_seconds)
        settle(server)
        alone_held, alone_woken = held(server), wakeups(server, effort.idle_seconds)
        processes = len(server.processes())
    rows = [
        [
            who,
            f"{memory.private / 1e6:.0f}",
            f"{(memory.private - memory.anonymous) / 1e6:.0f}",
            f"{memory.anonymous / 1e6:.0f}",
            str(woken.threads),
            str(woken.woken),
            str(woken.switches),
        ]
        for who, memory, woken in (
            ("a client that is silent", connected_held, connected_woken),
            ("no client", alone_held, alone_woken),
        )
    ]
    most = max(connected_held.private, alone_held.private)
    switches = max(connected_woken.switches, alone_woken.switches)
    columns = [
        "connected",
        "private MB",
        "of it files",
        "anonymous",
        "threads",
        "of these woken",
        "wake-ups",
    ]
    return Section(
        "idle",
        "Serving, idle",
        text=[
            f"After every pattern (files, a page, count) and every question, and "
            f"{effort.rest_seconds:.0f} s of rest: {processes} processes of a server of "
            f"{corpus.name}, with HTTP, TCP and the unix socket. Private is `Private_Clean` + "
            "`Private_Dirty` of all of them: pages of mapped files that no other process maps, "
            "most of them the index, which the kernel can drop at any time, and anonymous ones, "
            "which it cannot. Wake-ups are voluntary context switches of all threads in "
            f"{effort.idle_seconds:g} s in which nothing changes."
        ],
        tables=[Table("", columns, rows)],
        targets=[
            Target(
                "idle: private memory",
                f"at most {MEMORY_BOUND / 1e6:.0f} MB",
                f"{most / 1e6:.0f} MB",
                most <= MEMORY_BOUND,
            ),
            Target("idle: wake-ups", "none", str(switches), switches == 0),
        ],
    )


def _work(client: Client, effort: Effort) -> None:
    for pattern in few_patterns(effort.patterns):
        for mode in (*_MODES, {"output_mode": "count"}):
            client.call("grep", {"pattern": pattern.source, **mode})
    for question in read_questions():
        client.call("query", {"text": question.text, "limit": 5})
