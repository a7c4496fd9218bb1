"""`python -m bench.mutants`: draw defects, try each against the tests, list those no test noticed.

Every kind of defect is drawn as often as the others, while there are some left of it. What
was tried is kept in `.bench/mutants`, so that an interrupted run continues where it was.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import secrets
import shutil
import signal
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from bench.mutants.mutations import Mutation, every_mutation
from bench.mutants.nearest import NEIGHBOURHOOD, Tests
from bench.mutants.scratch import Scratch
from bench.mutants.trial import Stopped, run_tests, stopping

ROOT: Final = Path(__file__).resolve().parents[2]
KEPT: Final = ROOT / ".bench" / "mutants"
SURVIVED: Final = "survived"
KILLED: Final = "killed"
LATE: Final = "late"
NEARBY: Final = "unnoticed nearby"
"""With --near: no test of the neighbourhood failed, and the others were not asked."""
_CHECK_SECONDS: Final = 300
_QUICK: Final = "tests/test_errors.py"
_UNSOUND: Final = 3
"""Tests that fail without the defect too, before the defect is given up as untried."""


def main() -> None:
    """Draw, try, report."""
    asked = _arguments()
    everything = list(every_mutation(ROOT))
    drawn = draw(everything, asked.count, asked.seed, asked.only)
    print(f"seed {asked.seed}: {len(drawn)} of {len(everything):,} possible defects", flush=True)
    kept = KEPT / f"{asked.seed}.jsonl"
    done = _read(kept, asked.near)
    with tempfile.TemporaryDirectory(prefix="fgm-") as place:
        desk = Desk(Path(place), asked.seconds, kept, asked.near)
        desk.check()
        waiting = [one for one in drawn if identity(one) not in done]
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopping.set())
        with ThreadPoolExecutor(asked.jobs) as pool:
            for result in pool.map(desk.tried, waiting):
                if result is None:
                    raise SystemExit(f"stopped; go on with --seed {asked.seed}")
                done[result["id"]] = result
    report([done[identity(one)] for one in drawn])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="how many to draw (200)")
    parser.add_argument("--seed", type=int, help="draws the same ones again; a new one if absent")
    parser.add_argument("-j", "--jobs", type=int, default=2, help="how many at once (2)")
    parser.add_argument("--seconds", type=float, default=900, help="for one defect (900)")
    parser.add_argument("--only", default="", help="only files whose path contains this")
    parser.add_argument(
        "--near",
        action="store_true",
        help="ask only the tests near the defect: a quarter of the time, and a stricter measure",
    )
    asked = parser.parse_args()
    asked.seed = secrets.randbelow(1_000_000) if asked.seed is None else asked.seed
    return asked


def draw(everything: Iterable[Mutation], count: int, seed: int, only: str = "") -> list[Mutation]:
    """A sample with as many of one kind as of another."""
    chance = random.Random(seed)
    by_kind: defaultdict[str, list[Mutation]] = defaultdict(list)
    for mutation in everything:
        if only in mutation.path:
            by_kind[mutation.kind].append(mutation)
    for kind in sorted(by_kind):
        chance.shuffle(by_kind[kind])
    drawn: list[Mutation] = []
    while len(drawn) < count and any(by_kind.values()):
        for kind in sorted(by_kind):
            if by_kind[kind] and len(drawn) < count:
                mutation = by_kind[kind].pop()
                if mutation.compiles(original(mutation)):
                    drawn.append(mutation)
    return drawn


def original(mutation: Mutation) -> str:
    """The file without the defect."""
    return (ROOT / mutation.path).read_text(encoding="utf-8")


def identity(mutation: Mutation) -> str:
    """Names a defect of a file as it is now; another text of the file makes another one."""
    text = mutation.applied(original(mutation))
    return hashlib.blake2b(f"{mutation.path}\0{text}".encode(), digest_size=8).hexdigest()


class Desk:
    """Tries defects, several at a time, each in another copy."""

    def __init__(self, place: Path, seconds: float, kept: Path, near: bool) -> None:
        self._place = place
        self._seconds = seconds
        self._near = near
        self._kept = kept
        self._tests = Tests(ROOT)
        self._lock = threading.Lock()
        self._sound: dict[str, bool] = {}
        self._number = 0
        kept.parent.mkdir(parents=True, exist_ok=True)

    def check(self) -> None:
        """Refuse to begin where a test fails without any defect: all would seem to be killed."""
        scratch = Scratch(ROOT, self._place / "0")
        scratch.make()
        scratch.check()
        run = run_tests(scratch, [_QUICK], _CHECK_SECONDS)
        scratch.remove()
        if run.outcome != "passed":
            raise SystemExit(f"{_QUICK} fails without a defect:\n{run.output}")

    def tried(self, mutation: Mutation) -> dict[str, Any] | None:
        """Try one, and keep what came of it; None once everything is to end."""
        if stopping.is_set():
            return None
        began = time.monotonic()
        with self._lock:
            self._number += 1
            scratch = Scratch(ROOT, self._place / str(self._number))
        try:
            scratch.make()
            outcome, by = self._outcome(scratch, mutation, began + self._seconds)
        except Stopped:
            return None
        finally:
            scratch.remove()
        result = {
            "id": identity(mutation),
            "outcome": outcome,
            "by": by,
            "path": mutation.path,
            "line": mutation.line,
            "kind": mutation.kind,
            "diff": mutation.diff(original(mutation)),
            "seconds": round(time.monotonic() - began, 1),
        }
        with self._lock:
            with self._kept.open("a", encoding="utf-8") as file:
                file.write(json.dumps(result) + "\n")
            print(
                f"{outcome:9} {mutation.path}:{mutation.line} {mutation.kind} "
                f"({result['seconds']:.0f} s) {by}",
                flush=True,
            )
        return result

    def _outcome(self, scratch: Scratch, mutation: Mutation, deadline: float) -> tuple[str, str]:
        unsound: list[str] = []
        clean = original(mutation)
        portions = self._tests.portions(mutation, clean)
        asked = portions[:NEIGHBOURHOOD] if self._near else portions
        for portion in filter(None, asked):
            while True:
                scratch.put(mutation.path, mutation.applied(clean))
                left = deadline - time.monotonic()
                if left <= 0:
                    return LATE, "no test failed before the time was over; give it more --seconds"
                without = [f"--deselect={name}" for name in unsound]
                run = run_tests(scratch, [*portion, *without], left)
                if run.outcome == "passed":
                    break
                if run.outcome == "late":
                    return LATE, "no test failed before the time was over; give it more --seconds"
                if run.outcome != "failed" or not run.failed:
                    return KILLED, run.outcome if run.outcome != "failed" else "no test could run"
                if self._is_sound(scratch, mutation, run.failed):
                    return KILLED, run.failed
                unsound.append(run.failed)
                if len(unsound) > _UNSOUND:
                    return "untried", f"tests fail without it too: {', '.join(unsound)}"
        return (SURVIVED if asked == portions else NEARBY), ""

    def _is_sound(self, scratch: Scratch, mutation: Mutation, test: str) -> bool:
        """Whether a test passes without the defect: one that waits may fail on a busy machine."""
        with self._lock:
            known = self._sound.get(test)
        if known is None:
            scratch.put(mutation.path, original(mutation))
            known = run_tests(scratch, [test], _CHECK_SECONDS).outcome == "passed"
            with self._lock:
                self._sound[test] = known
        return known


def _read(kept: Path, near: bool) -> dict[str, dict[str, Any]]:
    if not kept.exists():
        return {}
    lines = kept.read_text(encoding="utf-8").splitlines()
    rows = map(json.loads, lines)
    again = {LATE} if near else {LATE, NEARBY}
    return {row["id"]: row for row in rows if row["outcome"] not in again}


def report(results: list[dict[str, Any]]) -> None:
    """Say how many were noticed, and show those that were not."""
    width = shutil.get_terminal_size().columns
    by_kind: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for result in results:
        by_kind[result["kind"]][result["outcome"]] += 1
    left = [result for result in results if result["outcome"] != KILLED]
    for result in left:
        print(f"\n{'─' * min(width, 100)}\n{result['outcome']} {result['by']}")
        print(f"{result['path']}:{result['line']}  {result['kind']}\n{result['diff']}")
    print(f"\n{'kind':24}{'killed':>8}{'all':>6}")
    for kind, counts in sorted(by_kind.items()):
        print(f"{kind:24}{counts[KILLED]:8}{counts.total():6}")
    killed = len(results) - len(left)
    share = killed / len(results) if results else 1.0
    print(f"{'together':24}{killed:8}{len(results):6}  {share:.1%}")


if __name__ == "__main__":
    main()
