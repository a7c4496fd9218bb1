"""A program forked from a warm process is to a test what one of its own start is."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.transports.clients import FLASHGREP, environment
from tests.warm import Warm

SELF = """
import json, os, signal, sys
print(json.dumps({
    "parent": os.getppid(), "place": os.getcwd(), "words": sys.argv, "name": __name__,
    "environment": dict(os.environ), "open": sorted(os.listdir("/proc/self/fd"), key=int)[:-1],
    "interrupt": signal.getsignal(signal.SIGINT) is signal.default_int_handler,
    "imported": any(name.split(".")[0] in ("flashgrep", "tests", "pytest") for name in sys.modules),
    "typed": sys.stdin.read(),
}))
"""
STARTS = pytest.mark.parametrize("start", [subprocess.Popen, Warm])


@STARTS
def test_it_has_its_own_words_place_environment_and_descriptors(
    start: type[subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    command = [sys.executable, "-P", "-c", SELF, "one", "two"]
    own = {"HOME": str(tmp_path), "LC_CTYPE": "C.UTF-8"}
    pipe = subprocess.PIPE
    with start(command, stdin=pipe, stdout=pipe, cwd=tmp_path, env=own) as process:
        told = json.loads(process.communicate(b"typed")[0])
    assert process.returncode == 0
    assert told == {
        "parent": os.getpid(),
        "place": str(tmp_path),
        "words": ["-c", "one", "two"],
        "name": "__main__",
        "environment": own,
        "open": ["0", "1", "2"],
        "interrupt": True,
        "imported": False,
        "typed": "typed",
    }


@STARTS
@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("", 0),
        ("raise SystemExit(7)", 7),
        ("1 / 0", 1),
        ("import os; os._exit(3)", 3),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
    ],
)
def test_its_status_is_told(start: type[subprocess.Popen[bytes]], code: str, status: int) -> None:
    with start([sys.executable, "-c", code], stderr=subprocess.DEVNULL) as process:
        assert process.wait(30) == status


@STARTS
def test_a_file_and_a_module_are_run(start: type[subprocess.Popen[bytes]], tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text("import sys; print(__name__, sys.argv)")
    with start([sys.executable, str(file), "word"], stdout=subprocess.PIPE) as process:
        told = process.communicate()[0].decode()
    assert told == f"__main__ {[str(file), 'word']}\n"
    command = [*FLASHGREP, "mcp", "--workdir", str(tmp_path / "none")]
    with start(command, stderr=subprocess.PIPE, env=environment(tmp_path)) as process:
        assert b"none" in process.communicate()[1]
    assert process.returncode == 2


def test_what_it_cannot_do_is_refused() -> None:
    with pytest.raises(AssertionError, match="needs a Popen"):
        Warm([sys.executable, "-c", ""], umask=0o077)
