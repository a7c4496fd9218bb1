"""Changes of a tree as plain data, made here or by another process.

python edits.py    reads edits (marshal) on stdin, answers each with a byte when it is done

An edit that cannot be made (the name is taken, a parent is gone) is no edit: the tree decides.
"""

from __future__ import annotations

import marshal
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self

Edit = tuple[Any, ...]
"""The name of a function below, and its arguments: paths are bytes."""


def _open(path: str, flags: int) -> int:
    """A pipe without a reader is refused, not waited for."""
    return os.open(path, flags | os.O_NONBLOCK, 0o666)


def write(path: bytes, data: bytes) -> None:
    with open(path, "wb", opener=_open) as file:
        file.write(data)


def append(path: bytes, data: bytes) -> None:
    with open(path, "ab", opener=_open) as file:
        file.write(data)


def overwrite(path: bytes, data: bytes) -> None:
    """Put other bytes in place, as many, and set the old times again."""
    status = os.stat(path)
    with open(path, "r+b", opener=_open) as file:
        file.write((data * (status.st_size // max(1, len(data)) + 1))[: status.st_size])
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def truncate(path: bytes, size: int) -> None:
    os.truncate(path, size)


def replace(path: bytes, data: bytes) -> None:
    """Write beside and rename over it, as editors do."""
    write(path + b"~", data)
    os.rename(path + b"~", path)


def move(path: bytes, target: bytes) -> None:
    os.rename(path, target)


def exchange(path: bytes, other: bytes) -> None:
    """Two names change places."""
    os.rename(path, path + b".aside")
    try:
        os.rename(other, path)
    finally:
        os.rename(path + b".aside", other if not os.path.lexists(other) else path)


def remove(path: bytes) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        os.unlink(path)


def make_directory(path: bytes) -> None:
    os.makedirs(path)


def make_tree(path: bytes, data: bytes) -> None:
    """A directory with a directory and files in it, all at once."""
    os.makedirs(path + b"/inner/most")
    for name in (b"/one.py", b"/inner/two.txt", b"/inner/most/three.md"):
        write(path + name, data)


def file_for_directory(path: bytes, data: bytes) -> None:
    """What was a directory becomes a file, or the other way round."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
        write(path, data)
    else:
        os.unlink(path)
        make_tree(path, data)


def symlink(path: bytes, target: bytes) -> None:
    """A link in the place of whatever else is no directory."""
    with suppress(FileNotFoundError):
        os.unlink(path)
    os.symlink(target, path)


def hard_link(path: bytes, target: bytes) -> None:
    os.link(target, path)


def change_mode(path: bytes, mode: int) -> None:
    os.chmod(path, mode)


def touch(path: bytes, nanoseconds: int) -> None:
    os.utime(path, ns=(nanoseconds, nanoseconds))


def make_pipe(path: bytes) -> None:
    os.mkfifo(path)


def check_out(path: bytes, branch: str) -> None:
    subprocess.run(["git", "-C", path, "checkout", "-q", branch], check=True)


def flood(path: bytes, count: int) -> None:
    """More files than the kernel remembers events."""
    os.makedirs(path, exist_ok=True)
    for number in range(count):
        write(path + b"/%d" % number, b"flood\n")


_MADE: tuple[Callable[..., None], ...] = (
    write, append, overwrite, truncate, replace, move, exchange, remove, make_directory,
    make_tree, file_for_directory, symlink, hard_link, change_mode, touch, make_pipe,
    check_out, flood,
)  # fmt: skip
KINDS: dict[str, Callable[..., None]] = {function.__name__: function for function in _MADE}


def apply(edit: Edit) -> None:
    """Make an edit, if it can be made."""
    with suppress(OSError):
        KINDS[edit[0]](*edit[1:])


class Gardener:
    """Another process that makes edits; each is done when `apply` returns."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def apply(self, edit: Edit) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(marshal.dumps(edit))
        self._process.stdin.flush()
        assert self._process.stdout.read(1) == b"."

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()


def main() -> None:
    while True:
        try:
            edit = marshal.load(sys.stdin.buffer)  # noqa: S302 - from the test that started us
        except EOFError:
            return
        apply(edit)
        sys.stdout.buffer.write(b".")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
