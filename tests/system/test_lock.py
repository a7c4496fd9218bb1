"""A lock is held by one process at a time, and falls with it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from flashgrep.system.lock import locked, open_lock_file, try_lock

_HOLDER = """
import sys
from flashgrep.system.lock import lock, open_lock_file
lock(open_lock_file(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def test_a_lock_is_refused_while_another_process_holds_it_and_free_once_that_was_killed(
    tmp_path: Path,
) -> None:
    path = tmp_path / "lock"
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    descriptor = open_lock_file(path)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert not try_lock(descriptor)
        with locked(descriptor, seconds=0.01):
            pass  # goes on without
        assert not try_lock(descriptor)
        holder.kill()
        holder.communicate()
        assert try_lock(descriptor)
    finally:
        holder.kill()
        holder.communicate()
        os.close(descriptor)


def test_a_lock_is_free_after_its_block(tmp_path: Path) -> None:
    one, other = open_lock_file(tmp_path / "lock"), open_lock_file(tmp_path / "lock")
    try:
        with locked(one):
            assert not try_lock(other)
        with locked(one, seconds=60):
            assert not try_lock(other)
        assert try_lock(other)
    finally:
        os.close(one)
        os.close(other)


def test_a_lock_file_that_is_not_there_is_made_only_if_asked_for(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        open_lock_file(tmp_path / "lock", create=False)
    os.close(open_lock_file(tmp_path / "lock"))
    os.close(open_lock_file(tmp_path / "lock", create=False))
    assert (tmp_path / "lock").stat().st_mode & 0o777 == 0o600
