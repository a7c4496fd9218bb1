"""What a stranger's first commands set up."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent


def planned(target: str) -> str:
    """What make would run in a clone in which nothing is set up."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    command = ["make", "--dry-run", "--what-if", "pyproject.toml", target]
    done = subprocess.run(
        command, cwd=ROOT, env=kept, capture_output=True, text=True, check=True, timeout=120
    )
    return done.stdout


def test_make_run_says_that_it_takes_a_while_and_installs_the_package_alone() -> None:
    steps = planned("run")
    assert "takes a minute or two" in steps.splitlines()[0]
    assert "pip install --quiet --editable . --constraint" in steps
    assert "--group dev" not in steps
    assert "npm" not in steps
    assert steps.splitlines()[-1].endswith("flashgrep serve")


def test_make_test_installs_the_package_first_and_then_the_rest() -> None:
    steps = planned("lint")
    package, _, rest = steps.partition("touch .venv/.run-ready")
    assert "--group dev" not in package
    assert "--group dev" in rest
    assert "npm ci" in rest


def test_what_make_test_leaves_out_ci_runs() -> None:
    assert '-m "not thorough"' in planned("test")
    assert planned("thorough").endswith("-m thorough\n")
    steps = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert steps[-2:] == ["make test", "make thorough"]
