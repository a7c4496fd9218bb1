"""The hunt for tests that fail now and then."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests import flaky, waiting
from tests.faults.processes import children, is_alive

EVERY_SECOND = """\
import threading
from pathlib import Path

COUNT = Path(__file__).with_name("count")

def test_now_and_then():
    thread = threading.Thread(target=list)
    thread.start()
    thread.join()
    runs = len(COUNT.read_text()) if COUNT.exists() else 0
    COUNT.write_text("x" * (runs + 1))
    assert runs % 2 == 0, "the second time"
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with a test that fails every second time, and one that never does."""
    files = {
        "pyproject.toml": "[tool.pytest.ini_options]\n",
        "tests/__init__.py": "",
        "tests/test_odd.py": EVERY_SECOND,
        "tests/sub/test_calm.py": "def test_calm():\n    pass\n",
        "tests/sub/test_asks.py": "from tests.asking import ask\n",
        "tests/sub/test_starts.py": "from program.server import serve\n",
        "tests/sub/test_reads.py": "import program.reading\n",
        "tests/waiting.py": Path(waiting.__file__).read_text(encoding="utf-8"),
        "tests/asking.py": "import socket\nimport tests.asking\n\ndef ask(): pass\n",
        "src/program/server.py": "import subprocess\n",
        "src/program/reading.py": "import program.server\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_files_that_wait_are_known_by_what_they_import(root: Path) -> None:
    """Themselves, through a helper, or by a module of the program that does."""
    files = flaky.all_files(root)
    assert len(files) == 5
    found = ["tests/sub/test_asks.py", "tests/sub/test_starts.py", "tests/test_odd.py"]
    assert flaky.waiting_files(root, files) == found


SEEN = {
    "sleeps": "import time\n\ndef test_it():\n    time.sleep(0)\n",
    "starts": "import subprocess\n\ndef test_it():\n    subprocess.run(['true'])\n",
    "connects": "import socket\n\ndef test_it():\n    socket.socket().connect_ex(('', 1))\n",
    "imports": "import subprocess, threading, time\n\ndef test_it():\n    pass\n",
    "loops": "import asyncio\n\ndef test_it():\n    asyncio.run(asyncio.sleep(0))\n",
    "shares": """\
import subprocess
import pytest

@pytest.fixture(scope="module")
def started():
    return subprocess.run(["true"])

def test_first(started):
    pass

def test_second(started):
    pass

def test_alone():
    pass
""",
}
WAITING_TESTS = {
    "tests/test_connects.py::test_it",
    "tests/test_sleeps.py::test_it",
    "tests/test_starts.py::test_it",
    "tests/test_shares.py::test_first",
    "tests/test_shares.py::test_second",
}


@pytest.mark.thorough
def test_tests_that_wait_are_known_by_what_they_and_their_fixtures_do(root: Path) -> None:
    for name, text in SEEN.items():
        (root / "tests" / f"test_{name}.py").write_text(text)
    files = [f"tests/test_{name}.py" for name in SEEN]
    seen = root / "seen"
    run = flaky.run_tests(root, "one", files, 0, seen)
    assert run.status == 0, run.failed
    assert set(seen.read_text().splitlines()) == WAITING_TESTS
    waiting_files = sorted({test.partition("::")[0] for test in WAITING_TESTS})
    assert flaky.waiting_files(root, files, seen) == waiting_files
    # Only they are run again.
    again = root / "again"
    flaky.run_tests(root, "two", waiting_files, 0, again, seen)
    assert set(again.read_text().splitlines()) == WAITING_TESTS
    (root / "tests" / "test_shares.py").write_text(
        "def test_first(): assert 0\ndef test_alone(): assert 0\n"
    )
    run = flaky.run_tests(root, "three", waiting_files, 0, None, seen)
    assert list(run.failed) == ["tests/test_shares.py::test_first"]


@pytest.mark.thorough
def test_a_test_that_fails_now_and_then_is_told_with_how_often(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = ["tests/test_odd.py", "tests/sub/test_calm.py"]
    asked = ["--root", str(root), "--workers", "0", "--suite-runs", "1", "--seed", "7"]
    asked += ["--files", *(str(root / file) for file in files)]
    assert flaky.main([*asked, "--repeat", "2"]) == 1
    told = capsys.readouterr().out
    assert "seed 7" in told
    assert "tests/test_odd.py::test_now_and_then: failed 1 of 2, first in round 1" in told
    assert "the second time" in told
    assert "calm:" not in told
    assert (root / ".flaky" / "summary.txt").read_text() in told
    # What was done is not done again.
    assert flaky.main([*asked, "--repeat", "3"]) == 1
    assert (root / "tests" / "count").read_text() == "xxx"
    assert "failed 1 of 3, first in round 1" in capsys.readouterr().out
    runs = (root / ".flaky" / "runs.jsonl").read_text().splitlines()[1:]
    assert [json.loads(run)["run"] for run in runs] == ["suite 1", "round 1", "round 2"]


def test_a_run_that_breaks_off_counts_as_a_failure(root: Path) -> None:
    (root / "tests" / "test_odd.py").write_text("import os, threading\nos._exit(3)\n")
    run = flaky.run_tests(root, "one", ["tests/test_odd.py"], 0)
    assert run.status == 3
    assert list(run.failed) == ["(the run itself ended with 3)"]


def test_busy_processes_are_there_and_gone() -> None:
    before = set(children(os.getpid()))
    with flaky.busy(2):
        made = set(children(os.getpid())) - before
        assert len(made) == 2
    assert not any(map(is_alive, made))
