"""The examples of CONTRIBUTING.md work: its diffs apply to these sources, and their tests pass."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parent.parent
COPIED: Final = ("src", "tests/tools")


@pytest.mark.thorough
def test_the_verb_and_the_mount_of_the_guide_work(tmp_path: Path) -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    diffs = re.findall(r"```diff\n(.*?)```", guide, re.DOTALL)
    assert len(diffs) == 2
    for name in COPIED:
        ignored = shutil.ignore_patterns("__pycache__", "conftest.py")
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    (tmp_path / "tests" / "__init__.py").touch()
    for diff in diffs:
        subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=diff, text=True, check=True)
    tests = re.findall(r"^\+\+\+ b/(tests/.*)$", "".join(diffs), re.MULTILINE)
    assert len(tests) == 2
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", *tests]
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path / 'src'}{os.pathsep}{tmp_path}"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
