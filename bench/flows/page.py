"""docs/flows.md: what ran for each call, counted and drawn."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby, pairwise
from pathlib import Path
from typing import Final

from bench.flows.calls import FILES, Called

PAGE: Final = Path(__file__).parents[2] / "docs" / "flows.md"
_WIDTH: Final = 100
_THREADS: Final = {"MainThread": "event loop", "AnyIO worker thread": "thread of the call"}
"""What those threads do here that are not named after what they do; in the order of a call."""

_SECTION: Final = re.compile(r"^## (.+?)\n\n```\n(.*?)\n```$", re.DOTALL | re.MULTILINE)
_HEAD: Final = f"""\
# Flows

Written by `make flows`, which records four calls in the running server. Do not edit it by hand: a
test compares the modules below with those that run, and asks for `make flows` where they differ.

Every function of `flashgrep` that is called in the server process counts, in all threads, from the
call until the server is idle again; lambdas, comprehensions and the code of modules do not. The
server has answered such calls before, so nothing is imported or built for the first time. The
workspace has {FILES} files, one of which matches. A *room* is a folder of the package, and a change
of room is a call of a function in another room than that of the thread's call before it (a
coroutine that the event loop resumes is not called). Counts of work in the background differ a
little from run to run; the modules do not.

A drawing has a line for each stretch of modules of one room that were used for the first time,
indented under the room that called. Each thread begins at the left.
"""


def render(recordings: Mapping[str, Sequence[Called]]) -> str:
    """The page."""
    table = [
        "| call | functions | modules | changes of room |",
        "|---|---|---|---|",
        *(
            f"| {name} | {len({(one.module, one.function) for one in calls})} "
            f"| {len(modules(calls))} | {_room_changes(calls)} |"
            for name, calls in recordings.items()
        ),
    ]
    sections = [f"## {name}\n\n```\n{_drawing(calls)}\n```" for name, calls in recordings.items()]
    return "\n\n".join([_HEAD.rstrip(), "\n".join(table), *sections]) + "\n"


def modules(calls: Iterable[Called]) -> set[str]:
    """Every module that ran."""
    return {called.module for called in calls}


def modules_on(page: str) -> dict[str, set[str]]:
    """The modules that a page names for each call."""
    found: dict[str, set[str]] = {}
    for name, drawing in _SECTION.findall(page):
        room, found[name] = "", set()
        for line in drawing.splitlines():
            if line.startswith("["):
                continue
            words = line.split()
            if words[0] != "·":  # else it continues the line before
                room, words = words[0], words[1:]
            found[name] |= {_joined(room, word) for word in words if word != "·"}
    return found


def _joined(room: str, word: str) -> str:
    return room if word == "." else f"{room}.{word}"


def _room(module: str) -> str:
    """The first folder; a module that is in none is a room by itself."""
    return module.partition(".")[0]


def _room_changes(calls: Sequence[Called]) -> int:
    rooms: dict[str, list[str]] = {}
    for called in calls:
        if not called.is_resumed:
            rooms.setdefault(called.thread, []).append(_room(called.module))
    return sum(one != other for each in rooms.values() for one, other in pairwise(each))


def _drawing(calls: Sequence[Called]) -> str:
    threads: dict[str, list[Called]] = {}
    for called in calls:
        threads.setdefault(re.sub(r"[-_ ]?\d+", "", called.thread), []).append(called)
    order = [*_THREADS, *sorted(set(threads) - set(_THREADS))]
    seen: set[str] = set()
    lines = []
    for thread in order:
        drawn = list(_lines(threads.get(thread, ()), seen))
        if drawn:
            lines += [f"[{_THREADS.get(thread, thread)}]", *drawn]
    return "\n".join(lines)


def _lines(calls: Iterable[Called], seen: set[str]) -> Iterable[str]:
    first: dict[str, Called] = {}
    for called in calls:
        if called.module not in seen:
            first.setdefault(called.module, called)
    seen |= set(first)
    runs = [(way, list(run)) for way, run in groupby(first.values(), _way)]
    margin = min((len(way) for way, _ in runs), default=0)
    for way, run in runs:
        names = [called.module.partition(".")[2] or "." for called in run]
        yield from _wrapped("  " * (len(way) - margin) + way[-1], names)


def _wrapped(line: str, names: Sequence[str]) -> Iterable[str]:
    indent, between = " " * len(line), "  "
    for name in names:
        if len(line) + len(between) + len(name) > _WIDTH:
            yield line
            line, between = indent, " · "
        line += between + name
        between = " · "
    yield line


def _way(called: Called) -> tuple[str, ...]:
    """The rooms that the call came through, its own last."""
    way = (*reversed(called.callers), called.module)
    return tuple(room for room, _ in groupby(_room(module) for module in way))
