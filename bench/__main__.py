"""`python -m bench`: measure, print, and with `--write` renew docs/benchmarks.md."""

from __future__ import annotations

import argparse
from pathlib import Path
from time import perf_counter

from bench.corpus import VARIABLE, Corpus, prepare
from bench.effort import MINUTES, ROUNDS, Effort
from bench.figures import mark
from bench.parts import ON_REQUEST, PARTS
from bench.report import Section, keep, render, write_page


def main() -> None:
    """Measure the parts asked for, one after the other."""
    asked = _arguments()
    names = asked.only or [name for name in PARTS if name not in ON_REQUEST]
    has_own_trees = set(names) <= {"history", "soak"}
    corpus = Corpus(Path.cwd(), "no tree") if has_own_trees else prepare(asked.corpus)
    paths = tuple(asked.paths)
    effort = Effort(
        rounds=max(1, asked.rounds), patterns=asked.patterns, minutes=asked.minutes, paths=paths
    )
    for name in names:
        begin = perf_counter()
        print(f"{name} …", flush=True)
        section = PARTS[name](corpus, effort)
        if asked.write:  # a trial on another tree must not reach the page
            keep(section)
        _show(section)
        print(f"({name} took {perf_counter() - begin:.0f} s)\n", flush=True)
    if asked.write:
        write_page(list(PARTS))


def _show(section: Section) -> None:
    print(f"\n{render(section)}\n")
    for target in section.targets:
        print(f"{target.what}: {target.bound}; measured {target.figure}: {mark(target.met)}")


def split_paths(given: list[str]) -> tuple[list[str], list[str]]:
    """Names of parts, and the repositories that follow `history`."""
    if "history" not in given:
        return given, []
    end = given.index("history") + 1
    further = [name for name in given[end:] if name in PARTS and not Path(name).is_dir()]
    return given[:end] + further, [path for path in given[end:] if path not in further]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help=", ".join(PARTS))
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"default {ROUNDS}")
    parser.add_argument("--patterns", type=int, metavar="N", help="of each class; default all")
    parser.add_argument(
        "--minutes", type=float, default=MINUTES, help=f"of soak; default {MINUTES:g}"
    )
    parser.add_argument("--corpus", metavar="DIR", help=f"a prepared tree; or {VARIABLE}")
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md")
    asked = parser.parse_args()
    asked.only, asked.paths = split_paths(asked.only)
    unknown = [name for name in asked.only if name not in PARTS]
    if unknown:
        parser.error(f"--only: no part {', '.join(unknown)}; choose from {', '.join(PARTS)}")
    if asked.write and asked.patterns:
        parser.error("--write is for whole classes: leave --patterns out")
    if asked.write and asked.minutes < MINUTES:
        parser.error(f"--write is for {MINUTES:g} minutes of soak or more")
    return asked


if __name__ == "__main__":
    main()
