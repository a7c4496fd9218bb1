"""`python -m bench`: measure, print, and with `--write` renew docs/benchmarks.md."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import perf_counter

from bench import cold, extremes, latency, modes, searching, starting
from bench.corpus import VARIABLE, Corpus, prepare
from bench.report import Section, keep, render, write_page

ROUNDS = 9
PARTS: dict[str, Callable[[Corpus, int], Section]] = {
    "searching": searching.measure,
    "modes": modes.measure,
    "cold": cold.measure,
    "starting": starting.measure,
    "latency": latency.measure,
    "extremes": extremes.measure,
}
_ON_REQUEST = ("cold",)


def main() -> None:
    """Measure the parts asked for, one after the other."""
    asked = _arguments()
    names = asked.only or [name for name in PARTS if name not in _ON_REQUEST]
    corpus = prepare(asked.corpus)
    for name in names:
        begin = perf_counter()
        print(f"{name} …", flush=True)
        section = PARTS[name](corpus, max(1, asked.rounds))
        if asked.write:  # a trial on another tree must not reach the page
            keep(section)
        print(f"\n{render(section)}\n\n({name} took {perf_counter() - begin:.0f} s)\n", flush=True)
    if asked.write:
        write_page(list(PARTS))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, metavar="NAME", help=", ".join(PARTS))
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"default {ROUNDS}")
    parser.add_argument("--corpus", metavar="DIR", help=f"a prepared tree; or {VARIABLE}")
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md")
    return parser.parse_args()


main()
