"""Kill -9 while a file is overwritten, again and again: never torn, never a stray left."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flashgrep.workspace.write.recovery import recover

KILLS = 200 if os.environ.get("FLASHGREP_HEAVY") else 8
SIZE = 100_000

CHILD = """
import os, sys
from flashgrep.workspace.write.replace import ReplaceTarget, replace_bytes
directory, state, size = sys.argv[1], sys.argv[2], int(sys.argv[3])
path = os.path.join(directory, "file")
fd = os.open(directory, os.O_RDONLY)
target = ReplaceTarget(fd, b"file", path.encode(), state.encode())
for turn in range(1_000_000):
    letter = b"ab"[turn % 2 : turn % 2 + 1]
    replace_bytes(target, letter * (size + turn % 2 * 5_000), os.stat(path))
    os.write(1, b".")
"""


# As above, but a thread kills the process the moment the first new byte is in the file.
SUICIDE = """
import os, signal, sys, threading
from flashgrep.workspace.write.replace import ReplaceTarget, replace_bytes
directory, state, size = sys.argv[1], sys.argv[2], int(sys.argv[3])
path = os.path.join(directory, "file")
fd = os.open(directory, os.O_RDONLY)
watched = os.open(path, os.O_RDONLY)
old = os.pread(watched, 1, 0)

def watch():
    while os.pread(watched, 1, 0) == old:
        pass
    os.kill(os.getpid(), signal.SIGKILL)

threading.Thread(target=watch, daemon=True).start()
new = b"b" if old == b"a" else b"a"
replace_bytes(ReplaceTarget(fd, b"file", path.encode(), state.encode()), new * size, os.stat(path))
signal.pause()
"""


@pytest.mark.fault
@pytest.mark.timeout(600)
def test_a_kill_in_the_middle_of_a_write_in_place_is_undone(tmp_path: Path) -> None:
    files, state = tmp_path / "files", tmp_path / "state"
    files.mkdir()
    size = 8_000_000
    file = files / "file"
    file.write_bytes(b"a" * size)
    os.link(file, files / "other")
    for _ in range(KILLS // 4):
        arguments = [sys.executable, "-c", SUICIDE, str(files), str(state), str(size)]
        assert subprocess.run(arguments, check=False).returncode == -signal.SIGKILL
        recover(os.fsencode(state))
        assert file.read_bytes() in (b"a" * size, b"b" * size)
        assert os.listdir(state) == []


@pytest.mark.fault
@pytest.mark.timeout(600)
@pytest.mark.parametrize("linked", [False, True], ids=["by rename", "in place"])
def test_a_killed_overwrite_tears_nothing_and_leaves_nothing(tmp_path: Path, linked: bool) -> None:
    files, state = tmp_path / "files", tmp_path / "state"
    files.mkdir()
    file = files / "file"
    file.write_bytes(b"a" * SIZE)
    if linked:
        os.link(file, files / "other")
    chance = random.Random(1)
    for _ in range(KILLS):
        _kill_a_writer(files, state, chance)
        recover(os.fsencode(state))
        assert file.read_bytes() in (b"a" * SIZE, b"b" * (SIZE + 5_000))
        assert sorted(os.listdir(files)) == (["file", "other"] if linked else ["file"])
        assert os.listdir(state) == []


def _kill_a_writer(files: Path, state: Path, chance: random.Random) -> None:
    """Let a writer begin, then kill it somewhere in its next few writes."""
    arguments = [sys.executable, "-c", CHILD, str(files), str(state), str(SIZE)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.read(1) == b"."
        instant = time.perf_counter() + chance.random() * 0.006
        while time.perf_counter() < instant:
            pass
        child.send_signal(signal.SIGKILL)
