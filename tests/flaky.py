"""Hunts tests that fail now and then: `make flaky`, or `python -m tests.flaky` for a part of it.

    --suite-runs 4   runs of the whole suite, its files in random order; every second one beside
                     two busy processes
    --repeat 30      runs of every test that waits, races or starts processes, those of the suites
                     included
    --files …        only these files, in both parts
    --seed N         the order; printed, so that it can be given again
    --fresh          begin anew; else runs that an earlier call finished are not made again

Which tests are repeated is known from the suites: `tests.waiting` listens to what each test does
and notes it in `.flaky/waiting.txt`. Without a suite whole files are repeated, by what they
import, themselves or through other modules of the tests, or through a module of the program that
they name: anything of `WAITING`. `--list` prints the files.

Each run is a line of `.flaky/runs.jsonl`: {"run", "seconds", "files", "status", "failed":
{test: text}}; the first line holds the seed and the commit. The summary is printed and kept in
`.flaky/summary.txt`. The exit status is 1 if any test ever failed.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from random import Random
from xml.etree import ElementTree

from tests.waiting import ONLY, VARIABLE

WAITING = {"anyio", "asyncio", "concurrent", "httpx2", "mcp", "multiprocessing", "select"}
WAITING |= {"selectors", "signal", "socket", "subprocess", "threading", "websockets"}
"""What a test imports that waits for another thread, process or machine."""
_BUSY = (sys.executable, "-c", "while True: pass")
_BUSY_PROCESSES = 2
_TEXT_LINES = 40
_TAIL_LINES = 15


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


# ── which files are repeated ────────────────────────────────────────────────────────────────────


def all_files(root: Path) -> list[str]:
    """Every test file below `tests/`."""
    return sorted(str(path.relative_to(root)) for path in (root / "tests").rglob("test_*.py"))


def waiting_files(root: Path, files: Sequence[str], seen: Path | None = None) -> list[str]:
    """Those of the files that wait, race or start processes.

    As was `seen` when their tests ran; as far as imports tell where nothing was.
    """
    if seen is not None and seen.exists():
        tests = seen.read_text(encoding="utf-8").splitlines()
        return sorted(set(files) & {test.partition("::")[0] for test in tests})
    return [file for file in files if _waits(root, Path(file), frozenset())]


def _waits(root: Path, file: Path, seen: frozenset[Path]) -> bool:
    names = _imported(root / file)
    if any(name.partition(".")[0] in WAITING for name in names):
        return True
    below = seen | {file}
    for name in names:
        for place in _sources(root, name):
            if place.parts[0] == "src":  # the program's own imports lead everywhere: one step
                if any(each.partition(".")[0] in WAITING for each in _imported(root / place)):
                    return True
            elif place not in below and _waits(root, place, below):
                return True
    return False


def _sources(root: Path, name: str) -> Iterator[Path]:
    """The files of the tests or the program that an import may mean."""
    path = Path(*name.split("."))
    for place in (path, Path("src") / path):
        for file in (place.with_suffix(".py"), place / "__init__.py"):
            if (root / file).is_file():
                yield file


@cache
def _imported(file: Path) -> frozenset[str]:
    """The modules a file imports; for `from a import b` both `a` and `a.b`."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return frozenset(found)


# ── running ─────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Run:
    """One call of pytest and what failed in it."""

    run: str
    seconds: float
    files: list[str]
    status: int
    failed: dict[str, str]


def run_tests(
    root: Path,
    name: str,
    files: Sequence[str],
    workers: int,
    seen: Path | None = None,
    only: Path | None = None,
) -> Run:
    """Run files in this order, as `make test` does: all their tests, or those that `only` names.

    Tests that wait are noted in `seen`.
    """
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.xml"
        spread = ["-n", str(workers), "--dist", "loadfile", "--no-loadscope-reorder"]
        command = [sys.executable, "-m", "pytest", "-q", *(spread if workers else ()), *files]
        command += [f"--junitxml={report}", "-o", "junit_family=xunit1", "-p", "no:cacheprovider"]
        listening = {VARIABLE: seen, ONLY: only}  # this may be a test of ours, in such a run itself
        environment = {name: text for name, text in os.environ.items() if name not in listening}
        environment |= {name: str(file) for name, file in listening.items() if file is not None}
        if seen or only:
            command += ["-p", "tests.waiting"]
        ended = subprocess.run(
            command, cwd=root, env=environment, capture_output=True, text=True, check=False
        )
        failed = _failed(report)
    if ended.returncode and not failed:
        tail = (ended.stdout + ended.stderr).splitlines()[-_TAIL_LINES:]
        failed[f"(the run itself ended with {ended.returncode})"] = "\n".join(tail)
    return Run(name, round(time.monotonic() - begun, 1), list(files), ended.returncode, failed)


def _failed(report: Path) -> dict[str, str]:
    """Tests that failed, in whatever phase, and the end of what was said about each."""
    if not report.exists():
        return {}
    found: dict[str, str] = {}
    for case in ElementTree.parse(report).iter("testcase"):  # noqa: S314 (pytest wrote it)
        for outcome in (*case.findall("failure"), *case.findall("error")):
            test = f"{case.get('file') or case.get('classname')}::{case.get('name')}"
            lines = (outcome.text or outcome.get("message") or "").splitlines()
            found.setdefault(test, "\n".join(lines[-_TEXT_LINES:]))
    return found


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Processes that take all the time they get."""
    processes = [subprocess.Popen(_BUSY) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


# ── the hunt ────────────────────────────────────────────────────────────────────────────────────


class Hunt:
    """All runs, those of an earlier call included."""

    def __init__(self, root: Path, output: Path, seed: int | None, fresh: bool) -> None:
        self.root = root
        self.output = output
        self.runs: list[Run] = []
        output.mkdir(parents=True, exist_ok=True)
        self.seen = output / "waiting.txt"
        """The tests that were seen to wait, noted by the suites."""
        self._log = output / "runs.jsonl"
        lines = [] if fresh or not self._log.exists() else self._log.read_text().splitlines()
        begun = json.loads(lines[0]) if lines else {}
        if begun.get("commit") == self._commit() and seed in (None, begun.get("seed")):
            self.seed = int(begun["seed"])
            self.runs = [Run(**json.loads(line)) for line in lines[1:]]
            _say(f"going on with {self._log}: {len(self.runs)} runs are done")
        else:
            self.seed = secrets.randbelow(1_000_000) if seed is None else seed
            self._log.write_text(json.dumps({"seed": self.seed, "commit": self._commit()}) + "\n")
            self.seen.unlink(missing_ok=True)

    def _commit(self) -> str:
        command = ["git", "-C", str(self.root), "rev-parse", "HEAD"]
        found = subprocess.run(command, capture_output=True, text=True, check=False)
        return found.stdout.strip()

    def make(
        self, name: str, files: Sequence[str], workers: int, is_busy: bool, is_suite: bool
    ) -> None:
        """Run files in an order that belongs to the seed and the name; not if that was done."""
        order = list(files)
        Random(f"{self.seed} {name}").shuffle(order)
        if not order or any(run.run == name and set(run.files) == set(order) for run in self.runs):
            return
        with busy(_BUSY_PROCESSES if is_busy else 0):
            seen = self.seen if is_suite else None
            only = None if is_suite or not self.seen.exists() else self.seen
            run = run_tests(self.root, name, order, workers, seen, only)
        self.runs.append(run)
        with self._log.open("a", encoding="utf-8") as log:
            log.write(json.dumps(asdict(run)) + "\n")
        told = "".join(f"\n    {test}" for test in run.failed)
        _say(f"{name}: {len(run.failed)} failed in {run.seconds:.0f} s{told}")

    def summary(self) -> str:
        """Every test that ever failed: how often, of how many runs, and what it said first."""
        failures: Counter[str] = Counter()
        first: dict[str, tuple[str, str]] = {}
        ran: Counter[str] = Counter()
        for run in self.runs:
            ran.update(run.files)
            for test, text in run.failed.items():
                failures[test] += 1
                first.setdefault(test, (run.run, text))
        lines = [f"seed {self.seed}, {len(self.runs)} runs, {len(failures)} tests ever failed"]
        for test, count in failures.most_common():
            runs = ran.get(test.partition("::")[0]) or len(self.runs)
            where, text = first[test]
            lines += [f"\n{test}: failed {count} of {runs}, first in {where}", text]
        return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Hunt; 1 where something was found."""
    asked = _options().parse_args(arguments)
    root = Path(asked.root).resolve()
    files = [os.path.relpath(file, root) for file in asked.files or ()] or all_files(root)
    output = root / asked.output
    if asked.list:
        _say("\n".join(waiting_files(root, files, output / "waiting.txt")))
        return 0
    hunt = Hunt(root, output, asked.seed, asked.fresh)
    _say(f"seed {hunt.seed}")
    for number in range(asked.suite_runs):
        is_busy = number % 2 == 1
        name = f"suite {number + 1}" + (" beside busy processes" if is_busy else "")
        hunt.make(name, files, asked.workers, is_busy, is_suite=True)
    repeated = waiting_files(root, files, hunt.seen)
    _say(f"{len(repeated)} of {len(files)} files have tests that wait, race or start processes:")
    _say("".join(f"    {file}\n" for file in repeated))
    for number in range(asked.repeat - asked.suite_runs):
        hunt.make(f"round {number + 1}", repeated, asked.workers, False, is_suite=False)
    summary = hunt.summary()
    (hunt.output / "summary.txt").write_text(summary, encoding="utf-8")
    _say(summary)
    return int(any(run.failed for run in hunt.runs))


def _options() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser("tests.flaky", description="Hunt tests that fail at times.")
    options.add_argument("--suite-runs", type=int, default=4)
    options.add_argument("--repeat", type=int, default=30)
    options.add_argument("--files", nargs="+")
    options.add_argument("--seed", type=int)
    options.add_argument("--workers", type=int, default=2)
    options.add_argument("--output", default=".flaky")
    options.add_argument("--root", default=str(Path(__file__).parents[1]))
    options.add_argument("--fresh", action="store_true")
    options.add_argument("--list", action="store_true")
    return options


if __name__ == "__main__":
    sys.exit(main())
