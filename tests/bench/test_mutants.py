"""make mutants: which defects are drawn, which tests come first, and how a wild one is ended."""

from __future__ import annotations

import os
import subprocess
import textwrap
import time
from pathlib import Path

import pytest
from bench.mutants.__main__ import ROOT, draw, identity, original
from bench.mutants.mutations import Mutation, mutations
from bench.mutants.nearest import Tests
from bench.mutants.scratch import Scratch
from bench.mutants.trial import run_tests

SOURCE = textwrap.dedent(
    '''
    """Not this 1 text."""

    from __future__ import annotations

    import logging
    from typing import TYPE_CHECKING, Protocol

    if TYPE_CHECKING:
        limit: int = 7
    __all__ = ["one thing", "two things"]
    log = logging.getLogger(__name__)


    class Stub(Protocol):
        def method(self, first: int = 1) -> int:
            """Nothing runs here."""
            ...


    @decorated(maxsize=3)
    def work(size: int = 5, *, deep: bool = False) -> str | None:
        """A docstring with 2 numbers."""
        assert size > 1
        log.debug("three words here %s", size)
        total: int = 20_000
        if size < 2 and deep:
            raise ValueError(f"the size {size} is too small")
        made.value = total
        while not done():
            total -= 1
        return Parameter("name", "help in many words", minimum=4)
    '''
)


def found() -> dict[str, list[str]]:
    """What is changed into what, by kind."""
    rows: dict[str, list[str]] = {}
    for one in mutations("src/flashgrep/x.py", SOURCE):
        rows.setdefault(one.kind, []).append(f"{one.before(SOURCE)} -> {one.after}")
    return rows


def test_every_kind_of_defect_is_made_and_nothing_that_no_test_could_notice() -> None:
    assert found() == {
        "default changed": ["5 -> 6", "False -> True"],
        "comparison flipped": ["size < 2 -> (size <= 2)"],
        "constant off by one": ["2 -> 3", "1 -> 2", "4 -> 5"],
        "and and or swapped": ["size < 2 and deep -> (size < 2 or deep)"],
        "branch negated": [
            "size < 2 and deep -> not (size < 2 and deep)",
            "not done() -> not (not done())",
        ],
        "text changed": [
            "f\"the size {size} is too small\" -> (f'the size {size} is too smallXX')"
        ],
        "statement deleted": [
            'raise ValueError(f"the size {size} is too small") -> pass',
            "made.value = total -> pass",
            "total -= 1 -> pass",
        ],
        "return value dropped": [
            'Parameter("name", "help in many words", minimum=4) -> None',
        ],
    }


def test_only_the_place_changes() -> None:
    for one in mutations("x.py", SOURCE):
        assert one.compiles(SOURCE)
        changed = one.applied(SOURCE)
        assert changed.startswith(SOURCE[: one.start])
        assert one.diff(SOURCE).count("\n+") == 1


@pytest.mark.thorough
def test_a_seed_draws_the_same_defects_of_every_kind() -> None:
    source = "src/flashgrep/tools/format/numbered.py"
    everything = mutations(source, (ROOT / source).read_text(encoding="utf-8"))
    drawn = draw(everything, 16, seed=3)
    assert [identity(one) for one in drawn] == [identity(one) for one in draw(everything, 16, 3)]
    assert drawn != draw(everything, 16, seed=4)
    kinds = [one.kind for one in drawn]
    assert max(map(kinds.count, kinds)) - min(map(kinds.count, set(kinds))) <= 1
    assert len(draw(everything, 10**6, 1)) <= len(everything)
    assert draw(everything, 5, 1, only="nowhere") == []


@pytest.mark.parametrize(
    ("path", "first"),
    [
        ("src/flashgrep/tools/verbs/get_symbol.py", "tests/tools/verbs/test_get_symbol.py"),
        ("src/flashgrep/errors.py", "tests/test_errors.py"),
        ("src/flashgrep/notes/suggestions/refusals.py", "tests/notes/suggestions/test_plan.py"),
    ],
)
def test_the_nearest_tests_come_first_and_all_of_them_once(path: str, first: str) -> None:
    text = (ROOT / path).read_text(encoding="utf-8")
    one = next(m for m in mutations(path, text) if m.kind in ("text changed", "branch negated"))
    portions = Tests(ROOT).portions(one, original(one))
    assert first in portions[0][:4]
    every = [name for portion in portions for name in portion]
    there = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "tests").rglob("test_*.py")
        if "node_modules" not in path.parts
    }
    assert len(every) == len(set(every)) == len(there)


WILD = """
import os, subprocess, sys, time

def test_wild():
    away = "import os, time; os.setsid(); "
    child = away + "open({place!r}, 'w').write(str(os.getpid())); time.sleep(99)"
    subprocess.Popen([sys.executable, "-c", child])
    while True:
        time.sleep(0.1)
"""


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    """A copy of a repository with one program and one test."""
    top = tmp_path / "top"
    (top / "src/flashgrep").mkdir(parents=True)
    (top / "tests").mkdir()
    (top / "src/flashgrep/__init__.py").write_text("ANSWER = 1\n")
    (top / "tests/test_x.py").write_text(
        "import flashgrep\ndef test_answer():\n    assert flashgrep.ANSWER == 1\n"
    )
    (top / "tests/test_wild.py").write_text(WILD.format(place=str(tmp_path / "pid")))
    (top / "tests/peers/node_modules/yjs").mkdir(parents=True)
    (top / "tests/peers/package-lock.json").write_text("{}")
    (top / ".gitignore").write_text("node_modules\n")
    subprocess.run(["git", "init", "-q"], cwd=top, check=True)
    made = Scratch(top, tmp_path / "s")
    made.make()
    made.check()
    return made


@pytest.mark.thorough
def test_a_copy_runs_its_own_sources_and_tells_the_test_that_failed(scratch: Scratch) -> None:
    assert run_tests(scratch, ["tests/test_x.py"], 60).outcome == "passed"
    scratch.put("src/flashgrep/__init__.py", "ANSWER = 2\n")
    run = run_tests(scratch, ["tests/test_x.py"], 60)
    assert (run.outcome, run.failed) == ("failed", "tests/test_x.py::test_answer")
    scratch.put("src/flashgrep/__init__.py", "ANSWER = = 2\n")
    assert run_tests(scratch, ["tests/test_x.py"], 60).failed == "tests/test_x.py"


def test_a_copy_has_the_installed_javascript_packages(scratch: Scratch) -> None:
    assert (scratch.repository / "tests/peers/node_modules/yjs").is_dir()


@pytest.mark.thorough
def test_a_run_that_does_not_end_is_ended_with_all_it_started(
    scratch: Scratch, tmp_path: Path
) -> None:
    written = tmp_path / "pid"
    for seconds in (4, 16, 64):  # on a busy machine it takes longer until there is a child
        assert run_tests(scratch, ["tests/test_wild.py"], seconds).outcome == "late"
        if written.exists() and written.read_text():
            break
    child = int(written.read_text())
    limit = time.monotonic() + 120
    while Path("/proc", str(child)).exists() and _is_running(child):
        assert time.monotonic() < limit
        time.sleep(0.01)


def _is_running(pid: int) -> bool:
    try:
        text = Path("/proc", str(pid), "stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z" and os.getpid() != pid


def test_a_defect_is_named_by_its_file_and_text() -> None:
    one = Mutation("src/flashgrep/errors.py", 1, "x", 0, 0, "#", "")
    other = Mutation("src/flashgrep/errors.py", 1, "x", 0, 0, "##", "")
    assert identity(one) != identity(other)
