"""A small tree, and the current directory in it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.transports.clients import environment

TREE = {
    b"a.txt": b"foo bar\nbaz foo foo\n\nlast",
    b"gap.txt": b"foo\n1\n2\n3\n4\n5\nfoo\n6\nfoo\n",
    b"src/b.py": b"x\nfoo\ny\n",
    b"src/c.c": b"foo \xff foo\n",
    b"src/deep/e.py": "fünf Foo\n".encode(),
    b"tests/d.py": b"foo\nfood\n",
    b"tests/src/f.c": b"foo()\n",
    b".hidden/g.txt": b"foo\n",
    b"ignored.log": b"foo\n",
    b".gitignore": b"*.log\n",
    b"bin.dat": b"a\0foo\n",
    b"names: odd\n\xff.txt": b"foo\n",
}


def plant(work: Path) -> Path:
    """Write the files."""
    for name, data in TREE.items():
        path = Path(os.fsdecode(os.fsencode(work) + b"/" + name))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return work


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files below the current directory, and nothing of the machine's own settings."""
    own = environment(tmp_path)
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, own[name])
    monkeypatch.delenv("NO_COLOR", raising=False)
    work = plant(tmp_path / "work")
    monkeypatch.chdir(work)
    return work
